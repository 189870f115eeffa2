#include "manager/run/wakeup.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <utility>

namespace ackbox::manager {

Wakeup::Wakeup(const boost::asio::any_io_executor& executor, OnRing onRing)
    : onRing_(std::move(onRing)), event_(executor) {}

bool Wakeup::open() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  boost::system::error_code failed;
  event_.assign(descriptor, failed);
  if (failed) {
    close(descriptor);
    return false;
  }
  writable_ = descriptor;
  listen();
  return true;
}

void Wakeup::ring() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(write(writable_, &one, sizeof one));
}

void Wakeup::stop() noexcept {
  stopped_ = true;
  boost::system::error_code ignored;
  event_.cancel(ignored);
}

void Wakeup::listen() {
  event_.async_read_some(boost::asio::buffer(count_),
                         [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                           if (!failed && !self->stopped_) {
                             self->onRing_();
                           }
                           // Listens last, because it begins by checking for another ring.
                           if (!failed && !self->stopped_) {
                             self->listen();
                           }
                         });
}

}  // namespace ackbox::manager
