#include "store/postgres/inbound/inbox.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/room_share.hpp"
#include "store/application_lines.hpp"
#include "store/decisions/error_text.hpp"
#include "store/digest.hpp"
#include "store/kept_session.hpp"
#include "store/postgres/snapshot_view.hpp"

namespace ackbox::store::postgres {
namespace {

std::string rowSelect(std::string_view rest) {
  return std::string("SELECT owner_id,due_at_ms,id,starts,retry_count,deferred,accepted_at_ms,")
      .append(kFrameColumns)
      .append(" FROM #inbox WHERE id")
      .append(rest);
}

/// A row of `rowSelect`.
struct OwnedRow {
  std::int64_t owner = 0;
  WallTime dueAt{};
  InboxRow row;

  explicit OwnedRow(const Row& found) {
    Columns columns(found);
    columns >> owner >> dueAt >> row.key >> row.starts >> row.retryCount >> row.deferred >> row.acceptedAt;
    row.frame = readFrame(columns);
  }
};

/// A place in the order of commits: the view of which all was returned and, if a view is being read, that one and the
/// last key.
struct Place {
  SnapshotView seen;
  SnapshotView scanned;
  InboxKey last = 0;

  /// `runs`: see `Context`. Of an earlier run, nothing is known to have been seen.
  Place(const std::string& text, std::size_t runs) {
    std::istringstream words(text);
    std::size_t ofRun = 0;
    std::string had;
    std::string scanning;
    if (!(words >> ofRun >> had) || ofRun != runs) {
      return;
    }
    seen = SnapshotView::of(had);
    if (words >> scanning >> last) {
      scanned = SnapshotView::of(scanning);
    }
  }
  [[nodiscard]] std::string text(std::size_t runs) const {
    const std::string had = std::to_string(runs) + " " + seen.text();
    return scanned.snapshot.empty() ? had : had + " " + scanned.text() + " " + std::to_string(last);
  }
};

}  // namespace

InboundFrame readFrame(Columns& columns) {
  InboundFrame frame;
  std::string session;
  columns >> frame.origin >> session >> frame.sequence >> frame.id >> frame.source >> frame.epoch >>
      frame.previousSequence >> frame.type >> frame.audience >> frame.time >> frame.expiresAt >> frame.traceparent >>
      frame.correlationId >> frame.resentOf >> frame.data >> frame.dataContentType;
  frame.mailbox = KeptSession::mailboxOf(session);
  frame.session = KeptSession::sessionOf(session);
  return frame;
}

std::uint64_t Inbox::size() {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, context_.counts.value(Count::inbox)));
}

// As in SQLite's store: one sender's waiting frames may take as much as is left for all.
bool Inbox::isFull(const InboundFrame& frame, const DeferredOptions& limits) {
  const auto amount = [](std::int64_t counted) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, counted));
  };
  const SenderShare own = context_.shares.of(frame.source);
  return hasNoRoom(size(), amount(own.inbox), 0, limits.framesMax) ||
         hasNoRoom(amount(context_.counts.value(Count::inboxBytes)), amount(own.inboxBytes), frame.data.size(),
                   limits.bytesMax);
}

std::optional<InboundLimit> Inbox::limitReached(const InboundFrame& frame, const InboundOptions& limits) {
  const std::optional<InboundLimit> reached = isFull(frame, limits.deferred)
                                                  ? std::optional(InboundLimit::inbox)
                                                  : marks_.resultLimitReached(frame.source, limits.limits);
  if (reached) {
    context_.counts.add(Count::refusedLimits, 1);
  }
  return reached;
}

