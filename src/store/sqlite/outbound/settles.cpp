#include "store/sqlite/outbound/settles.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/policies.hpp"
#include "delivery/transition.hpp"
#include "store/decisions/error_text.hpp"
#include "store/sqlite/outbound/attempt_log.hpp"
#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {
namespace {

using delivery::Next;
using delivery::Settlement;
using delivery::Transition;

// ?1 key, ?2 expected state, ?3 number of claims before this one; NULL: any.
constexpr const char* kGuard = " WHERE id=?1 AND state=?2 AND (?3 IS NULL OR attempt=?3)";

constexpr const char* kUpdate =
    "UPDATE #outbox SET state=?4, attempt=attempt+(?3 IS NOT NULL), due_at_ms=?5, retry_count=retry_count+?6, "
    "reason=?7";

// The number of rows that one list removes, at two thirds of the cost of a statement for each; more gain little.
constexpr std::size_t kTogether = 32;
// A list costs as much as this many statements, so fewer rows are removed one by one.
constexpr std::size_t kListedMin = 8;

}  // namespace

Settles::Settles(Context& context, Holds& holds, PeerResets& peerResets)
    : context_(context),
      holds_(holds),
      peerResets_(peerResets),
      attendance_(context),
      vacated_(context.connection.handle(), context.connection.prefix()),
      // Read before the change, in the same transaction: RETURNING creates a table for each row, which costs three
      // times the rest of a settle.
      find_(context.prepare(std::string("SELECT session_id,sequence,length(data),created_at_ms,")
                                .append(kMessageId)
                                .append(" FROM #outbox AS o")
                                .append(kGuard))),
      remove_(context.prepare(std::string("DELETE FROM #outbox") + kGuard)),
      removeMany_(context.prepare("DELETE FROM #outbox WHERE id IN (" + repeated("?", kTogether) + ")")),
      removeRun_(context.prepare("DELETE FROM #outbox WHERE id BETWEEN ?1 AND ?2")),
      keepAcked_(context.prepare(std::string("UPDATE #outbox SET state=3, attempt=attempt+(?3 IS NOT NULL), "
                                             "due_at_ms=?4") +
                                 kGuard)),
      update_(context.prepare(std::string(kUpdate) + kGuard)),
      updateFailed_(context.prepare(std::string(kUpdate) + ",last_error=?8,attempt_log=" + attemptLogged() + kGuard)),
      locate_(context.prepare(
          std::string("SELECT o.id, o.session_id, o.sequence, ")
              .append(kRowState)
              .append(", o.attempt, p.name, s.name, p.agent, p.store, p.resets, o.created_at_ms FROM #outbox AS o "
                      "JOIN #sessions AS s ON s.id=o.session_id "
                      "JOIN #peers AS p ON p.id=s.peer_id WHERE o.id=")
              .append(keyOfMessage()))),
      noteSent_(context.prepare("UPDATE #outbox SET attempt=1 WHERE id=?1 AND attempt=0")),
      selectRecall_(context.prepare("SELECT recall FROM #sessions WHERE id=?1")),
      // Removed one by one: in a single statement, the planner might scan the whole table.
      selectPurged_(context.prepare("SELECT id FROM #outbox INDEXED BY #outbox_acked WHERE state=3 AND due_at_ms<=?1 "
                                    "ORDER BY due_at_ms LIMIT ?2")),
      purge_(context.prepare("DELETE FROM #outbox WHERE id=?1")) {}

std::vector<std::optional<SettledMessage>> Settles::settle(std::span<const Settlement> settlements) {
  std::vector<std::optional<SettledMessage>> settled;
  settled.reserve(settlements.size());
  context_.gathered.flush();
  for (const Settlement& settlement : settlements) {
    settled.push_back(apply(settlement, true));
    if (!settled.back()) {
      context_.counters.add(Counter::staleSettles, 1);
    }
  }
  removeKnown();
  if (!returned_.empty()) {
    // The machine has decided the next step, and takes these rows for settled.
    peerResets_.recall(std::exchange(returned_, {}));
  }
  return settled;
}

// The part of the guard that the row itself does not have. For another owner's row, the caller knows the claim.
bool Settles::isInState(const Settlement& settlement, bool isOwn) {
  ClaimSet& claimed = context_.inFlight.rows;
  switch (settlement.from) {
    case MessageState::sending:
      return !isOwn || claimed.holds(settlement.key);
    case MessageState::pending:
      return !claimed.holds(settlement.key) && !claimed.isForeign(settlement.key);
    default:
      return true;
  }
}

