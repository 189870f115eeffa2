// Goal: messages that a peer answers too late, with garbage, or with 410, hold up no others of the same peer (P12).
// Method: a stage on which each request takes its time and several are under way; the peer takes a second longer than
// it may for some messages, always, by their keys, or answers them in another way.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delivery/ready_queue.hpp"
#include "unit/delivery/refusing_stage.hpp"

namespace ackbox::delivery::slow_peer_test {
namespace {

constexpr auto kTimeout = 10s;
constexpr auto kQuick = 10ms;

struct Timed : Refusing {
  explicit Timed(std::uint32_t places, std::uint32_t frames = 1) : Refusing(frames, places, 1'000) {}

  // The answers that are under way, each at its time.
  struct Reply {
    SteadyTime at;
    Actions::Send send;
    bool isBad = false;
  };
  void takeSends() {
    while (!sends.empty()) {
      Actions::Send send = std::move(sends.front());
      sends.pop_front();
      const Keys keys = keysOf(send);
      const bool isBad = std::ranges::any_of(keys, [this](MessageKey key) { return bad.contains(key); });
      for (const MessageKey key : keys) {
        if (++asked[key] > 1) {
          repeatsBeforeFresh += asked.size() < rows.size() ? 1 : 0;
          ++repeatsUnderWay;
          repeatsAtOnce = std::max(repeatsAtOnce, repeatsUnderWay);
        }
      }
      replies.push_back({now.steady + (isBad ? badTakes : kQuick), std::move(send), isBad});
    }
  }
  /// Until `isOver`, or for so long.
  void goOn(const std::function<bool()>& isOver, std::chrono::milliseconds longest) {
    const SteadyTime end = now.steady + longest;
    takeSends();
    while (!isOver() && now.steady <= end) {
      const auto next = std::ranges::min_element(replies, {}, &Reply::at);
      const std::optional<SteadyTime> wake = machine->nextWake();
      if (next == replies.end() && !wake) {
        return;
      }
      if (next == replies.end() || (wake && *wake < next->at)) {
        advanceToWake();
      } else {
        Reply reply = std::move(*next);
        replies.erase(next);
        advance(std::chrono::ceil<std::chrono::milliseconds>(std::max(reply.at, now.steady) - now.steady));
        finish(std::move(reply));
      }
      takeSends();
    }
  }
  void finish(Reply reply) {
    for (const MessageKey key : keysOf(reply.send)) {
      repeatsUnderWay -= asked[key] > 1 ? 1 : 0;
    }
    takeSends();
    const std::size_t frames = reply.send.items.size();
    sends.push_front(std::move(reply.send));
    if (reply.isBad) {
      ++refusals;
      report(badAnswer);
    } else {
      answer(std::vector<FrameResult>(frames, result(Outcome::ack)));
    }
  }

  std::vector<Reply> replies;
  std::chrono::milliseconds badTakes = kTimeout;
  SendReport badAnswer = silence();
  // How often a message was sent again while there was one that had never been.
  int repeatsBeforeFresh = 0;
  int repeatsUnderWay = 0;
  int repeatsAtOnce = 0;

  static SendReport silence() {
    SendReport made;
    made.outcome = RequestOutcome::peerUnavailable;
    made.error = "no answer in time";
    return made;
  }
};

void addMany(Timed& stage, int count, int everyBad, bool inSessions) {
  for (int index = 0; index < count; ++index) {
    const MessageKey key = inSessions ? stage.store(1'000'000 + index) : stage.storeUnordered();
    if (index % everyBad == 0) {
      stage.bad.insert(key);
    }
  }
  stage.showRows();
}

TEST_CASE("P12: what timed out is tried again behind what was never tried, in at most half of the peer's places") {
  for (const std::uint32_t places : {1U, 2U, 4U, 8U}) {
    for (const bool inSessions : {false, true}) {
      CAPTURE(places);
      CAPTURE(inSessions);
      Timed stage(places);
      addMany(stage, 200, 10, inSessions);
      const SteadyTime began = stage.now.steady;
      stage.goOn([&] { return stage.areOthersAcked(); }, 1h);
      CHECK(stage.areOthersAcked());
      // Each of 20 slow ones holds a place once, and what is tried again takes half of them at most.
      CHECK(stage.now.steady - began <= 2 * 20 * kTimeout / std::max(1U, places / 2) + 20 * kTimeout);
      CHECK(stage.repeatsAtOnce <= static_cast<int>(std::max(1U, places / 2)));
      CHECK(stage.repeatsBeforeFresh <= 200 / static_cast<int>(ReadyQueue::kPatience));
      CHECK(stage.charges() == 0);
    }
  }
}

TEST_CASE("P12: garbage for most messages holds up no others, and is charged to those that it is the answer to") {
  for (const std::uint32_t places : {1U, 4U}) {
    for (const bool inSessions : {false, true}) {
      CAPTURE(places);
      CAPTURE(inSessions);
      Timed stage(places);
      stage.badTakes = kQuick;
      stage.badAnswer = Timed::silence();
      stage.badAnswer.status = 200;
      stage.badAnswer.isUnclear = true;
      for (int index = 0; index < 500; ++index) {
        const MessageKey key = inSessions ? stage.store(1'000'000 + index) : stage.storeUnordered();
        if (stage.random->next() % 100 < 60) {
          stage.bad.insert(key);
        }
      }
      stage.showRows();
      const SteadyTime began = stage.now.steady;
      stage.goOn([&] { return stage.areOthersAcked(); }, 1h);
      CHECK(stage.areOthersAcked());
      CHECK(stage.now.steady - began <= 30s);
      CHECK(stage.charges() > 0);
      CHECK_FALSE(stage.view().down);
    }
  }
}

TEST_CASE("P8: garbage for all messages is an outage, charged to none, and a lone pause that is asked for is one") {
  Timed stage(2);
  stage.badTakes = kQuick;
  stage.badAnswer = Timed::silence();
  stage.badAnswer.isUnclear = true;
  for (int index = 0; index < 30; ++index) {
    stage.bad.insert(stage.storeUnordered());
  }
  stage.showRows();
  stage.goOn([] { return false; }, 5min);
  CHECK(stage.view().down);
  CHECK(stage.view().hold == PeerHold::none);
  CHECK(stage.charges() == 0);
  stage.bad.clear();
  stage.goOn([&] { return stage.areOthersAcked(); }, 5min);
  CHECK(stage.areOthersAcked());
  CHECK(stage.charges() == 0);
  const MessageKey key = stage.storeUnordered();
  stage.bad = {key};
  stage.badAnswer.retryAfter = 20s;
  stage.storeUnordered();
  stage.showRows();
  stage.goOn([&] { return stage.view().down; }, 1s);
  CHECK(stage.view().down);
}

}  // namespace
}  // namespace ackbox::delivery::slow_peer_test
