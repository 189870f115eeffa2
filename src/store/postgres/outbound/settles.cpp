#include "store/postgres/outbound/settles.hpp"

#include <algorithm>
#include <utility>

#include "base/policies.hpp"
#include "store/decisions/error_text.hpp"
#include "store/postgres/outbound/claims.hpp"

namespace ackbox::store::postgres {

using delivery::Next;
using delivery::Settlement;
using delivery::Transition;

void AckLatencies::committed() noexcept {
  window_.record(latencies_, clock_.steadyNow());
  latencies_.clear();
}

void Settles::rolledBack() noexcept {
  facts_.clear();
  changes_.gone.clear();
  changes_.updated.clear();
  changes_.units.clear();
  returned_.clear();
}

std::vector<std::optional<SettledMessage>> Settles::settle(std::span<const Settlement> settlements) {
  context_.flushRows();
  for (const Settlement& settlement : settlements) {
    const Next next = delivery::next(settlement.from, settlement.transition);
    if (next == Next::illegal || !isSettle(settlement.transition)) {
      throw Error(Errc::invalidTransition, std::string(toString(settlement.from)) + " does not " +
                                               std::string(delivery::toString(settlement.transition)));
    }
  }
  read(settlements);
  std::vector<std::optional<SettledMessage>> settled;
  settled.reserve(settlements.size());
  for (const Settlement& settlement : settlements) {
    settled.push_back(apply(settlement, true));
    if (!settled.back()) {
      context_.counts.add(Count::staleSettles, 1);
      noteLost(settlement);
    }
  }
  write();
  if (!returned_.empty()) {
    // The machine has decided the next step, and takes these rows for settled.
    context_.released.flush();
    peerResets_.recall(std::exchange(returned_, {}));
  }
  return settled;
}

// Claims and recalls are read behind the locks: what was committed in between is seen.
void Settles::read(std::span<const Settlement> settlements) {
  facts_.clear();
  if (settlements.empty()) {
    return;
  }
  std::vector<std::int64_t> keys;
  // Of messages without a session, and of sessions.
  std::vector<std::int64_t> claims;
  for (const Settlement& settlement : settlements) {
    keys.push_back(settlement.key);
    claims.push_back(settlement.key);
    if (claims.size() < 2 || claims[claims.size() - 2] != -settlement.session) {
      claims.push_back(-settlement.session);
    }
  }
  context_.connection.ask(
      "SELECT o.id,o.session_id,o.sequence,octet_length(o.data),o.created_at_ms,o.message_id,o.state,o.attempt,"
      "s.peer_id,o.type FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id WHERE o.id=ANY($1::bigint[]) ORDER "
      "BY "
      "o.id FOR NO KEY UPDATE OF o",
      arrayOf(keys));
  context_.connection.ask(
      "SELECT session_id,recall,confirmed_sequence FROM #session_states WHERE session_id=ANY(ARRAY(SELECT session_id "
      "FROM #outbox WHERE id=ANY($1::bigint[])))",
      arrayOf(keys));
  context_.connection.ask(
      "SELECT k.key,c.owner_id FROM #claims AS c, unnest(c.keys) AS k(key) WHERE "
      "c.id=ANY($1::bigint[])",
      arrayOf(claims));
  const std::vector<Result> results = context_.connection.collect(3);
  for (const Row& row : results[0]) {
    Facts& facts = facts_[row.integer(0)];
    Columns columns(row, 1);
    columns >> facts.session >> facts.sequence >> facts.bytes >> facts.enqueuedAt >> facts.messageId >> facts.state >>
        facts.attempt >> facts.peer >> facts.type;
  }
  std::map<delivery::SessionKey, Row> states;
  for (const Row& row : results[1]) {
    states.emplace(row.integer(0), row);
  }
  for (auto& [key, facts] : facts_) {
    if (const auto state = states.find(facts.session); state != states.end()) {
      facts.recall = state->second.integer(1);
      facts.confirmed = state->second.as<std::uint64_t>(2);
    }
  }
  for (const Row& row : results[2]) {
    if (const auto facts = facts_.find(row.integer(0)); facts != facts_.end()) {
      facts->second.owner = row.integer(1);
    }
  }
}

bool Settles::isInState(const Settlement& settlement, const Facts& facts, bool isOwn) const {
  switch (settlement.from) {
    case MessageState::sending:
      return facts.state == MessageState::pending && facts.attempt == std::int64_t{settlement.attempt} - 1 &&
             (isOwn ? facts.owner == context_.owner : facts.owner != 0);
    case MessageState::pending:
      return facts.state == MessageState::pending && facts.owner == 0;
    default:
      return facts.state == settlement.from;
  }
}

// This store's connection was lost, and what it had in flight was put back: the message waits, and the machine, which
// takes it for settled, must read it again before what is behind it may go.
void Settles::noteLost(const Settlement& settlement) {
  const auto found = facts_.find(settlement.key);
  const bool isOver = settlement.transition == Transition::ack || settlement.transition == Transition::defer ||
                      settlement.transition == Transition::fail;
  if (isOver && settlement.from == MessageState::sending && found != facts_.end() &&
      found->second.state == MessageState::pending && found->second.owner != context_.owner) {
    returned_.insert(found->second.session);
  }
}

// Whether the answer is from before the peer's reset: the peer has then lost the row that the answer acknowledges.
bool Settles::isForgotten(const Settlement& settlement, const Facts& facts) {
  return !settlement.isAfterReset && facts.recall > settlement.recalls &&
         (settlement.transition == Transition::ack || settlement.transition == Transition::defer);
}

std::optional<SettledMessage> Settles::apply(const Settlement& settlement, bool isOwn) {
  const auto found = facts_.find(settlement.key);
  if (found == facts_.end() || !isInState(settlement, found->second, isOwn)) {
    return std::nullopt;
  }
  Facts& facts = found->second;
  if (isForgotten(settlement, facts)) {
    returned_.insert(facts.session);
    const Settlement release{.key = settlement.key,
                             .session = settlement.session,
                             .attempt = settlement.attempt,
                             .from = settlement.from,
                             .transition = Transition::release,
                             .reason = {},
                             .error = {},
                             .result = {}};
    static_cast<void>(apply(release, isOwn));
    write();
    return std::nullopt;
  }
  if (std::ranges::any_of(changes_.updated, [&](const Settlement* one) { return one->key == settlement.key; })) {
    // A row is updated once by each write.
    write();
  }
  const Next next = delivery::next(settlement.from, settlement.transition);
  if (facts.sequence != 0) {
    noteProof(settlement, next, facts, isOwn);
  }
  note(settlement, next, facts);
  count(settlement, next, facts);
  SettledMessage message{settlement.key, facts.session, facts.messageId, facts.sequence};
  if (next == Next::sent) {
    noteAttendance(facts.peer, facts.type, settlement.unattendedSince);
  }
  facts.attempt += settlement.from == MessageState::sending ? 1 : 0;
  facts.owner = 0;
  facts.state = stateOf(next);
  if (next == Next::failed && settlement.blocks) {
    holds_.block(facts.session, settlement.key);
  }
  if (next == Next::failed && settlement.discards) {
    const Settlement discard{.key = settlement.key,
                             .session = settlement.session,
                             .from = MessageState::failed,
                             .transition = Transition::discard,
                             .reason = {},
                             .error = {},
                             .result = {}};
    static_cast<void>(apply(discard, true));
  }
  if (next == Next::acked || next == Next::gone) {
    facts_.erase(settlement.key);
  }
  return message;
}

// Only an applied answer shows that the peer has the message. A request proves nothing, as its answer may be ignored.
void Settles::noteProof(const Settlement& settlement, Next next, const Facts& facts, bool isOwn) {
  const bool isAnswer = settlement.transition == Transition::ack || settlement.transition == Transition::defer;
  if (isOwn && isAnswer && settlement.from == MessageState::sending) {
    std::uint64_t& confirmed = released(facts).confirmed;
    confirmed = std::max(confirmed, facts.sequence);
  } else if ((next == Next::acked || next == Next::gone) && facts.sequence > facts.confirmed) {
    vacated_.keep(settlement.key,
                  next == Next::acked ? VacatedNumbers::Unless::never : VacatedNumbers::Unless::untried);
  }
}

ReleasedClaims::Session& Settles::released(const Facts& facts) {
  ReleasedClaims::Session& session = context_.released.of(facts.session);
  session.isOwn = session.isOwn && facts.owner == context_.owner;
  return session;
}

void Settles::note(const Settlement& settlement, Next next, const Facts& facts) {
  if (settlement.from == MessageState::sending) {
    if (facts.sequence == 0) {
      changes_.units.push_back(settlement.key);
    } else {
      released(facts).keys.push_back(settlement.key);
    }
  }
  const bool isKept = next == Next::acked && context_.options.ackedRetention.count() > 0;
  if ((next == Next::acked && !isKept) || next == Next::gone) {
    changes_.gone.push_back(settlement.key);
    std::uint64_t& last = released(facts).last;
    last = std::max(last, facts.sequence);
  } else {
    changes_.updated.push_back(&settlement);
  }
}

void Settles::write() {
  writeUpdates();
  if (!changes_.gone.empty()) {
    context_.connection.post("DELETE FROM #outbox WHERE id=ANY($1::bigint[])", arrayOf(changes_.gone));
  }
  if (!changes_.units.empty()) {
    context_.connection.post("DELETE FROM #claims WHERE id=ANY($1::bigint[])", arrayOf(changes_.units));
  }
  changes_ = {};
}

void Settles::writeUpdates() {
  if (changes_.updated.empty()) {
    return;
  }
  const WallTime now = context_.now();
  ArrayText columns[10];
  for (const Settlement* const one : changes_.updated) {
    const Next next = delivery::next(one->from, one->transition);
    const WallTime dueAt = next == Next::acked    ? now + context_.options.ackedRetention
                           : next == Next::failed ? now
                                                  : one->dueAt;
    const std::string_view error = truncatedError(one->error);
    const bool isLogged = next != Next::sent && next != Next::acked;
    columns[0].add(one->key);
    columns[1].add(static_cast<std::int64_t>(stateOf(next)));
    columns[2].add(std::int64_t{one->from == MessageState::sending ? 1 : 0});
    columns[3].add(dueAt);
    columns[4].add(std::int64_t{one->transition == Transition::retry ? 1 : 0});
    columns[5].add(NullIfEmpty{one->reason});
    columns[6].add(NullIfEmpty{next == Next::acked ? std::string_view() : error});
    columns[7].add(NullIfEmpty{isLogged ? truncatedError(error, kAttemptErrorBytesMax) : std::string_view()});
    columns[8].add(delivery::toString(one->transition));
    if (one->took) {
      columns[9].add(std::int64_t{one->took->count()});
    } else {
      columns[9].addNull();
    }
  }
  ArrayText statuses;
  for (const Settlement* const one : changes_.updated) {
    one->status == 0 ? statuses.addNull() : statuses.add(std::int64_t{one->status});
  }
  Parameters parameters;
  for (const ArrayText& column : columns) {
    parameters.add(std::string_view(column.text()));
  }
  parameters.add(std::string_view(statuses.text()), now);
  context_.connection.postWith(
      "UPDATE #outbox AS o SET state=u.state, attempt=o.attempt+u.claimed, due_at_ms=u.due, "
      "retry_count=o.retry_count+u.charge, reason=CASE WHEN u.state=3 THEN o.reason ELSE u.reason END, "
      "last_error=coalesce(u.error,o.last_error), attempt_log=#logged(o.attempt_log,u.logged,u.outcome,$12::bigint,"
      "u.took,u.status) FROM unnest($1::bigint[],$2::integer[],$3::bigint[],$4::bigint[],$5::bigint[],$6::text[],"
      "$7::text[],$8::text[],$9::text[],$10::bigint[],$11::integer[]) AS u(id,state,claimed,due,charge,reason,error,"
      "logged,outcome,took,status) WHERE o.id=u.id",
      parameters);
  changes_.updated.clear();
}

void Settles::count(const Settlement& settlement, Next next, const Facts& facts) {
  Counts& counts = context_.counts;
  counts.addRows(facts.peer, settlement.from, -1, facts.bytes);
  const bool isKept = next == Next::acked && context_.options.ackedRetention.count() > 0;
  if (isKept || (next != Next::acked && next != Next::gone)) {
    counts.addRows(facts.peer, stateOf(next), 1, facts.bytes);
  }
  if (next == Next::acked) {
    counts.acknowledged(facts.peer, facts.enqueuedAt, context_.now());
    latencies_.acknowledged(facts.enqueuedAt, context_.now());
  }
  counts.add(facts.peer, Count::failedTotal, next == Next::failed ? 1 : 0);
  counts.add(facts.peer, Count::totalRetries, settlement.transition == Transition::retry ? 1 : 0);
}

// The peer reports a duration, so instants from answers of one moment differ by their time under way.
void Settles::noteAttendance(delivery::PeerKey peer, std::string_view type, std::optional<WallTime> since) {
  constexpr std::int64_t kApartMs = 5'000;
  if (since) {
    context_.connection.post(
        "UPDATE #peers SET unattended_since_ms=$3,unattended_type=$2 WHERE id=$1 AND (unattended_since_ms=0 OR "
        "unattended_type<>$2 OR abs(unattended_since_ms-$3)>$4)",
        peer, type, *since, kApartMs);
  } else {
    context_.connection.post(
        "UPDATE #peers SET unattended_since_ms=0,unattended_type='' WHERE id=$1 AND unattended_since_ms<>0 AND "
        "unattended_type=$2",
        peer, type);
  }
}

std::optional<LocatedMessage> Settles::locate(std::string_view messageId) {
  context_.flushRows();
  const Result result = context_.connection.run(
      "SELECT o.id,o.session_id,o.sequence,o.state,o.attempt,p.name,s.name,p.agent,p.store,p.resets,o.created_at_ms "
      "FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id WHERE "
      "o.message_id=$1 FOR NO KEY UPDATE OF o",
      messageId);
  if (result.empty()) {
    return std::nullopt;
  }
  LocatedMessage found;
  Settlement& settlement = found.settlement;
  Columns columns(result.front());
  columns >> settlement.key >> settlement.session >> settlement.sequence >> settlement.from >> settlement.attempt >>
      found.peer >> found.session >> found.agent >> found.store >> found.resets >> found.enqueuedAt;
  read({&settlement, 1});
  if (settlement.from == MessageState::pending && facts_.at(settlement.key).owner != 0) {
    settlement.from = MessageState::sending;
    // The number of its current claim.
    ++settlement.attempt;
  }
  return found;
}

std::optional<SettledMessage> Settles::applyAlone(const Settlement& settlement) {
  std::optional<SettledMessage> settled = apply(settlement, false);
  write();
  return settled;
}

std::optional<AckedById> Settles::ackById(std::string_view messageId) {
  std::optional<LocatedMessage> found = locate(messageId);
  if (!found || delivery::next(found->settlement.from, Transition::ack) != Next::acked) {
    return std::nullopt;
  }
  found->settlement.transition = Transition::ack;
  // The peer's outcome ends the message in any process; a settle by the sending process finds no row.
  const auto settled = applyAlone(found->settlement);
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
    context_.counts.add(Count::refusedAcks, 1);
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
  const bool isFinal = result.outcome == Outcome::ack || result.outcome == Outcome::term;
  const Transition transition = result.outcome == Outcome::ack ? Transition::ack : Transition::fail;
  std::optional<SettledMessage> settled;
  if (found && isFinal && delivery::next(found->settlement.from, transition) != Next::illegal) {
    // The peer has processed the message, so it has an application for it.
    const Facts& facts = facts_.at(found->settlement.key);
    noteAttendance(facts.peer, facts.type, std::nullopt);
    found->settlement.transition = transition;
    // An unordered message leaves no gap.
    found->settlement.blocks =
        !found->session.empty() && gapPolicyOf(context_.options, found->peer, found->session) == GapPolicy::block;
    found->settlement.reason = result.code.empty() ? "rejected" : result.code;
    found->settlement.error = result.detail.empty() ? result.code : result.detail;
    settled = applyAlone(found->settlement);
  }
  if (!settled) {
    context_.counts.add(Count::staleSettles, 1);
    return reply;
  }
  const bool wasSent = found->settlement.attempt > 0;
  if (result.outcome == Outcome::ack && !wasSent) {
    // A lost store has sent the message: the peer may forget it.
    context_.connection.post("UPDATE #outbox SET attempt=1 WHERE id=$1 AND attempt=0", found->settlement.key);
  }
  if (result.outcome == Outcome::ack && settled->sequence != 0 && wasSent) {
    // Even without an answer, the next frame names this message as its predecessor, so that a peer that has lost it
    // does not accept that frame first. If a lost store sent the message, its predecessors are still to be sent.
    context_.connection.post(
        "UPDATE #session_states SET previous_sequence=greatest(previous_sequence,$2::bigint), "
        "confirmed_sequence=greatest(confirmed_sequence,$2::bigint) WHERE session_id=$1",
        settled->session, settled->sequence);
  }
  return {Kind::settled, *settled, std::move(found->peer), std::move(found->session)};
}

std::size_t Settles::purgeAcked(std::size_t limit) {
  // Mostly nothing is kept.
  return context_.counts.recent(context_.clock.steadyNow()).value(Count::retained) > 0 ? purge(limit, context_.now())
                                                                                       : 0;
}

// The row stores until when it is kept, which is its acknowledgement plus the retention.
std::size_t Settles::purgeAcked(std::size_t limit, std::chrono::milliseconds age) {
  return purge(limit, context_.now() + context_.options.ackedRetention - age);
}

// The last numbers of their sessions stay.
std::size_t Settles::purge(std::size_t limit, WallTime until) {
  context_.flushRows();
  std::size_t purged = 0;
  const Result result = context_.connection.run(
      "WITH gone AS (DELETE FROM #outbox WHERE id IN (SELECT id FROM #outbox WHERE state=3 AND due_at_ms<=$1 ORDER BY "
      "due_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING session_id,sequence), highest AS (UPDATE #session_states "
      "AS m SET last_sequence=greatest(m.last_sequence,g.last) FROM (SELECT session_id,max(sequence) AS last FROM gone "
      "GROUP BY session_id) AS g WHERE m.session_id=g.session_id) SELECT s.peer_id,count(*) FROM gone AS g JOIN "
      "#sessions AS s ON s.id=g.session_id GROUP BY s.peer_id",
      until, limit);
  for (const Row& row : result) {
    context_.counts.add(row.integer(0), Count::retained, -row.integer(1));
    purged += row.as<std::size_t>(1);
  }
  return purged;
}

}  // namespace ackbox::store::postgres