// Whether the answer is from before the peer's reset: the peer has then lost the row that the answer acknowledges.
bool Settles::isForgotten(const Settlement& settlement, delivery::SessionKey session) {
  if (settlement.isAfterReset || settlement.recalls >= context_.recallsMade ||
      (settlement.transition != Transition::ack && settlement.transition != Transition::defer)) {
    return false;
  }
  Query query(selectRecall_, session);
  return query.next() && query.integer(0) > settlement.recalls;
}

std::optional<SettledMessage> Settles::apply(const Settlement& settlement, bool isOwn) {
  const Next next = delivery::next(settlement.from, settlement.transition);
  if (next == Next::illegal || !isSettle(settlement.transition)) {
    throw Error(Errc::invalidTransition, std::string(toString(settlement.from)) + " does not " +
                                             std::string(delivery::toString(settlement.transition)));
  }
  if (!isInState(settlement, isOwn)) {
    return std::nullopt;
  }
  const Guard guard = guardOf(settlement);
  std::optional<Found> found = find(settlement, guard);
  if (!found) {
    return std::nullopt;
  }
  if (isForgotten(settlement, found->facts.session)) {
    Settlement release = settlement;
    release.transition = Transition::release;
    // The settlement's deadline was for an answer that will not come.
    release.dueAt = {};
    static_cast<void>(apply(release, isOwn));
    returned_.insert(found->facts.session);
    return std::nullopt;
  }
  if (found->facts.sequence != 0) {
    noteProof(settlement, next, found->facts, isOwn);
  }
  if (!write(settlement, guard, next, found->isKnown)) {
    return std::nullopt;
  }
  static_cast<void>(context_.claimCache.take(settlement.key));
  RowFacts& facts = found->facts;
  if (settlement.from == MessageState::sending) {
    context_.inFlight.rows.remove(settlement.key);
  }
  if (next == Next::sent) {
    noteAttendance(settlement, facts.session);
  }
  count(settlement, next, facts);
  if (next == Next::failed) {
    finishFailed(settlement);
  }
  return SettledMessage{settlement.key, facts.session, std::move(facts.messageId), facts.sequence};
}

void Settles::noteAttendance(const Settlement& settlement, delivery::SessionKey session) {
  if (settlement.unattendedSince) {
    attendance_.noteNone(settlement.key, session, *settlement.unattendedSince);
  } else {
    attendance_.noteSome(settlement.key, session);
  }
}

// Only an applied answer shows that the peer has the message. A request proves nothing, as its answer may be ignored.
void Settles::noteProof(const Settlement& settlement, Next next, const RowFacts& row, bool isOwn) {
  const bool isAnswer = settlement.transition == Transition::ack || settlement.transition == Transition::defer;
  if (isOwn && isAnswer && settlement.from == MessageState::sending) {
    std::uint64_t& confirmed = context_.inFlight.confirmed[row.session];
    confirmed = std::max(confirmed, row.sequence);
  } else if ((next == Next::acked || next == Next::gone) &&
             row.sequence > context_.states.of(row.session).confirmedSequence) {
    vacated_.keep(settlement.key,
                  next == Next::acked ? VacatedNumbers::Unless::never : VacatedNumbers::Unless::untried);
  }
}

Settles::Guard Settles::guardOf(const Settlement& settlement) {
  if (settlement.from == MessageState::sending) {
    return {MessageState::pending, std::int64_t{settlement.attempt} - 1};
  }
  return {settlement.from, std::nullopt};
}

std::optional<Settles::Found> Settles::find(const Settlement& settlement, const Guard& guard) {
  const auto known = context_.inFlight.facts.find(settlement.key);
  if (known != context_.inFlight.facts.end() && guard.attempt == known->second.attempt) {
    Found found{std::move(known->second), true};
    context_.inFlight.facts.erase(known);
    return found;
  }
  removeKnown();
  Query query(find_, settlement.key, guard.state, guard.attempt);
  if (!query.next()) {
    return std::nullopt;
  }
  return Found{{query.integer(0), query.as<std::uint64_t>(1), query.integer(2), guard.attempt.value_or(0),
                query.instant(3), query.text(4)},
               false};
}

