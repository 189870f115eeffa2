#include "store/postgres/outbound/claims.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "store/decisions/due.hpp"

namespace ackbox::store::postgres {

using delivery::ClaimStatus;
namespace {

// Of the messages named, $1, the first of each session that wait, and the first outside sessions: $4 at most. So no
// message is locked that another process may take now.
constexpr std::string_view kFirstOfNamed =
    "ARRAY(SELECT f.id FROM (SELECT w.id,row_number() OVER (PARTITION BY CASE WHEN w.sequence>0 THEN w.session_id ELSE "
    "0 END ORDER BY k.place) AS place FROM unnest($1::bigint[]) WITH ORDINALITY AS k(id,place) JOIN #outbox AS w ON "
    "w.id=k.id WHERE w.state IN (0,2) AND NOT EXISTS(SELECT 1 FROM #claims AS c WHERE c.id=w.id AND c.owner_id<>$2)) "
    "AS f WHERE f.place<=$4::bigint)";

// SQL: reads and locks those of `keys` that are free.
std::string readMessages(std::string_view keys) {
  return std::string(
             "SELECT o.id,o.session_id,o.state,o.attempt,o.due_at_ms,o.not_before_ms,octet_length(o.data),CASE WHEN "
             "octet_length(o.data)<=$3::bigint THEN o.data ELSE '' END,o.message_id,o.type,o.sequence,"
             "o.retry_count,o.created_at_ms,o.expires_at_ms,o.traceparent,o.correlation_id,o.resent_of,"
             "coalesce(c.owner_id,0) FROM #outbox AS o LEFT JOIN #claims AS c ON c.id=CASE WHEN o.sequence>0 THEN "
             "-o.session_id ELSE o.id END WHERE o.id=ANY(")
      .append(keys)
      .append(
          ") AND coalesce(c.owner_id,CASE WHEN o.sequence=0 THEN $2 ELSE 0 END)=$2 FOR NO KEY UPDATE OF o SKIP LOCKED");
}

}  // namespace

// Sessions are held first, and read afterwards: what their last holder made of them is committed by then.
ClaimReply Claims::claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls, std::uint64_t bytesMax,
                         std::size_t framesMax) {
  context_.flushRows();
  ClaimReply reply;
  reply.sessions.reserve(sessions.size());
  Look look{.now = context_.now(), .recalls = recalls, .bytesMax = bytesMax, .framesMax = framesMax};
  read(sessions, look);
  // A session may be named several times.
  std::map<delivery::SessionKey, std::set<delivery::MessageKey>> taken;
  for (const delivery::SessionClaim& wanted : sessions) {
    delivery::SessionClaimed claimed;
    if (reply.isFull || reply.messages.size() >= framesMax) {
      claimed.session = wanted.session;
      claimed.status = ClaimStatus::full;
    } else {
      claimed = claimSession(wanted, look, reply);
    }
    const auto session = look.sessions.find(wanted.session);
    if (session != look.sessions.end() && session->second.owner == context_.owner) {
      std::set<delivery::MessageKey>& keys = taken[wanted.session];
      for (const delivery::ClaimedRow& row : claimed.rows) {
        keys.insert(row.key);
      }
    }
    reply.sessions.push_back(std::move(claimed));
  }
  std::vector<std::int64_t> unused;
  for (auto& [session, keys] : taken) {
    std::optional<std::set<delivery::MessageKey>>& inFlight = look.sessions.at(session).inFlight;
    if (!keys.empty()) {
      nameKeys(session, std::move(keys), inFlight, look.wanted.at(-session));
    } else if (!inFlight || inFlight->empty()) {
      // An earlier claim with messages in flight stays.
      unused.push_back(-session);
    }
  }
  holdTaken(look, reply);
  letGo(unused);
  return reply;
}

