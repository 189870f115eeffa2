#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/random.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/testing/network.hpp"
#include "testing/trace.hpp"

namespace ackbox::testing {

/// One life of a process, as seen by the network.
struct Address {
  std::string process;
  std::uint64_t life = 0;
  auto operator<=>(const Address&) const = default;  // NOLINT(modernize-use-nullptr): version 14 misreads it
};

/// Carries encoded requests and answers between processes, in true time.
class Network final : public SimulatedNetwork {
public:
  /// Hands a request to a listening process; false if none listens there. The answer may never come.
  using Deliver = std::function<bool(const std::string& process, InboundRequest, std::function<void(InboundResponse)>)>;

  Network(Random& random, Trace& trace, Deliver deliver)
      : random_(random), trace_(trace), deliver_(std::move(deliver)) {}

  void setFaults(const NetworkFaults& faults) override { faults_ = faults; }
  void block(std::string_view from, std::string_view to) override;
  void heal() override;
  [[nodiscard]] std::uint64_t requests() const override { return lastExchange_; }

  void send(Address from, SendRequest request, SendHandler handler);
  /// The sender's run ended: cancels its requests under way.
  void cancel(const Address& from);
  /// A process died: its own requests get no answer, and the senders of requests to it lose the connection.
  void died(const Address& process);

  /// The time of the next arrival; nothing if no message is on the way.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next() const;
  /// Sets the time to `now` and delivers all messages that have arrived.
  void moveTo(std::chrono::nanoseconds now);

private:
  struct Exchange {
    Address from;
    std::string to;
    SendRequest request;
    std::string delivery;
    SendHandler handler;
    bool handled = false;
  };
  /// The faults that a request meets.
  struct Fate {
    bool refused = false;
    bool lost = false;
    bool cutBefore = false;
    bool overloaded = false;
    bool captured = false;
    bool misdirected = false;
    bool twice = false;
    bool cutAfter = false;
    bool answerLost = false;
  };

  [[nodiscard]] bool chance(double probability);
  [[nodiscard]] Fate drawFate();
  [[nodiscard]] std::chrono::nanoseconds delay();
  [[nodiscard]] bool isBlocked(const std::string& from, const std::string& to) const;
  void later(std::chrono::nanoseconds after, std::function<void()> work);
  void note(std::uint64_t exchange, std::string_view event);
  void end(std::uint64_t exchange, SendReport report);
  void endLater(std::uint64_t exchange, RequestOutcome outcome, std::string error);
  void answerLater(std::uint64_t exchange, InboundResponse response);
  /// Sends the request on its way; it may not arrive.
  void carry(std::uint64_t id, const InboundRequest& inbound, const Fate& fate);
  void arrive(std::uint64_t exchange, const InboundRequest& request, const Fate& fate);
  void arriveAgain(std::uint64_t exchange, const std::string& from, const std::string& to,
                   const InboundRequest& request);

  Random& random_;
  Trace& trace_;
  const Deliver deliver_;
  NetworkFaults faults_;
  std::set<std::pair<std::string, std::string>, std::less<>> blocked_;
  std::chrono::nanoseconds now_{0};
  std::uint64_t lastEvent_ = 0;
  std::map<std::pair<std::chrono::nanoseconds, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t lastExchange_ = 0;
  std::map<std::uint64_t, Exchange> exchanges_;
};

/// The sender in one process, connected to the network.
class NetworkSender final : public Sender {
public:
  NetworkSender(Network& network, Address from) : network_(network), from_(std::move(from)) {}

  [[nodiscard]] std::uint32_t initialCredit() const override { return 1; }
  void asyncSend(SendRequest request, SendHandler handler) override {
    network_.send(from_, std::move(request), std::move(handler));
  }
  void stop() override { network_.cancel(from_); }

private:
  Network& network_;
  const Address from_;
};

}  // namespace ackbox::testing
