// Goal: whatever happens, a session's frames are taken in order and once at a time, a pool and a consumer have no more
// than their numbers, nothing is taken that no consumer wishes for, a mailbox's frames go to its own consumers alone,
// no sender has two turns while another one that is ready has none, and everything ends once consumers wish for it (P4,
// P12). Method: a simple model, which keeps plain lists and looks through all of them, beside the machine, through
// 20,000 random events per seed: arrivals, ends, late frees of places, waits, frames that are given back, wishes that
// come, change and go, age, and operators. Then everything is wished for and the rest must drain. The seed is printed
// when a check fails.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ackbox/random.hpp"
#include "base/pattern.hpp"
#include "reception/inbox_machine.hpp"
#include "support/scale.hpp"

namespace ackbox::reception::inbox_property_test {
namespace {

constexpr int kEvents = 20'000;
constexpr std::size_t kPools = 4;
constexpr std::size_t kOnDemand = 1;
constexpr std::size_t kMail = 3;
constexpr std::uint64_t kMailboxes = 3;
// The ids of the wishes for mailboxes are above it.
constexpr std::uint64_t kMailWishes = 100;
constexpr std::size_t kPlaces = 5;
// Of each wish, in the pools on demand.
constexpr std::size_t kOwnPlaces = 1;

struct ModelFrame {
  FrameKey key = 0;
  std::string type;
  WallTime acceptedAt;
  WallTime expiresAt = WallTime::max();
};

struct ModelQueue {
  std::string sender;
  std::string session;
  std::string mailbox;
  std::deque<ModelFrame> frames;
  bool isTaken = false;
  // Only what waits has one.
  SteadyTime readyAt = SteadyTime::min();
};

std::size_t poolOf(const ModelQueue& queue, const ModelFrame& frame) {
  if (!queue.mailbox.empty()) {
    return kMail;
  }
  return frame.type == "pushed" ? 0 : frame.type.starts_with("pulled") ? kOnDemand : 2;
}

std::size_t poolOf(const ModelQueue& queue) {
  return poolOf(queue, queue.frames.front());
}

bool isOnDemand(std::size_t pool) {
  return pool == kOnDemand || pool == kMail;
}

std::size_t poolOfWish(std::uint64_t id) {
  return id > kMailWishes ? kMail : kOnDemand;
}

class World {
public:
  explicit World(std::uint64_t seed)
      : random_(seededRandom(seed)),
        machine_({{.types = {"pushed"}, .places = kPlaces},
                  {.types = {"pulled*"}, .places = kPlaces, .ownPlaces = kOwnPlaces, .isOnDemand = true},
                  {.types = {"*"}, .places = kPlaces},
                  {.places = kPlaces, .ownPlaces = kOwnPlaces, .isOnDemand = true, .isForMailboxes = true}}) {}

  void run() {
    for (int event = 0; event < kEvents; ++event) {
      step();
    }
    drain();
  }

private:
  std::uint64_t below(std::uint64_t bound) { return random_->next() % bound; }

  void step() {
    const std::uint64_t dice = below(100);
    if (dice < 30) {
      arrive();
    } else if (dice < 60) {
      take(1 + below(4));
    } else if (dice < 90) {
      finishOne();
    } else if (dice < 94) {
      wish();
    } else if (dice < 97) {
      now_ += std::chrono::milliseconds(below(200));
      machine_.timePassed(now_);
    } else if (dice < 98) {
      machine_.endWaits();
      for (auto& [name, queue] : queues_) {
        queue.readyAt = SteadyTime::min();
      }
    } else if (dice < 99) {
      discardOne();
    } else {
      age();
    }
    const MailboxFill fill = machine_.fillOf("m0", "1");
    REQUIRE(fill.all == framesOf("m0", {}));
    REQUIRE(fill.ofSender == framesOf("m0", "1"));
  }