void Claims::askToHold(const Wanted& wanted) {
  ArrayText ids;
  ArrayText keys;
  for (const auto& [id, messages] : wanted) {
    ids.add(id);
    keys.add(std::string_view(arrayOf(messages)));
  }
  // A free session's state is locked first, or the message of a unit. What is locked already is not claimed, so that no
  // statement waits for a transaction that stands still. What is read beside the new rows is from before them.
  context_.connection.ask(
      "WITH free AS (SELECT m.session_id FROM #session_states AS m WHERE m.session_id=ANY(ARRAY(SELECT -k.id FROM "
      "unnest($1::bigint[]) AS k(id) WHERE k.id<0)) AND NOT EXISTS(SELECT 1 FROM #claims AS c WHERE c.id=-m.session_id "
      "AND c.owner_id<>$3) FOR NO KEY UPDATE SKIP LOCKED), made AS (INSERT INTO "
      "#claims(id,owner_id,keys) SELECT k.id,$3,k.keys::bigint[] FROM unnest($1::bigint[],$2::text[]) AS k(id,keys) "
      "WHERE NOT EXISTS(SELECT 1 FROM #claims AS c WHERE c.id=k.id) AND (k.id>0 OR -k.id IN (SELECT session_id FROM "
      "free)) ORDER BY k.id ON CONFLICT DO NOTHING RETURNING id) SELECT id,NULL,true FROM made UNION ALL SELECT "
      "c.id,k.key,false FROM #claims "
      "AS c LEFT JOIN unnest(c.keys) AS k(key) ON true WHERE c.id=ANY($1::bigint[]) AND c.owner_id=$3",
      ids.text(), keys.text(), context_.owner);
}

Claims::Held Claims::heldOf(const Result& claims) {
  Held held;
  for (const Row& row : claims) {
    std::optional<std::set<delivery::MessageKey>>& inFlight = held[row.integer(0)];
    if (row.integer(2) == 0 && !inFlight) {
      inFlight.emplace();
    }
    if (!row.isNull(1)) {
      inFlight->insert(row.integer(1));
    }
  }
  return held;
}

void Claims::nameKeys(delivery::SessionKey session, std::set<delivery::MessageKey> taken,
                      const std::optional<std::set<delivery::MessageKey>>& inFlight,
                      const std::vector<delivery::MessageKey>& wanted) {
  // A new claim has been made with all that was wanted.
  if (!inFlight && taken == std::set(wanted.begin(), wanted.end())) {
    return;
  }
  if (inFlight) {
    taken.insert(inFlight->begin(), inFlight->end());
  }
  const std::vector<std::int64_t> all(taken.begin(), taken.end());
  context_.connection.post("UPDATE #claims SET keys=$2::bigint[] WHERE id=$1", -session, arrayOf(all));
}

// In one way to the server: holds the sessions, and reads them and their messages behind that.
void Claims::read(std::span<const delivery::SessionClaim> wanted, Look& look) {
  std::vector<std::int64_t> sessions;
  std::vector<std::int64_t> keys;
  for (const delivery::SessionClaim& one : wanted) {
    keys.insert(keys.end(), one.keys.begin(), one.keys.end());
    if (!delivery::isUnit(one.session)) {
      sessions.push_back(one.session);
      std::vector<delivery::MessageKey>& messages = look.wanted[-one.session];
      messages.insert(messages.end(), one.keys.begin(), one.keys.end());
    }
  }
  if (keys.empty() && sessions.empty()) {
    return;
  }
  const std::uint64_t readAtOnce = std::min<std::uint64_t>(look.bytesMax, std::numeric_limits<std::int64_t>::max()) /
                                   std::clamp<std::size_t>(keys.size(), 1, look.framesMax);
  askToHold(look.wanted);
  context_.connection.ask(
      "SELECT s.id,s.name,s.priority,m.paused_at_ms<>0 OR m.blocked_by<>0,m.recall,m.due_at_ms,m.due_is_firm,"
      "m.previous_sequence,m.confirmed_sequence FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id "
      "WHERE s.id=ANY($1::bigint[])",
      arrayOf(sessions));
  // Rows stay locked until the end of the transaction, so that nobody supersedes or fails what is about to be sent.
  // Those that another process has are left alone: it will settle them. Data of more than its part of the limit is read
  // when its message is taken.
  if (keys.size() <= look.framesMax) {
    context_.connection.ask(readMessages("$1::bigint[]"), arrayOf(keys), context_.owner, readAtOnce);
  } else {
    context_.connection.ask(readMessages(kFirstOfNamed), arrayOf(keys), context_.owner, readAtOnce, look.framesMax);
  }
  const std::vector<Result> results = context_.connection.collect(3);
  noteSessions(heldOf(results[0]), results[1], look);
  noteMessages(results[2], look);
  noteLocked(wanted, look);
}

