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

/// One life of the receiver's process, as the factory of its handler gets it.
///
/// Lifetime: all members as long as what the factory returned.
struct HandlerHost {
  /// Its clock, its randomness, and the executor for its own work.
  SimulatedProcess& process;
  /// The receiver's outbox. In a handler only `InboundTransaction::enqueue` belongs to the handler's transaction.
  OutboxManager& outbox;
  /// The receiver's file, and the name of the SQLite VFS by which the process opens files. A connection of the
  /// handler's own must use both to meet the same faults; its file may also be another one in the same folder.
  const std::filesystem::path& file;
  const std::string& vfs;
};

/// The handler that is checked, as one start of the process makes it.
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

/// Makes the handler; called at each start of the receiver's process, so what the handler keeps in memory begins anew
/// as in production. What it throws is a failed start, which is tried again.
using HandlerFactory = std::function<CheckedHandler(HandlerHost& host)>;

/// Says what is wrong with the receiver's file in the end, a line for each fault; an empty text: it is right. Called
/// after all processes have ended, with a connection that reads the file. What it throws is a fault, too.
using HandlerInvariant = std::function<std::string(SQLite::Database& database, const Ledger& ledger)>;

/// How `checkHandler` checks. All defaults fit a handler with a table or two.
struct CheckOptions {
  /// SQL that makes the handler's tables in the receiver's new file. Default: none.
  std::string schema = {};
  /// Makes the frame with this number, from 1: type and data, and a session where the default does not fit. `random`
  /// gives the same for the same seed and number. The check sets the peer and the id, and the expiry of some. Default:
  /// type `check.frame`, the number as data.
  std::function<Frame(std::uint64_t number, Random& random)> frame = {};
  /// Worlds, of the seeds `seed`, `seed + 1`, … Default 60.
  std::uint64_t worlds = 60;
  std::uint64_t seed = 1;
  /// Failing worlds after which it ends. At least 1. Default 1.
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
  /// The share of frames outside any session in some of the worlds, and that of frames which expire within seconds.
  /// From 0 to 1.
  double unordered = 0.2;
  double expiring = 0.2;
  /// What the receiver's outbox and inbox are made with; the check fills in the peers, the agent and what belongs to
  /// the simulation.
  OutboxOptions outbox = {};
  InboundOptions inbound = {};
  /// Virtual time that may pass after all faults have ended until everything is delivered. Default 30 minutes.
  std::chrono::milliseconds restMax = std::chrono::minutes(30);
  /// Runs that may be spent on finding a smaller world that fails, too. 0: none. Default 300.
  std::uint32_t minimizeRunsMax = 300;
  /// Events that the trace of a failing world shows, the last ones. Default 300.
  std::size_t traceLinesMax = 300;
  /// A world that a report named, which alone is run, with all else as it was there. Default: none.
  std::string replay = {};
};

/// What the worlds came to.
struct CheckReport {
  std::uint64_t worlds = 0;
  /// The seeds of the worlds in which something was wrong.
  std::vector<std::uint64_t> failedSeeds = {};
  /// Of all worlds: frames that were sent, calls of the handler, calls with an `ack` that was undone, processes that
  /// were killed, disk faults that were set up, requests.
  std::uint64_t frames = 0;
  std::uint64_t calls = 0;
  std::uint64_t undone = 0;
  std::uint64_t kills = 0;
  std::uint64_t diskFaults = 0;
  std::uint64_t requests = 0;
  /// Of the first failing world, made as small as was found: what is wrong, what is left of frames and faults, a line
  /// for each, the value of `CheckOptions::replay` that runs it again, and the conversation (`Simulation::trace`).
  std::string fault = {};
  std::string plan = {};
  std::string replay = {};
  std::string trace = {};

  /// Whether the handler was called and nothing was wrong.
  [[nodiscard]] bool passed() const noexcept { return failedSeeds.empty() && calls > 0; }
  /// All of it for people: a line when it passed; otherwise the fault, the plan, the call that repeats it, the trace.
  [[nodiscard]] std::string text() const;
};

/// Runs a handler in worlds of some senders and one receiver, each world from one seed, full of faults: requests that
/// are lost, doubled and overtaken, SIGKILL at any instant and between any two writes, a disk that is busy, full or
/// broken, commits that fail, calls whose effects are undone and that are made again, replies that do not fit into the
/// queue, frames that expire, several sessions at once. Then all faults end, everything that can be delivered is, and
/// the invariant looks at the file.
///
/// In one thread, on virtual time, with real files in the folder for temporary files. The same arguments give the same
/// report. In the first failing world, frames and faults are left out as long as it still fails.
///
/// Returns the report; a handler that is wrong makes no exception.
/// Throws `std::invalid_argument` for an option that is out of range or an invalid `replay`, `SQLite::Exception`
/// when `schema` fails, `Error` with `invalidOption` for options that a manager refuses.
/// Thread-safety: may be called from any thread, not by two at a time.
[[nodiscard]] CheckReport checkHandler(const HandlerFactory& factory, const HandlerInvariant& invariant,
                                       const CheckOptions& options = {});

}  // namespace ackbox::testing
