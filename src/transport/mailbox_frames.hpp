#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_request.hpp"
#include "ackbox/random.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/mailbox.hpp"
#include "transport/mailbox_pause.hpp"

namespace ackbox::transport {

class MailboxGate;

/// The frames in hand: hands each to the handler, again after a pause where its outcome is not final, and passes the
/// outcome on.
///
/// Thread-safety: none; owned by the strand `executor`. `closeGate` may be called from any thread.
class MailboxFrames : public std::enable_shared_from_this<MailboxFrames> {
public:
  struct Means {
    std::shared_ptr<Clock> clock = {};
    std::shared_ptr<Random> random = {};
    std::weak_ptr<protocol::InboundPort> handler = {};
    /// The most frames of one stream.
    std::size_t window = 0;
    /// Called with a final outcome: the number of the frame's stream, and a result of `protocol::settlementOf`.
    std::function<void(std::uint64_t stream, std::string settlement)> onOutcome = {};
    /// Called when the handler refuses the request of a frame as a whole.
    std::function<void(const protocol::MailboxFrame& frame, const std::string& what)> onRefused = {};
  };

  MailboxFrames(const boost::asio::any_io_executor& executor, Means means);

  /// Hands a frame in. False if the stream with this number has more frames in hand than the window allows.
  [[nodiscard]] bool add(std::uint64_t stream, protocol::MailboxFrame frame);

  /// The stream with this number is the open one; 0: none is. The hub gives the frames of earlier ones out again, so
  /// those that wait to be handed in again are dropped. Those that the handler has are still reported once they are
  /// final, because the hub may take their outcomes.
  void setStream(std::uint64_t stream);

  [[nodiscard]] std::size_t inHand() const noexcept { return frames_.size(); }
  /// Of these, those whose request the handler has refused as a whole.
  [[nodiscard]] std::size_t refusedInHand() const;

  /// Drops all frames.
  void close();

  /// After it returns, answers of the handler are dropped, and the executor is not used from other threads.
  void closeGate();

private:
  struct Entry {
    std::uint64_t stream = 0;
    protocol::MailboxFrame frame;
    MailboxPause again;
    MailboxPause refused;
    /// Set while the frame waits to be handed in again.
    std::unique_ptr<Alarm> alarm;
    bool isWaiting = false;
    bool isRefused = false;
  };

  void handIn(std::uint64_t number);
  void onAnswer(std::uint64_t number, const InboundResponse& response);
  void onRefusal(std::uint64_t number, const protocol::MailboxVerdict& verdict);
  void settle(std::uint64_t number, const std::string& settlement);
  void wait(std::uint64_t number, std::chrono::milliseconds pause);
  void onPauseOver(std::uint64_t number);

  const boost::asio::any_io_executor executor_;
  const Means means_;
  const std::shared_ptr<MailboxGate> gate_;
  std::unordered_map<std::uint64_t, Entry> frames_;
  std::uint64_t lastNumber_ = 0;
  std::uint64_t stream_ = 0;
};

}  // namespace ackbox::transport
