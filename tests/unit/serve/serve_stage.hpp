#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/log.hpp"
#include "ackbox/outbox_manager.hpp"
#include "serve/server.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing {

/// Headers.
inline const std::string kJson = "Content-Type: application/json\r\n";
inline std::string bearer(const std::string& token) {
  return "Authorization: Bearer " + token + "\r\n";
}

/// Tokens, and a file of them in which each has its roles: `ada read`, `batch send`, `ops read,operate`.
inline const std::string kReader = "reader-0123456789abcdef0123";
inline const std::string kSender = "sender-0123456789abcdef0123";
inline const std::string kOperator = "operator-0123456789abcdef01";
inline const std::string kTokens =
    "# who may what\n\nada read " + kReader + "\nbatch send " + kSender + "\nops read,operate " + kOperator + "\n";

/// An HTTP answer, taken apart.
struct HttpReply {
  int status = 0;
  std::string head = {};
  std::string body = {};

  /// The value of a header; empty: there is none.
  [[nodiscard]] std::string header(const std::string& name) const;
};

/// A connection to a server that is asked one thing after the other.
class HttpAsker {
public:
  /// To a port of loopback.
  explicit HttpAsker(std::uint16_t port) : connection_(port) {}
  /// To a socket file.
  explicit HttpAsker(const std::string& socketFile);

  /// `headers` are whole lines; `Host` and `Content-Length` are added.
  HttpReply ask(std::string_view method, const std::string& target, const std::string& body = {},
                const std::string& headers = {});
  /// Without waiting for the answer, which `receive` takes.
  void send(std::string_view method, const std::string& target, const std::string& body = {},
            const std::string& headers = {});
  HttpReply receive();

private:
  RawConnection connection_;
};

/// A connection whose answer goes on.
class StreamReader {
public:
  /// Asks for `target`, and takes the head of the answer.
  StreamReader(std::uint16_t port, const std::string& target, const std::string& headers = {});
  /// The same on a connection that is there already.
  StreamReader(RawConnection connection, const std::string& target, const std::string& headers = {});

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& head() const { return head_; }
  /// The next line that is not empty. Throws where the answer ends.
  std::string line();
  /// Whether the answer has ended as it should, behind lines that are dropped.
  bool hasEnded();
  /// Ends the connection, as a process does that ends.
  void close() { connection_.close(); }
  [[nodiscard]] RawConnection& connection() { return connection_; }

private:
  /// Takes the next chunk; false: it was the last one.
  bool receiveChunk();

  RawConnection connection_;
  int status_ = 0;
  std::string head_;
  std::string text_;
};

/// An agent that acknowledges what it gets with the result `{"ok":true}`, and rejects frames of type `bad`.
class ServedPeer {
public:
  ServedPeer();

  [[nodiscard]] std::string url() const { return server_.url(); }

private:
  TempDir dir_;
  OutboxManager manager_;
  InboundHandler handler_;
  InboundServer server_;
};

/// Writes a file that only its owner may read.
void writePrivateFile(const std::string& path, const std::string& text);

/// A file with the tokens `kTokens`.
struct TokensFile {
  TokensFile() { writePrivateFile(tokens, kTokens); }

  const TempDir dir;
  const std::string tokens = dir.file("tokens").string();
};

/// Fields of a configuration, as of `--set`.
using Settings = std::vector<serve::ConfigOverride>;

/// A daemon with its file in a folder of its own, and the peers `bob`, who answers, and `away`, who does not.
class ServeStage {
public:
  /// It listens on any port of loopback unless `settings` say otherwise. `change` has what no setting says.
  explicit ServeStage(const Settings& settings = {}, const std::function<void(serve::Config&)>& change = {});

  [[nodiscard]] serve::Server& server() { return *server_; }
  [[nodiscard]] HttpAsker asker() { return HttpAsker(server_->port()); }
  [[nodiscard]] std::string path(const std::string& name) const { return dir_.file(name).string(); }
  /// Ends it, as SIGTERM does.
  void end() { server_.reset(); }
  /// Begins it again on its file, once it has ended.
  void begin(const Settings& settings, const std::function<void(serve::Config&)>& change = {});
  /// The log so far, a record a line, of which the beginning is kept.
  [[nodiscard]] std::vector<std::string> log() const;
  /// Those records that have `text` in their line.
  [[nodiscard]] std::vector<std::string> logged(const std::string& text) const;
  /// The first of them, once it is there.
  std::string awaitRecord(const std::string& text) const;

private:
  TempDir dir_;
  ServedPeer bob_;
  mutable std::mutex logMutex_;
  std::vector<std::string> log_;
  std::unique_ptr<serve::Server> server_;
};

/// A daemon that wants a token.
struct GuardedStage : TokensFile, ServeStage {
  explicit GuardedStage(Settings settings = {});
};

/// A daemon that defers what it gets, and a sender to it.
class InboxStage {
public:
  explicit InboxStage(const Settings& settings);

  std::string send(const std::string& session, const std::string& type, const std::string& data);
  /// The deferred frames that have not ended.
  [[nodiscard]] nlohmann::json inbox();
  /// Asks until `fits`; an answer that never does is a test that hangs.
  template <typename Fits>
  nlohmann::json inboxOnce(const Fits& fits) {
    while (true) {
      nlohmann::json frames = inbox();
      if (fits(frames)) {
        return frames;
      }
    }
  }
  /// Checks that an event is the first frame of session `s-1`, of type `order.placed`.
  void checkFirst(const nlohmann::json& event, const std::string& id) const;
  [[nodiscard]] OutboxManager& sender() { return sender_; }
  [[nodiscard]] ServeStage& serve() { return serve_; }

private:
  TempDir dir_;
  ServeStage serve_;
  OutboxManager sender_;
};

/// Whether the server there says that it is ready.
[[nodiscard]] bool isReady(const std::string& url);

}  // namespace ackbox::testing
