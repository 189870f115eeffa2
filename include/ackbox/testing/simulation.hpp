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

/// What a disk says that fails while its process goes on.
enum class DiskFault : std::uint8_t {
  /// To each try to begin a write transaction: another connection holds the write lock.
  busy,
  /// To each write: it has no room.
  full,
  /// To each write, truncation, deletion and sync.
  ioError,
};

/// One process of a simulation, from its start to its death: what an agent needs from outside.
///
/// Thread-safety: none. Lifetime: until the process is killed or the simulation ends.
class SimulatedProcess {
public:
  virtual ~SimulatedProcess() = default;

  /// `base` with this process's clock, randomness, disk and store executor put in.
  [[nodiscard]] virtual OutboxOptions options(OutboxOptions base) = 0;
  /// For `OutboxManager::runThen` and the agent's own work.
  [[nodiscard]] virtual boost::asio::any_io_executor executor() = 0;
  /// Carries frames to peers whose URL is `sim://` and the name of a process. Give it to `setSender`.
  [[nodiscard]] virtual std::shared_ptr<Sender> sender() = 0;
  /// Hands what arrives for `sim://` and this process's name to `handler`, which must live as long as the process, as
  /// an `InboundServer` of its own thread does: what comes alone with `HandlerThread::caller`. It comes as over mutual
  /// TLS: the sender's agent URI is in its certificate, see `InboundPeer::byCertificate`.
  virtual void listen(InboundHandler& handler) = 0;
  /// Its clocks, which may be made to run wrong.
  [[nodiscard]] virtual VirtualClock& clock() = 0;
  /// Its generator.
  [[nodiscard]] virtual Random& random() = 0;
};

/// Many agents in one thread, with real stores and the real protocol, on time, a network and processes that the test
/// owns. The same seed gives the same run, event by event.
///
/// An agent is a function that opens everything it needs and returns what keeps it open. The simulation calls it to
/// start the process, again after each kill, so recovery is what is tested, not a mock of it. Files are real; syncs are
/// not passed on, because only processes die here, not machines.
///
/// Thread-safety: none.
class Simulation {
public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  using Boot = std::function<std::shared_ptr<void>(SimulatedProcess& process)>;

  /// A process that is not running yet. What `boot` returns is destroyed first when the process dies.
  void add(std::string name, Boot boot);
  /// Boots it. A boot that throws leaves the process dead, and the exception is passed on.
  void start(std::string_view name);
  /// As SIGKILL: nothing that it was doing goes on, nothing more reaches its files, its kernel locks are free.
  void kill(std::string_view name);
  /// Kills it at the disk: the write that comes `writes` writes from now does not happen, nor anything after it.
  void killAtWrite(std::string_view name, std::uint64_t writes);
  /// From the running process's disk, of the calls that `fault` concerns, `count` fail after the next `after` ones.
  /// Replaces what was to fail before.
  void failDisk(std::string_view name, DiskFault fault, std::uint64_t after, std::uint64_t count);
  /// Nothing is to fail any more.
  void mendDisk(std::string_view name);
  [[nodiscard]] bool running(std::string_view name) const;
  /// The running process. Precondition: `running(name)`.
  [[nodiscard]] SimulatedProcess& process(std::string_view name);

  [[nodiscard]] SimulatedNetwork& network();
  /// The generator behind every choice.
  [[nodiscard]] Random& random();
  /// True time since the beginning.
  [[nodiscard]] std::chrono::nanoseconds now() const;

  /// Runs one piece of work of one process, drawn from those that have any; when none has, moves time to the next
  /// alarm or arrival, at most to `until`. False when nothing is left to do before `until`; time then stands there.
  bool step(std::chrono::nanoseconds until);
  /// Lets this much true time pass.
  void runFor(std::chrono::nanoseconds time);
  /// Runs until `condition` holds, for at most `limit` of true time. Whether it holds.
  bool runUntil(const std::function<bool()>& condition, std::chrono::nanoseconds limit);

  /// From now on keeps the last `linesMax` events for `trace`; of a process that runs already, commits and disk faults
  /// only from its next start on. Not called: nothing is kept, and nothing is slower for it.
  void startTrace(std::size_t linesMax = 1'000);
  /// Adds a line of the test's own, as an event of `process`. Does nothing while no trace is kept.
  void note(std::string_view process, std::string_view event);
  /// The conversation, a line for each event, in order, each ended by a newline: the instant in seconds of true time,
  /// the process or the two between which something went, and what it was: requests with their frames, answers,
  /// starts, kills, disk faults that were met, commits and rollbacks. Empty when none was kept.
  [[nodiscard]] std::string trace() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::testing
