#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/pull.hpp"
#include "ackbox/random.hpp"
#include "power_cut.hpp"
#include "two_agents.hpp"

namespace ackbox::testing {
namespace {

constexpr std::size_t kSessions = 3;

class Run {
public:
  Run(const TempDir& folder, const RunOptions& options, RecordedRun& run)
      : run_(run), random_(seededRandom(options.seed)), agents_(folder, options.durability, run.start, run.record) {
    for (const Side side : kSides) {
      agents_.disk(side).ignoresSyncs = options.ignoresSyncs;
      agents_.disk(side).sparesNeighbours = options.batchedLog;
      agents_.disk(side).forgets = true;
      agents_.disk(side).forgetSeed = options.forgetSeed;
      agents_.disk(side).onCall = [this, side, failing = options.failingSyncs[side]](DiskCall call,
                                                                                     const std::string&) {
        return call == DiskCall::sync && ++run_.syncs[side] == failing ? SQLITE_IOERR_FSYNC : SQLITE_OK;
      };
    }
    constexpr std::array<std::uint32_t, 3> kCheckpointPages{12, 60, 4000};
    agents_.checkpointPages = kCheckpointPages[below(kCheckpointPages.size())];
    agents_.started = options.started;
  }

  void perform(std::size_t steps) {
    open(bob);
    open(alice);
    attempt([&] { agents_.subscribe(); });
    for (std::size_t step = 0; step < steps; ++step) {
      agents_.clock->advance(std::chrono::milliseconds(1500));
      agents_.busy = below(8) == 0;
      agents_.losesAnswers = below(6) == 0;
      const std::uint64_t dice = below(25);
      attempt([&] { act(dice); });
    }
  }

private:
  /// False: a disk failed, and the failure was reported.
  bool attempt(const std::function<void()>& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.code() != Errc::ioError) {
        throw;
      }
      ++run_.failures;
      return false;
    }
  }

  // The fault has ended by the second attempt.
  void open(Side side) {
    if (!attempt([&] { agents_.open(side); })) {
      agents_.open(side);
    }
  }

  std::uint64_t below(std::uint64_t end) { return random_->next() % end; }
  [[nodiscard]] std::size_t now() const { return run_.record->length(); }

  void act(std::uint64_t dice) {
    if (dice < 5) {
      say(1);
    } else if (dice < 7) {
      say(2 + below(4));
    } else if (dice < 13) {
      agents_.deliver(alice);
    } else if (dice < 15) {
      agents_.deliver(bob);
    } else if (dice < 16) {
      redriveOrDiscard();
    } else if (dice < 17) {
      pull();
    } else if (dice < 19) {
      publish();
    } else if (dice < 22) {
      agents_.fetch();
    } else {
      // The last connection to close folds the log into the file and deletes it.
      const Side side = dice < 24 ? alice : bob;
      agents_.close(side);
      open(side);
    }
  }

  void publish() {
    Frame frame;
    frame.session = "s" + std::to_string(below(kSessions));
    frame.type = below(3) == 0 ? "slow" : "order";
    frame.data = '"' + std::string("news") + std::to_string(run_.said.size()) +
                 std::string(below(5) == 0 ? 6000 : 10, 'x') + '"';
    const std::size_t calledAt = now();
    const PublishReceipt receipt = agents_.manager(alice).publish(frame);
    const std::size_t number = run_.said.size() + 1;
    for (const PublishedMessage& message : receipt.messages) {
      run_.said.push_back({.peer = message.peer,
                           .messageId = message.messageId,
                           .session = frame.session,
                           .data = frame.data,
                           .publication = number,
                           .calledAt = calledAt,
                           .returnedAt = now()});
    }
  }

  void say(std::uint64_t count) {
    const std::size_t first = run_.said.size();
    std::vector<Frame> frames;
    for (std::uint64_t index = 0; index < count; ++index) {
      Frame frame;
      frame.id = "m" + std::to_string(run_.said.size());
      const std::uint64_t session = below(kSessions + 1);
      // The last session is the empty one: messages outside sessions.
      frame.session = session == kSessions ? "" : "s" + std::to_string(session);
      frame.supersedeKey = session != kSessions && below(5) == 0 ? "latest" : "";
      if (below(8) == 0) {
        frame.notBefore = agents_.clock->wallNow() + std::chrono::seconds(5);
      }
      constexpr std::array<const char*, 8> kTypes{"order", "order", "order",  "order",
                                                  "order", "slow",  "reject", "slow-reject"};
      frame.type = kTypes[below(kTypes.size())];
      frame.peer = below(3) == 0 ? kBox : kBob;
      // Some data fills several pages.
      frame.data = '"' + frame.id + std::string(below(5) == 0 ? 6000 : 10, 'x') + '"';
      run_.said.push_back({.peer = frame.peer,
                           .messageId = frame.id,
                           .session = frame.session,
                           .data = frame.data,
                           .supersedeKey = frame.supersedeKey,
                           .rejected = frame.type.ends_with("reject"),
                           .calledAt = now()});
      frames.push_back(std::move(frame));
    }
    static_cast<void>(agents_.manager(alice).enqueueBatch(frames));
    for (std::size_t index = first; index < run_.said.size(); ++index) {
      run_.said[index].returnedAt = now();
    }
  }

  // Settles by hand, without sending to Bob: some messages are given up, the others released.
  void pull() {
    // Not while a run is active.
    if (agents_.started) {
      return;
    }
    OutboxManager& manager = agents_.manager(alice);
    for (const Claim& claim : PullConsumer(manager).claim(3)) {
      static_cast<void>(claim.frame.type == "reject" ? PullConsumer(manager).settle(claim, Outcome::term)
                                                     : PullConsumer(manager).release(claim));
    }
  }

  void redriveOrDiscard() {
    const DeadLetterPage page = OutboxReader(agents_.manager(alice)).deadLetters({});
    if (page.messages.empty()) {
      return;
    }
    const std::string& id = page.messages[below(page.messages.size())].messageId;
    if (below(2) == 0) {
      agents_.merciful = below(2) == 0;
      static_cast<void>(OutboxOperator(agents_.manager(alice)).retry(id));
      agents_.deliver(alice);
      agents_.merciful = false;
      return;
    }
    Said& said =
        *std::find_if(run_.said.begin(), run_.said.end(), [&](const Said& one) { return one.messageId == id; });
    said.discardCalledAt = now();
    static_cast<void>(OutboxOperator(agents_.manager(alice)).discard(id));
    said.discardedAt = now();
  }

  RecordedRun& run_;
  const std::shared_ptr<Random> random_;
  TwoAgents agents_;
};

}  // namespace

RecordedRun recordRun(const TempDir& folder, const RunOptions& options) {
  RecordedRun run;
  Run(folder, options, run).perform(options.steps);
  return run;
}

}  // namespace ackbox::testing
