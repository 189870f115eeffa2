// Goal: whatever happens, the machine keeps order, sends a session once at a time, charges no message for its peer's
// outage, or for the fault of another message, and brings every message to an end once faults cease (P3, P4, P8, P12).
// Method: a model store and a model receiver drive it through 20,000 random events per seed: lost and late requests,
// nacks, rejections, deferred acks, outages, messages that are always refused or never answered, delays, unordered
// messages, priorities, busy databases, other processes, clock jumps and restarts. Then faults end and the rest must
// drain. The seed is printed when a check fails.

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "support/scale.hpp"
#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::machine_property_test {
namespace {

constexpr int kEvents = 20'000;
constexpr std::uint64_t kPeers = 3;
constexpr std::uint64_t kSessions = 24;
// One message in so many is never taken while there are faults.
constexpr MessageKey kBadEach = 43;

MachineOptions smallOptions() {
  MachineOptions options;
  options.batchFrames = 8;
  options.batchBytes = 9'000;
  options.ackTimeout = 2s;
  options.retry.maxRetries = 4;
  options.retry.delays = {10ms, 100ms, 1s};
  options.peerHealth.probeDelays = {10ms, 100ms, 1s};
  return options;
}

/// One session as its receiver knows it.
struct Receiver {
  std::uint64_t accepted = 0;
  std::vector<MessageKey> effects;
  std::set<MessageKey> deferred;
};

class World {
public:
  explicit World(std::uint64_t seed) : stage_(smallOptions(), seed), random_(seededRandom(seed + 1)) { addPeers(); }

  void run() {
    for (int event = 0; event < kEvents; ++event) {
      step();
      checkRequests();
    }
    drain();
    checkEnds();
  }

private:
  std::uint64_t below(std::uint64_t bound) { return random_->next() % bound; }
  bool oneIn(std::uint64_t chances) { return below(chances) == 0; }

  void addPeers() {
    for (std::uint64_t peer = 1; peer <= kPeers; ++peer) {
      stage_.machine->peerAdded(static_cast<PeerKey>(peer), static_cast<std::uint32_t>(1 + peer));
    }
    stage_.tick();
  }

  void step() {
    const std::uint64_t dice = below(100);
    if (dice < 30) {
      enqueue();
    } else if (dice < 70) {
      answerOne();
    } else if (dice < 80) {
      stage_.advance(std::chrono::milliseconds(below(200)));
    } else if (dice < 84) {
      ackEvent();
    } else if (dice < 86) {
      stage_.now.wall += oneIn(2) ? 24h : -24h;
      stage_.tick();
    } else if (dice < 88) {
      outage_ ^= 1U << (1 + below(kPeers));
    } else if (dice < 89) {
      meddle();
    } else if (dice < 92) {
      deliverElsewhere();
    } else if (dice < 93 && oneIn(12)) {
      restart();
    } else {
      holdOrAnswerClaims();
    }
  }