void Claims::noteSessions(Held held, const Result& sessions, Look& look) const {
  for (const Row& row : sessions) {
    Session& session = look.sessions[row.integer(0)];
    Columns columns(row, 1);
    columns >> session.name >> session.priority >> session.isHalted >> session.recall >> session.dueAt >>
        session.isFirm >> session.previous >> session.confirmed;
    if (const auto own = held.find(-row.integer(0)); own != held.end()) {
      session.owner = context_.owner;
      session.inFlight = std::move(own->second);
    }
  }
}

void Claims::noteMessages(const Result& messages, Look& look) const {
  for (const Row& row : messages) {
    Message& message = look.messages[row.integer(0)];
    OutboundFrame& frame = message.frame;
    Columns columns(row, 1);
    columns >> message.session >> message.state >> message.attempt >> message.dueAt >> message.notBefore >>
        message.dataBytes >> frame.data >> frame.messageId >> frame.type >> frame.sequence >> frame.retryCount >>
        frame.enqueuedAt >> frame.expiresAt >> frame.traceparent >> frame.correlationId >> frame.resentOf;
    const auto session = look.sessions.find(message.session);
    message.isHeld = frame.sequence == 0 ? columns.next<std::int64_t>() == context_.owner
                                         : session != look.sessions.end() && session->second.inFlight &&
                                               session->second.inFlight->contains(row.integer(0));
  }
}

// A message that waits and was not read is not gone: what comes behind it must not overtake it.
void Claims::noteLocked(std::span<const delivery::SessionClaim> wanted, Look& look) {
  std::vector<std::int64_t> absent;
  for (const delivery::SessionClaim& one : wanted) {
    const auto session = look.sessions.find(one.session);
    if (delivery::isUnit(one.session) || (session != look.sessions.end() && session->second.owner == context_.owner)) {
      std::ranges::copy_if(one.keys, std::back_inserter(absent),
                           [&](delivery::MessageKey key) { return !look.messages.contains(key); });
    }
  }
  if (!absent.empty()) {
    const std::vector<std::int64_t> left =
        context_.connection.run("SELECT id FROM #outbox WHERE id=ANY($1::bigint[]) AND state IN (0,2)", arrayOf(absent))
            .integers();
    look.locked.insert(left.begin(), left.end());
  }
}

delivery::SessionClaimed Claims::claimSession(const delivery::SessionClaim& wanted, Look& look, ClaimReply& reply) {
  delivery::SessionClaimed claimed;
  claimed.session = wanted.session;
  if (delivery::isUnit(wanted.session)) {
    for (const delivery::MessageKey key : wanted.keys) {
      claimRow(key, wanted.waited, look, claimed, reply);
    }
    return claimed;
  }
  const auto found = look.sessions.find(wanted.session);
  if (found == look.sessions.end()) {
    // A session that does not exist cannot be held; its rows do not exist either.
    return claimed;
  }
  const Session& session = found->second;
  claimed.dueAt = session.dueAt;
  claimed.previousSequence = session.previous;
  claimed.confirmedSequence = session.confirmed;
  claimed.priority = session.priority;
  const bool isDoubted = wanted.doubt && wanted.doubt->sequence > session.confirmed;
  // The rows that were put back may have been discovered after the decision: only recalls that it knew of count.
  if (session.owner != context_.owner || session.recall > std::min(look.recalls, context_.recallsDiscovered)) {
    claimed.status = ClaimStatus::busy;
  } else if (session.isHalted) {
    claimed.status = ClaimStatus::halted;
  } else if (!isDue(session.dueAt, session.isFirm, look.now)) {
    claimed.status = ClaimStatus::notDue;
  } else if (isDoubted && !isOurs(wanted.session, *wanted.doubt)) {
    claimed.status = ClaimStatus::outdated;
  } else {
    const std::size_t firstMessage = reply.messages.size();
    for (const delivery::MessageKey key : wanted.keys) {
      claimRow(key, wanted.waited, look, claimed, reply);
      if (claimed.status != ClaimStatus::claimed || reply.messages.size() >= look.framesMax) {
        break;
      }
    }
    if (!claimed.rows.empty() || !claimed.deferred.empty()) {
      // The rows before the one that is busy or waits are still a prefix.
      claimed.status = ClaimStatus::claimed;
    }
    for (std::size_t index = firstMessage; index < reply.messages.size(); ++index) {
      reply.messages[index].frame.session = session.name;
    }
    if (isDoubted) {
      claimed.confirmedSequence = wanted.doubt->sequence;
      context_.connection.post("UPDATE #session_states SET confirmed_sequence=$2 WHERE session_id=$1", wanted.session,
                               claimed.confirmedSequence);
    }
  }
  return claimed;
}

