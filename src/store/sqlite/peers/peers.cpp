#include "store/sqlite/peers/peers.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::store::sqlite {
namespace {

// The only peer in the file; 0 if there are none or several.
std::int64_t loneOf(const Context& context) {
  Statement statement = context.prepare("SELECT iif(count(*)=1,max(id),0) FROM #peers");
  Query query(statement);
  query.next();
  return query.integer(0);
}

}  // namespace

std::vector<PeerOptions> configuredPeers(const OutboxOptions& options) {
  return options.peers.empty() && !options.adoptPeers ? std::vector<PeerOptions>(1) : options.peers;
}

Peers::Peers(Context& context)
    : context_(context),
      upsert_(context.prepare(
          "INSERT INTO #peers(name,url,agent,max_requests) VALUES(?1,?2,?3,?4) "
          "ON CONFLICT(name) DO UPDATE SET url=?2, agent=?3, max_requests=?4 RETURNING id,store,store_epoch")),
      selectAll_(context.prepare("SELECT id,name,url,agent,max_requests,store,store_epoch FROM #peers ORDER BY id")),
      disabling_(context.prepare(
          "UPDATE #meta SET orders=orders+1 WHERE ?2<>(SELECT hold FROM #peers WHERE id=?1) AND 2 IN (?2,"
          "(SELECT hold FROM #peers WHERE id=?1))")),
      record_(context.prepare("UPDATE #peers SET changed_at_ms=CASE WHEN down=?2 THEN changed_at_ms ELSE ?8 END, "
                              "down=?2, failures=?3, down_since_ms=?4, next_probe_at_ms=?5, last_error=?6, hold=?7 "
                              "WHERE id=?1")) {}

void Peers::configure() {
  const std::int64_t lone = loneOf(context_);
  for (const PeerOptions& peer : configuredPeers(context_.options)) {
    Query query(upsert_, peer.name, peer.url, peer.agent, peer.maxRequests);
    query.next();
    PeerRow row{query.integer(0),          peer.name, peer.url, peer.agent, peer.maxRequests, query.text(1),
                query.as<std::uint64_t>(2)};
    // A statement with RETURNING takes effect only when it is stepped to its end.
    query.run();
    add(std::move(row));
  }
  countEach(lone);
  if (context_.options.adoptPeers) {
    Query query(selectAll_);
    while (query.next()) {
      if (find(query.view(1)) == nullptr) {
        add({query.integer(0), query.text(1), query.text(2), query.text(3), query.as<std::uint32_t>(4), query.text(5),
             query.as<std::uint64_t>(6)});
      }
    }
  }
}

std::vector<PeerRow> Peers::current() {
  std::vector<PeerRow> current = rows_;
  Query query(selectAll_);
  while (query.next()) {
    const auto row = std::ranges::find(current, query.integer(0), &PeerRow::key);
    if (row != current.end()) {
      row->store = query.text(5);
      row->storeEpoch = query.as<std::uint64_t>(6);
    }
  }
  return current;
}

// If the file has several peers, gives each its own counters; the previous counts belong to the lone peer.
void Peers::countEach(std::int64_t lone) {
  const std::string columns = peerCounterColumns();
  Statement inherit = context_.prepare("INSERT INTO #peer_counters(peer_id," + columns + ") SELECT ?1," + columns +
                                       " FROM #counters WHERE ?1<>0 AND (SELECT count(*) FROM #peers)>1");
  Query(inherit, lone).run();
  Statement complete = context_.prepare(
      "INSERT OR IGNORE INTO #peer_counters(peer_id) SELECT id FROM #peers WHERE "
      "(SELECT count(*) FROM #peers)>1");
  Query(complete).run();
}

void Peers::add(PeerRow row) {
  byName_.emplace(row.name, rows_.size());
  rows_.push_back(std::move(row));
}

const PeerRow* Peers::find(delivery::PeerKey key) const noexcept {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [key](const PeerRow& row) { return row.key == key; });
  return found == rows_.end() ? nullptr : &*found;
}

const PeerRow* Peers::find(std::string_view name) const noexcept {
  const auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : &rows_[found->second];
}

void Peers::record(const delivery::PeerRecord& record) {
  // The only part of the peer's health that other processes must act on.
  Query(disabling_, record.peer, record.hold).run();
  Query(record_, record.peer, record.down, record.failures, record.downSince, record.nextProbeAt,
        truncatedError(record.error), record.hold, context_.clock.wallNow())
      .run();
}

std::string_view truncatedError(std::string_view text, std::size_t bytesMax) noexcept {
  if (text.size() <= bytesMax) {
    return text;
  }
  std::size_t end = bytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace ackbox::store::sqlite
