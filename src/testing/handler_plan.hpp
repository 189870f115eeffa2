#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ackbox/testing/check_handler.hpp"
#include "ackbox/testing/network.hpp"
#include "ackbox/testing/simulation.hpp"

namespace ackbox::testing {

/// A sender enqueues a frame. The frames of one sender at one instant are enqueued in one commit.
struct PlannedFrame {
  std::chrono::milliseconds at{0};
  std::string sender;
  std::uint64_t number = 0;
  std::string session;
  std::optional<std::chrono::milliseconds> expiresAfter;
};

/// A process is killed, either at once or instead of a write, and started again later.
struct PlannedKill {
  std::chrono::milliseconds at{0};
  std::string process;
  std::optional<std::uint64_t> atWrite;
  std::chrono::milliseconds away{0};
};

/// The disk of a process fails, and the process goes on.
struct PlannedDiskFault {
  std::chrono::milliseconds at{0};
  std::string process;
  DiskFault fault = DiskFault::busy;
  std::uint64_t after = 0;
  std::uint64_t count = 0;
};

/// For a time, no request or answer of one process reaches the other.
struct PlannedBlock {
  std::chrono::milliseconds at{0};
  std::string from;
  std::string to;
  std::chrono::milliseconds time{0};
};

/// The calendar of a process is set forward or back.
struct PlannedClockStep {
  std::chrono::milliseconds at{0};
  std::string process;
  std::chrono::milliseconds by{0};
};

/// One kind of `NetworkFaults`, applied to all requests.
struct PlannedNetworkFault {
  double NetworkFaults::*kind = nullptr;
  double probability = 0;
};

/// An accident during a call of the handler with a frame; it occurs once.
struct PlannedAccident {
  enum class Kind : std::uint8_t {
    /// The handler's `ack` is undone: its writes are rolled back, and the frame is delivered again.
    undo,
    /// The commit of the handler's transaction fails: the disk is full, or broken.
    commitFull,
    commitBroken,
    /// The process is killed at one of the next writes.
    kill,
    /// The queue has no room for what the handler enqueues.
    queueFull,
  };
  std::uint64_t number = 0;
  Kind kind = Kind::undo;
  /// For a kill: the number of the write.
  std::uint64_t write = 0;
};

using PlannedItem = std::variant<PlannedFrame, PlannedKill, PlannedDiskFault, PlannedBlock, PlannedClockStep,
                                 PlannedNetworkFault, PlannedAccident>;

/// All planned items of one world; each item can be left out.
struct HandlerPlan {
  std::uint64_t seed = 0;
  std::vector<PlannedItem> items;
  /// Whether each item is kept in the plan.
  std::vector<bool> kept;
  std::uint32_t batchFrames = 256;
  std::chrono::milliseconds delayMax{20};
};

/// The plan of a seed; the same options give the same plan.
[[nodiscard]] HandlerPlan drawPlan(std::uint64_t seed, const CheckOptions& options);

/// The plan that `CheckOptions::replay` names. Throws `std::invalid_argument`.
[[nodiscard]] HandlerPlan readReplay(const CheckOptions& options);

/// The value of `CheckOptions::replay` for this plan.
[[nodiscard]] std::string replayOf(const HandlerPlan& plan);

/// A text for people: a line for each item that is kept.
[[nodiscard]] std::string describe(const HandlerPlan& plan);

}  // namespace ackbox::testing
