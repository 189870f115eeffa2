#include "store/sqlite/inbound/inbox.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/room_share.hpp"
#include "store/application_lines.hpp"
#include "store/decisions/error_text.hpp"
#include "store/digest.hpp"
#include "store/kept_session.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"

namespace ackbox::store::sqlite {
namespace {

// Rows per statement.
constexpr std::size_t kInboxTogether = 32;

/// SQL: the list (?1 to ?32).
std::string listedKeys() {
  std::string keys = "(?1";
  for (std::size_t place = 2; place <= kInboxTogether; ++place) {
    keys.append(",?").append(std::to_string(place));
  }
  return keys.append(")");
}

/// Calls `step(part)` with up to `kInboxTogether` items of `all` at a time.
template <typename Item, typename Step>
void inParts(std::span<const Item> all, const Step& step) {
  for (; !all.empty(); all = all.subspan(std::min(all.size(), kInboxTogether))) {
    step(all.first(std::min(all.size(), kInboxTogether)));
  }
}

/// The keys of up to `kInboxTogether` items, for a statement for that many: the last key fills the remaining places.
template <typename Item, typename KeyOf>
std::array<InboxKey, kInboxTogether> keysOf(std::span<const Item> part, const KeyOf& keyOf) {
  std::array<InboxKey, kInboxTogether> keys{};
  for (std::size_t place = 0; place < kInboxTogether; ++place) {
    keys.at(place) = keyOf(part[std::min(place, part.size() - 1)]);
  }
  return keys;
}

}  // namespace

Inbox::Inbox(Context& context, InboundMarks& marks)
    : context_(context),
      marks_(marks),
      results_(context, marks),
      insert_(context.prepare(
          "INSERT INTO #inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,accepted_at_ms,"
          "type,audience,time_ms,expires_at_ms,traceparent,correlation_id,resent_of,data,data_content_type,"
          "checksum) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19) ON CONFLICT DO "
          "NOTHING")),
      selectFirst_(context.prepare("SELECT sequence FROM #inbox WHERE source=?1 AND origin=?2 AND session=?3 AND "
                                   "sequence>0 ORDER BY sequence LIMIT 1")),
      selectWaiting_(context.prepare(
          "SELECT 1 FROM #inbox WHERE origin=?1 AND session=?2 AND sequence=?3 AND frame_id=?4 AND source=?5")),
      selectNumber_(context.prepare("SELECT frame_id,type,data FROM #inbox WHERE source=?1 AND origin=?2 AND "
                                    "session=?3 AND sequence=?4")),
      selectAfter_(context.prepare("SELECT id,source,origin,session,sequence,type,accepted_at_ms,expires_at_ms FROM "
                                   "#inbox WHERE id>?1 ORDER BY id LIMIT ?2")),
      isThere_(context.prepare("SELECT 1 FROM #inbox WHERE id=?1")),
      selectRow_(context.prepare(
          std::string("SELECT owner_id,due_at_ms,").append(kInboxColumns).append(" FROM #inbox WHERE id=?1"))),
      selectRows_(context.prepare(std::string("SELECT owner_id,due_at_ms,")
                                      .append(kInboxColumns)
                                      .append(" FROM #inbox WHERE id IN ")
                                      .append(listedKeys()))),
      selectName_(context.prepare("SELECT source,origin,session,sequence,frame_id FROM #inbox INDEXED BY "
                                  "sqlite_autoindex_#inbox_1 WHERE +id=?1")),
      claim_(context.prepare("UPDATE #inbox SET owner_id=?2, starts=starts+1, started_at_ms=?3 WHERE id=?1")),
      claimMany_(context.prepare("UPDATE #inbox SET starts=starts+1, owner_id=?33, started_at_ms=?34 WHERE id IN " +
                                 listedKeys())),
      holds_(context.prepare("SELECT 1 FROM #inbox WHERE id=?1 AND owner_id=?2 AND starts=?3")),
      selectStarts_(context.prepare("SELECT id,starts FROM #inbox WHERE id IN " + listedKeys() + " AND owner_id=?33")),
      markDeferred_(context.prepare("UPDATE #inbox SET deferred=1 WHERE id=?1")),
      remove_(context.prepare("DELETE FROM #inbox WHERE id=?1")),
      removeMany_(context.prepare("DELETE FROM #inbox WHERE id IN " + listedKeys())),
      retry_(context.prepare("UPDATE #inbox SET owner_id=0, retry_count=retry_count+1, due_at_ms=?2, last_error=?3, "
                             "failed_at_ms=?4 WHERE id=?1")),
      release_(context.prepare("UPDATE #inbox SET owner_id=0 WHERE id=?1 AND owner_id=?2")),
      addHandlers_(context.prepare("UPDATE #owners SET deferred_handlers=deferred_handlers+?2 WHERE id=?1")),
      noteApplications_(context.prepare("UPDATE #owners SET applications=?2 WHERE id=?1 AND applications<>?2")),
      find_(context.prepare("SELECT id FROM #inbox WHERE source=?1 AND frame_id=?2 ORDER BY id LIMIT 1")),
      retryNow_(context.prepare("UPDATE #inbox SET due_at_ms=0, retry_count=0 WHERE id=?1")),
      countOrder_(context.prepare("UPDATE #meta SET inbox_orders=inbox_orders+1")),
      selectOrders_(context.prepare("SELECT inbox_orders FROM #meta")) {}

std::uint64_t Inbox::size() {
  return static_cast<std::uint64_t>(context_.counters.value(Counter::inbox));
}

// One sender's waiting frames may take as much as is left for all, so that several senders get similar shares. An
// eighth is reserved for senders without waiting frames.
bool Inbox::isFull(const InboundFrame& frame, const DeferredOptions& limits) {
  const auto amount = [](std::int64_t counted) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, counted));
  };
  const SenderShare& own = context_.shares.of(frame.source);
  return hasNoRoom(amount(context_.counters.value(Counter::inbox)), amount(own.inbox), 0, limits.framesMax) ||
         hasNoRoom(amount(context_.counters.value(Counter::inboxBytes)), amount(own.inboxBytes), frame.data.size(),
                   limits.bytesMax);
}

