#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <memory>

namespace ackbox::manager {

/// Tells when anyone writes to one file, or has done with writing to another, by inotify, which opens neither: whoever
/// opens and closes one of SQLite's files takes its process's locks away. Tells once each time that it is armed, of
/// what came since the last time. The kernel closes the files of a process that dies.
///
/// Thread-safety: none; all on the strand that it is given. Only a hint: where the kernel has no watch left, there is
/// never a sign.
class FileWatch : public std::enable_shared_from_this<FileWatch> {
public:
  using Heard = std::function<void()>;
  FileWatch(const boost::asio::any_io_executor& strand, Heard heard);

  /// Begins, and arms. False when there will be no signs.
  bool watch(const std::filesystem::path& written, const std::filesystem::path& closed);
  /// No difference while it is armed.
  void arm();
  /// No sign comes from then on.
  void stop() noexcept;

private:
  const Heard heard_;
  boost::asio::posix::stream_descriptor events_;
  bool armed_ = false;
  bool stopped_ = false;
  std::array<char, 4'096> buffer_{};
};

}  // namespace ackbox::manager
