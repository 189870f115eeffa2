// Two agents over mutual TLS that also sign with a shared secret, which is rotated while messages are under way. The
// old secret is good for nothing afterwards, and no request was refused on the way.

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace ackbox;
using namespace std::chrono_literals;

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("failed: " + command);
  }
}

/// Makes `name`.pem and `name`.key, signed by `ca.key`. A server needs its host's name or address, a client its agent
/// URI.
void issue(const std::string& name, const std::string& alternativeName) {
  shell("umask 077; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=" + name +
        " -keyout " + name + ".key -out " + name + ".pem 2>>openssl.log" +
        (name == "ca" ? "" : " -CA ca.pem -CAkey ca.key -addext subjectAltName=" + alternativeName));
}

std::string newSecret() {
  shell("umask 077; printf 'whsec_%s\\n' \"$(openssl rand -base64 32)\" > new.secret");
  std::string secret;
  std::getline(std::ifstream("new.secret"), secret);
  return secret;
}

/// Renamed into place, because a file that is read while it is written may look empty.
void replaceFile(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path fresh = file.string() + ".new";
  std::ofstream(fresh) << text;
  std::filesystem::permissions(fresh, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(fresh, file);
}

OutboxManager openAlice(const std::string& file, const std::string& url, SecretSource secrets) {
  OutboxOptions options{.agent = "urn:agent:alice"};
  options.peers = {{.name = "bob", .url = url, .agent = "urn:agent:bob", .secrets = std::move(secrets)}};
  auto alice = OutboxManager::open(file, options);
  HttpSenderOptions sender;
  sender.tls = {.authorityFile = "ca.pem", .certificateFile = "alice.pem", .keyFile = "alice.key"};
  alice.setSender(std::make_shared<HttpSender>(sender));
  return alice;
}

}  // namespace

int main() {
  issue("ca", "");
  issue("bob", "IP:127.0.0.1");
  issue("alice", "URI:urn:agent:alice");
  const std::string oldSecret = newSecret();
  const std::string secret = newSecret();
  // In production each side has its own copy of the file.
  replaceFile("alice.secrets", oldSecret + "\n");
  replaceFile("bob.secrets", oldSecret + "\n");

  auto bob = OutboxManager::open("bob.db", {.agent = "urn:agent:bob"});
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .secrets = SecretSource::file("bob.secrets")}};
  InboundHandler handler(
      bob, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, inbound);
  InboundServerOptions listen;
  listen.tls = {.certificateFile = "bob.pem", .keyFile = "bob.key", .clientAuthorityFile = "ca.pem"};
  InboundServer server(handler, listen);

  auto alice = openAlice("alice.db", server.url(), SecretSource::file("alice.secrets"));
  alice.start();
  // A message each 20 ms. Files are read again with the first request after a second.
  boost::asio::io_context context;
  std::uint64_t sent = 0;
  const auto talk = [&](int messages) {
    for (int message = 0; message < messages; ++message) {
      sent += alice.enqueue({.peer = "bob", .type = "tick", .data = "1"}).isNew() ? 1U : 0U;
      boost::asio::steady_timer(context, 20ms).wait();
    }
  };
  talk(5);
  replaceFile("bob.secrets", oldSecret + "\n" + secret + "\n");  // 1. Added at the receiver.
  talk(65);
  replaceFile("alice.secrets", oldSecret + "\n" + secret + "\n");  // 2. Added at the sender, which signs with both.
  talk(65);
  replaceFile("alice.secrets", secret + "\n");  // 3. The old one taken away, in any order.
  replaceFile("bob.secrets", secret + "\n");
  talk(65);
  while (alice.getStats().pending + alice.getStats().sending > 0) {
    boost::asio::steady_timer(context, 20ms).wait();
  }
  alice.stop();
  const std::uint64_t refused = bob.getStats().refusedUnauthenticated;
  std::cout << sent << " sent, " << alice.getStats().acked << " acknowledged, " << refused << " refused" << std::endl;

  auto thief = openAlice("thief.db", server.url(), SecretSource::fixed({Secret(oldSecret)}));
  std::promise<PeerState> state;
  const Subscription peer = thief.onPeer([&](const PeerEvent& event) { state.set_value(event.state); });
  thief.start();
  thief.enqueue({.peer = "bob", .type = "tick", .data = "1"});
  const PeerState now = state.get_future().get();
  std::cout << "with the old secret: " << toString(now) << std::endl;
  return refused == 0 && alice.getStats().acked == sent && now == PeerState::held ? 0 : 1;
}
