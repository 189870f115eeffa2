#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/testing/network.hpp"
#include "ackbox/testing/virtual_clock.hpp"

namespace ackbox::testing {

/// The error of a disk that fails while its process goes on.
enum class DiskFault : std::uint8_t {
  /// Each attempt to begin a write transaction fails: another connection holds the write lock.
  busy,
  /// Each write fails: the disk is full.
  full,
  /// Each write, truncation, deletion and sync fails.
  ioError,
};

/// One process of a simulation, from its start to its death; provides what an agent needs from outside.
///
/// Thread-safety: none. Lifetime: until the process is killed or the simulation ends.
class SimulatedProcess {
public:
  virtual ~SimulatedProcess() = default;

  /// `base` with this process's clock, randomness, disk and store executor put in.
  [[nodiscard]] virtual OutboxOptions options(OutboxOptions base) = 0;
  /// For `OutboxManager::runThen` and the agent's own work.
  [[nodiscard]] virtual boost::asio::any_io_executor executor() = 0;
  /// Carries frames to peers with the URL `sim://` and the name of a process. Give it to `setSender`.
  [[nodiscard]] virtual std::shared_ptr<Sender> sender() = 0;
  /// Passes requests for `sim://` and this process's name to `handler`, which must live as long as the process, as an
  /// `InboundServer` with its own thread does: a request that comes alone with `HandlerThread::caller`. Requests come
  /// as over mutual TLS: the sender's agent URI is in its certificate, see `InboundPeer::byCertificate`.
  virtual void listen(InboundHandler& handler) = 0;
  /// Its clocks, which a test may make run wrong.
  [[nodiscard]] virtual VirtualClock& clock() = 0;
  /// Its generator.
  [[nodiscard]] virtual Random& random() = 0;

  /// For what the process keeps apart from its files, such as in a server's database. `cut` is called when the process
  /// dies, before the agent is destroyed, and at once if it is dead: from then on nothing of it may get there.
  virtual void whenDead(std::function<void()> cut) = 0;
  /// Counts a write there with those to its disk. False: it must not happen, because the process has died instead of it
  /// (`Simulation::killAtWrite`) or meets a `DiskFault` that makes writes fail.
  [[nodiscard]] virtual bool mayWrite() = 0;
  /// The process has died in the work that is under way.
  [[nodiscard]] virtual bool isDead() const = 0;
};

/// Many agents in one thread, with real stores and the real protocol; the test controls time, the network and the
/// processes. The same seed gives the same run, event by event.
///
/// An agent is a function that opens everything it needs and returns an object that keeps it open. The simulation calls
/// it to start the process, again after each kill, so that real recovery is tested, not a mock of it. Files are real;
/// syncs are not passed on, because only processes die here, not machines.
///
/// Thread-safety: none.
class Simulation {
public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  using Boot = std::function<std::shared_ptr<void>(SimulatedProcess& process)>;

  /// Adds a process, not running yet. The object that `boot` returns is destroyed first when the process dies.
  void add(std::string name, Boot boot);
  /// Starts the process. If its `boot` throws, the process stays dead, and the exception is passed on.
  void start(std::string_view name);
  /// Kills the process as SIGKILL does: its work stops, nothing more reaches its files, its kernel locks are free.
  void kill(std::string_view name);
  /// Kills the process at its disk: the write that comes `writes` writes from now does not happen, nor anything later.
  /// See also `SimulatedProcess::mayWrite`.
  void killAtWrite(std::string_view name, std::uint64_t writes);
  /// Makes the running process's disk fail: of the calls that `fault` concerns, the next `after` succeed and the
  /// `count` calls after them fail. Replaces earlier faults.
  void failDisk(std::string_view name, DiskFault fault, std::uint64_t after, std::uint64_t count);
  /// Removes all disk faults.
  void mendDisk(std::string_view name);
  [[nodiscard]] bool running(std::string_view name) const;
  /// The running process. Precondition: `running(name)`.
  [[nodiscard]] SimulatedProcess& process(std::string_view name);

  [[nodiscard]] SimulatedNetwork& network();
  /// The generator behind every choice.
  [[nodiscard]] Random& random();
  /// True time since the beginning.
  [[nodiscard]] std::chrono::nanoseconds now() const;

  /// Runs one piece of work of one process, drawn from those that have any; if none has, moves time to the next alarm
  /// or arrival, at most to `until`. Returns false if nothing is left to do before `until`, which is then the time.
  bool step(std::chrono::nanoseconds until);
  /// Lets this much true time pass.
  void runFor(std::chrono::nanoseconds time);
  /// Runs until `condition` holds, for at most `limit` of true time. Returns whether it holds.
  bool runUntil(const std::function<bool()>& condition, std::chrono::nanoseconds limit);

  /// From now on keeps the last `linesMax` events for `trace`; for a process that is already running, commits and disk
  /// faults only from its next start on. Without this call nothing is kept, and nothing is slowed down.
  void startTrace(std::size_t linesMax = 1'000);
  /// Adds a line of the test's own, as an event of `process`. Does nothing while no trace is kept.
  void note(std::string_view process, std::string_view event);
  /// The kept events in order, one line each, ended by a newline: the instant in seconds of true time, the process or
  /// the two processes concerned, and the event: requests with their frames, answers, starts, kills, disk faults that
  /// occurred, commits and rollbacks. Empty if no events were kept.
  [[nodiscard]] std::string trace() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::testing
