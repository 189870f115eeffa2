#pragma once

// What the machine's tests play on: a machine, a store that keeps rows in a map and guards its settles by the
// transition table, and clocks that move when told. Claims are answered at once; sends wait for the test to answer.

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delivery/machine.hpp"

namespace ackbox::delivery {

using namespace std::chrono_literals;

constexpr PeerKey kPeer = 1;
constexpr std::size_t kAllFrames = std::numeric_limits<std::size_t>::max();

struct StoredRow {
  SessionKey session = 0;
  std::uint64_t sequence = 0;
  MessageState state = MessageState::pending;
  std::uint32_t attempt = 0;
  std::uint32_t retryCount = 0;
  std::uint32_t dataBytes = 100;
  WallTime enqueuedAt{};
  WallTime dueAt{};
  std::optional<WallTime> expiresAt;
  std::optional<WallTime> notBefore = {};
  std::string reason;
  std::string error;
};

struct StoredSession {
  PeerKey peer = kPeer;
  bool owned = false;
  WallTime dueAt{};
  std::uint64_t previousSequence = 0;
  std::uint64_t lastSequence = 0;
  std::uint8_t priority = kPriorityDefault;
  /// An unordered queue of unordered messages.
  bool unordered = false;
  MessageKey blockedBy = 0;
};

struct Stage {
  explicit Stage(MachineOptions machineOptions = {}, std::uint64_t seed = 1)
      : options(std::move(machineOptions)), random(seededRandom(seed)) {
    machine = std::make_unique<Machine>(options, *random);
  }

  // --- The store.

  MessageKey store(SessionKey session, PeerKey peer = kPeer, std::uint8_t priority = kPriorityDefault,
                   std::optional<WallTime> notBefore = {}) {
    const auto [place, isNew] = sessions.try_emplace(session);
    StoredSession& stored = place->second;
    stored.priority = priority;
    if (isNew) {
      stored.peer = peer;
      newSessions.push_back(
          {.key = session, .peer = peer, .dueAt = {}, .priority = priority, .policy = policies[session]});
    }
    const MessageKey key = ++lastKey;
    StoredRow& row = rows[key];
    row.session = session;
    row.sequence = stored.unordered ? 0 : ++stored.lastSequence;
    row.enqueuedAt = now.wall;
    row.notBefore = notBefore;
    row.dueAt = notBefore.value_or(WallTime{});
    newRows.push_back(
        {.key = key, .session = session, .state = MessageState::pending, .dueAt = row.dueAt, .priority = priority});
    return key;
  }
  /// Into the peer's unordered queue of unordered messages of this priority.
  MessageKey storeUnordered(PeerKey peer = kPeer, std::uint8_t priority = kPriorityDefault,
                            std::optional<WallTime> notBefore = {}) {
    const SessionKey unorderedQueue = 1'000 + 10 * peer + priority;
    const auto [place, isNew] = sessions.try_emplace(unorderedQueue);
    if (isNew) {
      place->second.peer = peer;
      place->second.unordered = true;
      newSessions.push_back(
          {.key = unorderedQueue, .peer = peer, .dueAt = {}, .priority = priority, .unordered = true});
    }
    return store(unorderedQueue, peer, priority, notBefore);
  }
  /// Stores and tells the machine at once.
  MessageKey enqueue(SessionKey session, PeerKey peer = kPeer) {
    const MessageKey key = store(session, peer);
    showRows();
    return key;
  }
  void showRows() {
    const auto shownSessions = std::exchange(newSessions, {});
    const auto shownRows = std::exchange(newRows, {});
    Actions actions;
    machine->rowsSeen(shownSessions, shownRows, now, actions);
    perform(std::move(actions));
  }

