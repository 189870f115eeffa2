#include "store/postgres/peers/peers.hpp"

#include <map>
#include <utility>

#include "ackbox/error.hpp"
#include "store/decisions/error_text.hpp"
#include "store/decisions/store_limits.hpp"

namespace ackbox::store::postgres {
namespace {

constexpr std::string_view kSelectPeers =
    "SELECT id,name,url,agent,max_requests,store,store_epoch,definition,removed_at_ms<>0 FROM #peers ORDER BY id";

PeerRow rowOf(const Row& row) {
  return {.key = row.integer(0),
          .name = row.text(1),
          .url = row.text(2),
          .agent = row.text(3),
          .maxRequests = row.as<std::uint32_t>(4),
          .store = row.text(5),
          .storeEpoch = row.as<std::uint64_t>(6),
          .definition = row.text(7)};
}

}  // namespace

void Peers::configure() {
  for (const PeerOptions& peer : configuredPeers(context_.options)) {
    known_.configure(write(peer));
  }
  if (context_.options.adoptPeers) {
    for (const Row& row : context_.connection.run(kSelectPeers)) {
      if (row.integer(8) == 0) {
        known_.adopt(rowOf(row));
      }
    }
  }
  isConfigured_ = true;
  refresh();
}

PeerRow Peers::write(const PeerOptions& peer) {
  const Result result = context_.connection.run(
      "INSERT INTO #peers AS p (name,url,agent,max_requests) VALUES($1,$2,$3,$4) ON CONFLICT(name) DO UPDATE SET "
      "url=$2, agent=$3, max_requests=$4, paused_at_ms=CASE WHEN p.removed_at_ms=0 THEN p.paused_at_ms ELSE 0 END, "
      "removed_at_ms=0 RETURNING id,store,store_epoch",
      peer.name, peer.url, peer.agent, peer.maxRequests);
  const Row row = result.front();
  return {row.integer(0), peer.name, peer.url, peer.agent, peer.maxRequests, row.text(1), row.as<std::uint64_t>(2)};
}

std::optional<bool> Peers::define(const PeerOptions& peer, std::string_view definition) {
  // The change is counted first, so that peers are added one after the other.
  holds_.countChange();
  if (context_.connection.run("SELECT count(*) FROM #peers WHERE definition<>'' AND name<>$1", peer.name)
          .front()
          .as<std::size_t>(0) >= kAddedPeersMax) {
    return std::nullopt;
  }
  const bool isNew = standingOf(peer.name) != Standing::added;
  isTouched_ = true;
  static_cast<void>(write(peer));
  context_.connection.run(
      "UPDATE #peers SET definition=$2, resumes=resumes+1, hold=least(hold,1), next_probe_at_ms=$3 WHERE name=$1",
      peer.name, definition, context_.now());
  refresh();
  return isNew;
}

PeerRemoval Peers::remove(std::string_view name, WaitingMessages waiting) {
  PeerRemoval report;
  report.left = context_.connection
                    .run(
                        "SELECT count(*) FROM #peers AS p JOIN #sessions AS s ON s.peer_id=p.id JOIN #outbox AS o ON "
                        "o.session_id=s.id WHERE p.name=$1 AND o.state IN (0,2)",
                        name)
                    .front()
                    .as<std::uint64_t>(0);
  const Standing standing = known_.isConfigured(name) ? Standing::other : standingOf(name);
  report.isRemoved = standing == Standing::removed;
  if (standing == Standing::other) {
    throw Error(Errc::unknownPeer, "no peer '" + std::string(name) + "' was added to the store");
  }
  if (report.isRemoved || (report.left != 0 && waiting == WaitingMessages::refuse)) {
    return report;
  }
  isTouched_ = true;
  context_.connection.run("UPDATE #peers SET definition='', removed_at_ms=$2 WHERE name=$1", name, context_.now());
  holds_.countChange();
  refresh();
  report.isRemoved = true;
  return report;
}

Peers::Standing Peers::standingOf(std::string_view name) {
  const Result result =
      context_.connection.run("SELECT definition<>'', removed_at_ms<>0 FROM #peers WHERE name=$1", name);
  if (result.empty()) {
    return Standing::other;
  }
  const Row row = result.front();
  return row.integer(1) != 0 ? Standing::removed : row.integer(0) != 0 ? Standing::added : Standing::other;
}

void Peers::begun() {
  if (isConfigured_ && orders_ != context_.orders) {
    refresh();
  }
}

// What this transaction has changed is read again.
void Peers::rolledBack() noexcept {
  orders_ = std::exchange(isTouched_, false) ? -1 : orders_;
}

void Peers::refresh() {
  std::vector<AddedPeer> rows;
  for (const Row& row : context_.connection.run(kSelectPeers)) {
    const bool isRemoved = row.integer(8) != 0;
    if (isRemoved || !row.view(7).empty()) {
      rows.push_back({rowOf(row), isRemoved});
    }
  }
  known_.refresh(std::move(rows));
  orders_ = context_.orders;
}

std::vector<PeerRow> Peers::current() {
  std::map<delivery::PeerKey, PeerRow> stored;
  for (const Row& row : context_.connection.run(kSelectPeers)) {
    stored.emplace(row.integer(0), rowOf(row));
  }
  std::vector<PeerRow> current(rows().begin(), rows().end());
  for (PeerRow& row : current) {
    if (const auto found = stored.find(row.key); found != stored.end()) {
      row.store = found->second.store;
      row.storeEpoch = found->second.storeEpoch;
    }
  }
  return current;
}

void Peers::record(const delivery::PeerRecord& record) {
  // The only part of the peer's health that other processes must act on.
  context_.connection.run(
      "UPDATE #meta SET orders=orders+1 WHERE $2::integer<>(SELECT hold FROM #peers WHERE id=$1) AND 2 IN ($2::integer,"
      "(SELECT hold FROM #peers WHERE id=$1))",
      record.peer, record.hold);
  context_.connection.run(
      "UPDATE #peers SET changed_at_ms=CASE WHEN down=$2 THEN changed_at_ms ELSE $8 END, down=$2, failures=$3, "
      "down_since_ms=$4, next_probe_at_ms=$5, last_error=$6, hold=$7 WHERE id=$1",
      record.peer, record.down, record.failures, record.downSince, record.nextProbeAt, truncatedError(record.error),
      record.hold, context_.now());
}

}  // namespace ackbox::store::postgres
