#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

namespace ackbox::manager {

/// Wakes the thread of a context without a post, which wakes a sleeping thread while it holds the context's lock: that
/// thread's first act is to wait for the lock, which costs two changes of threads.
///
/// Thread-safety: `ring` may be called from any thread; the rest on the executor.
/// Lifetime: the executor's context outlives the bell, which keeps it busy until `stop`.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
public:
  using OnRing = std::function<void()>;
  Wakeup(const boost::asio::any_io_executor& executor, OnRing onRing);

  /// Begins. False when the kernel has no descriptor left: then no ring is ever seen.
  bool open();
  /// `onRing` is called soon, at least once after the last of several rings. Before `open` and after `stop` it makes no
  /// difference.
  void ring() noexcept;
  void stop() noexcept;

private:
  void listen();

  const OnRing onRing_;
  boost::asio::posix::stream_descriptor event_;
  // What `ring` writes to: open from `open` on for as long as the bell lives.
  int writable_ = -1;
  bool stopped_ = false;
  std::array<char, 8> count_{};
};

}  // namespace ackbox::manager