  SessionClaimed claim(const SessionClaim& asked) {
    const bool unit = isUnit(asked.session);
    const SessionKey home = unit ? rows.at(asked.keys.front()).session : asked.session;
    StoredSession& session = sessions.at(home);
    CHECK(session.unordered == unit);
    SessionClaimed got;
    got.session = asked.session;
    if (isFull() || framesLeft == 0) {
      got.status = ClaimStatus::full;
      return got;
    }
    if (const auto status = claimStatus.find(home); status != claimStatus.end()) {
      got.status = status->second;
      got.dueAt = now.wall + 100ms;
      return got;
    }
    if (session.blockedBy != 0) {
      got.status = ClaimStatus::halted;
      return got;
    }
    CHECK_FALSE(session.owned);
    session.owned = !unit;
    got.previousSequence = session.previousSequence;
    got.confirmedSequence = confirmed;
    if (!unit) {
      got.priority = session.priority;
    }
    for (const MessageKey key : asked.keys) {
      if (framesLeft == 0) {
        break;
      }
      // As the store: a delay counts until the row was tried.
      if (const auto waiting = rows.find(key); waiting != rows.end() && key != asked.waited &&
                                               waiting->second.state == MessageState::pending &&
                                               waiting->second.attempt == 0 && waiting->second.dueAt > now.wall) {
        if (got.rows.empty() && got.deferred.empty()) {
          got.status = ClaimStatus::notDue;
          got.dueAt = waiting->second.dueAt;
          got.delayed = key;
          session.owned = false;
        }
        break;
      }
      const auto place = rows.find(key);
      if (place == rows.end()) {
        continue;
      }
      StoredRow& row = place->second;
      if (row.state == MessageState::sent) {
        got.deferred.push_back({.key = key, .dueAt = row.dueAt});
      } else if (row.state == MessageState::pending) {
        if (!takes(row)) {
          if (got.rows.empty() && got.deferred.empty()) {
            got.status = ClaimStatus::full;
            session.owned = false;
          }
          break;
        }
        row.state = MessageState::sending;
        --framesLeft;
        got.rows.push_back({.key = key,
                            .sequence = row.sequence,
                            .attempt = ++row.attempt,
                            .retryCount = row.retryCount,
                            .dataBytes = row.dataBytes,
                            .enqueuedAt = row.enqueuedAt,
                            .expiresAt = row.expiresAt,
                            .notBefore = row.notBefore});
      }
    }
    return got;
  }

  // Of the claim under way, as the store: the first row goes whatever its size, and behind one that does not fit none.
  [[nodiscard]] bool isFull() const { return room && room == 0U; }
  bool takes(const StoredRow& row) {
    if (!room) {
      return true;
    }
    const std::uint64_t bytes = wireBytes(row.dataBytes);
    const bool isFirst = std::exchange(isFirstRow, false);
    if (bytes > *room && !isFirst) {
      room = 0;
      return false;
    }
    // At least one: nothing left is not the same as full.
    room = *room > bytes ? *room - bytes : 1;
    return true;
  }

  void apply(const Settlement& settlement) {
    const Next to = next(settlement.from, settlement.transition);
    REQUIRE(to != Next::illegal);
    StoredRow& row = rows.at(settlement.key);
    if (row.state != settlement.from ||
        (settlement.from == MessageState::sending && row.attempt != settlement.attempt)) {
      ++staleSettles;
      return;
    }
    static const std::map<Next, MessageState> states = {{Next::pending, MessageState::pending},
                                                        {Next::sending, MessageState::sending},
                                                        {Next::sent, MessageState::sent},
                                                        {Next::acked, MessageState::acked},
                                                        {Next::failed, MessageState::failed}};
    row.state = states.at(to);
    row.dueAt = settlement.dueAt;
    row.reason = settlement.reason;
    row.error = settlement.error;
    row.retryCount += settlement.transition == Transition::retry ? 1U : 0U;
    if (settlement.blocks && sessions.at(settlement.session).blockedBy == 0) {
      sessions.at(settlement.session).blockedBy = settlement.key;
    }
    settled.push_back(settlement);
  }

  void perform(Actions actions) {
    for (const Settlement& settlement : actions.settlements) {
      apply(settlement);
    }
    for (const SessionRelease& release : actions.releases) {
      StoredSession& session = sessions.at(release.session);
      CHECK(session.owned);
      session.owned = false;
      session.dueAt = release.dueAt;
      session.previousSequence = release.previousSequence.value_or(session.previousSequence);
    }
    releases.insert(releases.end(), actions.releases.begin(), actions.releases.end());
    records.insert(records.end(), actions.peers.begin(), actions.peers.end());
    claimsMade += actions.claims.size();
    for (Actions::Send& send : actions.sends) {
      sends.push_back(std::move(send));
    }
    for (Actions::Claim& made : actions.claims) {
      pendingClaims.push_back(std::move(made));
    }
    while (!holdClaims && !pendingClaims.empty()) {
      answerClaim();
    }
  }
  void answerClaim() {
    const Actions::Claim made = std::move(pendingClaims.front());
    pendingClaims.pop_front();
    std::vector<SessionClaimed> got;
    got.reserve(made.sessions->size());
    isFirstRow = true;
    framesLeft = made.framesMax;
    room = cutsClaims ? std::optional(made.bytesMax) : std::nullopt;
    for (const SessionClaim& asked : *made.sessions) {
      got.push_back(claim(asked));
    }
    framesLeft = kAllFrames;
    Actions actions;
    machine->claimed(made.request, got, ownEpoch, now, actions);
    perform(std::move(actions));
  }

