#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/sender.hpp"
#include "hostile/target.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing {

/// What became of a message to a peer that lies.
struct Ending {
  /// Of the request that was lied to.
  SendReport report;
  /// Once that was taken in, and before anything is tried again.
  Stats stats;
};

/// An agent, alice, with a message to mallory, who answers as she likes, and with others to bob, who is honest.
class Victim {
public:
  /// `timeout` is that of a request.
  explicit Victim(std::chrono::milliseconds timeout = std::chrono::seconds(20));
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  /// Has mallory answer one request with the script, which is given that request. While it waits for its answer, a
  /// message to bob is acknowledged.
  [[nodiscard]] Ending face(const std::function<void(RawConnection& connection, const std::string& request)>& script);

  /// Sends a message to bob, and waits until it is acknowledged.
  void speakToBob();

  [[nodiscard]] std::string messageId() const { return messageId_; }

private:
  class Watched;

  TempDir directory_;
  Target bob_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<OutboxManager> manager_;
  std::string messageId_;
};

/// Whether the message is still alice's to deliver: not acknowledged, not given up, not lost.
[[nodiscard]] bool isKept(const Ending& ending);

/// An HTTP answer with this body.
[[nodiscard]] std::string answerOf(const std::string& body, const std::string& contentType = "application/json",
                                   const std::string& headers = {});

/// The ACK document that a peer would give, if it were honest, for this message.
[[nodiscard]] std::string ackOf(const std::string& messageId);

}  // namespace ackbox::testing
