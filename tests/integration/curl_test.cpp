// Goal: somebody with curl, openssl and docs/clients.md can post a signed frame. Method: the document's own lines are
// run by a shell against a listening agent, with the right secret and with others.

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <boost/asio/thread_pool.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::curl_test {
namespace {

constexpr const char* kSecret = "whsec_YWxpY2UgYW5kIGN1cmwga2VlcCB0aGlzIHRvIHRoZW0=";

/// The document's lines, as they stand between their fences.
std::string documentLines() {
  std::ifstream document(ACKBOX_SOURCE_DIR "/docs/clients.md");
  const std::string text{std::istreambuf_iterator<char>(document), {}};
  const std::size_t heading = text.find("## Without a client\n");
  const std::string fence = "```sh\n";
  const std::size_t begin = text.find(fence, heading);
  const std::size_t end = text.find("```\n", begin + fence.size());
  REQUIRE(heading != std::string::npos);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  return text.substr(begin + fence.size(), end - begin - fence.size());
}

/// An agent that knows urn:agent:alice by the secret, and keeps what it hears.
struct Bob {
  Bob() {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    manager.emplace(OutboxManager::open(directory.file("bob.db"), options));
    std::vector<Secret> secrets;
    secrets.emplace_back(kSecret);
    InboundOptions inbound;
    inbound.peers = {{.agents = {"urn:agent:alice"}, .secrets = SecretSource::fixed(std::move(secrets))}};
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction&) {
          const std::scoped_lock lock(mutex);
          heard.push_back(frame.type + " " + frame.data);
          return HandlerResult::ack();
        },
        std::move(inbound));
    server.emplace(pool.get_executor(), *handler);
  }
  ~Bob() {
    server.reset();
    pool.join();
  }
  Bob(const Bob&) = delete;
  Bob& operator=(const Bob&) = delete;

  /// What a shell prints that runs the lines with this secret.
  [[nodiscard]] std::string run(const std::string& lines, const std::string& secret) const {
    const std::filesystem::path script = directory.file("post.sh");
    std::ofstream(script) << "set -eu\n" << lines;
    const std::string command =
        "URL='" + server->url() + "' SECRET='" + secret + "' sh '" + script.string() + "' 2>&1 </dev/null";
    std::FILE* const output = ::popen(command.c_str(), "r");
    if (output == nullptr) {
      throw std::runtime_error("no shell");
    }
    std::string printed;
    std::array<char, 4096> piece{};
    while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), output)) {
      printed.append(piece.data(), size);
    }
    const int status = ::pclose(output);
    CAPTURE(printed);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    return printed;
  }

  testing::TempDir directory;
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<std::string> heard;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;
  boost::asio::thread_pool pool{1};
  std::optional<InboundServer> server;
};

TEST_CASE("the document's lines with curl and openssl post a signed frame, which is acknowledged and takes effect") {
  Bob bob;
  const std::string printed = bob.run(documentLines(), kSecret);
  CAPTURE(printed);
  CHECK(printed.find(R"("outcome":"ack")") != std::string::npos);
  CHECK(bob.heard == std::vector<std::string>{R"(order.placed {"order":7})"});
}

TEST_CASE("P11: the same lines with another secret, or with another body than was signed, are refused") {
  Bob bob;
  const std::string lines = documentLines();
  CHECK(bob.run(lines, "whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCwgYXMgbG9uZyE=").find("\"status\":401") !=
        std::string::npos);
  std::string altered = lines;
  const std::string sent = R"(--data-binary "$body")";
  REQUIRE(altered.find(sent) != std::string::npos);
  altered.replace(altered.find(sent), sent.size(), R"(--data-binary "$body ")");
  CHECK(bob.run(altered, kSecret).find("\"status\":401") != std::string::npos);
  CHECK(bob.heard.empty());
}

}  // namespace
}  // namespace ackbox::curl_test
