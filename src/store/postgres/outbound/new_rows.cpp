#include "store/postgres/outbound/new_rows.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace ackbox::store::postgres {

SessionTail& NewRows::tailOf(const SessionName& session, int priority) {
  if (const auto known = tails_.find(session); known != tails_.end()) {
    return known->second;
  }
  context_.released.flush();
  const Result result =
      context_.connection.run("SELECT * FROM #gate($1,$2,$3,$4)", session.peer, session.name, session.lane, priority);
  return passed(session, result.front());
}

SessionTail& NewRows::passed(const SessionName& session, const Row& gate) {
  ++gates_;
  if (gate.integer(4) != 0) {
    unproven_.push_back(gate.integer(0));
  }
  const SessionTail tail{gate.integer(0), gate.as<std::uint64_t>(1), gate.as<int>(2), gates_, gate.integer(3)};
  return tails_.insert_or_assign(session, tail).first->second;
}

SessionTail* NewRows::findTail(const SessionName& session) {
  passGates({{session, kPriorityDefault}}, false);
  const auto found = tails_.find(session);
  return found == tails_.end() ? nullptr : &found->second;
}

void NewRows::passGates(const std::map<SessionName, int>& sessions, bool makes) {
  ArrayText peers;
  ArrayText names;
  ArrayText lanes;
  ArrayText priorities;
  std::vector<const SessionName*> fresh;
  for (const auto& [session, priority] : sessions) {
    if (!tails_.contains(session)) {
      peers.add(session.peer);
      names.add(std::string_view(session.name));
      lanes.add(std::int64_t{session.lane});
      priorities.add(std::int64_t{priority});
      fresh.push_back(&session);
    }
  }
  if (fresh.empty()) {
    return;
  }
  context_.released.flush();
  const Result gates = context_.connection.run(
      "SELECT g.*,k.place-1 FROM (SELECT * FROM unnest($1::bigint[],$2::text[],$3::integer[],$4::integer[]) WITH "
      "ORDINALITY AS u(peer,name,lane,priority,place) WHERE $5 OR EXISTS(SELECT 1 FROM #sessions AS s WHERE "
      "s.peer_id=u.peer AND s.name=u.name AND s.lane=u.lane) ORDER BY u.place OFFSET 0) AS k, LATERAL "
      "#gate(k.peer,k.name,k.lane,k.priority) AS g ORDER BY k.place",
      peers.text(), names.text(), lanes.text(), priorities.text(), makes);
  for (const Row& gate : gates) {
    passed(*fresh.at(gate.as<std::size_t>(5)), gate);
  }
}

delivery::MessageKey NewRows::newKey(SessionTail& tail) {
  constexpr std::int64_t kDrawnMax = 256;
  if (tail.key != 0) {
    return std::exchange(tail.key, 0);
  }
  if (keys_.empty() || tail.gate > gatesOfKeys_) {
    drawn_ = std::min(4 * drawn_, kDrawnMax);
    keys_ =
        context_.connection.run("SELECT nextval('#outbox_id') FROM generate_series(1,$1::bigint)", drawn_).integers();
    std::ranges::sort(keys_, std::greater());
    gatesOfKeys_ = gates_;
  }
  const delivery::MessageKey key = keys_.back();
  keys_.pop_back();
  return key;
}

void NewRows::add(NewRow&& row) {
  bytes_ += row.frame.data.size();
  rows_.push_back(std::move(row));
  if (rows_.size() >= kGatheredMax || bytes_ >= kGatheredBytesMax) {
    flush();
    context_.connection.runPosted();
  }
}

void NewRows::setPriority(SessionTail& tail, int priority) {
  if (tail.priority != priority) {
    context_.connection.post("UPDATE #sessions SET priority=$2 WHERE id=$1", tail.session, priority);
    tail.priority = priority;
  }
}

void NewRows::outdate(delivery::SessionKey session) {
  context_.connection.post("UPDATE #sessions SET version=version+1 WHERE id=$1", session);
}

void NewRows::flush() {
  if (rows_.empty()) {
    return;
  }
  ArrayText columns[13];
  for (const NewRow& row : rows_) {
    const Frame& frame = row.frame;
    columns[0].add(row.key);
    columns[1].add(row.session);
    columns[2].add(static_cast<std::int64_t>(row.sequence));
    columns[3].add(row.enqueuedAt);
    columns[4].add(row.notBefore.value_or(WallTime{}));
    columns[5].add(frame.expiresAt);
    columns[6].add(row.notBefore);
    columns[7].add(std::string_view(row.messageId));
    columns[8].add(std::string_view(frame.type));
    columns[9].add(NullIfEmpty{frame.traceparent});
    columns[10].add(NullIfEmpty{frame.correlationId});
    columns[11].add(NullIfEmpty{frame.resentOf});
    columns[12].add(NullIfEmpty{frame.supersedeKey});
  }
  ArrayText data;
  for (const NewRow& row : rows_) {
    data.add(Blob{row.frame.data});
  }
  std::vector<std::string> texts;
  for (const ArrayText& column : columns) {
    texts.push_back(column.text());
  }
  texts.push_back(data.text());
  Parameters parameters;
  for (const std::string& text : texts) {
    parameters.add(text);
  }
  context_.connection.postWith(
      "INSERT INTO #outbox(id,session_id,sequence,created_at_ms,due_at_ms,expires_at_ms,not_before_ms,message_id,type,"
      "traceparent,correlation_id,resent_of,supersede_key,data) SELECT * FROM unnest($1::bigint[],$2::bigint[],"
      "$3::bigint[],$4::bigint[],$5::bigint[],$6::bigint[],$7::bigint[],$8::text[],$9::text[],$10::text[],$11::text[],"
      "$12::text[],$13::text[],$14::bytea[])",
      parameters);
  rows_.clear();
  bytes_ = 0;
  for (const delivery::SessionKey session : std::exchange(unproven_, {})) {
    context_.connection.run("SELECT #confirm($1)", session);
  }
}

void NewRows::forget() noexcept {
  unproven_.clear();
  tails_.clear();
  rows_.clear();
  bytes_ = 0;
  keys_.clear();
  gates_ = 0;
  gatesOfKeys_ = 0;
  drawn_ = 1;
}

}  // namespace ackbox::store::postgres
