#include "bench/daemon.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "serve/config/config.hpp"
#include "serve/server.hpp"

namespace ackbox::bench {
namespace {

namespace http = boost::beast::http;

std::string peakKibibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      return line.substr(line.find_first_of("0123456789"));
    }
  }
  throw std::runtime_error("the kernel does not say the peak of memory");
}

std::string exchange(boost::asio::local::stream_protocol::socket& socket, boost::beast::flat_buffer& buffer,
                     http::request<http::string_body>& request, int expected) {
  request.set(http::field::host, "localhost");
  request.prepare_payload();
  http::write(socket, request);
  http::response<http::string_body> response;
  http::read(socket, buffer, response);
  if (response.result_int() != static_cast<unsigned>(expected)) {
    throw std::runtime_error("the daemon answered " + std::to_string(response.result_int()) + ": " + response.body());
  }
  return response.body();
}

}  // namespace

Daemon::Daemon(const std::filesystem::path& file, const std::string& config)
    : socketFile_(file.string() + ".sock"), process_({"--role", "daemon", "--file", file.string()}) {
  process_.writeLine(config);
  inboxUrl_ = process_.readLine();
}

double Daemon::peakMebibytes() {
  process_.writeLine("memory");
  return std::stod(process_.readLine()) / 1024;
}

DaemonClient::DaemonClient(const std::string& socketFile) : socket_(context_) {
  socket_.connect(boost::asio::local::stream_protocol::endpoint(socketFile));
}

std::string DaemonClient::get(const std::string& target) {
  http::request<http::string_body> request(http::verb::get, target, 11);
  return exchange(socket_, buffer_, request, 200);
}

std::string DaemonClient::post(const std::string& target, const std::string& body, int expected) {
  http::request<http::string_body> request(http::verb::post, target, 11);
  request.set(http::field::content_type, "application/json");
  request.body() = body;
  return exchange(socket_, buffer_, request, expected);
}

DaemonStream::DaemonStream(const std::string& socketFile, const std::string& target) : socket_(context_) {
  socket_.connect(boost::asio::local::stream_protocol::endpoint(socketFile));
  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host, "localhost");
  http::write(socket_, request);
  parser_.body_limit(boost::none);
  http::read_header(socket_, buffer_, parser_);
  if (parser_.get().result_int() != 200) {
    throw std::runtime_error("the daemon answered " + std::to_string(parser_.get().result_int()));
  }
}

bool DaemonStream::receive(bool waits) {
  std::array<char, std::size_t{64} * 1024> chunk{};
  auto& body = parser_.get().body();
  body.data = chunk.data();
  body.size = chunk.size();
  boost::system::error_code error;
  socket_.non_blocking(!waits);
  http::read_some(socket_, buffer_, parser_, error);
  if (error == boost::asio::error::would_block) {
    return false;
  }
  if ((error && error != http::error::need_buffer) || parser_.is_done()) {
    throw std::runtime_error("the daemon's stream ended: " + error.message());
  }
  text_.append(chunk.data(), chunk.size() - body.size);
  return true;
}

void DaemonStream::take(std::vector<std::string>& lines, std::size_t most) {
  // A read ends with a chunk, which is a line.
  while (lines.size() < most && receive(lines.empty())) {
    std::size_t begin = 0;
    for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', begin)) {
      // An empty line only says that the stream is alive.
      if (end > begin) {
        lines.push_back(text_.substr(begin, end - begin));
      }
      begin = end + 1;
    }
    text_.erase(0, begin);
  }
}

int runDaemon(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::cin, line);
  std::vector<serve::ConfigProblem> problems;
  serve::Config config =
      serve::readConfig(line, {{"listen", "unix:" + file.string() + ".sock"}, {"outbox.max_pending", "0"}}, problems);
  if (!problems.empty()) {
    throw std::runtime_error(serve::describe(problems.front(), {}));
  }
  // A peer that is away on purpose is nothing to be shown.
  config.outbox.log = [](const LogRecord&) {};
  config.outbox.maxPendingBytes = 0;
  config.outbox.ackedRetention = std::chrono::milliseconds(0);
  config.outbox.stopTimeout = std::chrono::milliseconds(0);
  serve::Server server(file, std::move(config));
  std::cout << server.inboxUrl() << std::endl;
  while (std::getline(std::cin, line)) {
    std::cout << peakKibibytes() << std::endl;
  }
  server.stop();
  return EXIT_SUCCESS;
}

}  // namespace ackbox::bench