  /// Tells the machine the standing orders and which sessions are blocked.
  void order() {
    HoldSnapshot all;
    all.peers.push_back(holds);
    for (const auto& [key, session] : sessions) {
      if (session.blockedBy != 0) {
        all.sessions.push_back(key);
      }
    }
    Actions actions;
    machine->applyHolds(all, now, actions);
    perform(std::move(actions));
  }

  // --- The peer.

  [[nodiscard]] static std::vector<MessageKey> keysOf(const Actions::Send& send) {
    std::vector<MessageKey> keys;
    for (const Actions::Send::Item& item : send.items) {
      keys.push_back(item.key);
    }
    return keys;
  }
  /// The keys of the only send that waits.
  [[nodiscard]] std::vector<MessageKey> onlySend() const {
    REQUIRE(sends.size() == 1);
    return keysOf(sends.front());
  }
  [[nodiscard]] static FrameResult result(Outcome outcome, std::string code = {}) {
    FrameResult made;
    made.outcome = outcome;
    made.code = std::move(code);
    return made;
  }
  [[nodiscard]] static FrameResult held() {
    FrameResult made = result(Outcome::nack, "held");
    made.held = true;
    return made;
  }
  void report(SendReport made) {
    REQUIRE_FALSE(sends.empty());
    const Actions::Send send = std::move(sends.front());
    sends.pop_front();
    Actions actions;
    machine->answered(send.request, made, now, actions);
    perform(std::move(actions));
  }
  /// Answers the oldest send.
  void answer(std::vector<FrameResult> results) {
    SendReport made;
    made.outcome = RequestOutcome::answered;
    made.results = std::move(results);
    report(std::move(made));
  }
  void ackAll() {
    REQUIRE_FALSE(sends.empty());
    answer(std::vector<FrameResult>(sends.front().items.size(), result(Outcome::ack)));
  }
  void ackEventually(MessageKey key) {
    while (state(key) != MessageState::acked) {
      if (sends.empty()) {
        REQUIRE(advanceToWake());
      } else {
        ackAll();
      }
    }
  }
  void failRequest(RequestOutcome outcome) {
    SendReport made;
    made.outcome = outcome;
    report(std::move(made));
  }

  // --- Time.

  void tick() {
    Actions actions;
    machine->tick(now, actions);
    perform(std::move(actions));
  }
  void advance(std::chrono::milliseconds by) {
    now.steady += by;
    now.wall += by;
    tick();
  }
  /// Moves both clocks to the machine's next wake-up; false when there is none.
  bool advanceToWake() {
    const auto wake = machine->nextWake();
    if (!wake) {
      return false;
    }
    advance(std::chrono::ceil<std::chrono::milliseconds>(std::max(*wake, now.steady) - now.steady));
    return true;
  }

  [[nodiscard]] MessageState state(MessageKey key) const { return rows.at(key).state; }

  MachineOptions options;
  std::shared_ptr<Random> random;
  std::unique_ptr<Machine> machine;
  /// What claims say of the store's epoch.
  std::uint64_t ownEpoch = 1;
  Now now{.steady = SteadyTime(1000h), .wall = WallTime(500'000h)};

  /// What the file remembers to have sent, of any session.
  std::uint64_t confirmed = 0;
  std::map<MessageKey, StoredRow> rows;
  std::map<SessionKey, StoredSession> sessions;
  std::vector<SessionInfo> newSessions;
  std::vector<RowSeen> newRows;
  MessageKey lastKey = 0;
  /// Sessions that the store refuses to claim.
  std::map<SessionKey, ClaimStatus> claimStatus;
  bool holdClaims = false;
  /// Claims bring no more than they may. Off: all that was asked for, of which the machine gives back what is too much.
  bool cutsClaims = false;
  std::optional<std::uint64_t> room = {};
  bool isFirstRow = false;
  std::size_t framesLeft = kAllFrames;
  std::deque<Actions::Claim> pendingClaims;

  std::deque<Actions::Send> sends;
  std::vector<Settlement> settled;
  std::vector<SessionRelease> releases;
  std::vector<PeerRecord> records;
  /// Of sessions that are stored after it was said.
  std::map<SessionKey, DeliveryPolicy> policies;
  PeerHolds holds{.record = {.peer = kPeer, .error = {}}};
  std::size_t claimsMade = 0;
  std::size_t staleSettles = 0;
};

}  // namespace ackbox::delivery
