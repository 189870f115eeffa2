#include "unit/serve/serve_stage.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "ackbox/http_sender.hpp"
#include "serve/health_check.hpp"
#include "support/comes_to.hpp"

namespace ackbox::testing {
namespace {

// A test may log much.
constexpr std::size_t kLineBytesKept = 1'024;

int connectToFile(const std::string& socketFile) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socketFile.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  if (descriptor < 0 || ::connect(descriptor, std::bit_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect to " + socketFile);
  }
  return descriptor;
}

HandlerResult handle(const InboundFrame& frame, InboundTransaction& /*transaction*/) {
  return frame.type == "bad" ? HandlerResult::reject("it is bad") : HandlerResult::ack("{\"ok\":true}");
}

OutboxOptions senderOf(const std::string& url) {
  OutboxOptions options;
  options.agent = "urn:agent:carol";
  options.peers = {{.name = "serve", .url = url}};
  // By which it learns of ends: the requests here are not signed.
  options.ackTimeout = std::chrono::milliseconds(50);
  options.log = [](const LogRecord&) {};
  return options;
}

Settings withTokens(const std::string& file, Settings settings) {
  settings.push_back({"tokens_file", file});
  return settings;
}

InboundOptions anonymous() {
  InboundOptions options;
  options.allowAnonymous = true;
  return options;
}

}  // namespace

std::string HttpReply::header(const std::string& name) const {
  const std::string begin = "\r\n" + name + ": ";
  const std::size_t found = head.find(begin);
  return found == std::string::npos
             ? std::string()
             : head.substr(found + begin.size(), head.find("\r\n", found + 2) - found - begin.size());
}

HttpAsker::HttpAsker(const std::string& socketFile) : connection_(RawConnection::adopt(connectToFile(socketFile))) {}

void HttpAsker::send(std::string_view method, const std::string& target, const std::string& body,
                     const std::string& headers) {
  const std::string host = headers.find("Host:") == std::string::npos ? "Host: localhost\r\n" : "";
  connection_.send(std::string(method) + " " + target + " HTTP/1.1\r\n" + host + headers +
                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

HttpReply HttpAsker::receive() {
  const std::string message = connection_.receiveMessage();
  const std::size_t end = message.find("\r\n\r\n");
  return {std::stoi(message.substr(std::strlen("HTTP/1.1 "), 3)), message.substr(0, end + 2), message.substr(end + 4)};
}

HttpReply HttpAsker::ask(std::string_view method, const std::string& target, const std::string& body,
                         const std::string& headers) {
  send(method, target, body, headers);
  return receive();
}

StreamReader::StreamReader(std::uint16_t port, const std::string& target, const std::string& headers)
    : StreamReader(RawConnection(port), target, headers) {}

StreamReader::StreamReader(RawConnection connection, const std::string& target, const std::string& headers)
    : connection_(std::move(connection)) {
  connection_.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  head_ = connection_.receiveUntil("\r\n\r\n");
  status_ = std::stoi(head_.substr(std::strlen("HTTP/1.1 "), 3));
}

std::string StreamReader::line() {
  // A stream that only says that it is alive would keep a test for ever.
  const SteadyTime patience = systemClock()->steadyNow() + std::chrono::minutes(1);
  while (systemClock()->steadyNow() < patience) {
    const std::size_t end = text_.find('\n');
    if (end == std::string::npos) {
      if (!receiveChunk()) {
        throw std::runtime_error("the answer has ended");
      }
      continue;
    }
    std::string found = text_.substr(0, end);
    text_.erase(0, end + 1);
    if (!found.empty()) {
      return found;
    }
  }
  throw std::runtime_error("no line came within a minute");
}

bool StreamReader::hasEnded() {
  return comesTo([this] { return !receiveChunk(); }) && connection_.receiveAll().empty();
}

bool StreamReader::receiveChunk() {
  constexpr int kHexadecimal = 16;
  const std::size_t size = std::stoul(connection_.receiveUntil("\r\n"), nullptr, kHexadecimal);
  text_ += connection_.receiveExactly(size);
  return connection_.receiveExactly(2) == "\r\n" && size > 0;
}

ServedPeer::ServedPeer()
    : manager_(OutboxManager::open(dir_.file("bob.db"), {.agent = "urn:agent:bob", .adoptPeers = true})),
      handler_(manager_, handle, anonymous()),
      server_(handler_) {}

ServeStage::ServeStage(const Settings& settings, const std::function<void(serve::Config&)>& change) {
  begin(settings, change);
}

void ServeStage::begin(const Settings& settings, const std::function<void(serve::Config&)>& change) {
  // A port on which nobody listens: connections to it are refused at once.
  Settings all = {
      {"listen", "127.0.0.1:0"},
      {"peers", R"([{"name":"bob","url":")" + bob_.url() + R"("},{"name":"away","url":"http://127.0.0.1:1/"}])"}};
  all.insert(all.end(), settings.begin(), settings.end());
  std::vector<serve::ConfigProblem> problems;
  serve::Config config = serve::readConfig({}, all, problems);
  for (const serve::ConfigProblem& problem : problems) {
    throw Error(Errc::invalidOption, serve::describe(problem, {}));
  }
  config.outbox.log = [this](const LogRecord& record) {
    const std::scoped_lock lock(logMutex_);
    log_.push_back(toKeyValue(record).substr(0, kLineBytesKept));
  };
  if (change) {
    change(config);
  }
  server_ = std::make_unique<serve::Server>(dir_.file("agent.db"), std::move(config));
}

std::vector<std::string> ServeStage::log() const {
  const std::scoped_lock lock(logMutex_);
  return log_;
}

std::vector<std::string> ServeStage::logged(const std::string& text) const {
  std::vector<std::string> found = log();
  std::erase_if(found, [&](const std::string& line) { return line.find(text) == std::string::npos; });
  return found;
}

std::string ServeStage::awaitRecord(const std::string& text) const {
  REQUIRE(comesTo([&] { return !logged(text).empty(); }));
  return logged(text).front();
}

GuardedStage::GuardedStage(Settings settings) : ServeStage(withTokens(tokens, std::move(settings))) {}

InboxStage::InboxStage(const Settings& settings)
    : serve_(settings), sender_(OutboxManager::open(dir_.file("sender.db"), senderOf(serve_.server().inboxUrl()))) {
  sender_.setSender(std::make_shared<HttpSender>());
  sender_.start();
}

std::string InboxStage::send(const std::string& session, const std::string& type, const std::string& data) {
  return sender_.enqueue({.peer = "serve", .session = session, .type = type, .data = data}).messageId;
}

nlohmann::json InboxStage::inbox() {
  return nlohmann::json::parse(serve_.asker().ask("GET", "/v1/inbox").body).at("frames");
}

void InboxStage::checkFirst(const nlohmann::json& event, const std::string& id) const {
  CHECK(event.at("id") == id);
  CHECK(event.at("source") == "urn:agent:carol");
  CHECK(event.at("type") == "order.placed");
  CHECK(event.at("sessionid") == "s-1");
  CHECK(event.at("sessionorigin") == sender_.origin());
  CHECK(event.at("sessionseq") == "1");
}

void writePrivateFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
}

bool isReady(const std::string& url) {
  using serve::HealthCheckResult;
  return serve::checkHealth(url, std::chrono::minutes(1)).state == HealthCheckResult::State::ready;
}

}  // namespace ackbox::testing
