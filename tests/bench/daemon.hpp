#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/child_process.hpp"

namespace ackbox::bench {

/// `ackbox serve` in another process, on a socket file beside its database.
class Daemon {
public:
  /// `config` is the text of a configuration without `listen`'s socket file, which is added.
  Daemon(const std::filesystem::path& file, const std::string& config);

  [[nodiscard]] const std::string& socketFile() const noexcept { return socketFile_; }
  [[nodiscard]] const std::string& inboxUrl() const noexcept { return inboxUrl_; }
  /// The most memory that it has had.
  [[nodiscard]] double peakMebibytes();
  void finish() { process_.finish(); }

private:
  const std::string socketFile_;
  ChildProcess process_;
  std::string inboxUrl_;
};

/// One connection to a daemon, by blocking calls.
class DaemonClient {
public:
  explicit DaemonClient(const std::string& socketFile);

  /// The answer's body. Throws `std::runtime_error` unless its status is `expected`.
  std::string get(const std::string& target);
  std::string post(const std::string& target, const std::string& body, int expected);

private:
  boost::asio::io_context context_;
  boost::asio::local::stream_protocol::socket socket_;
  boost::beast::flat_buffer buffer_;
};

/// A connection to a daemon whose answer goes on: lines, by blocking calls.
class DaemonStream {
public:
  DaemonStream(const std::string& socketFile, const std::string& target);

  /// Adds to `lines` until there are `most`, or there is one and no more have come.
  void take(std::vector<std::string>& lines, std::size_t most);

private:
  /// False: nothing has come, and it was not to wait.
  bool receive(bool waits);

  boost::asio::io_context context_;
  boost::asio::local::stream_protocol::socket socket_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::response_parser<boost::beast::http::buffer_body> parser_;
  // What came behind the last whole line.
  std::string text_;
};

/// The far side of `Daemon`. Returns the exit code.
int runDaemon(const std::filesystem::path& file);

}  // namespace ackbox::bench
