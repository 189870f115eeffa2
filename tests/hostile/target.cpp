#include "hostile/target.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "protocol/signature.hpp"
#include "support/lone_frame.hpp"

namespace ackbox::testing {
namespace {

SecretSource secretOf(const char* text) {
  std::vector<Secret> secrets;
  secrets.emplace_back(text);
  return SecretSource::fixed(std::move(secrets));
}

SecretSource mallorysSecret() {
  return secretOf("whsec_bWFsbG9yeSBtYWxsb3J5IG1hbGxvcnkgbWFsbG9yeSE=");
}

}  // namespace

SecretSource Target::alicesSecret() {
  return secretOf("whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWw=");
}

Target::Target(InboundServerOptions options, TlsClientOptions trusted, RunsOn runsOn) : trusted_(std::move(trusted)) {
  OutboxOptions outbox;
  outbox.agent = "urn:agent:bob";
  manager_.emplace(OutboxManager::open(directory_.file("bob.db"), outbox));
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .secrets = alicesSecret()},
                   {.agents = {"urn:agent:mallory"}, .secrets = mallorysSecret()}};
  handler_.emplace(
      *manager_,
      [this](const InboundFrame& frame, InboundTransaction&) {
        ++(frame.source == "urn:agent:alice" ? alices_ : mallorys_);
        return HandlerResult::ack();
      },
      std::move(inbound));
  switch (runsOn) {
    case RunsOn::itself:
      server_.emplace(*handler_, options);
      break;
    case RunsOn::context:
      context_.emplace();
      server_.emplace(context_->executor(), *handler_, options);
      break;
    case RunsOn::pool:
      server_.emplace(pool_.get_executor(), *handler_, options);
      break;
  }
}

Target::~Target() {
  server_.reset();
  context_.reset();
  pool_.join();
}

std::string Target::ask(std::string_view bytes) const {
  RawConnection connection = connect();
  connection.sendWhileTaken(bytes);
  return connection.receiveAll();
}

std::string Target::askSigned(std::string_view body, std::string_view contentType) const {
  return ask(signedRequest(body, contentType, "Connection: close\r\n"));
}

bool Target::servesAlice() {
  HttpSenderOptions options;
  options.tls = trusted_;
  HttpSender sender(options);
  PeerOptions bob;
  bob.name = "bob";
  bob.url = url();
  bob.agent = "urn:agent:bob";
  bob.secrets = alicesSecret();
  sender.usePeers({&bob, 1});
  sender.start(pool_.get_executor());
  SendRequest request = loneFrame(bob.url, ++sent_);
  request.peer = bob.name;
  request.peerAgent = bob.agent;
  const SendReport report = sendAndWait(sender, std::move(request));
  sender.stop();
  return isAcknowledged(report);
}

std::string signedRequest(std::string_view body, std::string_view contentType, std::string_view headers) {
  const protocol::KeyRing ring(mallorysSecret().load());
  const protocol::SignatureHeaders made = ring.sign("delivery-1", body, systemClock()->wallNow());
  std::string request = "POST /inbox HTTP/1.1\r\nHost: here\r\n";
  request.append("Content-Type: ").append(contentType).append("\r\n");
  request.append("webhook-id: ").append(made.id).append("\r\n");
  request.append("webhook-timestamp: ").append(made.timestamp).append("\r\n");
  request.append("webhook-signature: ").append(made.signature).append("\r\n");
  request.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  return request.append(headers).append("\r\n").append(body);
}

std::string malloryFrame(std::string_view id, std::string_view members) {
  std::string frame = R"({"specversion":"1.0","source":"urn:agent:mallory","type":"test","id":")";
  return frame.append(id).append("\"").append(members).append("}");
}

bool hasStatus(std::string_view answer, int status) {
  return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
}

}  // namespace ackbox::testing