// Whether this store sent a message with that id and number, regardless of the answer. If the peer names no id, only a
// number that was never assigned is doubted.
bool Claims::isOurs(delivery::SessionKey session, const delivery::AcceptedFrame& frame) {
  if (frame.id.empty()) {
    return !context_.connection
                .run(
                    "SELECT 1 FROM #session_states WHERE session_id=$1 AND last_sequence>=$2::bigint UNION ALL SELECT "
                    "1 FROM #outbox WHERE session_id=$1 AND sequence>0 AND sequence>=$2::bigint LIMIT 1",
                    session, frame.sequence)
                .empty();
  }
  return !context_.connection
              .run(
                  "SELECT 1 FROM #outbox WHERE message_id=$1 AND session_id=$2 AND sequence=$3 UNION ALL SELECT 1 "
                  "FROM #vacated_numbers WHERE session_id=$2 AND sequence=$3 AND message_id=$1",
                  frame.id, session, frame.sequence)
              .empty();
}

void Claims::claimRow(delivery::MessageKey key, delivery::MessageKey waited, Look& look,
                      delivery::SessionClaimed& session, ClaimReply& reply) {
  if (look.locked.contains(key)) {
    session.status = ClaimStatus::busy;
    return;
  }
  const auto found = look.messages.find(key);
  if (found == look.messages.end() || look.taken.contains(key)) {
    return;
  }
  Message& message = found->second;
  if (message.state == MessageState::sent) {
    session.deferred.push_back({key, message.dueAt});
    return;
  }
  if (message.state != MessageState::pending) {
    return;
  }
  const bool isUnit = delivery::isUnit(session.session);
  const std::optional<WallTime> until =
      message.isHeld
          ? std::nullopt
          : waitsUntil(message.dueAt, message.frame.enqueuedAt, message.attempt != 0, isUnit, key == waited, look.now);
  if (until) {
    session.status = ClaimStatus::notDue;
    session.dueAt = *until;
    session.delayed = key;
    return;
  }
  const std::uint64_t wireBytes = delivery::wireBytes(message.dataBytes);
  if (!reply.messages.empty() && reply.bytes + wireBytes > look.bytesMax) {
    reply.isFull = true;
    session.status = ClaimStatus::full;
    return;
  }
  if (message.isHeld) {
    // The number of the earlier claim becomes stale.
    context_.connection.post("UPDATE #outbox SET attempt=attempt+1 WHERE id=$1", key);
    ++message.attempt;
  }
  if (message.frame.data.size() != message.dataBytes) {
    const Result data = context_.connection.run("SELECT data FROM #outbox WHERE id=$1", key);
    Columns(data.front()) >> message.frame.data;
  }
  look.taken.insert(key);
  reply.bytes += wireBytes;
  const OutboundFrame& frame = message.frame;
  session.rows.push_back({.key = key,
                          .sequence = frame.sequence,
                          .attempt = message.attempt + 1,
                          .retryCount = frame.retryCount,
                          .dataBytes = static_cast<std::uint32_t>(frame.data.size()),
                          .enqueuedAt = frame.enqueuedAt,
                          .expiresAt = frame.expiresAt,
                          .notBefore = message.notBefore});
  reply.messages.push_back({session.session, key, frame});
}