bool Settles::write(const Settlement& settlement, const Guard& guard, Next next, bool isKnown) {
  if (next == Next::acked && context_.options.ackedRetention.count() > 0) {
    return Query(keepAcked_, settlement.key, guard.state, guard.attempt,
                 context_.clock.wallNow() + context_.options.ackedRetention)
               .run() != 0;
  }
  const bool isRemoved = next == Next::acked || next == Next::gone;
  if (isRemoved && isKnown) {
    context_.inFlight.toRemove.push_back(settlement.key);
    return true;
  }
  if (isRemoved) {
    return Query(remove_, settlement.key, guard.state, guard.attempt).run() != 0;
  }
  const bool hasError = !settlement.error.empty();
  Query query(hasError ? updateFailed_ : update_, settlement.key, guard.state, guard.attempt, store::stateOf(next),
              next == Next::failed ? context_.clock.wallNow() : settlement.dueAt,
              settlement.transition == Transition::retry ? 1 : 0, NullIfEmpty{settlement.reason});
  if (hasError) {
    query.add(truncatedError(settlement.error));
    addAttempt(query, settlement, next, context_.clock.wallNow());
  }
  return query.run() != 0;
}

// Removes adjacent keys, as the messages of a batch mostly have, by a range from first to last, and others by lists.
void Settles::removeKnown() {
  std::vector<delivery::MessageKey> toRemove = std::exchange(context_.inFlight.toRemove, {});
  std::ranges::sort(toRemove);
  std::vector<delivery::MessageKey> scattered;
  std::size_t removed = 0;
  for (std::span<const delivery::MessageKey> rest = toRemove; !rest.empty();) {
    const auto gap = std::ranges::adjacent_find(rest, [](auto key, auto next) { return next != key + 1; });
    const auto run = rest.first(gap == rest.end() ? rest.size() : static_cast<std::size_t>(gap - rest.begin()) + 1);
    if (run.size() >= kListedMin || toRemove.size() < kListedMin) {
      removed += Query(removeRun_, run.front(), run.back()).run();
    } else {
      scattered.insert(scattered.end(), run.begin(), run.end());
    }
    rest = rest.subspan(run.size());
  }
  std::array<delivery::MessageKey, kTogether> keys{};
  for (std::size_t first = 0; first < scattered.size(); first += kTogether) {
    for (std::size_t place = 0; place < kTogether; ++place) {
      // Fills the list with repetitions of the last key, which is removed once.
      keys.at(place) = scattered[std::min(first + place, scattered.size() - 1)];
    }
    removed += Query(removeMany_, std::span<const std::int64_t>(keys)).run();
  }
  if (removed != toRemove.size()) {
    // The rollback drops the cached facts, so the next attempt reads each row.
    throw Error(Errc::databaseCorrupt, "foreign statements deleted rows in flight");
  }
}

void Settles::count(const Settlement& settlement, Next next, const RowFacts& row) {
  Counters& counters = context_.counters;
  const bool staysLive = next == Next::pending || next == Next::sending || next == Next::sent;
  if (staysLive) {
    counters.move(row.session, settlement.from, store::stateOf(next));
  } else {
    counters.subtractRows(row.session, settlement.from, 1, row.bytes);
  }
  switch (next) {
    case Next::acked:
      counters.add(row.session, Counter::acked, 1);
      counters.acknowledged(row.enqueuedAt, context_.clock.wallNow());
      context_.latencies.acknowledged(row.enqueuedAt, context_.clock.wallNow());
      if (context_.options.ackedRetention.count() > 0) {
        counters.addRows(row.session, MessageState::acked, 1, row.bytes);
      }
      break;
    case Next::failed:
      counters.add(row.session, Counter::failedTotal, 1);
      counters.addRows(row.session, MessageState::failed, 1, row.bytes);
      break;
    case Next::pending:
    case Next::sending:
    case Next::sent:
    case Next::gone:
    case Next::illegal:
      break;
  }
  if (settlement.transition == Transition::retry) {
    counters.add(row.session, Counter::totalRetries, 1);
  }
  if (settlement.from != MessageState::failed && (next == Next::acked || next == Next::failed)) {
    context_.oldest.settled(settlement.key);
  }
}

void Settles::finishFailed(const Settlement& settlement) {
  if (settlement.blocks) {
    holds_.block(settlement.session, settlement.key);
  }
  if (settlement.discards) {
    Settlement discard;
    discard.key = settlement.key;
    discard.session = settlement.session;
    discard.from = MessageState::failed;
    discard.transition = Transition::discard;
    apply(discard, true);
  }
}