void Inbox::add(const InboundFrame& frame, bool deferred) {
  const std::size_t added =
      context_.connection
          .run(
              "INSERT INTO #inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,"
              "accepted_at_ms,type,audience,time_ms,expires_at_ms,traceparent,correlation_id,resent_of,data,"
              "data_content_type) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18) ON "
              "CONFLICT DO NOTHING",
              frame.origin, KeptSession(frame).name(), frame.sequence, frame.id, frame.source, frame.epoch,
              frame.previousSequence, deferred, context_.now(), frame.type, NullIfEmpty{frame.audience}, frame.time,
              frame.expiresAt, NullIfEmpty{frame.traceparent}, NullIfEmpty{frame.correlationId},
              NullIfEmpty{frame.resentOf}, Blob{frame.data}, NullIfEmpty{frame.dataContentType})
          .changed();
  if (added != 0) {
    context_.shares.add(frame.source, shareOfWaiting(frame.data.size()));
    context_.counts.add(Count::deferred, 1);
  }
}

std::optional<std::uint64_t> Inbox::firstWaiting(const InboundFrame& frame) {
  const Result result = context_.connection.run(
      "SELECT sequence FROM #inbox WHERE source=$1 AND origin=$2 AND session=$3 AND sequence>0 ORDER BY sequence LIMIT "
      "1",
      frame.source, frame.origin, KeptSession(frame).name());
  return result.empty() ? std::nullopt : std::optional(result.front().as<std::uint64_t>(0));
}

bool Inbox::waits(const InboundIdentity& frame) {
  return size() > 0 &&
         !context_.connection
              .run("SELECT 1 FROM #inbox WHERE origin=$1 AND session=$2 AND sequence=$3 AND frame_id=$4 AND source=$5",
                   frame.origin, frame.session, frame.sequence, frame.id, frame.source)
              .empty();
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
  const Result result = context_.connection.run(
      "SELECT frame_id,type,data FROM #inbox WHERE source=$1 AND origin=$2 AND session=$3 AND sequence=$4",
      frame.source, frame.origin, frame.session, frame.sequence);
  if (result.empty()) {
    return Admission::duplicate;
  }
  const Row row = result.front();
  if (row.view(0) != frame.id) {
    return Admission::numberTaken;
  }
  return digestOf(row.view(1), row.text(2)) == frame.digest ? Admission::duplicate : Admission::idConflict;
}

NewInboxRows Inbox::rowsAfter(const InboxCursor& after, std::size_t limit) {
  static const NewRowsSql kNewRows("inbox", "i");
  constexpr std::string_view kNewColumns =
      "i.id,i.source,i.origin,i.session,i.sequence,i.type,i.accepted_at_ms,i.expires_at_ms";
  static const std::string kAll = kNewRows.select(NewRowsSql::Rows::all, kNewColumns);
  static const std::string kFresh = kNewRows.select(NewRowsSql::Rows::fresh, kNewColumns);
  static const std::string kFurther = kNewRows.select(NewRowsSql::Rows::further, kNewColumns);
  NewInboxRows found{.rows = {}, .next = after};
  Place place(after.place, context_.runs);
  while (found.rows.size() < limit) {
    const bool isNewScan = place.scanned.snapshot.empty();
    if (isNewScan) {
      place.scanned = SnapshotView::now(context_.connection, "#inbox");
      place.last = 0;
    }
    const std::size_t wanted = limit - found.rows.size();
    Parameters parameters;
    NewRowsSql::add(parameters, place.last, wanted, place.scanned, place.seen);
    const std::string& sql = place.seen.snapshot.empty() ? kAll : isNewScan ? kFresh : kFurther;
    const Result result = context_.connection.runWith(sql, parameters);
    for (const Row& row : result) {
      // Names have no control characters, so newlines separate them.
      found.rows.push_back({row.integer(0),
                            row.integer(4) != 0 ? row.text(1) + '\n' + row.text(2) + '\n' + row.text(3) : row.text(0),
                            row.text(5), row.text(1), std::string(KeptSession::sessionOf(row.view(3))),
                            std::string(KeptSession::mailboxOf(row.view(3))), row.instant(6), row.optionalInstant(7)});
      place.last = row.integer(0);
    }
    if (result.size() < wanted) {
      place.seen = std::exchange(place.scanned, {});
      if (isNewScan) {
        break;
      }
    }
  }
  found.next.place = place.text(context_.runs);
  return found;
}

