#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "mailbox.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_disk.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// The two machines. Alice sends; Bob applies her messages and replies. He also keeps a mailbox of Alice, who sends to
/// it and fetches from it, so that each cut of one machine is one of a hub, or of an agent that dials out.
enum Side : std::size_t { alice = 0, bob = 1 };
inline constexpr std::array<Side, 2> kSides{alice, bob};

/// Alice's peers: Bob, and her mailbox at Bob. Both are subscribers of what she publishes.
inline constexpr const char* kBob = "bob";
inline constexpr const char* kBox = "box";

/// Two agents with real managers, handlers and documents, on disks in memory, connected by a wire that a test may cut.
/// Each frame that a handler accepts is written into table `effects` in the handler's transaction; Bob enqueues a
/// reply, `re-` + the frame's id, in the same transaction.
///
/// No threads: a run depends only on the actions of its test. Both defer frames of type `slow` and `slow-reject`, and
/// apply them later. Frames of type `reject` and `slow-reject` are refused until `merciful`; all are put off while
/// Bob is `busy`.
class TwoAgents {
public:
  /// The sidecars of the kernel locks are real files in `folder`.
  TwoAgents(const TempDir& folder, Durability durability, std::array<DiskFiles, 2> files = {},
            const std::shared_ptr<DiskRecord>& record = {});
  ~TwoAgents();
  TwoAgents(const TwoAgents&) = delete;
  TwoAgents& operator=(const TwoAgents&) = delete;

  void open(Side side);
  void close(Side side);
  [[nodiscard]] OutboxManager& manager(Side side) { return *machines_[side].manager; }
  [[nodiscard]] MemoryDisk& disk(Side side) { return *machines_[side].disk; }
  [[nodiscard]] static std::string path(const TempDir& folder, Side side);

  /// Lets that side deliver all due messages: in one pass, or by its run.
  void deliver(Side side);
  /// Bob and Alice's mailbox get what she publishes.
  void subscribe();
  /// Lets Alice fetch from her mailbox.
  void fetch();
  /// Lets both sides deliver until nothing is left, including dead letters. False if messages remain.
  [[nodiscard]] bool heal();

  /// A row of `effects`; rows are in the order in which the frames took effect.
  struct Effect {
    std::string messageId;
    std::string origin;
    std::string session;
    std::uint64_t sequence = 0;
    std::string data;
  };
  [[nodiscard]] std::vector<Effect> effects(Side side);
  /// The result of SQLite's `integrity_check`.
  [[nodiscard]] std::string integrity(Side side);

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  /// See `OutboxOptions`. So small that a short run makes a checkpoint at nearly every commit. Set before `open`.
  std::uint32_t checkpointPages = 12;
  /// Each side delivers by a run of `OutboxManager::start`, not by single passes. Set before `open`.
  bool started = false;
  bool busy = false;
  bool merciful = false;
  /// The wire loses the answers.
  bool losesAnswers = false;

private:
  class Wire;
  struct Machine {
    std::unique_ptr<MemoryDisk> disk;
    // The context in which its store runs.
    boost::asio::io_context context;
    std::optional<OutboxManager> manager;
    std::optional<InboundHandler> inbound;
  };

  HandlerResult take(Side side, const InboundFrame& frame, InboundTransaction& transaction) const;
  HandlerResult effect(Side side, const InboundFrame& frame, InboundTransaction& transaction) const;
  [[nodiscard]] OutboxOptions options(Side side);
  [[nodiscard]] InboundOptions inboundOptions(Side side);
  /// Runs the work that waits on that machine. True if there was any.
  bool turn(Side side);
  /// Runs the work that waits on both machines, until none waits.
  void turnBoth();

  const TempDir& folder_;
  const Durability durability_;
  std::array<Machine, 2> machines_;
  Mailbox mailbox_{"urn:agent:alice"};
};

}  // namespace ackbox::testing
