#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/testing/check_handler.hpp"
#include "ackbox/testing/ledger.hpp"
#include "ackbox/testing/simulation.hpp"
#include "testing/handler_plan.hpp"
#include "testing/temporary_folder.hpp"

namespace ackbox::testing {

/// The result of one world.
struct HandlerWorldResult {
  /// Empty if the world has no fault.
  std::string fault;
  std::string trace;
  std::uint64_t calls = 0;
  std::uint64_t undone = 0;
  std::uint64_t kills = 0;
  std::uint64_t diskFaults = 0;
  std::uint64_t requests = 0;
  /// The number of steps of work, which is the cost of a world.
  std::uint64_t steps = 0;
};

/// The senders, the receiver and the faults of one plan.
///
/// Lifetime: the arguments of the constructor must outlive it. Thread-safety: none.
class HandlerWorld {
public:
  /// `traceLinesMax`: 0 keeps no trace. Throws like `checkHandler`.
  HandlerWorld(const HandlerFactory& factory, const HandlerInvariant& invariant, const CheckOptions& options,
               const HandlerPlan& plan, std::size_t traceLinesMax);
  HandlerWorld(const HandlerWorld&) = delete;
  HandlerWorld& operator=(const HandlerWorld&) = delete;
  ~HandlerWorld();

  /// Runs the world to its end. Call it once.
  [[nodiscard]] HandlerWorldResult run();

private:
  struct Receiver;
  struct Sender;
  class Transaction;
  /// Accidents by the numbers of their frames.
  using Accidents = std::map<std::uint64_t, PlannedAccident>;

  [[nodiscard]] static std::string uriOf(const std::string& process) { return "urn:agent:" + process; }
  [[nodiscard]] std::filesystem::path fileOf(const std::string& process) const {
    return folder_.path() / (process + ".db");
  }
  // --- world_processes.cpp: the processes of the world.
  void prepareFiles();
  void addReceiver();
  void addSender(const std::string& name);
  [[nodiscard]] InboundOptions inboundOptions(const std::vector<std::string>& peers) const;
  [[nodiscard]] OutboxManager& outboxOf(const std::string& process) const;
  [[nodiscard]] Accidents::iterator accidentOf(const InboundFrame& frame);
  HandlerResult call(const FrameHandler& handler, const InboundFrame& frame, InboundTransaction& transaction);
  HandlerResult callHandler(const FrameHandler& handler, const InboundFrame& frame, InboundTransaction& transaction,
                            bool queueFull);
  void callDeferred(const DeferredHandler& handler, DeferredFrame frame);
  void meetAccident(const PlannedAccident& accident, std::uint64_t after);

  // --- handler_world.cpp: its course.
  void play();
  void begin(const PlannedItem& item);
  void enqueue(const std::string& sender);
  void startStopped();
  void start(const std::string& process);
  void run(std::chrono::nanoseconds until);
  void heal();
  [[nodiscard]] bool isAtRest();
  [[nodiscard]] std::string whyNotAtRest();
  void rest();

  // --- world_judgement.cpp: its end.
  void readSenders();
  [[nodiscard]] std::vector<std::string> readDeferred();
  void readReplies(const std::string& process);
  void judge();

  const HandlerFactory& factory_;
  const HandlerInvariant& invariant_;
  const CheckOptions& options_;
  const HandlerPlan& plan_;
  const std::uint64_t stepsMax_;
  TemporaryFolder folder_;
  Ledger ledger_;
  HandlerWorldResult result_;
  // The accidents that are still to come.
  Accidents accidents_;
  // By id: the frame's index in the ledger.
  std::map<std::string, std::size_t> places_;
  // The frames that each sender has yet to store, as indexes in the ledger.
  std::map<std::string, std::vector<std::size_t>> unsaid_;
  std::set<std::string> names_;
  std::map<std::string, std::chrono::nanoseconds> restartAt_;
  std::map<std::string, Sender*> senders_;
  Receiver* receiver_ = nullptr;
  std::string startFault_;
  std::uint64_t steps_ = 0;
  bool healed_ = false;
  Simulation simulation_;
};

}  // namespace ackbox::testing
