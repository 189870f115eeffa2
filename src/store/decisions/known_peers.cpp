#include "store/decisions/known_peers.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "ackbox/error.hpp"
#include "base/exception_report.hpp"

namespace ackbox::store {

std::vector<PeerOptions> configuredPeers(const OutboxOptions& options) {
  return options.peers.empty() && !options.adoptPeers ? std::vector<PeerOptions>(1) : options.peers;
}

KnownPeers::KnownPeers(const OutboxOptions& options, std::vector<PeerOptions>& peers)
    : options_(options), peers_(peers) {}

void KnownPeers::configure(PeerRow row) {
  configured_.insert(row.name);
  add(std::move(row));
}

void KnownPeers::adopt(PeerRow row) {
  if (find(row.name) == nullptr && row.definition.empty()) {
    reported_[row.name].clear();
    add(std::move(row));
  }
}

void KnownPeers::refresh(std::vector<AddedPeer> rows) {
  std::set<std::string, std::less<>> left;
  for (const auto& [name, added] : added_) {
    left.insert(name);
  }
  for (AddedPeer& one : rows) {
    if (!one.isRemoved && !configured_.contains(one.row.name)) {
      left.erase(one.row.name);
      see(std::move(one.row));
    } else if (options_.adoptPeers && find(one.row.name) != nullptr && !configured_.contains(one.row.name)) {
      // It was adopted before it was removed.
      left.insert(one.row.name);
    }
  }
  for (const std::string& name : left) {
    drop(name);
  }
}

void KnownPeers::see(PeerRow row) {
  const auto known = added_.find(row.name);
  if (known != added_.end() && known->second.definition == row.definition) {
    return;
  }
  if (!options_.addedPeer && !options_.adoptPeers) {
    return;
  }
  PeerChange change = used(std::move(row));
  place(change);
  changes_.push_back(std::move(change));
}

// A function of the program reads the definition, which comes from the file.
PeerChange KnownPeers::used(PeerRow row) const {
  PeerChange change;
  try {
    PeerOptions peer;
    if (options_.addedPeer) {
      peer = options_.addedPeer(row.name, row.definition);
      if (peer.sender) {
        throw OptionError("sender", "must not be set for a peer that is added to the file");
      }
    } else {
      peer = row.options();
    }
    peer.name = row.name;
    OutboxOptions alone;
    alone.peers = {peer};
    alone.ackedRetention = options_.ackedRetention;
    validate(alone);
    change.options = std::make_shared<const PeerOptions>(std::move(peer));
  } catch (...) {
    change.problem = whatOf(std::current_exception());
    change.options = std::make_shared<const PeerOptions>(row.options());
  }
  change.row = std::move(row);
  return change;
}

void KnownPeers::place(const PeerChange& change) {
  if (const auto row = byName_.find(change.row.name); row != byName_.end()) {
    rows_[row->second] = change.row;
  } else {
    add(change.row);
  }
  const auto [known, isNew] = added_.try_emplace(change.row.name, Added{{}, peers_.size()});
  known->second.definition = change.row.definition;
  if (isNew) {
    peers_.emplace_back();
  }
  peers_[known->second.place] = *change.options;
}

void KnownPeers::drop(const std::string& name) {
  const auto place = byName_.find(name);
  if (place == byName_.end()) {
    return;
  }
  const std::size_t index = place->second;
  byName_.erase(place);
  changes_.push_back({.row = rows_[index], .options = {}, .problem = {}});
  rows_[index] = std::move(rows_.back());
  rows_.pop_back();
  if (index < rows_.size()) {
    byName_.at(rows_[index].name) = index;
  }
  if (const auto added = added_.find(name); added != added_.end()) {
    // The last of the options takes its place; it belongs to an added peer, too.
    added_.at(peers_.back().name).place = added->second.place;
    peers_[added->second.place] = std::move(peers_.back());
    peers_.pop_back();
    added_.erase(added);
  }
}

std::vector<PeerChange> KnownPeers::takeChanges() {
  std::vector<PeerChange> taken;
  std::set<std::string> seen;
  std::ranges::reverse(changes_);
  for (PeerChange& change : changes_) {
    const std::string& name = change.row.name;
    if (!seen.insert(name).second) {
      continue;
    }
    const auto reported = reported_.find(name);
    const bool isReported = reported != reported_.end();
    const bool isSame = change.options ? isReported && reported->second == change.row.definition : !isReported;
    if (change.options) {
      reported_[name] = change.row.definition;
    } else {
      reported_.erase(name);
    }
    if (!isSame) {
      taken.push_back(std::move(change));
    }
  }
  std::ranges::reverse(taken);
  changes_.clear();
  return taken;
}

void KnownPeers::add(PeerRow row) {
  byName_.emplace(row.name, rows_.size());
  rows_.push_back(std::move(row));
}

const PeerRow* KnownPeers::find(delivery::PeerKey key) const noexcept {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [key](const PeerRow& row) { return row.key == key; });
  return found == rows_.end() ? nullptr : &*found;
}

const PeerRow* KnownPeers::find(std::string_view name) const noexcept {
  const auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : &rows_[found->second];
}

}  // namespace ackbox::store
