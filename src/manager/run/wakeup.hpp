#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

namespace ackbox::manager {

/// Wakes the thread of a context without a post. A post wakes a sleeping thread while holding the context's lock, so
/// that this thread first waits for the lock, which costs two changes of threads.
///
/// Thread-safety: `ring` may be called from any thread; the rest on the executor. Lifetime: the executor's context
/// outlives this object, which keeps it busy until `stop`.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
public:
  using OnRing = std::function<void()>;
  Wakeup(const boost::asio::any_io_executor& executor, OnRing onRing);

  /// Begins. Returns false if the kernel has no descriptor left: then rings have no effect.
  bool open();
  /// `onRing` is called soon, at least once after the last of several rings. No effect before `open` and after `stop`.
  void ring() noexcept;
  void stop() noexcept;

private:
  void listen();

  const OnRing onRing_;
  boost::asio::posix::stream_descriptor event_;
  // The descriptor that `ring` writes to: open from `open` on, as long as this object lives.
  int writable_ = -1;
  bool stopped_ = false;
  std::array<char, 8> count_{};
};

}  // namespace ackbox::manager