std::vector<InboxKey> Inbox::missing(std::span<const InboxKey> keys) {
  return context_.connection
      .run(
          "SELECT k.id FROM unnest($1::bigint[]) AS k(id) WHERE NOT EXISTS(SELECT 1 FROM #inbox AS i WHERE i.id=k.id) "
          "ORDER BY k.id",
          arrayOf(keys))
      .integers();
}

// A row that another transaction is changing is busy.
std::vector<InboxClaim> Inbox::claim(std::span<const InboxKey> keys, std::chrono::milliseconds waitMax) {
  static const std::string kSelect = rowSelect("=ANY($1::bigint[]) FOR UPDATE SKIP LOCKED");
  const WallTime now = context_.now();
  std::map<InboxKey, InboxClaim> claims;
  std::vector<InboxKey> taken;
  for (const Row& found : context_.connection.run(kSelect, arrayOf(keys))) {
    OwnedRow owned(found);
    InboxClaim& claim = claims[owned.row.key];
    claim.dueAt = owned.dueAt;
    if (owned.owner != 0 && owned.owner != context_.owner) {
      claim.kind = InboxClaim::Kind::busy;
    } else if (owned.dueAt > now && owned.dueAt <= now + waitMax) {
      claim.kind = InboxClaim::Kind::notDue;
    } else {
      claim.kind = InboxClaim::Kind::taken;
      claim.row = std::move(owned.row);
      ++claim.row.starts;
      taken.push_back(claim.row.key);
    }
  }
  if (claims.size() < keys.size()) {
    for (const Row& row : context_.connection.run("SELECT id FROM #inbox WHERE id=ANY($1::bigint[])", arrayOf(keys))) {
      InboxClaim& claim = claims[row.integer(0)];
      claim.kind = claim.kind == InboxClaim::Kind::gone ? InboxClaim::Kind::busy : claim.kind;
    }
  }
  if (!taken.empty()) {
    context_.connection.run(
        "UPDATE #inbox SET starts=starts+1, owner_id=$2, started_at_ms=$3 WHERE id=ANY($1::bigint[])", arrayOf(taken),
        context_.owner, now);
  }
  std::vector<InboxClaim> replies;
  replies.reserve(keys.size());
  for (const InboxKey key : keys) {
    replies.push_back(std::move(claims[key]));
  }
  return replies;
}

std::vector<bool> Inbox::holds(std::span<const InboxStart> claims) {
  std::vector<InboxKey> keys;
  for (const InboxStart& claim : claims) {
    keys.push_back(claim.key);
  }
  // Locked, so that a claim that is held is held until the end of the transaction.
  std::map<InboxKey, std::uint32_t> starts;
  for (const Row& row : context_.connection.run(
           "SELECT id,starts FROM #inbox WHERE id=ANY($1::bigint[]) AND owner_id=$2 ORDER BY id FOR UPDATE",
           arrayOf(keys), context_.owner)) {
    starts.emplace(row.integer(0), row.as<std::uint32_t>(1));
  }
  std::vector<bool> held;
  held.reserve(claims.size());
  for (const InboxStart& claim : claims) {
    const auto found = starts.find(claim.key);
    held.push_back(found != starts.end() && found->second == claim.starts);
  }
  return held;
}

void Inbox::markDeferred(std::span<const InboxKey> keys) {
  context_.connection.run("UPDATE #inbox SET deferred=true WHERE id=ANY($1::bigint[])", arrayOf(keys));
}

void Inbox::finish(std::span<const InboxEnding> ends, std::chrono::milliseconds retention) {
  remove(ends);
  for (const InboxEnding& end : ends) {
    results_.keep(end, retention);
  }
}

