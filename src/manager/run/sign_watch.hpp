#pragma once

#include <fcntl.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "store/place.hpp"

namespace ackbox::manager {

/// Waits for a store's signs, and calls for each that another process has committed.
///
/// Thread-safety: none; all on the strand that it is given.
class SignWatch : public std::enable_shared_from_this<SignWatch> {
public:
  using OnSign = std::function<void()>;
  SignWatch(const boost::asio::any_io_executor& strand, std::unique_ptr<store::Signs> signs, OnSign onSign)
      : signs_(std::move(signs)),
        onSign_(std::move(onSign)),
        events_(strand, ::fcntl(signs_->descriptor(), F_DUPFD_CLOEXEC, 0)) {}
  SignWatch(const SignWatch&) = delete;
  SignWatch& operator=(const SignWatch&) = delete;

  void watch() {
    events_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& failed) {
                         if (!failed && !self->isStopped_) {
                           self->act(self->signs_->take());
                         }
                       });
  }
  /// No sign will come any more.
  [[nodiscard]] bool hasEnded() const noexcept { return hasEnded_; }
  /// No sign comes after this call.
  void stop() noexcept {
    isStopped_ = true;
    boost::system::error_code ignored;
    events_.cancel(ignored);
  }

private:
  void act(store::Signs::Heard what) {
    if (what == store::Signs::Heard::end) {
      hasEnded_ = true;
      boost::system::error_code ignored;
      events_.close(ignored);
      return;
    }
    if (what == store::Signs::Heard::sign) {
      onSign_();
    }
    if (!isStopped_) {
      watch();
    }
  }

  const std::unique_ptr<store::Signs> signs_;
  const OnSign onSign_;
  // A copy: the signs may close theirs, whose number is then another one's.
  boost::asio::posix::stream_descriptor events_;
  bool isStopped_ = false;
  bool hasEnded_ = false;
};

}  // namespace ackbox::manager
