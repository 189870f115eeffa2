#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox.h"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "base/own_thread.hpp"
#include "c_abi/claims.hpp"
#include "c_abi/events.hpp"
#include "c_abi/readiness.hpp"

namespace ackbox::c_abi {

/// The agent of `ackbox.h`, made of the C++ API: a manager with an `HttpSender`, and a server with a handler that
/// defers every frame, so that the program works on it outside any transaction.
///
/// Functions throw `Refusal` and what the C++ API throws. Thread-safety, lifetime: as in `ackbox.h`.
class Agent {
public:
  explicit Agent(const ackbox_options& options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Throws `Error` with `otherProcess` in a child.
  void requireHome() const { home_.require(); }

  void addPeer(const ackbox_peer& peer);
  void open(const std::filesystem::path& file);
  void listen(const ackbox_listen_options& options);
  [[nodiscard]] std::string url();
  void start() { opened().start(); }
  void stop() { opened().stop(); }

  [[nodiscard]] EnqueueReceipt enqueue(Frame frame) { return opened().enqueue(std::move(frame)); }
  [[nodiscard]] PublishReceipt publish(const Frame& frame) { return opened().publish(frame); }
  [[nodiscard]] int descriptor() const noexcept { return readiness_->descriptor(); }
  /// Nothing: no frame waits.
  [[nodiscard]] std::optional<Claims::Claim> claim() {
    const std::shared_ptr<Claims> here = claims();
    return here ? here->next() : std::nullopt;
  }
  /// Returns a status; waits for the commit.
  [[nodiscard]] int settle(std::uint64_t claim, const ackbox_outcome& outcome);
  [[nodiscard]] std::optional<std::string> nextEvent() { return events_->next(); }
  [[nodiscard]] std::string statsJson();
  /// Nothing: the file does not have the message.
  [[nodiscard]] std::optional<std::string> explainJson(std::string_view messageId);

private:
  [[nodiscard]] OutboxManager& opened();
  [[nodiscard]] InboundOptions inboundOptions(const ackbox_listen_options& options,
                                              const std::shared_ptr<Claims>& claims);
  /// Null until the agent listens.
  [[nodiscard]] std::shared_ptr<Claims> claims();
  void requireNotOpened() const;

  const HomeProcess home_;
  const std::shared_ptr<Readiness> readiness_ = std::make_shared<Readiness>();
  const std::shared_ptr<Events> events_ = std::make_shared<Events>(readiness_);
  const bool wantsEvents_;
  HttpSenderOptions sender_;
  // Set until the file is opened, and used to open it.
  OutboxOptions outbox_;
  std::vector<InboundPeer> senders_;

  // In the order in which they are made; they end in the other one.
  std::optional<OutboxManager> manager_;
  std::vector<Subscription> subscriptions_;
  // Runs of deferred frames begin on it.
  std::optional<OwnThread> runs_;
  Mutex mutex_;
  std::shared_ptr<Claims> claims_ ACKBOX_GUARDED_BY(mutex_);
  std::optional<InboundHandler> handler_ ACKBOX_GUARDED_BY(mutex_);
  std::optional<InboundServer> server_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::c_abi