  /// An operator takes a frame away that is not taken, wherever it stands in its queue.
  void discardOne() {
    std::vector<QueuedFrame> untaken = machine_.untaken();
    std::set<FrameKey> expected;
    for (const auto& [name, queue] : queues_) {
      for (std::size_t index = queue.isTaken ? 1 : 0; index < queue.frames.size(); ++index) {
        if (isOnDemand(poolOf(queue, queue.frames[index]))) {
          expected.insert(queue.frames[index].key);
        }
      }
    }
    std::set<FrameKey> found;
    for (const QueuedFrame& frame : untaken) {
      found.insert(frame.key);
    }
    REQUIRE(found == expected);
    if (untaken.empty()) {
      return;
    }
    // Some of them, of several queues.
    std::vector<QueuedFrame> gone;
    for (std::uint64_t count = 1 + below(4); count > 0; --count) {
      gone.push_back(untaken[below(untaken.size())]);
    }
    for (auto& [name, queue] : queues_) {
      const auto isGone = [&](const ModelFrame& frame) {
        return std::ranges::count(gone, frame.key, &QueuedFrame::key) != 0;
      };
      if (!queue.frames.empty() && isGone(queue.frames.front())) {
        queue.readyAt = SteadyTime::min();
      }
      std::erase_if(queue.frames, isGone);
    }
    machine_.gone(gone);
    // They are gone already.
    machine_.gone(gone);
    forgetPassed();
  }

  /// Without a sender: of all.
  [[nodiscard]] std::size_t framesOf(const std::string& mailbox, const std::optional<std::string>& sender) const {
    std::size_t frames = 0;
    for (const auto& [name, queue] : queues_) {
      frames += queue.mailbox == mailbox && queue.sender == sender.value_or(queue.sender) ? queue.frames.size() : 0;
    }
    return frames;
  }

  void arrive() {
    static const std::vector<std::string> kTypes = {"pushed", "pulled.a", "pulled.b", "other"};
    // One sender has most of the sessions.
    const std::string sender = below(4) == 0 ? std::to_string(below(5)) : "0";
    const std::string session = std::to_string(below(sender == "0" ? 40 : 3));
    const std::string mailbox = below(3) == 0 ? "m" + std::to_string(below(kMailboxes)) : "";
    const std::string name = sender + "/" + mailbox + "/" + session;
    ModelFrame frame{++lastKey_, kTypes[below(kTypes.size())], WallTime(std::chrono::seconds(lastKey_))};
    if (below(8) == 0) {
      frame.expiresAt = frame.acceptedAt + std::chrono::seconds(below(100));
    }
    ModelQueue& queue = queues_[name];
    queue.sender = sender;
    queue.session = session;
    queue.mailbox = mailbox;
    queue.frames.push_back(frame);
    machine_.arrived({.key = frame.key,
                      .sender = sender,
                      .queue = name,
                      .session = session,
                      .mailbox = mailbox,
                      .type = frame.type,
                      .acceptedAt = frame.acceptedAt,
                      .expiresAt = frame.expiresAt});
  }

  [[nodiscard]] bool isReady(const ModelQueue& queue) const {
    return !queue.isTaken && queue.readyAt <= now_ && !queue.frames.empty();
  }
  [[nodiscard]] std::size_t inHand(std::uint64_t wish) const {
    return static_cast<std::size_t>(std::ranges::count(taken_, wish, [](const Turn& turn) { return turn.wish; }));
  }
  [[nodiscard]] std::size_t ownOf(std::uint64_t wish) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(taken_, [&](const Turn& turn) { return turn.isOwn && turn.wish == wish; }));
  }
  [[nodiscard]] bool fits(const Wish& wish, const ModelQueue& queue) const {
    return wish.mailbox == queue.mailbox && fitsPattern(wish.types, queue.frames.front().type) &&
           fitsPattern(wish.sessions, queue.session);
  }
  /// Whether the model would give it a turn.
  [[nodiscard]] bool mayHaveTurn(const ModelQueue& queue) const {
    const std::size_t pool = poolOf(queue);
    const auto used = std::ranges::count_if(taken_, [&](const Turn& turn) { return turn.pool == pool && !turn.isOwn; });
    const bool hasShared = static_cast<std::size_t>(used) < kPlaces;
    if (!isOnDemand(pool)) {
      return hasShared;
    }
    return std::ranges::any_of(wishes_, [&](const auto& wish) {
      return fits(wish.second, queue) && inHand(wish.first) < wish.second.count &&
             (hasShared || ownOf(wish.first) < kOwnPlaces);
    });
  }

  ModelQueue& headOf(FrameKey key) {
    const auto found = std::ranges::find_if(
        queues_, [&](const auto& one) { return !one.second.frames.empty() && one.second.frames.front().key == key; });
    REQUIRE(found != queues_.end());
    return found->second;
  }

