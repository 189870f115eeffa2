#include "store/postgres/outbound/dead_letters.hpp"

#include <utility>
#include <vector>

#include "base/error_fingerprint.hpp"
#include "store/decisions/error_text.hpp"
#include "store/postgres/outbound/claims.hpp"

namespace ackbox::store::postgres {

using delivery::Next;
using delivery::Transition;

// The row is locked first: a claim of it is over, or waits.
HandChange DeadLetters::change(std::string_view messageId, Transition transition, std::string_view reason) {
  HandChange made;
  context_.flushRows();
  const Result result = context_.connection.run(
      "SELECT o.id,o.session_id,s.peer_id,s.name,s.lane,o.sequence,o.state,p.name,coalesce(o.last_error,''),"
      "o.expires_at_ms FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id "
      "WHERE o.message_id=$1 FOR NO KEY UPDATE OF o",
      messageId);
  if (result.empty()) {
    made.receipt.refusal = Errc::unknownMessage;
    return made;
  }
  const Row row = result.front();
  Place place;
  Columns columns(row);
  columns >> place.key >> place.session >> place.peer >> place.sessionName >> place.lane >> place.sequence >>
      made.receipt.state >> made.peer >> made.lastError;
  static const std::string kClaimed =
      "SELECT 1 FROM #outbox AS o WHERE o.id=$1 AND " + std::string(kClaimant) + " IS NOT NULL";
  const bool hasExpired = row.optionalInstant(9).value_or(WallTime::max()) <= context_.now();
  if (made.receipt.state == MessageState::pending && !context_.connection.run(kClaimed, place.key).empty()) {
    made.receipt.state = MessageState::sending;
  }
  made.receipt.sequence = place.sequence;
  made.message = {place.key, place.session, std::string(messageId), place.sequence};
  made.session = place.sessionName;
  // Only its owner may settle a message in flight; the transition table's `fail` is for that owner.
  const bool isInFlight = made.receipt.state == MessageState::sending;
  const bool isMove = transition == Transition::redrive || transition == Transition::repeat;
  if (isInFlight || delivery::next(made.receipt.state, transition) == Next::illegal ||
      (transition == Transition::repeat && hasExpired)) {
    made.receipt.refusal = Errc::invalidTransition;
  } else if (isMove) {
    made.receipt.sequence = redrive(place, made.receipt.state);
  } else {
    // A dead letter always has a reason.
    made.reason = reason.empty() ? "marked-failed" : truncatedError(reason);
    // The guard cannot fail: the row is locked.
    static_cast<void>(settle(place, made.receipt.state, transition, made.reason));
  }
  return made;
}

SliceReport DeadLetters::change(const DeadLetterSlice& slice, Transition transition, std::size_t looks) {
  context_.flushRows();
  SliceReport report;
  report.next = slice;
  if (slice.until == 0) {
    report.next.until = highestKey();
  }
  static const std::string kChoose =
      deadLetterSelect("o.id,o.session_id,s.peer_id,s.name,s.lane,o.sequence,coalesce(o.last_error,'')") +
      " FOR NO KEY UPDATE OF o";
  Parameters parameters(slice.after, report.next.until, looks);
  addFilter(parameters, slice.filter, context_.now());
  const Result result = context_.connection.runWith(kChoose, parameters);
  const ErrorForm form(slice.filter.errorLike);
  std::vector<Place> chosen;
  for (const Row& row : result) {
    report.next.after = row.integer(0);
    if (row.integer(7) != 0 && form.fits(row.view(6))) {
      Place& place = chosen.emplace_back();
      Columns columns(row);
      columns >> place.key >> place.session >> place.peer >> place.sessionName >> place.lane >> place.sequence;
    }
  }
  for (const Place& place : chosen) {
    if (transition == Transition::redrive) {
      static_cast<void>(redrive(place, MessageState::failed));
    } else {
      static_cast<void>(settle(place, MessageState::failed, transition, {}));
    }
  }
  report.changed = chosen.size();
  report.more = result.size() == looks;
  return report;
}

std::uint64_t DeadLetters::repeat(std::span<const delivery::MessageKey> keys) {
  context_.flushRows();
  const Result result = context_.connection.run(
      "SELECT o.id,o.session_id,s.peer_id,s.name,s.lane,o.sequence FROM #outbox AS o JOIN #sessions AS s ON "
      "s.id=o.session_id WHERE o.id=ANY($1::bigint[]) AND o.state=3 AND (o.expires_at_ms IS NULL OR "
      "o.expires_at_ms>$2) ORDER BY array_position($1::bigint[],o.id) FOR NO KEY UPDATE OF o",
      arrayOf(keys), context_.now());
  for (const Row& row : result) {
    Place place;
    Columns columns(row);
    columns >> place.key >> place.session >> place.peer >> place.sessionName >> place.lane >> place.sequence;
    static_cast<void>(redrive(place, MessageState::acked));
  }
  return result.size();
}

delivery::MessageKey DeadLetters::highestKey() {
  context_.flushRows();
  return context_.connection.run("SELECT coalesce(max(id),0) FROM #outbox").front().integer(0);
}

std::uint64_t DeadLetters::redrive(const Place& place, MessageState from) {
  if (from == MessageState::failed) {
    holds_.endBlock(place.session, place.key);
  }
  return outbox_.redrive({.from = from,
                          .key = place.key,
                          .peer = place.peer,
                          .sessionName = place.sessionName,
                          .lane = place.lane,
                          .sequence = place.sequence});
}

std::optional<SettledMessage> DeadLetters::settle(const Place& place, MessageState from, Transition transition,
                                                  std::string_view reason) {
  if (transition == Transition::discard) {
    holds_.endBlock(place.session, place.key);
  }
  delivery::Settlement settlement;
  settlement.key = place.key;
  settlement.session = place.session;
  settlement.from = from;
  settlement.transition = transition;
  settlement.reason = reason;
  return settles_.settle({&settlement, 1}).front();
}

std::string deadLetterSelect(std::string_view columns) {
  return "SELECT " + std::string(columns) +
         ",($4::text IS NULL OR p.name=$4) AND ($5::text IS NULL OR s.name=$5) AND ($6::text IS NULL OR o.reason=$6) "
         "AND o.due_at_ms<=$7::bigint AND ($8::bigint=0 OR o.retry_count<$8) AND ($9::text IS NULL OR "
         "strpos(o.last_error,$9)>0) AND ($10::text IS NULL OR o.type=$10) FROM #outbox AS o JOIN #sessions AS s ON "
         "s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id WHERE o.state=4 AND o.id>$1::bigint AND "
         "o.id<=$2::bigint ORDER BY o.id LIMIT $3::bigint";
}

void addFilter(Parameters& parameters, const DeadLetterFilter& filter, WallTime now) {
  const WallTime before = filter.olderThan.count() > 0 ? now - filter.olderThan : WallTime::max();
  parameters.add(filter.peer, filter.session, filter.reason, before, filter.retriesBelow, filter.error, filter.type);
}

}  // namespace ackbox::store::postgres
