#include "store/sqlite/outbound/dead_letters.hpp"

#include <vector>

#include "base/error_fingerprint.hpp"
#include "store/decisions/error_text.hpp"
#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {

using delivery::Next;
using delivery::Transition;

DeadLetters::DeadLetters(Context& context, Outbox& outbox, Settles& settles, Holds& holds)
    : context_(context),
      outbox_(outbox),
      settles_(settles),
      holds_(holds),
      locate_(context.prepare(std::string("SELECT o.id,o.session_id,p.id,s.name,")
                                  .append(kRowState)
                                  .append(",o.sequence,p.name,o.last_error,o.expires_at_ms FROM #outbox AS o JOIN "
                                          "#sessions AS s ON s.id=o.session_id JOIN "
                                          "#peers AS p ON p.id=s.peer_id WHERE o.id=")
                                  .append(keyOfMessage()))),
      highest_(context.prepare("SELECT max(id) FROM #outbox")),
      choose_(context.prepare(deadLetterSelect("o.id,o.session_id,p.id,s.name,o.sequence,o.last_error"))),
      placeOfAcked_(context.prepare(
          std::string("SELECT o.id,o.session_id,p.id,s.name,o.sequence,")
              .append(kMessageId)
              .append(" FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id "
                      "WHERE o.id=?1 AND o.state=3 AND (o.expires_at_ms IS NULL OR o.expires_at_ms>?2)"))) {}

HandChange DeadLetters::change(std::string_view messageId, Transition transition, std::string_view reason) {
  HandChange made;
  Place place{};
  bool hasExpired = false;
  context_.gathered.flush();
  context_.inFlight.claims.flush();
  {
    Query query(locate_, messageId);
    if (!query.next()) {
      made.receipt.refusal = Errc::unknownMessage;
      return made;
    }
    place = {query.integer(0), query.integer(1), query.integer(2), query.text(3), query.as<std::uint64_t>(5)};
    made.receipt.state = query.as<MessageState>(4);
    made.receipt.sequence = query.as<std::uint64_t>(5);
    made.message = {place.key, place.session, std::string(messageId), made.receipt.sequence};
    made.peer = query.text(6);
    made.session = place.sessionName;
    made.lastError = query.text(7);
    hasExpired = query.optionalInstant(8).value_or(WallTime::max()) <= context_.clock.wallNow();
  }
  // Only its owner may settle a message in flight; the transition table's `fail` is for that owner.
  const bool inFlight = made.receipt.state == MessageState::sending;
  const bool isMove = transition == Transition::redrive || transition == Transition::repeat;
  if (inFlight || delivery::next(made.receipt.state, transition) == Next::illegal ||
      (transition == Transition::repeat && hasExpired)) {
    made.receipt.refusal = Errc::invalidTransition;
  } else if (isMove) {
    made.receipt.sequence =
        redrive(place, made.receipt.state, transition == Transition::repeat ? messageId : std::string_view());
  } else {
    // A dead letter always has a reason.
    made.reason = reason.empty() ? std::string_view("marked-failed") : truncatedError(reason);
    // The guard cannot fail: the state was read in this transaction.
    static_cast<void>(settle(place, made.receipt.state, transition, made.reason));
  }
  return made;
}

SliceReport DeadLetters::change(const DeadLetterSlice& slice, Transition transition, std::size_t looks) {
  context_.gathered.flush();
  SliceReport report;
  report.next = slice;
  if (slice.until == 0) {
    report.next.until = highestKey();
  }
  std::vector<Place> chosen;
  std::size_t looked = 0;
  {
    const DeadLetterFilter& filter = slice.filter;
    Query query(choose_, slice.after, report.next.until, looks, filter.peer, filter.session, filter.reason,
                failedBefore(filter, context_.clock.wallNow()), filter.retriesBelow, filter.error, filter.type);
    const ErrorForm form(filter.errorLike);
    for (; query.next(); ++looked) {
      report.next.after = query.integer(0);
      if (query.integer(6) != 0 && form.fits(query.view(5))) {
        chosen.push_back(
            {query.integer(0), query.integer(1), query.integer(2), query.text(3), query.as<std::uint64_t>(4)});
      }
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
  report.more = looked == looks;
  return report;
}

std::uint64_t DeadLetters::repeat(std::span<const delivery::MessageKey> keys) {
  context_.gathered.flush();
  std::uint64_t count = 0;
  for (const delivery::MessageKey key : keys) {
    std::optional<Place> place;
    std::string messageId;
    if (Query query(placeOfAcked_, key, context_.clock.wallNow()); query.next()) {
      place = {query.integer(0), query.integer(1), query.integer(2), query.text(3), query.as<std::uint64_t>(4)};
      messageId = query.text(5);
    }
    if (place) {
      static_cast<void>(redrive(*place, MessageState::acked, messageId));
      ++count;
    }
  }
  return count;
}

delivery::MessageKey DeadLetters::highestKey() {
  context_.gathered.flush();
  Query query(highest_);
  query.next();
  return query.integer(0);
}

std::uint64_t DeadLetters::redrive(const Place& place, MessageState from, std::string_view repeatedId) {
  if (from == MessageState::failed) {
    holds_.endBlock(place.session, place.key);
  }
  return outbox_.redrive({.from = from,
                          .key = place.key,
                          .session = place.session,
                          .peer = place.peer,
                          .sessionName = place.sessionName,
                          .sequence = place.sequence,
                          .repeatedId = repeatedId});
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
  // Without the hint and the order of the joins, the planner may walk the whole table by its key.
  return "SELECT " + std::string(columns) +
         ",(?4 IS NULL OR p.name=?4) AND (?5 IS NULL OR s.name=?5) AND (?6 IS NULL OR o.reason=?6) AND "
         "o.due_at_ms<=?7 AND (?8=0 OR o.retry_count<?8) AND (?9 IS NULL OR instr(o.last_error,?9)>0) AND "
         "(?10 IS NULL OR o.type=?10) FROM #outbox AS "
         "o INDEXED BY #outbox_failed CROSS JOIN "
         "#sessions AS s ON s.id=o.session_id CROSS JOIN #peers AS p ON p.id=s.peer_id WHERE o.state=4 AND o.id>?1 AND "
         "o.id<=?2 ORDER BY o.id LIMIT ?3";
}

WallTime failedBefore(const DeadLetterFilter& filter, WallTime now) {
  return filter.olderThan.count() > 0 ? now - filter.olderThan : WallTime::max();
}

}  // namespace ackbox::store::sqlite