  void take(std::size_t limit) {
    const std::vector<Turn> turns = machine_.takeTurns(limit);
    REQUIRE(turns.size() <= limit);
    for (const Turn& turn : turns) {
      ModelQueue& queue = headOf(turn.key);
      REQUIRE(isReady(queue));
      REQUIRE(mayHaveTurn(queue));
      REQUIRE(turn.pool == poolOf(queue));
      if (isOnDemand(turn.pool)) {
        REQUIRE(fits(wishes_.at(turn.wish), queue));
        REQUIRE(inHand(turn.wish) < wishes_.at(turn.wish).count);
      } else {
        checkFairness(turn.pool, queue);
      }
      queue.isTaken = true;
      taken_.push_back(turn);
    }
    if (turns.size() < limit) {
      // Nothing is left that might have had a turn.
      REQUIRE(std::ranges::none_of(queues_,
                                   [&](const auto& one) { return isReady(one.second) && mayHaveTurn(one.second); }));
    }
  }

  /// Others that were ready at this sender's last turn, and since, have had one after it.
  void checkFairness(std::size_t pool, const ModelQueue& taker) {
    std::map<std::string, std::set<std::string>>& passed = passed_[pool];
    std::set<std::string> ready;
    for (const auto& [name, queue] : queues_) {
      if (isReady(queue) && poolOf(queue) == pool && queue.sender != taker.sender) {
        ready.insert(queue.sender);
      }
    }
    for (const std::string& sender : passed[taker.sender]) {
      REQUIRE_MESSAGE(!ready.contains(sender), sender << " was passed over twice by " << taker.sender);
    }
    passed[taker.sender] = ready;
    for (auto& [other, waiting] : passed) {
      waiting.erase(taker.sender);
    }
  }

  /// Who is not ready has nothing to be passed over with.
  void forgetPassed() {
    for (std::size_t pool = 0; pool < kPools; ++pool) {
      std::set<std::string> ready;
      for (const auto& [name, queue] : queues_) {
        if (isReady(queue) && poolOf(queue) == pool) {
          ready.insert(queue.sender);
        }
      }
      for (auto& [taker, waiting] : passed_[pool]) {
        std::erase_if(waiting, [&](const std::string& sender) { return !ready.contains(sender); });
      }
    }
  }

  void finishOne() {
    if (!lingering_.empty() && below(2) == 0) {
      machine_.placeFreed(lingering_.front());
      std::erase_if(taken_, [&](const Turn& turn) { return turn.key == lingering_.front().key; });
      lingering_.pop_front();
      return;
    }
    std::vector<Turn> working;
    for (const Turn& turn : taken_) {
      if (std::ranges::none_of(lingering_, [&](const Turn& one) { return one.key == turn.key; })) {
        working.push_back(turn);
      }
    }
    if (!working.empty()) {
      finish(working[below(working.size())]);
    }
    forgetPassed();
  }

  void finish(const Turn& turn) {
    ModelQueue& queue = headOf(turn.key);
    REQUIRE(queue.isTaken);
    const std::uint64_t dice = below(10);
    if (dice == 0) {
      // Its handler works on.
      lingering_.push_back(turn);
    } else {
      machine_.placeFreed(turn);
      std::erase_if(taken_, [&](const Turn& one) { return one.key == turn.key; });
    }
    queue.isTaken = false;
    if (dice == 1) {
      machine_.headReady(turn.queue);
    } else if (dice == 2) {
      queue.readyAt = now_ + std::chrono::milliseconds(1 + below(500));
      machine_.headWaits(turn.queue, queue.readyAt);
    } else {
      queue.readyAt = SteadyTime::min();
      queue.frames.pop_front();
      machine_.headEnded(turn.queue);
    }
  }

  void wish() {
    static const std::vector<std::string> kPatterns = {"*", "pulled.a", "pulled.b", "pulled.*", "nothing"};
    const bool isMail = below(2) == 0;
    const std::uint64_t id = 1 + below(6) + (isMail ? kMailWishes : 0);
    if (below(3) == 0) {
      wishes_.erase(id);
      machine_.unwant(poolOfWish(id), id);
      // What it had is for no wish that there is.
      for (Turn& turn : taken_) {
        turn.wish = turn.wish == id ? 0 : turn.wish;
      }
      for (Turn& turn : lingering_) {
        turn.wish = turn.wish == id ? 0 : turn.wish;
      }
      return;
    }
    const Wish wish{id, kPatterns[below(kPatterns.size())], below(2) == 0 ? "*" : "1*", below(4),
                    isMail ? "m" + std::to_string(id % kMailboxes) : ""};
    wishes_[id] = wish;
    machine_.want(poolOfWish(id), wish);
  }

