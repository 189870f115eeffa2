#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <memory>

namespace ackbox::manager {

/// Gives a sign when any process writes to one file, or closes another after writing to it. It uses inotify, which
/// opens neither: a process that opens and closes one of SQLite's files loses its locks. One sign each time that it is
/// armed, for all that came since the last time. The kernel closes the files of a process that dies.
///
/// Thread-safety: none; all on the strand that it is given. Only a hint: where the kernel has no watch left, there is
/// never a sign.
class FileWatch : public std::enable_shared_from_this<FileWatch> {
public:
  using OnSign = std::function<void()>;
  FileWatch(const boost::asio::any_io_executor& strand, OnSign onSign);

  /// Begins, and arms. False when there will be no signs. An empty `written` is not watched.
  bool watch(const std::filesystem::path& written, const std::filesystem::path& closed);
  /// No difference while it is armed.
  void arm();
  /// No sign comes from then on.
  void stop() noexcept;

private:
  const OnSign onSign_;
  boost::asio::posix::stream_descriptor events_;
  bool armed_ = false;
  bool stopped_ = false;
  std::array<char, 4'096> buffer_{};
};

}  // namespace ackbox::manager
