#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"
#include "serve/api/workers.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {

/// A change of many messages that runs in the background.
struct BulkChange {
  enum class State : std::uint8_t { running, done, failed };

  std::uint64_t id = 0;
  /// The operation, such as `dead-letters:retry`.
  std::string what = {};
  /// The name of the caller that requested it.
  std::string caller = {};
  State state = State::running;
  /// The caller that shares places with others, see `mayTakePlace`.
  std::string sharer = {};
  /// Set when the change has ended. If it has failed, the rows that it had changed by then, as far as it knows them:
  /// they stay changed.
  std::uint64_t changed = 0;
  /// Set when the change has failed: the sentence, and the answer to its request.
  std::string error = {};
  Response problem = {};
};

/// What a change has done so far.
struct BulkOutcome {
  std::uint64_t changed = 0;
  /// A part is under way that changes rows one slice after the other, and counts them at its end.
  bool hasMore = false;
};

/// Makes changes of many messages one after the other, and keeps 100 of them: those that have not ended, and the last
/// of each caller, so that no caller pushes out another's by making more. Callers take turns. A request waits a short
/// time for its own change, so that a short change needs no second request.
///
/// Thread-safety: all members may be called from any thread.
class BulkChanges : public std::enable_shared_from_this<BulkChanges> {
public:
  /// Makes the change, and says what it has done, also before it throws.
  using Change = std::function<void(BulkOutcome& outcome)>;
  struct Begun {
    std::string what;
    std::string caller;
    std::string sharer;
  };
  using Done = std::function<void(const BulkChange&)>;

  BulkChanges(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock);

  /// Whether another change of this caller may begin: the number of unfinished changes is limited.
  [[nodiscard]] bool hasRoom(const std::string& sharer) const;

  /// Calls `done` once, on any thread: when the change has ended, or after `patience`.
  void begin(Begun begun, Change change, std::chrono::milliseconds patience, Done done);

  /// The change with this id; nothing if the id is unknown or was forgotten.
  [[nodiscard]] std::optional<BulkChange> find(std::uint64_t id) const;

  /// Returns when the running change has ended; the changes that wait behind it fail.
  void close();

private:
  void run(std::uint64_t id, const Change& change);
  /// Forgets the oldest change that has ended of the caller with the most such changes.
  void forgetOne() ACKBOX_REQUIRES(mutex_);
  void answer(std::uint64_t id);

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  mutable Mutex mutex_;
  std::map<std::uint64_t, BulkChange> changes_ ACKBOX_GUARDED_BY(mutex_);
  // The callbacks of requests that wait for a change.
  std::map<std::uint64_t, Done> waiting_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t lastId_ ACKBOX_GUARDED_BY(mutex_) = 0;
  bool isClosing_ ACKBOX_GUARDED_BY(mutex_) = false;
  // Owned by the executor.
  std::map<std::uint64_t, std::unique_ptr<Alarm>> alarms_;
  // One thread: each change takes the write lock slice by slice.
  Workers worker_{1, 0};
};

}  // namespace ackbox::serve
