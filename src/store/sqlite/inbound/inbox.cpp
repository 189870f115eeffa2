#include "store/sqlite/inbound/inbox.hpp"

#include <algorithm>
#include <limits>

#include "store/application_lines.hpp"
#include "store/digest.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"
#include "store/sqlite/peers/peers.hpp"

namespace ackbox::store::sqlite {
namespace {

// A redrive gives a frame of a session a new number, and one outside sessions a later instant, which stands in the
// place of the number where an outcome is kept. 0: it does not say.
std::uint64_t redriveNumberOf(const std::optional<WallTime>& time) {
  return time ? static_cast<std::uint64_t>(std::max<std::int64_t>(1, time->time_since_epoch().count())) : 0;
}

InboundIdentity nameOf(const InboundFrame& frame) {
  InboundIdentity name;
  name.source = frame.source;
  name.id = frame.id;
  name.origin = frame.origin;
  name.session = frame.session;
  name.sequence = frame.sequence;
  return name;
}

// Outside sessions one outcome is kept of a frame, of whatever number.
std::uint64_t lastNumberOf(const InboundIdentity& frame) {
  return frame.sequence == 0 ? std::numeric_limits<std::int64_t>::max() : frame.sequence;
}

}  // namespace

Inbox::Inbox(Context& context, InboundMarks& marks)
    : context_(context),
      marks_(marks),
      insert_(context.prepare(
          "INSERT INTO #inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,accepted_at_ms,"
          "type,audience,time_ms,expires_at_ms,traceparent,correlation_id,data,data_content_type,"
          "checksum) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18) ON CONFLICT DO NOTHING")),
      selectFirst_(context.prepare("SELECT sequence FROM #inbox WHERE source=?1 AND origin=?2 AND session=?3 AND "
                                   "sequence>0 ORDER BY sequence LIMIT 1")),
      selectWaiting_(context.prepare(
          "SELECT 1 FROM #inbox WHERE origin=?1 AND session=?2 AND sequence=?3 AND frame_id=?4 AND source=?5")),
      selectNumber_(context.prepare("SELECT frame_id,type,data FROM #inbox WHERE source=?1 AND origin=?2 AND "
                                    "session=?3 AND sequence=?4")),
      selectResult_(
          context.prepare("SELECT outcome,code,detail,result,sequence FROM #inbox_results WHERE frame_id=?1 AND "
                          "source=?2 AND origin=?3 AND session=?4 AND sequence BETWEEN ?5 AND ?6")),
      selectAfter_(context.prepare(
          "SELECT id,source,origin,session,sequence,type FROM #inbox WHERE id>?1 ORDER BY id LIMIT ?2")),
      selectRow_(context.prepare(
          std::string("SELECT owner_id,due_at_ms,").append(kInboxColumns).append(" FROM #inbox WHERE id=?1"))),
      selectName_(context.prepare("SELECT source,origin,session,sequence,frame_id FROM #inbox INDEXED BY "
                                  "sqlite_autoindex_#inbox_1 WHERE +id=?1")),
      claim_(context.prepare("UPDATE #inbox SET owner_id=?2, starts=starts+1, started_at_ms=?3 WHERE id=?1")),
      holds_(context.prepare("SELECT 1 FROM #inbox WHERE id=?1 AND owner_id=?2 AND starts=?3")),
      markDeferred_(context.prepare("UPDATE #inbox SET deferred=1 WHERE id=?1")),
      remove_(context.prepare("DELETE FROM #inbox WHERE id=?1")),
      dropResult_(context.prepare(
          "DELETE FROM #inbox_results WHERE frame_id=?1 AND source=?2 AND origin=?3 AND session=?4 "
          "AND sequence BETWEEN ?5 AND ?6 RETURNING length(CAST(coalesce(code,'')||coalesce(detail,'')||"
          "coalesce(result,'') AS BLOB))")),
      keepResult_(context.prepare("INSERT INTO #inbox_results(frame_id,source,origin,session,sequence,outcome,"
                                  "code,detail,result,keep_until_ms) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)")),
      unmark_(context.prepare("DELETE FROM #processed_messages WHERE id=?1 AND source=?2")),
      retry_(context.prepare("UPDATE #inbox SET owner_id=0, retry_count=retry_count+1, due_at_ms=?2, last_error=?3, "
                             "failed_at_ms=?4 WHERE id=?1")),
      release_(context.prepare("UPDATE #inbox SET owner_id=0 WHERE id=?1 AND owner_id=?2")),
      purge_(context.prepare(
          "DELETE FROM #inbox_results WHERE (frame_id,source,origin,session,sequence) IN (SELECT "
          "frame_id,source,origin,session,sequence FROM #inbox_results WHERE keep_until_ms<?1 ORDER BY keep_until_ms "
          "LIMIT ?2) RETURNING length(CAST(coalesce(code,'')||coalesce(detail,'')||coalesce(result,'') AS BLOB)),"
          "source,origin,session,frame_id")),
      selectOldResult_(context.prepare("SELECT 1 FROM #inbox_results WHERE keep_until_ms<?1 LIMIT 1")),
      addHandlers_(context.prepare("UPDATE #owners SET deferred_handlers=deferred_handlers+?2 WHERE id=?1")),
      noteApplications_(context.prepare("UPDATE #owners SET applications=?2 WHERE id=?1 AND applications<>?2")),
      find_(context.prepare("SELECT id FROM #inbox WHERE source=?1 AND frame_id=?2 ORDER BY id LIMIT 1")),
      findResult_(context.prepare("SELECT 1 FROM #inbox_results WHERE frame_id=?2 AND source=?1 LIMIT 1")),
      retryNow_(context.prepare("UPDATE #inbox SET due_at_ms=0, retry_count=0 WHERE id=?1")),
      countOrder_(context.prepare("UPDATE #meta SET inbox_orders=inbox_orders+1")),
      selectOrders_(context.prepare("SELECT inbox_orders FROM #meta")) {}

std::uint64_t Inbox::size() {
  return static_cast<std::uint64_t>(context_.counters.value(Counter::inbox));
}

// What one sender has waiting may be as much as is left for all, so that each of several gets a similar share. An
// eighth is kept for senders that have nothing waiting.
bool Inbox::isFull(const InboundFrame& frame, const DeferredOptions& limits) {
  const auto gauge = [this](Counter counter) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, context_.counters.value(counter)));
  };
  const SenderShare& own = context_.shares.of(frame.source);
  const auto hasNoRoom = [](std::uint64_t all, std::int64_t ownPart, std::uint64_t more, std::uint64_t most) {
    constexpr std::uint64_t kKeptPart = 8;
    const std::uint64_t left = all < most ? most - all : 0;
    // A sender that has nothing here may be longer than its share.
    return left == 0 || (ownPart > 0 && static_cast<std::uint64_t>(ownPart) + more + most / kKeptPart > left);
  };
  return hasNoRoom(gauge(Counter::inbox), own.inbox, 0, limits.framesMax) ||
         hasNoRoom(gauge(Counter::inboxBytes), own.inboxBytes, frame.data.size(), limits.bytesMax);
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
      Query(insert_, frame.origin, frame.session, frame.sequence, frame.id, frame.source, frame.epoch,
            frame.previousSequence, deferred, context_.clock.wallNow(), frame.type, NullIfEmpty{frame.audience},
            frame.time, frame.expiresAt, NullIfEmpty{frame.traceparent}, NullIfEmpty{frame.correlationId},
            Blob{frame.data}, NullIfEmpty{frame.dataContentType}, checksumOf(frame))
          .run();
  if (added != 0) {
    context_.shares.add(frame.source, shareOfWaiting(frame.data.size()));
  }
  context_.counters.add(Counter::deferred, static_cast<std::int64_t>(added));
}

