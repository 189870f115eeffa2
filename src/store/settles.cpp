#include "store/settles.hpp"

#include <string>

#include "base/policies.hpp"
#include "delivery/transition.hpp"
#include "store/peers.hpp"

namespace ackbox::store {
namespace {

using delivery::Next;
using delivery::Settlement;
using delivery::Transition;

// ?1 key, ?2 state expected, ?3 this owner, ?4 claim number.
constexpr const char* kGuard = " WHERE id=?1 AND state=?2 AND (?2<>1 OR (owner_id=?3 AND attempt=?4))";

MessageState stateOf(Next next) {
  switch (next) {
    case Next::pending:
      return MessageState::pending;
    case Next::sending:
      return MessageState::sending;
    case Next::sent:
      return MessageState::sent;
    case Next::failed:
      return MessageState::failed;
    case Next::acked:
    case Next::gone:
    case Next::illegal:
      break;
  }
  return MessageState::acked;
}

// The transitions that a settlement may carry: the others need more than one row's state.
bool isSettle(Transition transition) {
  return transition != Transition::claim && transition != Transition::redrive && transition != Transition::resend;
}

}  // namespace

Settles::Settles(Context& context, Orders& orders)
    : context_(context),
      orders_(orders),
      // Asked for before the change, in the same transaction: RETURNING makes a table of its own for each row, which
      // costs three times the rest of a settle.
      find_(context.prepare(std::string("SELECT message_id,sequence,session_id,length(data),created_at_ms FROM "
                                        "#outbox") +
                            kGuard)),
      remove_(context.prepare("DELETE FROM #outbox WHERE id=?1")),
      keepAcked_(context.prepare("UPDATE #outbox SET state=3, owner_id=NULL, due_at_ms=?2 WHERE id=?1")),
      update_(context.prepare("UPDATE #outbox SET state=?2, owner_id=NULL, due_at_ms=?3, retry_count=retry_count+?4, "
                              "reason=?5, last_error=coalesce(?6,last_error) WHERE id=?1")),
      locate_(context.prepare(
          "SELECT o.id, o.session_id, o.sequence, o.state, o.owner_id, o.attempt, p.name, s.name, p.agent FROM #outbox "
          "AS o "
          "JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id WHERE o.message_id=?1")),
      purge_(context.prepare("DELETE FROM #outbox WHERE id IN (SELECT id FROM #outbox WHERE state=3 AND due_at_ms<=?1 "
                             "ORDER BY due_at_ms LIMIT ?2)")) {}

std::vector<std::optional<SettledMessage>> Settles::settle(std::span<const Settlement> settlements) {
  std::vector<std::optional<SettledMessage>> settled;
  settled.reserve(settlements.size());
  for (const Settlement& settlement : settlements) {
    settled.push_back(apply(settlement, context_.owner));
    if (!settled.back()) {
      context_.counters.add(Counter::staleSettles, 1);
    }
  }
  return settled;
}

std::optional<SettledMessage> Settles::apply(const Settlement& settlement, std::int64_t owner) {
  const Next next = delivery::next(settlement.from, settlement.transition);
  if (next == Next::illegal || !isSettle(settlement.transition)) {
    throw Error(Errc::invalidTransition, std::string(toString(settlement.from)) + " does not " +
                                             std::string(delivery::toString(settlement.transition)));
  }
  SettledMessage who{settlement.key, 0, {}, 0};
  std::int64_t bytes = 0;
  WallTime enqueuedAt{};
  {
    Query query(find_, settlement.key, settlement.from, owner, settlement.attempt);
    if (!query.next()) {
      return std::nullopt;
    }
    who.messageId = query.text(0);
    who.sequence = query.as<std::uint64_t>(1);
    who.session = query.integer(2);
    bytes = query.integer(3);
    enqueuedAt = query.instant(4);
  }
  const bool retain = next == Next::acked && context_.options.ackedRetention.count() > 0;
  if (retain) {
    Query(keepAcked_, settlement.key, context_.clock.wallNow() + context_.options.ackedRetention).run();
  } else if (next == Next::acked || next == Next::gone) {
    Query(remove_, settlement.key).run();
  } else {
    Query(update_, settlement.key, stateOf(next), next == Next::failed ? context_.clock.wallNow() : settlement.dueAt,
          settlement.transition == Transition::retry ? 1 : 0, NullIfEmpty{settlement.reason},
          NullIfEmpty{truncatedError(settlement.error)})
        .run();
  }
  count({settlement, next, who.session, bytes, enqueuedAt, retain});
  if (next == Next::failed) {
    finishFailed(settlement);
  }
  return who;
}

void Settles::count(const Applied& applied) {
  Counters& counters = context_.counters;
  counters.leave(applied.session, applied.settlement.from, 1, applied.bytes);
  switch (applied.next) {
    case Next::acked:
      counters.add(applied.session, Counter::acked, 1);
      counters.acknowledged(applied.enqueuedAt, context_.clock.wallNow());
      if (applied.retained) {
        counters.enter(applied.session, MessageState::acked, 1, applied.bytes);
      }
      break;
    case Next::gone:
    case Next::illegal:
      break;
    case Next::failed:
      counters.add(applied.session, Counter::failedTotal, 1);
      [[fallthrough]];
    case Next::pending:
    case Next::sending:
    case Next::sent:
      counters.enter(applied.session, stateOf(applied.next), 1, applied.bytes);
      break;
  }
  if (applied.settlement.transition == Transition::retry) {
    counters.add(applied.session, Counter::totalRetries, 1);
  }
  if (applied.settlement.from != MessageState::failed &&
      (applied.next == Next::acked || applied.next == Next::failed)) {
    context_.oldest.settled(applied.settlement.key);
  }
}

void Settles::finishFailed(const Settlement& settlement) {
  if (settlement.blocks) {
    orders_.block(settlement.session, settlement.key);
  }
  if (settlement.discards) {
    Settlement discard;
    discard.key = settlement.key;
    discard.session = settlement.session;
    discard.from = MessageState::failed;
    discard.transition = Transition::discard;
    apply(discard, 0);
  }
}

std::optional<Settles::Located> Settles::locate(std::string_view messageId) {
  Query query(locate_, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  Located found;
  found.settlement.key = query.integer(0);
  found.settlement.session = query.integer(1);
  found.settlement.sequence = query.as<std::uint64_t>(2);
  found.settlement.from = query.as<MessageState>(3);
  found.settlement.attempt = query.as<std::uint32_t>(5);
  found.owner = query.integer(4);
  found.peer = query.text(6);
  found.session = query.text(7);
  found.agent = query.text(8);
  return found;
}

std::optional<Store::AckedById> Settles::ackById(std::string_view messageId) {
  std::optional<Located> found = locate(messageId);
  if (!found || delivery::next(found->settlement.from, Transition::ack) != Next::acked) {
    return std::nullopt;
  }
  found->settlement.transition = Transition::ack;
  // The peer's word ends it, whoever is sending it; that owner's settle will find it gone.
  const auto who = apply(found->settlement, found->owner);
  if (!who) {
    return std::nullopt;
  }
  return Store::AckedById{*who, std::move(found->peer), std::move(found->session)};
}

Store::LaterWord Settles::applyWord(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                    const FrameResult& word) {
  using Kind = Store::LaterWord::Kind;
  Store::LaterWord reply;
  std::optional<Located> found = locate(messageId);
  if (found && (agent.empty() || found->agent != agent)) {
    context_.counters.add(Counter::refusedAcks, 1);
    reply.kind = Kind::refused;
    return reply;
  }
  if (found && sequence != 0 && sequence != found->settlement.sequence) {
    // About a number that the message had before it was redriven: its new one is on its way, or has its own word.
    found.reset();
  }
  if (found && word.outcome == Outcome::nack && found->settlement.from == MessageState::sent) {
    reply.kind = Kind::recalled;
    reply.message = {found->settlement.key, found->settlement.session, std::string(messageId),
                     found->settlement.sequence};
    return reply;
  }
  const bool final = word.outcome == Outcome::ack || word.outcome == Outcome::term;
  const Transition transition = word.outcome == Outcome::ack ? Transition::ack : Transition::fail;
  std::optional<SettledMessage> who;
  if (found && final && delivery::next(found->settlement.from, transition) != Next::illegal) {
    found->settlement.transition = transition;
    found->settlement.blocks = gapPolicyOf(context_.options, found->peer, found->session) == GapPolicy::block;
    found->settlement.reason = word.code.empty() ? "rejected" : word.code;
    found->settlement.error = word.detail.empty() ? word.code : word.detail;
    who = apply(found->settlement, found->owner);
  }
  if (!who) {
    context_.counters.add(Counter::staleSettles, 1);
    return reply;
  }
  return {Kind::settled, *who, std::move(found->peer), std::move(found->session)};
}

std::size_t Settles::purgeAcked(std::size_t limit, WallTime until) {
  const std::size_t purged = Query(purge_, until, limit).run();
  context_.counters.add(Counter::retained, -static_cast<std::int64_t>(purged));
  return purged;
}

}  // namespace ackbox::store
