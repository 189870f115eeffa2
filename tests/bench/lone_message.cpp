// One message at a time on an idle system: the time from the call of enqueue to that of the onAcked callback, back to
// back and after 20 ms of rest (when processor and disk have gone to sleep), in sessions that go on, and back to back
// where each message is the first of a session. The floor, which has no sessions, does the same two synced inserts
// and the same round trip, and nothing else. The two take turns.

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/floor_link.hpp"
#include "bench/naive_baseline.hpp"
#include "bench/operation.hpp"
#include "bench/receiver.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

constexpr std::chrono::seconds kPatience{30};

using Instant = std::chrono::steady_clock::time_point;

struct Pace {
  std::string name;
  std::chrono::milliseconds rest{0};
  /// Messages in a row, before it is the other's turn: so both see the same weather. Back to back they are more, as the
  /// first ones find the other's processes in the caches; after a rest all find somebody's.
  std::uint64_t turn = rest.count() == 0 ? 64 : 16;
  /// The messages are theirs in turn.
  std::uint64_t sessions = 0;
};

// Few enough that both sides know them after the warm-up.
constexpr std::uint64_t kKnownSessions = 8;
// More than there are messages.
constexpr std::uint64_t kNewSessions = 1'000'000;

// Not counted: afterwards the logs of both are written over. While a log grows, so does its file, and each sync of the
// floor's takes twice as long.
constexpr std::uint64_t kWarmUp = 1'000;

/// An idle sender and its receiver, in two processes.
class Outbox {
public:
  explicit Outbox(const Settings& settings)
      : senderFile_(freshDatabase(settings.folder, "sender")),
        receiverFile_(freshDatabase(settings.folder, "receiver")),
        receiver_(std::in_place, receiverFile_, Durability::powerCut),
        manager_(startSender(senderFile_, Durability::powerCut, *receiver_)),
        subscription_(manager_->onAcked([this](const AckedEvent&) {
          ackedAt_ = std::chrono::steady_clock::now();
          acked_.release();
        })) {}
  ~Outbox() {
    manager_.reset();
    receiver_.reset();
    removeDatabase(senderFile_);
    removeDatabase(receiverFile_);
  }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Carries a message, and says when it had been acknowledged.
  Instant deliver(const Frame& frame, std::uint64_t /*number*/) {
    if (!manager_->enqueue(frame).isNew()) {
      throw std::runtime_error("an enqueue was refused");
    }
    if (!acked_.try_acquire_for(kPatience)) {
      throw std::runtime_error("a message was not acknowledged");
    }
    return ackedAt_;
  }

  void finish() {
    manager_->stop();
    receiver_->finish();
  }

private:
  const std::filesystem::path senderFile_;
  const std::filesystem::path receiverFile_;
  std::binary_semaphore acked_{0};
  Instant ackedAt_;
  std::optional<Receiver> receiver_;
  std::unique_ptr<OutboxManager> manager_;
  const Subscription subscription_;
};

/// The same for the floor.
class Floor {
public:
  explicit Floor(const Settings& settings)
      : senderFile_(freshDatabase(settings.folder, "floor-sender")),
        receiverFile_(freshDatabase(settings.folder, "floor-receiver")),
        receiver_(std::in_place, std::vector<std::string>{"--role", "floor", "--file", receiverFile_.string()}),
        link_(std::in_place, senderFile_, receiver_->readLine()) {}
  ~Floor() {
    link_.reset();
    receiver_.reset();
    removeDatabase(senderFile_);
    removeDatabase(receiverFile_);
  }
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  Instant deliver(const Frame& frame, std::uint64_t number) {
    link_->deliver(orderedId(number), frame.session, frame.data);
    return std::chrono::steady_clock::now();
  }

  void finish() {
    link_.reset();
    receiver_->finish();
  }

private:
  const std::filesystem::path senderFile_;
  const std::filesystem::path receiverFile_;
  std::optional<ChildProcess> receiver_;
  std::optional<FloorLink> link_;
};

/// One message after the other over one link.
template <typename Link>
class Lane {
public:
  Lane(const Settings& settings, const Pace& pace) : link_(settings), pace_(pace), spacing_(context_) {
    const std::uint64_t warmUp = settings.count == 0 ? kWarmUp : kKnownSessions;
    while (number_ < warmUp) {
      link_.deliver(frameOf(number_, pace_.sessions), number_);
      ++number_;
    }
  }

  void deliver(std::uint64_t messages) {
    for (std::uint64_t done = 0; done < messages; ++done) {
      spacing_.expires_after(pace_.rest);
      spacing_.wait();
      const Instant start = std::chrono::steady_clock::now();
      const Frame frame = frameOf(number_, pace_.sessions);
      latencies_.add(link_.deliver(frame, number_) - start);
      ++number_;
    }
  }

  Latencies& finish() {
    link_.finish();
    return latencies_;
  }

private:
  Link link_;
  const Pace pace_;
  boost::asio::io_context context_;
  boost::asio::steady_timer spacing_;
  std::uint64_t number_ = 0;
  Latencies latencies_;
};

void compare(Measurement& measurement, const Settings& settings, const Pace& pace) {
  Lane<Outbox> outbox(settings, pace);
  Lane<Floor> floor(settings, pace);
  Settings both = settings;
  both.duration *= 2;
  for (Budget budget(both); budget.take(pace.turn);) {
    const std::uint64_t turn = settings.count == 0 ? pace.turn : std::min(pace.turn, settings.count);
    outbox.deliver(turn);
    floor.deliver(turn);
  }
  Latencies& ours = outbox.finish();
  Latencies& theirs = floor.finish();
  addLatencies(measurement.figures, pace.name, ours);
  addLatencies(measurement.baselines, "floor_" + pace.name, theirs);
  measurement.ratio(pace.name + "_p50_over_floor", ours.percentile(0.5), theirs.percentile(0.5));
  measurement.ratio(pace.name + "_p99_over_floor", ours.percentile(0.99), theirs.percentile(0.99));
}

}  // namespace

Measurement loneMessageLatency(const Settings& settings) {
  constexpr std::chrono::milliseconds kRest{20};
  Measurement measurement;
  compare(measurement, settings, {.name = "back_to_back", .sessions = kKnownSessions});
  compare(measurement, settings, {.name = "after_20_ms", .rest = kRest, .sessions = kKnownSessions});
  compare(measurement, settings, {.name = "first_of_session", .sessions = kNewSessions});
  return measurement;
}

}  // namespace ackbox::bench
