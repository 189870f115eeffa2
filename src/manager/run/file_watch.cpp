#include "manager/run/file_watch.hpp"

#include <sys/inotify.h>

#include <boost/asio/buffer.hpp>
#include <utility>

namespace ackbox::manager {

FileWatch::FileWatch(const boost::asio::any_io_executor& strand, OnSign onSign)
    : onSign_(std::move(onSign)), events_(strand) {}

bool FileWatch::watch(const std::filesystem::path& written, const std::filesystem::path& closed) {
  const int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  boost::system::error_code failed;
  events_.assign(descriptor, failed);
  if (failed || (!written.empty() && inotify_add_watch(descriptor, written.c_str(), IN_MODIFY) < 0) ||
      inotify_add_watch(descriptor, closed.c_str(), IN_CLOSE_WRITE) < 0) {
    return false;
  }
  arm();
  return true;
}

void FileWatch::stop() noexcept {
  stopped_ = true;
  boost::system::error_code ignored;
  events_.close(ignored);
}

void FileWatch::arm() {
  if (stopped_ || std::exchange(armed_, true)) {
    return;
  }
  // The events are not evaluated: the store is asked in any case.
  events_.async_read_some(boost::asio::buffer(buffer_),
                          [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                            self->armed_ = false;
                            if (!failed && !self->stopped_) {
                              self->onSign_();
                            }
                          });
}

}  // namespace ackbox::manager
