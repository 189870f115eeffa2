#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

// A file of schema version 1 that has rows of every kind, as a dump in SQL, and an agent for it.

namespace ackbox::testing::golden {

/// Some hours after the last rows of the file.
extern const WallTime kLater;

[[nodiscard]] Frame message(const std::string& peer, const std::string& session, const std::string& id);

/// A session's frames of one of the sender's three stores, by their numbers.
[[nodiscard]] SendRequest frames(std::size_t store, const std::string& session, std::uint64_t first, std::uint64_t last,
                                 const std::string& type);

/// An agent that sends to peers of each state, and receives from one of them.
class Agent {
public:
  Agent(const std::filesystem::path& file, WallTime now);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void open();
  OutboxManager& manager() { return *manager_; }
  [[nodiscard]] const OutboxOptions& options() const { return options_; }
  ManualClock& clock() { return *clock_; }
  ScriptedSender& sender() { return *sender_; }
  InboundResponse post(const SendRequest& request);
  /// The ids of the frames that its handler was given.
  std::vector<std::string> handled();
  /// Waits until this many deferred frames are in its hands, and this many are in the inbox.
  void awaitWork(std::size_t held, std::uint64_t inInbox);

private:
  void work(DeferredFrame frame);

  const std::filesystem::path file_;
  const std::shared_ptr<ManualClock> clock_;
  const std::shared_ptr<ScriptedSender> sender_ = ScriptedSender::always(Outcome::ack);
  OutboxOptions options_;
  InboundOptions inbound_;
  std::mutex mutex_;
  // Guarded by mutex_.
  bool isClosing_ = false;
  std::vector<std::string> handled_;
  std::vector<DeferredFrame> held_;
  std::optional<OutboxManager> manager_;
  std::optional<InboundHandler> handler_;
};

/// The file that the dump describes.
struct File {
  File();

  TempDir folder;
  std::filesystem::path file = folder.file("agent.db");
};

/// Writes the dump anew: what a backup has while messages and frames are in flight.
void regenerate();

/// Fails for each finding of `verify`.
void checkSound(const OutboxReader& reader);

}  // namespace ackbox::testing::golden
