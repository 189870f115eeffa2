#include "manager/run/senders.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/exception_report.hpp"
#include "manager/facade/function_sender.hpp"

namespace ackbox::manager {

Senders::Senders(std::span<const PeerOptions> peers, std::shared_ptr<Sender> common) : common_(std::move(common)) {
  if (common_) {
    all_.push_back(common_);
  }
  for (const PeerOptions& peer : peers) {
    if (peer.sender) {
      own_.emplace_back(peer.name, peer.sender.get());
      if (std::ranges::find(all_, peer.sender) == all_.end()) {
        all_.push_back(peer.sender);
      }
    }
  }
}

void Senders::introduceOwn(std::span<const PeerOptions> peers) {
  std::map<std::shared_ptr<Sender>, std::vector<PeerOptions>> carried;
  for (const PeerOptions& peer : peers) {
    if (peer.sender) {
      carried[peer.sender].push_back(peer);
    }
  }
  for (const auto& [sender, its] : carried) {
    sender->usePeers(its);
  }
}

void Senders::introduce(std::span<const PeerOptions> peers, Sender& common) {
  std::vector<PeerOptions> others;
  std::ranges::copy_if(peers, std::back_inserter(others), [](const PeerOptions& peer) { return !peer.sender; });
  common.usePeers(others);
}

bool Senders::suffice(std::span<const PeerOptions> peers, bool common) {
  return common ||
         (!peers.empty() && std::ranges::all_of(peers, [](const PeerOptions& peer) { return peer.sender != nullptr; }));
}

Sender& Senders::of(std::string_view peer) const {
  const auto found = std::ranges::find(own_, peer, [](const auto& one) { return one.first; });
  return found == own_.end() ? *common_ : *found->second;
}

std::uint32_t Senders::initialCredit(std::string_view peer) const noexcept {
  try {
    return common_ || !own_.empty() ? std::max(of(peer).initialCredit(), 1U) : 1;
  } catch (...) {
    return 1;
  }
}

void Senders::usePeer(const std::shared_ptr<const PeerOptions>& peer, const std::string& problem) {
  unusable_.erase(peer->name);
  if (!problem.empty()) {
    unusable_.emplace(peer->name, Unusable{"its definition cannot be used: " + problem, nullptr});
    return;
  }
  if (!common_) {
    unusable_.emplace(peer->name, Unusable{"this process has no sender for it", nullptr});
    return;
  }
  try {
    common_->changePeer(*peer);
  } catch (...) {
    unusable_.emplace(peer->name, Unusable{whatOf(std::current_exception()), peer});
  }
}

// A request that was decided before may still come.
void Senders::dropPeer(const std::string& name) {
  unusable_.insert_or_assign(name, Unusable{"the peer was removed", nullptr});
  if (common_) {
    common_->removePeer(name);
  }
}

// What the sender missed, such as a file with keys, may be there by now.
void Senders::requireUsable(const std::string& peer) {
  const auto found = unusable_.find(peer);
  if (found == unusable_.end()) {
    return;
  }
  if (found->second.again) {
    const std::shared_ptr<const PeerOptions> again = found->second.again;
    usePeer(again, {});
  }
  if (const auto still = unusable_.find(peer); still != unusable_.end()) {
    throw UnusablePeer(still->second.why);
  }
}

void Senders::send(SendRequest&& request, SendHandler&& handler) {
  Sender& sender = of(request.peer);
  if (const auto waits = std::ranges::find(unstarted_, &sender); waits != unstarted_.end()) {
    sender.start(executor_);
    unstarted_.erase(waits);
  }
  sender.asyncSend(std::move(request), std::move(handler));
}

void Senders::start(const boost::asio::any_io_executor& executor) {
  executor_ = executor;
  for (const auto& sender : all_) {
    try {
      sender->start(executor);
    } catch (...) {
      unstarted_.push_back(sender.get());
    }
  }
}

void Senders::stop() noexcept {
  for (const auto& sender : all_) {
    try {
      sender->stop();
    } catch (...) {
      continue;
    }
  }
}

bool Senders::runInThisThread() const noexcept {
  return std::ranges::any_of(all_, [](const auto& sender) { return sendsInThisThread(sender.get()); });
}

}  // namespace ackbox::manager
