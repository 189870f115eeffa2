#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_disk.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// One agent that works while something below it fails, and the result of each of its tasks. No threads and no waiting:
/// a trial depends only on when the fault occurs.
///
/// The sender accepts all frames, except that it rejects those of type `reject` for good, and the first attempt of
/// those of type `later`.
class FaultTrial {
public:
  /// `mayReport`: the codes that a failing call may report; any other is a violation.
  FaultTrial(const TempDir& folder, MemoryDisk& disk, std::set<Errc> mayReport);
  ~FaultTrial();
  FaultTrial(const FaultTrial&) = delete;
  FaultTrial& operator=(const FaultTrial&) = delete;

  /// Opens, enqueues, delivers, takes frames in, redrives, discards, reads, verifies, closes and opens again: each step
  /// may fail, and the next is tried nevertheless.
  void work();
  /// The same with a run that goes on by itself while the fault lasts: on the caller's executor, and by `start`, where
  /// lone work is committed on the thread on which it arrives.
  void workWithRun();
  void workStarted();
  /// After the fault: the next enqueue must work, and everything that was accepted must be delivered.
  void recover();

  /// So small that nearly every commit makes a checkpoint. Set before `work`.
  std::uint32_t checkpointPages = 12;
  /// Called after each step.
  std::function<void()> afterStep;
  /// Opens the disk as a power cut would leave it now: it must contain all accepted messages that are still to be
  /// delivered, and every acknowledged effect.
  void judge(const DiskFiles& image);

  /// The broken promises; empty when all hold.
  [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return violations_; }
  /// Steps that reported an error.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

private:
  void require(bool holds, const std::string& violation);
  void stepEnded() const;
  /// Runs one step; true if it did not throw.
  bool attempt(const std::string& step, const std::function<void()>& work);
  void open();
  void close();
  void enqueue(std::size_t count, const std::string& type);
  void takeIn();
  void workInRun();
  [[nodiscard]] bool isRunning();
  void pull();
  void readAll();
  /// Runs posted work, at most as much as a healthy agent could need.
  void settle();
  void check();
  [[nodiscard]] SendReport answer(const SendRequest& request);

  const TempDir& folder_;
  MemoryDisk& disk_;
  const std::set<Errc> mayReport_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  boost::asio::io_context context_;
  std::shared_ptr<ScriptedSender> sender_;
  std::optional<OutboxManager> manager_;
  std::optional<InboundHandler> inbound_;

  std::size_t said_ = 0;
  std::size_t heard_ = 0;
  // Ids of messages: those that must arrive, may be rejected, were not accepted, were taken, were tried; and of frames.
  std::set<std::string> accepted_;
  std::set<std::string> rejectable_;
  std::set<std::string> refused_;
  std::set<std::string> taken_;
  std::set<std::string> tried_;
  std::set<std::string> heardIds_;
  std::set<std::string> unheardIds_;
  // Ids of the accepted frames that were deferred.
  std::set<std::string> deferredIds_;
  std::vector<std::string> violations_;
  std::uint64_t failures_ = 0;
};

}  // namespace ackbox::testing
