#include "store/sqlite/peers/peers.hpp"

#include <map>
#include <utility>

#include "ackbox/error.hpp"
#include "store/decisions/error_text.hpp"
#include "store/decisions/store_limits.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"

namespace ackbox::store::sqlite {
namespace {

// The only peer in the file; 0 if there are none or several.
std::int64_t loneOf(const Context& context) {
  Statement statement = context.prepare("SELECT iif(count(*)=1,max(id),0) FROM #peers");
  Query query(statement);
  query.next();
  return query.integer(0);
}

// Of `selectAll_` or `selectAdded_`.
PeerRow rowOf(const Query& query) {
  return {.key = query.integer(0),
          .name = query.text(1),
          .url = query.text(2),
          .agent = query.text(3),
          .maxRequests = query.as<std::uint32_t>(4),
          .store = query.text(5),
          .storeEpoch = query.as<std::uint64_t>(6),
          .definition = query.text(7)};
}

}  // namespace

Peers::Peers(Context& context, std::vector<PeerOptions>& options, Holds& holds)
    : context_(context),
      holds_(holds),
      upsert_(context.prepare(
          "INSERT INTO #peers(name,url,agent,max_requests) VALUES(?1,?2,?3,?4) ON CONFLICT(name) DO "
          "UPDATE SET url=?2, agent=?3, max_requests=?4, paused_at_ms=iif(removed_at_ms=0,paused_at_ms,0), "
          "removed_at_ms=0 RETURNING "
          "id,store,store_epoch")),
      define_(context.prepare(
          "UPDATE #peers SET definition=?2, resumes=resumes+1, hold=min(hold,1), next_probe_at_ms=?3 WHERE name=?1")),
      remove_(context.prepare("UPDATE #peers SET definition='', removed_at_ms=?2 WHERE name=?1")),
      selectAddedNow_(context.prepare("SELECT definition<>'', removed_at_ms<>0 FROM #peers WHERE name=?1")),
      countDefined_(context.prepare("SELECT count(*) FROM #peers WHERE definition<>'' AND name<>?1")),
      countLive_(context.prepare(std::string("SELECT coalesce(sum(")
                                     .append(kSessionLive)
                                     .append("),0) FROM #peers AS p JOIN #sessions AS s ON s.peer_id=p.id JOIN "
                                             "#session_states AS m ON m.session_id=s.id LEFT JOIN ")
                                     .append(kUnwrittenTails)
                                     .append(" AS t ON t.session_id=s.id WHERE p.name=?1"))),
      selectAll_(context.prepare("SELECT id,name,url,agent,max_requests,store,store_epoch,definition,removed_at_ms<>0 "
                                 "FROM #peers ORDER BY id")),
      selectAdded_(
          context.prepare("SELECT id,name,url,agent,max_requests,store,store_epoch,definition,removed_at_ms<>0 "
                          "FROM #peers WHERE definition<>'' OR removed_at_ms<>0 ORDER BY id")),
      disabling_(context.prepare(
          "UPDATE #meta SET orders=orders+1 WHERE ?2<>(SELECT hold FROM #peers WHERE id=?1) AND 2 IN (?2,"
          "(SELECT hold FROM #peers WHERE id=?1))")),
      record_(context.prepare("UPDATE #peers SET changed_at_ms=CASE WHEN down=?2 THEN changed_at_ms ELSE ?8 END, "
                              "down=?2, failures=?3, down_since_ms=?4, next_probe_at_ms=?5, last_error=?6, hold=?7 "
                              "WHERE id=?1")),
      known_(context.options, options) {}

void Peers::configure() {
  const std::int64_t lone = loneOf(context_);
  for (const PeerOptions& peer : configuredPeers(context_.options)) {
    known_.configure(write(peer));
  }
  countEach(lone);
  if (context_.options.adoptPeers) {
    Query query(selectAll_);
    while (query.next()) {
      if (query.integer(8) == 0) {
        known_.adopt(rowOf(query));
      }
    }
  }
  isConfigured_ = true;
  refresh();
}

PeerRow Peers::write(const PeerOptions& peer) {
  Query query(upsert_, peer.name, peer.url, peer.agent, peer.maxRequests);
  query.next();
  PeerRow row{query.integer(0),          peer.name, peer.url, peer.agent, peer.maxRequests, query.text(1),
              query.as<std::uint64_t>(2)};
  // A statement with RETURNING takes effect only when it is stepped to its end.
  query.run();
  return row;
}

std::optional<bool> Peers::define(const PeerOptions& peer, std::string_view definition) {
  requireNoScope();
  {
    Query query(countDefined_, peer.name);
    query.next();
    if (query.as<std::size_t>(0) >= kAddedPeersMax) {
      return std::nullopt;
    }
  }
  const bool isNew = standingOf(peer.name) != Standing::added;
  isTouched_ = true;
  const std::int64_t lone = loneOf(context_);
  static_cast<void>(write(peer));
  Query(define_, peer.name, definition, context_.clock.wallNow()).run();
  countEach(lone);
  context_.counters.countPeers();
  holds_.countChange();
  refresh();
  return isNew;
}

PeerRemoval Peers::remove(std::string_view name, WaitingMessages waiting) {
  requireNoScope();
  PeerRemoval report;
  {
    Query query(countLive_, name);
    query.next();
    report.left = query.as<std::uint64_t>(0);
  }
  const Standing standing = known_.isConfigured(name) ? Standing::other : standingOf(name);
  report.isRemoved = standing == Standing::removed;
  if (standing == Standing::other) {
    throw Error(Errc::unknownPeer, "no peer '" + std::string(name) + "' was added to the file");
  }
  if (report.isRemoved || (report.left != 0 && waiting == WaitingMessages::refuse)) {
    return report;
  }
  isTouched_ = true;
  Query(remove_, name, context_.clock.wallNow()).run();
  holds_.countChange();
  refresh();
  report.isRemoved = true;
  return report;
}

Peers::Standing Peers::standingOf(std::string_view name) {
  Query query(selectAddedNow_, name);
  if (!query.next()) {
    return Standing::other;
  }
  return query.integer(1) != 0 ? Standing::removed : query.integer(0) != 0 ? Standing::added : Standing::other;
}

void Peers::begun(bool othersCommitted) {
  if (isConfigured_ && (orders_ < 0 || (othersCommitted && orders_ != context_.orders))) {
    refresh();
  }
}

void Peers::committed() noexcept {
  isTouched_ = false;
  UnscopedWriteBack::committed();
}

// What this transaction has changed is read again.
void Peers::forget() noexcept {
  orders_ = std::exchange(isTouched_, false) ? -1 : orders_;
}

void Peers::refresh() {
  std::vector<AddedPeer> rows;
  for (Query query(selectAdded_); query.next();) {
    rows.push_back({rowOf(query), query.integer(8) != 0});
  }
  known_.refresh(std::move(rows));
  orders_ = context_.orders;
}

std::vector<PeerRow> Peers::current() {
  std::map<delivery::PeerKey, PeerRow> stored;
  for (Query query(selectAll_); query.next();) {
    stored.emplace(query.integer(0), rowOf(query));
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

void Peers::record(const delivery::PeerRecord& record) {
  // The only part of the peer's health that other processes must act on.
  Query(disabling_, record.peer, record.hold).run();
  Query(record_, record.peer, record.down, record.failures, record.downSince, record.nextProbeAt,
        truncatedError(record.error), record.hold, context_.clock.wallNow())
      .run();
}

}  // namespace ackbox::store::sqlite