  void age() {
    const WallTime border(std::chrono::seconds(std::max<FrameKey>(0, lastKey_ - 2'000)));
    const WallTime present{std::chrono::seconds(lastKey_)};
    const auto isOld = [&](WallTime acceptedAt) { return acceptedAt < border; };
    const auto isOver = [&](const ModelQueue& queue) {
      return !queue.frames.empty() && !queue.isTaken &&
             (queue.frames.front().expiresAt <= present ||
              (isOnDemand(poolOf(queue)) && isOld(queue.frames.front().acceptedAt)));
    };
    auto expected = std::ranges::count_if(queues_, [&](const auto& one) { return isOver(one.second); });
    for (const Turn& turn : machine_.takeOverdue(isOld, present, 1'000)) {
      ModelQueue& queue = headOf(turn.key);
      REQUIRE(isOver(queue));
      --expected;
      machine_.placeFreed(turn);
      queue.readyAt = SteadyTime::min();
      queue.frames.pop_front();
      machine_.headEnded(turn.queue);
    }
    REQUIRE(expected == 0);
    forgetPassed();
  }

  void drain() {
    for (std::uint64_t id = 1; id <= 6; ++id) {
      for (const std::uint64_t each : {id, id + kMailWishes}) {
        wishes_.erase(each);
        machine_.unwant(poolOfWish(each), each);
      }
    }
    for (Turn& turn : taken_) {
      turn.wish = 0;
    }
    wishes_[9] = {.id = 9, .types = "*", .sessions = "*", .count = kPlaces};
    machine_.want(kOnDemand, wishes_[9]);
    for (std::uint64_t box = 0; box < kMailboxes; ++box) {
      Wish& wish = wishes_[kMailWishes + 9 + box];
      wish = {kMailWishes + 9 + box, "*", "*", kPlaces, "m" + std::to_string(box)};
      machine_.want(kMail, wish);
    }
    for (int round = 0; machine_.frames() > 0; ++round) {
      REQUIRE(round < 1'000'000);
      take(10);
      finishOne();
      now_ += std::chrono::milliseconds(1);
      machine_.timePassed(now_);
    }
    REQUIRE(machine_.types() == 0);
    for (std::uint64_t box = 0; box < kMailboxes; ++box) {
      REQUIRE(machine_.fillOf("m" + std::to_string(box), "0").all == 0);
      machine_.unwant(kMail, kMailWishes + 9 + box);
    }
    // A look at each, which forgets it.
    REQUIRE(machine_.takeTurns(1).empty());
    REQUIRE(machine_.mailboxes() == 0);
    while (!lingering_.empty()) {
      finishOne();
    }
    for (std::size_t pool = 0; pool < kPools; ++pool) {
      REQUIRE(machine_.placesTaken(pool) == 0);
    }
    REQUIRE(std::ranges::all_of(queues_, [](const auto& one) { return one.second.frames.empty(); }));
  }

  const std::shared_ptr<Random> random_;
  InboxMachine machine_;
  SteadyTime now_{};
  FrameKey lastKey_ = 0;
  std::map<std::string, ModelQueue> queues_;
  std::map<std::uint64_t, Wish> wishes_;
  // Those that hold a place.
  std::vector<Turn> taken_;
  // Of them, those whose frame has ended or waits.
  std::deque<Turn> lingering_;
  // By pool and sender: who was ready at its last turn, and has had none since.
  std::map<std::size_t, std::map<std::string, std::set<std::string>>> passed_;
};

}  // namespace

TEST_CASE("P4 P12: in any order of events, turns are fair, in order, within bounds and wished for, and all end") {
  for (std::uint64_t seed = 1; seed <= testing::scaled(8); ++seed) {
    CAPTURE(seed);
    World(seed).run();
  }
}

}  // namespace ackbox::reception::inbox_property_test