std::optional<std::uint64_t> Inbox::firstWaiting(const InboundFrame& frame) {
  Query query(selectFirst_, frame.source, frame.origin, frame.session);
  return query.next() ? std::optional(query.as<std::uint64_t>(0)) : std::nullopt;
}

bool Inbox::waits(const InboundIdentity& frame) {
  return size() > 0 &&
         Query(selectWaiting_, frame.origin, frame.session, frame.sequence, frame.id, frame.source).next();
}

std::optional<FrameResult> Inbox::resultOf(const InboundIdentity& frame) {
  FrameResult result;
  if (waits(frame)) {
    result.outcome = Outcome::defer;
    return result;
  }
  Query query(selectResult_, frame.id, frame.source, frame.origin, frame.session, frame.sequence, lastNumberOf(frame));
  if (!query.next()) {
    return std::nullopt;
  }
  result.outcome = query.as<Outcome>(0);
  result.code = query.text(1);
  result.detail = query.text(2);
  result.result = query.text(3);
  return result;
}

bool Inbox::takesAnew(const InboundIdentity& frame) {
  if (frame.sequence != 0 || waits(frame)) {
    return false;
  }
  {
    Query query(selectResult_, frame.id, frame.source, frame.origin, frame.session, frame.sequence,
                lastNumberOf(frame));
    const std::uint64_t refused = query.next() ? query.as<std::uint64_t>(4) : 0;
    // A request that comes late is about an earlier instant.
    if (refused == 0 || redriveNumberOf(frame.time) <= refused) {
      return false;
    }
  }
  dropResult(frame);
  const std::string id = markId(frame.session, frame.id);
  if (Query(unmark_, id, frame.source).run() != 0) {
    context_.shares.add(frame.source, -shareOfMark(frame.source, id));
  }
  return true;
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

// SQLite's writers take turns: keys are in the order of commits, so the last key is the place.
NewInboxRows Inbox::rowsAfter(const InboxCursor& after, std::size_t limit) {
  NewInboxRows found{.rows = {}, .next = after};
  Query query(selectAfter_, after.place.empty() ? 0 : std::stoll(after.place), limit);
  while (query.next()) {
    // No name has control characters, so newlines keep them apart.
    found.rows.push_back(
        {query.integer(0),
         query.integer(4) != 0 ? query.text(1) + '\n' + query.text(2) + '\n' + query.text(3) : query.text(0),
         query.text(5)});
  }
  if (!found.rows.empty()) {
    found.next.place = std::to_string(found.rows.back().key);
  }
  return found;
}

InboxClaim Inbox::claim(InboxKey key, std::chrono::milliseconds waitMax) {
  InboxClaim reply;
  {
    Query query(selectRow_, key);
    if (!query.next()) {
      return reply;
    }
    Columns columns(query);
    const auto owner = columns.next<std::int64_t>();
    columns >> reply.dueAt;
    if (owner != 0 && owner != context_.owner) {
      reply.kind = InboxClaim::Kind::busy;
      return reply;
    }
    const WallTime now = context_.clock.wallNow();
    if (reply.dueAt > now && reply.dueAt <= now + waitMax) {
      reply.kind = InboxClaim::Kind::notDue;
      return reply;
    }
    reply.row = readRow(columns);
  }
  if (reply.row.isDamaged) {
    nameByIndex(reply.row);
  }
  Query(claim_, key, context_.owner, context_.clock.wallNow()).run();
  ++reply.row.starts;
  reply.kind = InboxClaim::Kind::taken;
  return reply;
}

// The index has the names once more: under those the sender knows the frame. When it was enqueued is not to be
// believed.
void Inbox::nameByIndex(InboxRow& row) {
  Query query(selectName_, row.key);
  if (query.next()) {
    InboundFrame& frame = row.frame;
    Columns columns(query);
    columns >> frame.source >> frame.origin >> frame.session >> frame.sequence >> frame.id;
  }
  row.frame.time.reset();
}

bool Inbox::holds(InboxKey key, std::uint32_t starts) {
  return Query(holds_, key, context_.owner, starts).next();
}

void Inbox::markDeferred(InboxKey key) {
  Query(markDeferred_, key).run();
}

void Inbox::finish(const InboxRow& row, const FrameResult& result, std::chrono::milliseconds retention) {
  const bool processed = result.outcome == Outcome::ack;
  const InboundFrame& frame = row.frame;
  remove(row, processed);
  const WallTime keepUntil = remember(frame, retention);
  if (!processed || !result.result.empty()) {
    const bool isRefusedAlone = !processed && frame.sequence == 0;
    keepResult(frame, isRefusedAlone ? redriveNumberOf(frame.time) : frame.sequence, result, keepUntil);
  }
}

WallTime Inbox::remember(const InboundFrame& frame, std::chrono::milliseconds retention) {
  const WallTime least = context_.clock.wallNow() + retention;
  return frame.sequence == 0 ? marks_.prolong(frame, least) : least;
}

void Inbox::remove(const InboxRow& row, bool processed) {
  const auto removed = static_cast<std::int64_t>(Query(remove_, row.key).run());
  context_.counters.add(Counter::received, processed ? removed : 0);
  if (removed != 0) {
    context_.shares.add(row.frame.source, -shareOfWaiting(row.frame.data.size()));
  }
}

void Inbox::keepResult(const InboundFrame& frame, std::uint64_t number, const FrameResult& result, WallTime keepUntil) {
  const std::string_view detail = truncatedError(result.detail);
  dropResult(nameOf(frame));
  Query(keepResult_, frame.id, frame.source, frame.origin, frame.session, number, result.outcome,
        NullIfEmpty{result.code}, NullIfEmpty{detail}, NullIfEmpty{result.result}, keepUntil)
      .run();
  context_.shares.add(frame.source, shareOfResult(frame.source, frame.origin, frame.session, frame.id,
                                                  result.code.size() + detail.size() + result.result.size()));
}

void Inbox::dropResult(const InboundIdentity& frame) {
  for (Query query(dropResult_, frame.id, frame.source, frame.origin, frame.session, frame.sequence,
                   lastNumberOf(frame));
       query.next();) {
    context_.shares.add(frame.source,
                        -shareOfResult(frame.source, frame.origin, frame.session, frame.id, query.as<std::size_t>(0)));
  }
}

void Inbox::retry(InboxKey key, WallTime dueAt, std::string_view error) {
  // Where it is charged, `verify` wants to be able to say why.
  const std::string_view text = error.empty() ? std::string_view("not-now") : truncatedError(error);
  Query(retry_, key, dueAt, text, context_.clock.wallNow()).run();
}

void Inbox::release(InboxKey key) {
  Query(release_, key, context_.owner).run();
}

// A look costs a tenth of a deletion that finds nothing, and each completion asks.
void Inbox::purge(std::size_t limit) {
  const WallTime now = context_.clock.wallNow();
  if (!Query(selectOldResult_, now).next()) {
    return;
  }
  for (Query query(purge_, now, limit); query.next();) {
    const std::string source = query.text(1);
    context_.shares.add(source,
                        -shareOfResult(source, query.view(2), query.view(3), query.view(4), query.as<std::size_t>(0)));
  }
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
  return Query(findResult_, source, messageId).next();
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
    // Its outcome is on the way.
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

// Unlike one that its handler refused, it must not come back by a redrive either: the outcome is about any number.
InboxChange Inbox::discard(InboxKey key, const FrameResult& result, std::chrono::milliseconds retention) {
  InboxChange change = lookAt(key);
  if (change.receipt.done()) {
    remove(change.row, false);
    keepResult(change.row.frame, change.row.frame.sequence, result, remember(change.row.frame, retention));
    Query(countOrder_).run();
  }
  return change;
}

std::int64_t Inbox::orders() {
  Query query(selectOrders_);
  query.next();
  return query.integer(0);
}

}  // namespace ackbox::store::sqlite