std::optional<LocatedMessage> Settles::locate(std::string_view messageId) {
  context_.gathered.flush();
  context_.inFlight.claims.flush();
  Query query(locate_, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  LocatedMessage found;
  Settlement& settlement = found.settlement;
  Columns columns(query);
  columns >> settlement.key >> settlement.session >> settlement.sequence >> settlement.from >> settlement.attempt >>
      found.peer >> found.session >> found.agent >> found.store >> found.resets >> found.enqueuedAt;
  if (settlement.from == MessageState::sending) {
    // The number of its current claim.
    ++settlement.attempt;
  }
  return found;
}

std::optional<AckedById> Settles::ackById(std::string_view messageId) {
  std::optional<LocatedMessage> found = locate(messageId);
  if (!found || delivery::next(found->settlement.from, Transition::ack) != Next::acked) {
    return std::nullopt;
  }
  found->settlement.transition = Transition::ack;
  // The peer's outcome ends the message in any process; a settle by the sending process finds no row.
  const auto settled = apply(found->settlement, false);
  removeKnown();
  if (!settled) {
    return std::nullopt;
  }
  return AckedById{*settled, std::move(found->peer), std::move(found->session)};
}

AckEventOutcome Settles::applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                       const FrameResult& result, std::string_view origin, std::optional<WallTime> time,
                                       std::span<const std::string> mailboxes) {
  using Kind = AckEventOutcome::Kind;
  AckEventOutcome reply;
  std::optional<LocatedMessage> found = locate(messageId);
  if (found && !isTo(*found, agent, mailboxes)) {
    context_.counters.add(Counter::refusedAcks, 1);
    reply.kind = Kind::refused;
    return reply;
  }
  if (found && (isOfEarlier(*found, sequence, time) || isLate(*found, origin))) {
    found.reset();
  }
  if (found && result.outcome == Outcome::nack && found->settlement.from == MessageState::sent) {
    reply.kind = Kind::recalled;
    reply.message = {found->settlement.key, found->settlement.session, std::string(messageId),
                     found->settlement.sequence};
    return reply;
  }
  const bool final = result.outcome == Outcome::ack || result.outcome == Outcome::term;
  const Transition transition = result.outcome == Outcome::ack ? Transition::ack : Transition::fail;
  std::optional<SettledMessage> settled;
  if (found && final && delivery::next(found->settlement.from, transition) != Next::illegal) {
    // The peer has processed the message, so it has an application for it.
    attendance_.noteSome(found->settlement.key, found->settlement.session);
    found->settlement.transition = transition;
    // An unordered message leaves no gap.
    found->settlement.blocks =
        !found->session.empty() && gapPolicyOf(context_.options, found->peer, found->session) == GapPolicy::block;
    found->settlement.reason = result.code.empty() ? "rejected" : result.code;
    found->settlement.error = result.detail.empty() ? result.code : result.detail;
    settled = apply(found->settlement, false);
    removeKnown();
  }
  if (!settled) {
    context_.counters.add(Counter::staleSettles, 1);
    return reply;
  }
  const bool wasSent = found->settlement.attempt > 0;
  if (result.outcome == Outcome::ack && !wasSent) {
    // A lost file has sent the message: the peer may forget it.
    Query(noteSent_, found->settlement.key).run();
  }
  if (result.outcome == Outcome::ack && settled->sequence != 0 && wasSent) {
    // Even without an answer, the next frame names this message as its predecessor, so that a peer that has lost it
    // does not accept that frame first. If a lost file sent the message, its predecessors are still to be sent.
    SessionState& state = context_.states.change(settled->session);
    state.previousSequence = std::max(state.previousSequence, settled->sequence);
    state.confirmedSequence = std::max(state.confirmedSequence, settled->sequence);
  }
  return {Kind::settled, *settled, std::move(found->peer), std::move(found->session)};
}

std::size_t Settles::purgeAcked(std::size_t limit) {
  return purge(limit, context_.clock.wallNow());
}

// The row stores until when it is kept, which is its acknowledgement plus the retention.
std::size_t Settles::purgeAcked(std::size_t limit, std::chrono::milliseconds age) {
  return purge(limit, context_.clock.wallNow() + context_.options.ackedRetention - age);
}

std::size_t Settles::purge(std::size_t limit, WallTime until) {
  if (context_.counters.value(Counter::retained) == 0) {
    return 0;
  }
  context_.gathered.flush();
  const std::vector<std::int64_t> keys = Query(selectPurged_, until, limit).integers();
  for (const std::int64_t key : keys) {
    Query(purge_, key).run();
  }
  context_.counters.add(Counter::retained, -static_cast<std::int64_t>(keys.size()));
  return keys.size();
}

}  // namespace ackbox::store::sqlite
