#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <memory>

namespace ackbox::manager {

/// Gives a sign when any process writes to one file, or closes another file after writing to it. It uses inotify, which
/// opens neither file: a process that opens and closes one of SQLite's files loses its locks. There is one sign each
/// time that it is armed, for all events since the last time. The kernel closes the files of a process that dies.
///
/// Thread-safety: none; all on the strand that it is given. The sign is only a hint: if the kernel has no watch left,
/// none ever comes.
class FileWatch : public std::enable_shared_from_this<FileWatch> {
public:
  using OnSign = std::function<void()>;
  FileWatch(const boost::asio::any_io_executor& strand, OnSign onSign);

  /// Begins and arms. Returns false if no signs will come. An empty `written` is not watched.
  bool watch(const std::filesystem::path& written, const std::filesystem::path& closed);
  /// No effect while it is armed.
  void arm();
  /// No sign comes after this call.
  void stop() noexcept;

private:
  const OnSign onSign_;
  boost::asio::posix::stream_descriptor events_;
  bool armed_ = false;
  bool stopped_ = false;
  std::array<char, 4'096> buffer_{};
};

}  // namespace ackbox::manager
