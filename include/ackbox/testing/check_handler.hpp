#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"
#include "ackbox/router.hpp"
#include "ackbox/testing/ledger.hpp"
#include "ackbox/testing/simulation.hpp"

namespace ackbox {
class OutboxManager;
}

namespace ackbox::testing {

/// One lifetime of the receiver's process, as passed to the factory of its handler.
///
/// Lifetime: all members live as long as the object that the factory returned.
struct HandlerHost {
  /// Its clock, its randomness, and the executor for its own work.
  SimulatedProcess& process;
  /// The receiver's outbox. In a handler only `InboundTransaction::enqueue` belongs to the handler's transaction.
  OutboxManager& outbox;
  /// The receiver's file, and the name of the SQLite VFS with which the process opens files. A connection that the
  /// handler opens itself must use both to meet the same faults; its file may also be another one in the same folder.
  const std::filesystem::path& file;
  const std::string& vfs;
};

/// The handler that is checked, as made at one start of the process.
struct CheckedHandler {
  FrameHandler handler = {};
  /// For `DeferredOptions::handler`; empty: frames cannot be deferred.
  DeferredHandler deferred = {};

  CheckedHandler() = default;
  /// A handler alone; it is stored.
  template <typename Handler>
  requires std::convertible_to<Handler, FrameHandler> &&
      (!std::same_as<std::remove_cvref_t<Handler>, CheckedHandler>)CheckedHandler(Handler made)
      : handler(std::move(made)) {}  // NOLINT(google-explicit-constructor)
  CheckedHandler(FrameHandler made, DeferredHandler madeDeferred)
      : handler(std::move(made)), deferred(std::move(madeDeferred)) {}
  /// Both handlers of a router.
  CheckedHandler(const Router& router)  // NOLINT(google-explicit-constructor)
      : handler(router.frameHandler()), deferred(router.deferredHandler()) {}
};

/// Makes the handler; called at each start of the receiver's process, so that the handler's memory begins anew as in
/// production. An exception is a failed start, which is repeated.
using HandlerFactory = std::function<CheckedHandler(HandlerHost& host)>;

/// Returns what is wrong with the receiver's file at the end, one line for each fault; empty if it is right. Called
/// after all processes have ended, with a connection that reads the file. An exception counts as a fault.
using HandlerInvariant = std::function<std::string(SQLite::Database& database, const Ledger& ledger)>;

/// Options of `checkHandler`. The defaults suit a handler with one or two tables.
struct CheckOptions {
  /// SQL that makes the handler's tables in the receiver's new file. Default: none.
  std::string schema = {};
  /// Makes the frame with this number, from 1: its type and data, and its session if the default does not fit. `random`
  /// gives the same for the same seed and number. The check sets the peer and the id, and the expiry of some frames.
  /// Default: type `check.frame`, the number as data.
  std::function<Frame(std::uint64_t number, Random& random)> frame = {};
  /// The number of worlds, with the seeds `seed`, `seed + 1`, … Default 60.
  std::uint64_t worlds = 60;
  std::uint64_t seed = 1;
  /// The check ends after this number of failing worlds. At least 1. Default 1.
  std::uint64_t failuresMax = 1;
  /// The processes that send. Each is a peer of the receiver under its name, and its agent URI is `urn:agent:` and the
  /// name. At least one.
  std::vector<std::string> senders = {"alice", "carol"};
  /// Further peers of the receiver, which only receive. Default: none.
  std::vector<std::string> sinks = {};
  /// The receiver's process; its agent URI is `urn:agent:` and the name. The senders know it as their peer `default`.
  std::string receiver = "bank";
  /// Frames in each world. Default 24.
  std::uint64_t frames = 24;
  /// Sessions of each sender; all senders use the same names, `s1`, `s2`, … Default 3.
  std::uint32_t sessions = 3;
  /// The share of frames outside any session in some of the worlds, and the share of frames that expire within seconds.
  /// From 0 to 1.
  double unordered = 0.2;
  double expiring = 0.2;
  /// Options of the receiver's outbox and inbox; the check fills in the peers, the agent and the parts that belong to
  /// the simulation.
  OutboxOptions outbox = {};
  InboundOptions inbound = {};
  /// Virtual time that may pass after all faults have ended until everything is delivered. Default 30 minutes.
  std::chrono::milliseconds restMax = std::chrono::minutes(30);
  /// The maximum number of runs spent on finding a smaller world that fails, too. 0: none. Default 300.
  std::uint32_t minimizeRunsMax = 300;
  /// The number of last events that the trace of a failing world shows. Default 300.
  std::size_t traceLinesMax = 300;
  /// A world named by a report: runs it alone; all other options must be as they were there. Default: none.
  std::string replay = {};
};

/// The result of all worlds.
struct CheckReport {
  std::uint64_t worlds = 0;
  /// The seeds of the worlds in which something was wrong.
  std::vector<std::uint64_t> failedSeeds = {};
  /// Over all worlds: frames sent, calls of the handler, calls with an `ack` that was undone, processes killed, disk
  /// faults set up, requests.
  std::uint64_t frames = 0;
  std::uint64_t calls = 0;
  std::uint64_t undone = 0;
  std::uint64_t kills = 0;
  std::uint64_t diskFaults = 0;
  std::uint64_t requests = 0;
  /// The first failing world, as small as one was found: what is wrong; the remaining frames and faults, one line each;
  /// the value of `CheckOptions::replay` that runs it again; and the trace (`Simulation::trace`).
  std::string fault = {};
  std::string plan = {};
  std::string replay = {};
  std::string trace = {};

  /// Whether the handler was called and nothing was wrong.
  [[nodiscard]] bool passed() const noexcept { return failedSeeds.empty() && calls > 0; }
  /// The report for people: one line if it passed; otherwise the fault, the plan, the call that repeats it, the trace.
  [[nodiscard]] std::string text() const;
};

/// Runs a handler in worlds of some senders and one receiver, each world made from one seed and full of faults: lost,
/// duplicated and overtaken requests, SIGKILL at any instant and between any two writes, a busy, full or broken disk,
/// failed commits, calls that are undone and repeated, replies that do not fit into the queue, frames that expire,
/// several sessions at once. Then all faults end, everything that can be delivered is delivered, and the invariant
/// checks the file.
///
/// In one thread, on virtual time, with real files in the folder for temporary files. The same arguments give the same
/// report. In the first failing world, frames and faults are left out as long as it still fails.
///
/// Returns the report; a handler that is wrong causes no exception.
/// Throws `std::invalid_argument` for an option that is out of range or an invalid `replay`, `SQLite::Exception` if
/// `schema` fails, `Error` with `invalidOption` for options that a manager refuses.
/// Thread-safety: may be called from any thread, by one thread at a time.
[[nodiscard]] CheckReport checkHandler(const HandlerFactory& factory, const HandlerInvariant& invariant,
                                       const CheckOptions& options = {});

}  // namespace ackbox::testing