// Another process can have claimed a row only outside sessions: it is given up again.
void Claims::holdTaken(Look& look, ClaimReply& reply) {
  Wanted wanted;
  for (const delivery::MessageKey key : look.taken) {
    if (look.messages.at(key).frame.sequence == 0) {
      wanted.emplace(key, std::vector<delivery::MessageKey>{key});
    }
  }
  if (wanted.empty()) {
    return;
  }
  askToHold(wanted);
  const Held held = heldOf(context_.connection.collect(1).front());
  if (held.size() == wanted.size()) {
    return;
  }
  const auto isLost = [&](delivery::MessageKey key) { return wanted.contains(key) && !held.contains(key); };
  for (delivery::SessionClaimed& session : reply.sessions) {
    const std::size_t lost =
        std::erase_if(session.rows, [&](const delivery::ClaimedRow& row) { return isLost(row.key); });
    if (lost != 0 && session.rows.empty()) {
      session.status = ClaimStatus::busy;
    }
  }
  std::erase_if(reply.messages, [&](const ClaimedMessage& message) {
    reply.bytes -= isLost(message.key) ? delivery::wireBytes(message.frame.data.size()) : 0;
    return isLost(message.key);
  });
}

void Claims::letGo(std::span<const std::int64_t> keys) {
  if (!keys.empty()) {
    context_.connection.post("DELETE FROM #claims WHERE id=ANY($1::bigint[]) AND owner_id=$2", arrayOf(keys),
                             context_.owner);
  }
}

void Claims::endClaims(std::span<const delivery::SessionRelease> releases) {
  ArrayText columns[8];
  std::vector<std::int64_t> claims;
  for (const delivery::SessionRelease& released : releases) {
    if (delivery::isUnit(released.session)) {
      continue;
    }
    claims.push_back(-released.session);
    columns[0].add(released.session);
    columns[1].add(released.recalls);
    columns[2].add(std::int64_t{released.isAfterReset ? 1 : 0});
    columns[3].add(released.dueAt);
    if (released.previousSequence) {
      columns[4].add(static_cast<std::int64_t>(*released.previousSequence));
    } else {
      columns[4].addNull();
    }
    columns[5].add(std::int64_t{released.isFirm ? 1 : 0});
    const ReleasedClaims::Session settled = context_.released.take(released.session);
    columns[6].add(static_cast<std::int64_t>(settled.last));
    columns[7].add(static_cast<std::int64_t>(settled.confirmed));
  }
  if (claims.empty()) {
    return;
  }
  // After a recall, only an answer from after the reset counts: with a lower number, the next message would overtake
  // this one at a peer that is restored once more.
  context_.connection.post(
      "UPDATE #session_states AS m SET due_at_ms=u.due, due_is_firm=u.firm<>0, previous_sequence=CASE WHEN "
      "m.recall<=u.recalls THEN coalesce(u.previous,m.previous_sequence) WHEN u.after<>0 THEN "
      "greatest(m.previous_sequence,coalesce(u.previous,0)) ELSE m.previous_sequence END, "
      "confirmed_sequence=greatest(m.confirmed_sequence,u.confirmed,coalesce(u.previous,0)), "
      "last_sequence=greatest(m.last_sequence,u.last) FROM unnest($1::bigint[],$2::bigint[],$3::bigint[],$4::bigint[],"
      "$5::bigint[],$6::bigint[],$7::bigint[],$8::bigint[]) AS "
      "u(session,recalls,after,due,previous,firm,last,confirmed) "
      "JOIN #claims AS c ON c.id=-u.session AND c.owner_id=$9 WHERE m.session_id=u.session",
      columns[0].text(), columns[1].text(), columns[2].text(), columns[3].text(), columns[4].text(), columns[5].text(),
      columns[6].text(), columns[7].text(), context_.owner);
  letGo(claims);
}

}  // namespace ackbox::store::postgres