std::optional<InboundLimit> Inbox::limitReached(const InboundFrame& frame, const InboundOptions& limits) {
  const std::optional<InboundLimit> reached = isFull(frame, limits.deferred)
                                                  ? std::optional(InboundLimit::inbox)
                                                  : marks_.resultLimitReached(frame.source, limits.limits);
  if (reached) {
    context_.counters.add(Counter::refusedLimits, 1);
  }
  return reached;
}

void Inbox::add(const InboundFrame& frame, bool deferred) {
  const std::size_t added =
      Query(insert_, frame.origin, KeptSession(frame).name(), frame.sequence, frame.id, frame.source, frame.epoch,
            frame.previousSequence, deferred, context_.clock.wallNow(), frame.type, NullIfEmpty{frame.audience},
            frame.time, frame.expiresAt, NullIfEmpty{frame.traceparent}, NullIfEmpty{frame.correlationId},
            NullIfEmpty{frame.resentOf}, Blob{frame.data}, NullIfEmpty{frame.dataContentType}, checksumOf(frame))
          .run();
  if (added != 0) {
    context_.shares.add(frame.source, shareOfWaiting(frame.data.size()));
  }
  context_.counters.add(Counter::deferred, static_cast<std::int64_t>(added));
}

std::optional<std::uint64_t> Inbox::firstWaiting(const InboundFrame& frame) {
  const KeptSession session(frame);
  Query query(selectFirst_, frame.source, frame.origin, session.name());
  return query.next() ? std::optional(query.as<std::uint64_t>(0)) : std::nullopt;
}

bool Inbox::waits(const InboundIdentity& frame) {
  return size() > 0 &&
         Query(selectWaiting_, frame.origin, frame.session, frame.sequence, frame.id, frame.source).next();
}

std::optional<FrameResult> Inbox::resultOf(const InboundIdentity& frame) {
  if (waits(frame)) {
    FrameResult result;
    result.outcome = Outcome::defer;
    return result;
  }
  return results_.find(frame);
}

bool Inbox::takesAnew(const InboundIdentity& frame) {
  return frame.sequence == 0 && !waits(frame) && results_.forgetOlder(frame);
}

Admission Inbox::compare(const InboundIdentity& frame) {
  if (size() == 0 || frame.sequence == 0) {
    return Admission::duplicate;
  }
  Query query(selectNumber_, frame.source, frame.origin, frame.session, frame.sequence);
  if (!query.next()) {
    return Admission::duplicate;
  }
  if (query.view(0) != frame.id) {
    return Admission::numberTaken;
  }
  return digestOf(query.view(1), query.view(2)) == frame.digest ? Admission::duplicate : Admission::idConflict;
}

