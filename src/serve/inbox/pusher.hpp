#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/log.hpp"
#include "serve/inbox/delivery_rule.hpp"
#include "serve/inbox/frame_waits.hpp"

namespace ackbox::transport {
class HttpPoster;
}

namespace ackbox::serve {

/// Posts deferred frames to the application, as CloudEvents in structured mode, and ends each as the entry's
/// `PushEntry` decides from the answer. A frame that is not taken is given back: it holds no place and is not charged.
///
/// Thread-safety: all members may be called from any thread, except where stated.
class Pusher : public std::enable_shared_from_this<Pusher> {
public:
  /// `executor` must be serial. Uses those fields of `options` that configure the client. Creates a client if `client`
  /// is null. Throws `Error` with `invalidOption` for an invalid URL, or secrets that cannot sign.
  Pusher(const boost::asio::any_io_executor& executor, std::vector<DeliveryRule> rules,
         const HttpSenderOptions& options, LogSink log, std::shared_ptr<transport::HttpPoster> client = {});
  ~Pusher();

  /// Whether a rule fits the type.
  [[nodiscard]] bool takes(std::string_view type) const;

  /// Pushes the frame once. Puts off a frame that no rule fits.
  void push(DeferredFrame frame);

  /// The current demand of a rule's application; `rule` is its index in the constructor's list.
  [[nodiscard]] std::shared_ptr<DeferredDemand> demand(std::size_t rule) const;

  /// Adds the frames that wait for an application. On the executor only.
  void addWaits(FrameWaits& waits) const;

  /// Adds the applications, in the order in which rules are tried. On the executor only.
  void addApplications(std::vector<Application>& applications) const;

  /// Begins no more requests, and waits for those under way for at most `time`. Must be called before the end of the
  /// `InboundHandler`, and not on the executor.
  void drain(std::chrono::milliseconds time);

  /// Drops the remaining frames. Must be called after the end of the `InboundHandler`, which then does not charge them.
  void close();

private:
  struct Target;
  class Push;

  [[nodiscard]] std::shared_ptr<Target> find(std::string_view type) const;
  void requestEnded();
  /// Updates the demand of the target's application.
  void show(const std::shared_ptr<Target>& target);
  void reportGone(const Target& target, const std::string& type) const;
  void reportBack(Target& target) const;
  void report(LogLevel level, std::string_view event, std::string_view text,
              const std::array<LogField, 3>& fields) const;

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const LogSink log_;
  const std::shared_ptr<transport::HttpPoster> client_;
  std::vector<std::shared_ptr<Target>> targets_;
  // Owned by the executor.
  std::unordered_set<std::shared_ptr<Push>> pushes_;
  std::size_t requests_ = 0;
  // While draining: called when no request is under way.
  std::function<void()> onIdle_;
  bool closed_ = false;
};

}  // namespace ackbox::serve