void Inbox::remove(std::span<const InboxEnding> ends) {
  std::vector<InboxKey> keys;
  for (const InboxEnding& end : ends) {
    keys.push_back(end.row->key);
  }
  if (context_.connection.run("DELETE FROM #inbox WHERE id=ANY($1::bigint[])", arrayOf(keys)).changed() !=
      ends.size()) {
    // The frame's effects would be repeated.
    throw Error(Errc::databaseCorrupt, "foreign statements deleted rows of the inbox that are running");
  }
  for (const InboxEnding& end : ends) {
    const InboundFrame& frame = end.row->frame;
    context_.counts.add(Count::received, end.result->outcome == Outcome::ack ? 1 : 0);
    context_.shares.add(frame.source, -shareOfWaiting(frame.data.size()));
  }
}

void Inbox::retry(std::span<const InboxRetry> runs) {
  ArrayText columns[3];
  for (const InboxRetry& run : runs) {
    columns[0].add(run.key);
    columns[1].add(run.dueAt);
    // `verify` requires a reason for each charged run.
    columns[2].add(run.error.empty() ? std::string_view("not-now") : truncatedError(run.error));
  }
  context_.connection.run(
      "UPDATE #inbox AS i SET owner_id=0, retry_count=i.retry_count+1, due_at_ms=u.due, last_error=u.error, "
      "failed_at_ms=$4 FROM unnest($1::bigint[],$2::bigint[],$3::text[]) AS u(id,due,error) WHERE i.id=u.id",
      columns[0].text(), columns[1].text(), columns[2].text(), context_.now());
}

void Inbox::release(std::span<const InboxKey> keys) {
  context_.connection.run("UPDATE #inbox SET owner_id=0 WHERE id=ANY($1::bigint[]) AND owner_id=$2", arrayOf(keys),
                          context_.owner);
}

void Inbox::addHandlers(std::int64_t difference) {
  owners_.addHandlers(difference);
}

void Inbox::noteApplications(std::span<const Application> applications) {
  owners_.noteApplications(applicationLines(applications));
}

InboxKey Inbox::find(std::string_view source, std::string_view messageId) {
  const Result result = context_.connection.run(
      "SELECT id FROM #inbox WHERE source=$1 AND frame_id=$2 ORDER BY id LIMIT 1", source, messageId);
  return result.empty() ? 0 : result.front().integer(0);
}

InboxChange Inbox::lookAt(InboxKey key) {
  static const std::string kSelect = rowSelect("=$1 FOR UPDATE");
  InboxChange change;
  const Result result = context_.connection.run(kSelect, key);
  if (result.empty()) {
    change.receipt.refusal = Errc::unknownMessage;
    return change;
  }
  OwnedRow owned(result.front());
  change.row = std::move(owned.row);
  change.receipt.sequence = change.row.frame.sequence;
  if (owned.owner != 0) {
    // A run of the row is under way.
    change.receipt.state = InboxState::running;
    change.receipt.refusal = Errc::invalidTransition;
  } else if (owned.dueAt > context_.now()) {
    change.receipt.state = InboxState::backoff;
  }
  return change;
}

InboxChange Inbox::retryNow(InboxKey key) {
  InboxChange change = lookAt(key);
  if (change.receipt.done()) {
    context_.connection.run("UPDATE #inbox SET due_at_ms=0, retry_count=0 WHERE id=$1", key);
    context_.connection.run("UPDATE #meta SET inbox_orders=inbox_orders+1");
  }
  return change;
}

InboxChange Inbox::discard(InboxKey key, const FrameResult& result, std::chrono::milliseconds retention) {
  InboxChange change = lookAt(key);
  if (change.receipt.done()) {
    const InboxEnding end{&change.row, &result};
    remove({&end, 1});
    results_.keepDiscarded(end, retention);
    context_.connection.run("UPDATE #meta SET inbox_orders=inbox_orders+1");
  }
  return change;
}

std::int64_t Inbox::operatorChanges() {
  return context_.connection.run("SELECT inbox_orders FROM #meta").front().integer(0);
}

}  // namespace ackbox::store::postgres