  void enqueue() {
    const std::uint64_t session = 1 + below(kSessions);
    const std::uint64_t count = 1 + below(3);
    // Delays are of the length that a day's step of the calendar makes either nothing or an hour's look.
    const auto notBefore =
        oneIn(20) ? std::optional(stage_.now.wall + std::chrono::milliseconds(below(3'000))) : std::nullopt;
    const auto peer = static_cast<PeerKey>(1 + session % kPeers);
    const auto priority = static_cast<std::uint8_t>(oneIn(3) ? below(kPriorityMax + 1) : kPriorityDefault);
    for (std::uint64_t made = 0; made < count; ++made) {
      const MessageKey key = oneIn(4) ? stage_.storeUnordered(peer, priority, notBefore)
                                      : stage_.store(static_cast<SessionKey>(session), peer, priority, notBefore);
      stage_.rows.at(key).dataBytes = static_cast<std::uint32_t>(1 + below(3'000));
      if (oneIn(50)) {
        stage_.rows.at(key).expiresAt = stage_.now.wall + 1s;
      }
    }
    stage_.showRows();
  }

  void holdOrAnswerClaims() {
    stage_.holdClaims = oneIn(4);
    stage_.cutsClaims = oneIn(2);
    if (stage_.pendingClaims.empty()) {
      return;
    }
    if (oneIn(5)) {
      const RequestId request = stage_.pendingClaims.front().request;
      stage_.pendingClaims.pop_front();
      Actions actions;
      stage_.machine->claimFailed(request, 50ms, stage_.now, actions, oneIn(3));
      stage_.perform(std::move(actions));
    } else {
      stage_.answerClaim();
    }
  }

  // Another process holds a session, or lets it go.
  void meddle() {
    const auto session = static_cast<SessionKey>(1 + below(kSessions));
    if (stage_.claimStatus.erase(session) == 0 && stage_.sessions.contains(session)) {
      stage_.claimStatus[session] = oneIn(2) ? ClaimStatus::busy : ClaimStatus::notDue;
    }
  }

  // Another process delivers what waits first in a session, or an unordered message; this machine is not told.
  void deliverElsewhere() {
    for (std::uint64_t count = 1 + below(40); count > 0; --count) {
      const MessageKey key = stage_.lastKey - static_cast<MessageKey>(below(200));
      const auto place = stage_.rows.find(key);
      if (place == stage_.rows.end() || place->second.state != MessageState::pending) {
        continue;
      }
      const SessionKey session = place->second.session;
      StoredSession& stored = stage_.sessions.at(session);
      const auto first = std::ranges::find_if(stage_.rows, [&](const auto& row) {
        return row.second.session == session && row.second.state == MessageState::pending;
      });
      const auto& [delivered, row] = stored.unordered ? *place : *first;
      Receiver& receiver = receivers_[stored.unordered ? unitOf(delivered) : session];
      if (stored.owned || stored.blockedBy != 0 || (!stored.unordered && receiver.accepted >= row.sequence) ||
          (stored.unordered && !receiver.effects.empty())) {
        continue;
      }
      stage_.rows.at(delivered).state = MessageState::acked;
      stored.previousSequence = row.sequence;
      receiver.accepted = row.sequence;
      receiver.effects.push_back(delivered);
      ++deliveredElsewhere_;
    }
  }

  // The receiver's rule for one frame: protocol rule 1.
  FrameResult receive(const Actions::Send::Item& item, std::set<SessionKey>& stopped) {
    const std::uint64_t sequence = stage_.rows.at(item.key).sequence;
    Receiver& receiver = receivers_[item.session];
    if (isUnit(item.session)) {
      return receiveUnordered(item.key, receiver);
    }
    CHECK(item.previousSequence < sequence);
    if (stopped.contains(item.session)) {
      return Stage::held();
    }
    if (sequence <= receiver.accepted) {
      FrameResult again = Stage::result(receiver.deferred.contains(item.key) ? Outcome::defer : Outcome::ack);
      again.duplicate = true;
      return again;
    }
    CHECK(item.previousSequence <= receiver.accepted);
    FrameResult made = Stage::result(Outcome::ack);
    const std::uint64_t dice = faults_ ? below(20) : 19;
    if (dice < 3) {
      made = Stage::result(Outcome::nack, "not-now");
    } else if (dice < 4) {
      made = Stage::result(Outcome::term, "rejected");
    } else {
      receiver.accepted = sequence;
      receiver.effects.push_back(item.key);
      if (dice < 6) {
        made.outcome = Outcome::defer;
        receiver.deferred.insert(item.key);
      }
    }
    if (made.outcome == Outcome::nack || made.outcome == Outcome::term) {
      stopped.insert(item.session);
    }
    return made;
  }
  // The same outside any session: rule 2.
  FrameResult receiveUnordered(MessageKey key, Receiver& receiver) {
    FrameResult made = Stage::result(receiver.deferred.contains(key) ? Outcome::defer : Outcome::ack);
    made.duplicate = !receiver.effects.empty();
    if (made.duplicate) {
      return made;
    }
    const std::uint64_t dice = faults_ ? below(20) : 19;
    if (dice < 4) {
      return Stage::result(dice < 3 ? Outcome::nack : Outcome::term, "refused");
    }
    receiver.effects.push_back(key);
    if (dice < 6) {
      made.outcome = Outcome::defer;
      receiver.deferred.insert(key);
    }
    return made;
  }
  SendReport deliver(const Actions::Send& send) {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    std::set<SessionKey> stopped;
    for (const Actions::Send::Item& item : send.items) {
      report.results.push_back(receive(item, stopped));
    }
    return report;
  }

  void answerOne() {
    if (stage_.sends.empty()) {
      return;
    }
    // Any of the requests under way may be the next to end.
    std::swap(stage_.sends.front(), stage_.sends[below(stage_.sends.size())]);
    const Actions::Send send = stage_.sends.front();
    const bool away = (outage_ >> static_cast<unsigned>(send.peer) & 1U) != 0;
    ++answers_;
    SendReport report;
    if (away) {
      report.outcome = oneIn(3) ? RequestOutcome::peerRefused : RequestOutcome::peerUnavailable;
    } else if (const auto bad = std::ranges::find_if(send.items, isBad, &Actions::Send::Item::key);
               faults_ && bad != send.items.end()) {
      report.outcome = bad->key % (2 * kBadEach) == 0 ? RequestOutcome::peerRefused : RequestOutcome::peerUnavailable;
      report.status = 1;
    } else if (faults_ && oneIn(10)) {
      if (oneIn(2)) {
        (void)deliver(send);
      }
      const RequestOutcome ends[] = {RequestOutcome::connectionLost, RequestOutcome::peerUnavailable,
                                     RequestOutcome::cancelled, RequestOutcome::requestRejected,
                                     RequestOutcome::answered};
      report.outcome = ends[below(std::size(ends))];
    } else {
      report = deliver(send);
    }
    const std::size_t before = stage_.settled.size();
    const bool wasSingle = send.items.size() == 1;
    const bool wasAnswered = report.outcome == RequestOutcome::answered && !report.results.empty();
    stage_.holdClaims = true;
    stage_.report(report);
    for (std::size_t index = before; index < stage_.settled.size() && !wasAnswered; ++index) {
      checkUncharged(stage_.settled[index], report.outcome, wasSingle, send.peer);
    }
    note(send, report);
    stage_.holdClaims = faults_ && oneIn(4);
    stage_.perform({});
  }

  static bool isBad(MessageKey key) { return key % kBadEach == 0; }

  // What later tells a refusal of the message's from one of the peer's.
  void note(const Actions::Send& send, const SendReport& report) {
    if (std::ranges::any_of(report.results, [](const FrameResult& result) {
          return result.outcome == Outcome::ack || result.outcome == Outcome::defer;
        })) {
      takenAt_[send.peer] = answers_;
    } else if (report.outcome == RequestOutcome::peerRefused || report.outcome == RequestOutcome::peerUnavailable ||
               (report.outcome == RequestOutcome::answered && report.results.empty())) {
      for (const Actions::Send::Item& item : send.items) {
        refusedAt_[item.key] = answers_;
      }
    }
  }

  // P8, P12.
  void checkUncharged(const Settlement& settlement, RequestOutcome outcome, bool wasSingle, PeerKey peer) {
    if (settlement.transition == Transition::release) {
      return;
    }
    CHECK(wasSingle);
    if (outcome == RequestOutcome::peerRefused || outcome == RequestOutcome::answered) {
      // Of an answer that fits no request, too. It was refused before, and another one taken since.
      CHECK(refusedAt_[settlement.key] != 0);
      CHECK(refusedAt_[settlement.key] < takenAt_[peer]);
      CHECK((settlement.transition == Transition::retry || settlement.reason == "retry-budget"));
      ++chargedForRefusals_;
      return;
    }
    CHECK((settlement.transition == Transition::fail));
    CHECK(settlement.reason == (outcome == RequestOutcome::connectionLost ? "peer-killer" : "rejected-request"));
  }

  // The receiver acknowledges what it deferred.
  void ackEvent() {
    for (auto& [session, receiver] : receivers_) {
      if (receiver.deferred.empty()) {
        continue;
      }
      const MessageKey key = *receiver.deferred.begin();
      receiver.deferred.erase(key);
      StoredRow& row = stage_.rows.at(key);
      if (next(row.state, Transition::ack) == Next::acked) {
        row.state = MessageState::acked;
        stage_.machine->forget(row.session, key);
      }
      return;
    }
  }

  void restart() {
    for (const Actions::Send& send : std::exchange(stage_.sends, {})) {
      if (oneIn(2)) {
        (void)deliver(send);
      }
    }
    stage_.pendingClaims.clear();
    stage_.newRows.clear();
    stage_.newSessions.clear();
    for (auto& [key, session] : stage_.sessions) {
      session.owned = false;
      stage_.newSessions.push_back({.key = key,
                                    .peer = session.peer,
                                    .dueAt = session.dueAt,
                                    .priority = session.priority,
                                    .unordered = session.unordered});
    }
    for (auto& [key, row] : stage_.rows) {
      if (row.state == MessageState::sending) {
        row.state = MessageState::pending;
      }
      if (row.state == MessageState::pending || row.state == MessageState::sent) {
        stage_.newRows.push_back({.key = key, .session = row.session, .state = row.state, .dueAt = row.dueAt});
      }
    }
    stage_.machine = std::make_unique<Machine>(stage_.options, *stage_.random);
    refusedAt_.clear();
    addPeers();
    stage_.showRows();
  }

  void checkRequests() {
    std::set<SessionKey> busy;
    for (const Actions::Send& send : stage_.sends) {
      std::set<SessionKey> mine;
      MessageKey last = 0;
      SessionKey session = 0;
      for (const Actions::Send::Item& item : send.items) {
        if (item.session != session) {
          CHECK(mine.insert(item.session).second);
        } else {
          CHECK(item.key > last);
        }
        session = item.session;
        last = item.key;
      }
      for (const SessionKey key : mine) {
        CHECK(busy.insert(key).second);
      }
    }
    for (std::uint64_t peer = 1; peer <= kPeers; ++peer) {
      CHECK(stage_.machine->peer(static_cast<PeerKey>(peer))->requestsInFlight <= 1 + peer);
    }
    CHECK(stage_.machine->requestsInFlight() == stage_.sends.size() + stage_.pendingClaims.size());
  }

  void drain() {
    faults_ = false;
    outage_ = 0;
    stage_.claimStatus.clear();
    stage_.holdClaims = false;
    stage_.perform({});
    for (int turn = 0; turn < 200'000; ++turn) {
      ackEvent();
      if (!stage_.sends.empty()) {
        answerOne();
      } else if (!stage_.advanceToWake()) {
        return;
      }
    }
    FAIL("the machine did not come to rest");
  }

  void checkEnds() {
    CHECK(stage_.machine->requestsInFlight() == 0);
    std::map<MessageState, int> count;
    std::set<MessageKey> effects;
    for (const auto& [session, receiver] : receivers_) {
      CHECK((!isUnit(session) || receiver.effects.size() <= 1));
      CHECK(std::is_sorted(receiver.effects.begin(), receiver.effects.end()));
      effects.insert(receiver.effects.begin(), receiver.effects.end());
    }
    for (const auto& [rowKey, row] : stage_.rows) {
      const delivery::MessageKey key = rowKey;
      CAPTURE(key);
      ++count[row.state];
      CHECK((row.state == MessageState::acked || row.state == MessageState::failed));
      CHECK((row.state != MessageState::failed || !row.reason.empty()));
      CHECK((row.state != MessageState::acked || effects.contains(key)));
    }
    // The run must not pass because nothing happened.
    CHECK(count[MessageState::acked] > 1'000);
    CHECK(chargedForRefusals_ > 20);
    CHECK(deliveredElsewhere_ > 100);
  }

  Stage stage_;
  std::shared_ptr<Random> random_;
  std::map<SessionKey, Receiver> receivers_;
  int answers_ = 0;
  std::map<MessageKey, int> refusedAt_;
  std::map<PeerKey, int> takenAt_;
  int chargedForRefusals_ = 0;
  int deliveredElsewhere_ = 0;
  unsigned outage_ = 0;
  bool faults_ = true;
};

TEST_CASE(
    "P3, P4, P8, P12: through 20,000 random events nothing is dropped, reordered or charged for what others did") {
  for (std::uint64_t seed = 1; seed <= testing::scaled(6); ++seed) {
    CAPTURE(seed);
    World(seed).run();
  }
}

}  // namespace
}  // namespace ackbox::delivery::machine_property_test