// SQLite serializes writers, so keys are in the order of commits, and the last key is the position.
NewInboxRows Inbox::rowsAfter(const InboxCursor& after, std::size_t limit) {
  NewInboxRows found{.rows = {}, .next = after};
  Query query(selectAfter_, after.place.empty() ? 0 : std::stoll(after.place), limit);
  while (query.next()) {
    // Names have no control characters, so newlines separate them.
    found.rows.push_back(
        {query.integer(0),
         query.integer(4) != 0 ? query.text(1) + '\n' + query.text(2) + '\n' + query.text(3) : query.text(0),
         query.text(5), query.text(1), std::string(KeptSession::sessionOf(query.view(3))),
         std::string(KeptSession::mailboxOf(query.view(3))), WallTime(std::chrono::milliseconds(query.integer(6))),
         query.optionalInstant(7)});
  }
  if (!found.rows.empty()) {
    found.next.place = std::to_string(found.rows.back().key);
  }
  return found;
}

std::vector<InboxKey> Inbox::missing(std::span<const InboxKey> keys) {
  std::vector<InboxKey> found;
  for (const InboxKey key : keys) {
    if (!Query(isThere_, key).next()) {
      found.push_back(key);
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<InboxClaim> Inbox::claim(std::span<const InboxKey> keys, std::chrono::milliseconds waitMax) {
  std::vector<InboxClaim> replies(keys.size());
  std::span<InboxClaim> rest = replies;
  inParts(keys, [&](std::span<const InboxKey> part) {
    claimTogether(part, rest.first(part.size()), waitMax);
    rest = rest.subspan(part.size());
  });
  return replies;
}

void Inbox::claimTogether(std::span<const InboxKey> keys, std::span<InboxClaim> replies,
                          std::chrono::milliseconds waitMax) {
  const WallTime now = context_.clock.wallNow();
  const auto read = [&](Query& query) {
    Columns columns(query);
    const auto owner = columns.next<std::int64_t>();
    const auto dueAt = columns.next<WallTime>();
    InboxRow row = readRow(columns);
    InboxClaim& reply = replies[static_cast<std::size_t>(std::ranges::find(keys, row.key) - keys.begin())];
    if (owner != 0 && owner != context_.owner) {
      reply.kind = InboxClaim::Kind::busy;
    } else if (dueAt > now && dueAt <= now + waitMax) {
      reply.kind = InboxClaim::Kind::notDue;
      reply.dueAt = dueAt;
    } else {
      reply.kind = InboxClaim::Kind::taken;
      reply.dueAt = dueAt;
      reply.row = std::move(row);
    }
  };
  if (keys.size() == 1) {
    if (Query query(selectRow_, keys.front()); query.next()) {
      read(query);
    }
  } else {
    for (Query query(selectRows_, std::span<const std::int64_t>(keysOf(keys, std::identity()))); query.next();) {
      read(query);
    }
  }
  std::vector<InboxKey> taken;
  for (InboxClaim& reply : replies) {
    if (reply.kind == InboxClaim::Kind::taken) {
      taken.push_back(reply.row.key);
      ++reply.row.starts;
      if (reply.row.isDamaged) {
        nameByIndex(reply.row);
      }
    }
  }
  if (taken.size() == 1) {
    Query(claim_, taken.front(), context_.owner, now).run();
  } else if (!taken.empty()) {
    Query query(claimMany_, std::span<const std::int64_t>(keysOf(std::span<const InboxKey>(taken), std::identity())));
    query.add(context_.owner, now);
    query.run();
  }
}

// Takes the names from the index, which repeats them: the sender knows the frame by these. The time of a damaged row is
// not reliable.
void Inbox::nameByIndex(InboxRow& row) {
  Query query(selectName_, row.key);
  if (query.next()) {
    InboundFrame& frame = row.frame;
    Columns columns(query);
    std::string session;
    columns >> frame.source >> frame.origin >> session >> frame.sequence >> frame.id;
    frame.mailbox = KeptSession::mailboxOf(session);
    frame.session = KeptSession::sessionOf(session);
  }
  row.frame.time.reset();
}

std::vector<bool> Inbox::holds(std::span<const InboxStart> claims) {
  if (claims.size() == 1) {
    return {Query(holds_, claims.front().key, context_.owner, claims.front().starts).next()};
  }
  std::vector<bool> held(claims.size(), false);
  std::size_t first = 0;
  inParts(claims, [&](std::span<const InboxStart> part) {
    const auto keys = keysOf(part, [](const InboxStart& claim) { return claim.key; });
    Query query(selectStarts_, std::span<const std::int64_t>(keys));
    query.add(context_.owner);
    while (query.next()) {
      for (std::size_t place = 0; place < part.size(); ++place) {
        held[first + place] = held[first + place] ||
                              (part[place].key == query.integer(0) && part[place].starts == query.as<std::uint32_t>(1));
      }
    }
    first += part.size();
  });
  return held;
}

void Inbox::markDeferred(std::span<const InboxKey> keys) {
  for (const InboxKey key : keys) {
    Query(markDeferred_, key).run();
  }
}

void Inbox::finish(std::span<const InboxEnding> ends, std::chrono::milliseconds retention) {
  remove(ends);
  for (const InboxEnding& end : ends) {
    results_.keep(end, retention);
  }
}

void Inbox::remove(std::span<const InboxEnding> ends) {
  std::size_t removed = 0;
  inParts(ends, [&](std::span<const InboxEnding> part) {
    const auto keyOf = [](const InboxEnding& end) { return end.row->key; };
    removed += part.size() == 1 ? Query(remove_, keyOf(part.front())).run()
                                : Query(removeMany_, std::span<const std::int64_t>(keysOf(part, keyOf))).run();
  });
  if (removed != ends.size()) {
    // The frame's effects would be repeated. The rollback drops the cached facts, so each row is read again.
    throw Error(Errc::databaseCorrupt, "foreign statements deleted rows of the inbox that are running");
  }
  for (const InboxEnding& end : ends) {
    const InboundFrame& frame = end.row->frame;
    context_.counters.add(Counter::received, end.result->outcome == Outcome::ack ? 1 : 0);
    context_.shares.add(frame.source, -shareOfWaiting(frame.data.size()));
  }
}

void Inbox::retry(std::span<const InboxRetry> runs) {
  const WallTime now = context_.clock.wallNow();
  for (const InboxRetry& run : runs) {
    // `verify` requires a reason for each charged run.
    const std::string_view text = run.error.empty() ? std::string_view("not-now") : truncatedError(run.error);
    Query(retry_, run.key, run.dueAt, text, now).run();
  }
}

void Inbox::release(std::span<const InboxKey> keys) {
  for (const InboxKey key : keys) {
    Query(release_, key, context_.owner).run();
  }
}

void Inbox::purge(std::size_t limit) {
  results_.purge(limit);
}

void Inbox::addHandlers(std::int64_t difference) {
  Query(addHandlers_, context_.owner, difference).run();
}

void Inbox::noteApplications(std::span<const Application> applications) {
  Query(noteApplications_, context_.owner, applicationLines(applications)).run();
}

InboxKey Inbox::find(std::string_view source, std::string_view messageId) {
  Query query(find_, source, messageId);
  return query.next() ? query.integer(0) : 0;
}

bool Inbox::hasEnded(std::string_view source, std::string_view messageId) {
  return results_.has(source, messageId);
}

InboxChange Inbox::lookAt(InboxKey key) {
  InboxChange change;
  Query query(selectRow_, key);
  if (!query.next()) {
    change.receipt.refusal = Errc::unknownMessage;
    return change;
  }
  Columns columns(query);
  const auto owner = columns.next<std::int64_t>();
  WallTime dueAt;
  columns >> dueAt;
  change.row = readRow(columns);
  change.receipt.sequence = change.row.frame.sequence;
  if (owner != 0) {
    // A run of the row is under way.
    change.receipt.state = InboxState::running;
    change.receipt.refusal = Errc::invalidTransition;
  } else if (dueAt > context_.clock.wallNow()) {
    change.receipt.state = InboxState::backoff;
  }
  return change;
}

InboxChange Inbox::retryNow(InboxKey key) {
  InboxChange change = lookAt(key);
  if (change.receipt.done()) {
    Query(retryNow_, key).run();
    Query(countOrder_).run();
  }
  return change;
}

InboxChange Inbox::discard(InboxKey key, const FrameResult& result, std::chrono::milliseconds retention) {
  InboxChange change = lookAt(key);
  if (change.receipt.done()) {
    const InboxEnding end{&change.row, &result};
    remove({&end, 1});
    results_.keepDiscarded(end, retention);
    Query(countOrder_).run();
  }
  return change;
}

std::int64_t Inbox::operatorChanges() {
  Query query(selectOrders_);
  query.next();
  return query.integer(0);
}

}  // namespace ackbox::store::sqlite
