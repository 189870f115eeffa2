// Goal: P11 on the way between two agents: only the right certificate, for the right host, at the right time, is spoken
// with; a client's certificate is its identity; certificates are changed without a restart; handshakes that never end
// cost nobody else. Method: a real server and a real sender over loopback, with authorities made for the test.

#include <doctest/doctest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "integration/test_certificates.hpp"
#include "support/lone_frame.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::tls_test {
namespace {

using testing::CertificateFacts;
using testing::CertificateFiles;
using testing::isAcknowledged;
using testing::TestAuthority;

TlsServerOptions serverWith(const CertificateFiles& files) {
  TlsServerOptions tls;
  tls.certificateFile = files.certificate;
  tls.keyFile = files.key;
  return tls;
}

/// A receiver and the authority that it and its senders trust.
struct World {
  explicit World(InboundOptions inbound = {.allowAnonymous = true}) {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    handler.emplace(
        *manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, std::move(inbound));
  }
  ~World() {
    server.reset();
    pool.join();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void listen(const TlsServerOptions& tls) {
    InboundServerOptions options;
    options.tls = tls;
    server.emplace(pool.get_executor(), *handler, options);
  }
  [[nodiscard]] TlsClientOptions trusting(const TestAuthority& trusted) const {
    TlsClientOptions tls;
    tls.authorityFile = trusted.file();
    return tls;
  }

  /// Sends one frame from alice, on a connection of its own.
  SendReport send(const TlsClientOptions& tls, std::string url = {}) {
    HttpSenderOptions options;
    options.tls = tls;
    HttpSender sender(options);
    sender.start(pool.get_executor());
    SendReport report = sendWith(sender, std::move(url));
    sender.stop();
    return report;
  }
  SendReport sendWith(HttpSender& sender, std::string url = {}) {
    return testing::sendAndWait(sender, testing::loneFrame(url.empty() ? server->url() : std::move(url), ++sent));
  }

  testing::TempDir dir;
  TestAuthority authority{dir.file(""), "authority"};
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;
  boost::asio::thread_pool pool{2};
  std::optional<InboundServer> server;
  int sent = 0;
};

TEST_CASE("A certificate of a trusted authority, for the address or the name, is spoken with") {
  World world;
  world.listen(serverWith(world.authority.issue("server")));
  CHECK(world.server->url().starts_with("https://127.0.0.1:"));
  const SendReport byAddress = world.send(world.trusting(world.authority));
  CHECK_MESSAGE(isAcknowledged(byAddress), byAddress.error);
  const std::string port = std::to_string(world.server->port());
  const SendReport byName = world.send(world.trusting(world.authority), "https://localhost:" + port + "/inbox");
  CHECK_MESSAGE(isAcknowledged(byName), byName.error);
}

TEST_CASE("A connection is kept and used again under TLS, and a large frame passes whole") {
  World world;
  world.listen(serverWith(world.authority.issue("server")));
  HttpSenderOptions options;
  options.tls = world.trusting(world.authority);
  HttpSender sender(options);
  sender.start(world.pool.get_executor());
  for (int count = 0; count < 20; ++count) {
    const SendReport report = world.sendWith(sender);
    CHECK_MESSAGE(isAcknowledged(report), report.error);
  }
  SendRequest large;
  large.url = world.server->url();
  large.agent = "urn:agent:alice";
  large.timeout = std::chrono::seconds(20);
  OutboundFrame& frame = large.frames.emplace_back();
  frame.messageId = "large";
  frame.type = "test";
  frame.data = "\"" + std::string(200'000, 'x') + "\"";
  std::promise<SendReport> promise;
  sender.asyncSend(large, [&](SendReport report) { promise.set_value(std::move(report)); });
  CHECK(isAcknowledged(promise.get_future().get()));
  sender.stop();
}

TEST_CASE(
    "hostile: a server whose certificate is expired, early, for another host or of a stranger: not a byte is sent to "
    "it") {
  World world;
  const TestAuthority stranger(world.dir.file(""), "stranger");
  struct Wrong {
    const char* what;
    CertificateFiles files;
    const char* reason;
  };
  CertificateFacts expired;
  expired.validUntil = -60;
  CertificateFacts early;
  early.validFrom = 600;
  CertificateFacts elsewhere;
  elsewhere.names = {"DNS:bob.example", "IP:127.0.0.2"};
  CertificateFacts nameless;
  nameless.names = {"URI:urn:agent:bob"};
  const Wrong wrongs[] = {
      {"expired", world.authority.issue("expired", expired), "expired"},
      {"not valid yet", world.authority.issue("early", early), "not yet valid"},
      {"for another host", world.authority.issue("elsewhere", elsewhere), "mismatch"},
      {"for no host", world.authority.issue("nameless", nameless), "mismatch"},
      {"signed by itself", world.authority.issueSelfSigned("lonely"), "self"},
      {"of an unknown authority", stranger.issue("foreign"), "issuer"},
  };
  for (const Wrong& wrong : wrongs) {
    CAPTURE(wrong.what);
    world.listen(serverWith(wrong.files));
    const SendReport report = world.send(world.trusting(world.authority));
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
    CAPTURE(report.error);
    CHECK(report.error.find("certificate") != std::string::npos);
    CHECK(report.error.find(wrong.reason) != std::string::npos);
  }
  CHECK(world.manager->getStats().received == 0);
  // The system's authorities know nothing of ours.
  world.listen(serverWith(world.authority.issue("server")));
  CHECK(world.send({}).outcome == RequestOutcome::peerUnavailable);
}

TEST_CASE("P11: with mutual TLS a client is who its certificate says, and without the right one it is nobody") {
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .byCertificate = true},
                   {.agents = {"urn:agent:carol"}, .byCertificate = true}};
  World world(inbound);
  const TestAuthority stranger(world.dir.file(""), "stranger");
  TlsServerOptions tls = serverWith(world.authority.issue("server"));
  tls.clientAuthorityFile = world.authority.file();
  world.listen(tls);
  const auto sendAs = [&](const CertificateFiles& files) {
    TlsClientOptions client = world.trusting(world.authority);
    client.certificateFile = files.certificate;
    client.keyFile = files.key;
    return world.send(client);
  };
  const auto named = [](const std::string& uri) {
    CertificateFacts facts;
    facts.names = {"URI:" + uri};
    return facts;
  };
  const SendReport good = sendAs(world.authority.issue("alice", named("urn:agent:alice")));
  CHECK_MESSAGE(isAcknowledged(good), good.error);

  // TLS 1.3 lets a client find out only when it reads; either way nothing was taken.
  const SendReport none = world.send(world.trusting(world.authority));
  CHECK(none.outcome == RequestOutcome::peerUnavailable);
  CHECK_MESSAGE(none.error.find("wants a client certificate, and none is given: set the sender's certificate file") !=
                    std::string::npos,
                none.error);
  const SendReport unknown = sendAs(stranger.issue("stranger", named("urn:agent:alice")));
  CHECK(unknown.outcome == RequestOutcome::peerUnavailable);
  CHECK_MESSAGE(unknown.error.find("refuses this agent's client certificate") != std::string::npos, unknown.error);
  CHECK_FALSE(isAcknowledged(sendAs(stranger.issue("forged", named("urn:agent:alice")))));
  CertificateFacts old = named("urn:agent:alice");
  old.validUntil = -60;
  CHECK_FALSE(isAcknowledged(sendAs(world.authority.issue("old", old))));
  // Known to the authority, but not who it says, or nobody at all.
  CHECK(sendAs(world.authority.issue("carol", named("urn:agent:carol"))).outcome == RequestOutcome::peerRefused);
  CHECK(sendAs(world.authority.issue("mallory", named("urn:agent:mallory"))).outcome == RequestOutcome::peerRefused);
  CHECK(world.manager->getStats().received == 1);
  CHECK(world.manager->getStats().refusedForbidden == 1);
  CHECK(world.manager->getStats().refusedUnauthenticated == 1);
}

TEST_CASE("P11: a client whose certificate is revoked is turned away, and so is everybody where no list is in force") {
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .byCertificate = true},
                   {.agents = {"urn:agent:carol"}, .byCertificate = true}};
  World world(inbound);
  const auto issued = [&](const std::string& name) {
    CertificateFacts facts;
    facts.names = {"URI:urn:agent:" + name};
    return world.authority.issue(name, facts);
  };
  const CertificateFiles alice = issued("alice");
  const CertificateFiles carol = issued("carol");
  const auto isTaken = [&](const CertificateFiles& files, const std::string& agent) {
    TlsClientOptions client = world.trusting(world.authority);
    client.certificateFile = files.certificate;
    client.keyFile = files.key;
    HttpSenderOptions options;
    options.tls = client;
    HttpSender sender(options);
    sender.start(world.pool.get_executor());
    SendRequest request = testing::loneFrame(world.server->url(), ++world.sent);
    request.agent = agent;
    const SendReport report = testing::sendAndWait(sender, std::move(request));
    sender.stop();
    return isAcknowledged(report);
  };
  TlsServerOptions tls = serverWith(world.authority.issue("server"));
  tls.clientAuthorityFile = world.authority.file();
  tls.crlFile = world.authority.revoke({});
  world.listen(tls);
  CHECK(isTaken(alice, "urn:agent:alice"));
  CHECK(isTaken(carol, "urn:agent:carol"));

  world.authority.revoke({alice});
  CHECK_FALSE(isTaken(alice, "urn:agent:alice"));
  CHECK(isTaken(carol, "urn:agent:carol"));

  // What cannot be read takes nothing back.
  std::ofstream(tls.crlFile, std::ios::trunc) << "damaged";
  CHECK_FALSE(isTaken(alice, "urn:agent:alice"));
  CHECK(isTaken(carol, "urn:agent:carol"));

  // A list that is out of force says nothing of anybody.
  world.authority.revoke({alice}, -60);
  CHECK_FALSE(isTaken(carol, "urn:agent:carol"));

  const TestAuthority another(world.dir.file(""), "another");
  tls.crlFile = another.revoke({});
  world.server.reset();
  world.listen(tls);
  CHECK_FALSE(isTaken(carol, "urn:agent:carol"));
}

TEST_CASE("P11: a client whose authority is revoked is turned away, although its own certificate is not") {
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .byCertificate = true}};
  World world(inbound);
  const TestAuthority office(world.dir.file(""), "office", world.authority);
  CertificateFacts facts;
  facts.names = {"URI:urn:agent:alice"};
  const CertificateFiles alice = office.issue("alice", facts);
  TlsServerOptions tls = serverWith(world.authority.issue("server"));
  tls.clientAuthorityFile = world.authority.file();
  tls.crlFile = world.dir.file("all.crl");
  const auto list = [&](const std::vector<CertificateFiles>& authorities,
                        const std::vector<CertificateFiles>& clients) {
    const std::filesystem::path byRoot = world.authority.revoke(authorities);
    const std::filesystem::path byOffice = office.revoke(clients);
    std::ofstream(tls.crlFile, std::ios::trunc) << std::ifstream(byRoot).rdbuf() << std::ifstream(byOffice).rdbuf();
  };
  const auto isTaken = [&] {
    TlsClientOptions client = world.trusting(world.authority);
    client.certificateFile = alice.certificate;
    client.keyFile = alice.key;
    return isAcknowledged(world.send(client));
  };
  list({}, {});
  world.listen(tls);
  CHECK(isTaken());
  list({}, {alice});
  CHECK_FALSE(isTaken());
  list({}, {});
  CHECK(isTaken());
  list({{office.file(), {}}}, {});
  CHECK_FALSE(isTaken());
}

TEST_CASE("Certificates are changed under a running server and a running sender, and damaged ones change nothing") {
  World world;
  const TestAuthority next(world.dir.file(""), "next");
  const CertificateFiles files = world.authority.issue("server");
  world.listen(serverWith(files));
  std::filesystem::copy_file(world.authority.file(), world.dir.file("trusted.pem"));
  HttpSenderOptions options;
  options.tls.authorityFile = world.dir.file("trusted.pem");
  HttpSender sender(options);
  sender.start(world.pool.get_executor());
  CHECK(isAcknowledged(world.sendWith(sender)));

  std::ofstream(files.certificate, std::ios::trunc) << "damaged";
  CHECK(isAcknowledged(world.send(options.tls)));
  CHECK_THROWS_WITH_AS(world.server->reloadCertificates(), doctest::Contains("certificateFile"), Error);
  CHECK(isAcknowledged(world.send(options.tls)));

  (void)next.issue("server");
  CHECK(world.send(options.tls).outcome == RequestOutcome::peerUnavailable);
  CHECK(isAcknowledged(world.send(world.trusting(next))));
  // A connection from before goes on; new ones go by the new authority.
  CHECK(isAcknowledged(world.sendWith(sender)));
  std::filesystem::copy_file(next.file(), world.dir.file("trusted.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(isAcknowledged(world.sendWith(sender)));
  sender.reloadCertificates();
  CHECK(isAcknowledged(world.sendWith(sender)));
  sender.stop();
}

TEST_CASE(
    "P11: an authority that is taken away is trusted no more: at once where none is named, else after the grace") {
  struct Change {
    const char* what;
    std::function<void(const std::filesystem::path&)> apply;
    std::chrono::milliseconds bound;
  };
  const auto write = [](const char* text) {
    return [text](const std::filesystem::path& file) { std::ofstream(file, std::ios::trunc) << text; };
  };
  const std::chrono::milliseconds grace = std::chrono::minutes(10);
  for (const Change& change : {
           Change{"emptied", write(""), std::chrono::milliseconds(0)},
           Change{"a comment alone", write("# nobody"), std::chrono::milliseconds(0)},
           Change{"damaged", write("-----BEGIN CERTIFICATE-----\nAAAA\n"), grace},
           Change{"deleted", [](const std::filesystem::path& file) { std::filesystem::remove(file); }, grace},
       }) {
    CAPTURE(change.what);
    World world;
    world.listen(serverWith(world.authority.issue("server")));
    HttpSenderOptions options;
    options.clock = std::make_shared<testing::ManualClock>(systemClock()->wallNow());
    auto& clock = dynamic_cast<testing::ManualClock&>(*options.clock);
    options.tls.authorityFile = world.dir.file("trusted.pem");
    std::filesystem::copy_file(world.authority.file(), options.tls.authorityFile);
    HttpSender sender(options);
    sender.start(world.pool.get_executor());
    CHECK(isAcknowledged(world.sendWith(sender)));
    change.apply(options.tls.authorityFile);
    if (change.bound.count() > 0) {
      clock.advance(change.bound - std::chrono::milliseconds(1));
      CHECK(isAcknowledged(world.sendWith(sender)));
      clock.advance(std::chrono::milliseconds(1));
    }
    CHECK(world.sendWith(sender).outcome == RequestOutcome::peerUnavailable);
    std::filesystem::copy_file(world.authority.file(), options.tls.authorityFile,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(isAcknowledged(world.sendWith(sender)));
    sender.stop();
  }
  // And of clients.
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .byCertificate = true}};
  World world(inbound);
  TlsServerOptions tls = serverWith(world.authority.issue("server"));
  tls.clientAuthorityFile = world.dir.file("clients.pem");
  std::filesystem::copy_file(world.authority.file(), tls.clientAuthorityFile);
  world.listen(tls);
  const CertificateFiles alice = world.authority.issue("alice", {.names = {"URI:urn:agent:alice"}});
  TlsClientOptions client = world.trusting(world.authority);
  client.certificateFile = alice.certificate;
  client.keyFile = alice.key;
  CHECK(isAcknowledged(world.send(client)));
  write("")(tls.clientAuthorityFile);
  CHECK_FALSE(isAcknowledged(world.send(client)));
  for (const auto wrong : {std::chrono::milliseconds(-1), grace * 1000}) {
    client.authorityGrace = wrong;
    HttpSenderOptions options;
    options.tls = client;
    HttpSender sender(options);
    CHECK_THROWS_WITH_AS(sender.reloadCertificates(), doctest::Contains("authorityGrace"), Error);
  }
}

TEST_CASE("P11: handshakes that never end are cut in time, and others' traffic goes on meanwhile") {
  World world;
  InboundServerOptions options;
  options.tls = serverWith(world.authority.issue("server"));
  // Enough for an honest one on a busy machine.
  options.handshakeTimeout = std::chrono::seconds(2);
  options.connectionsMax = 4;
  world.server.emplace(world.pool.get_executor(), *world.handler, options);
  std::vector<testing::RawConnection> silent;
  for (int count = 0; count < 12; ++count) {
    silent.emplace_back(world.server->port());
  }
  testing::RawConnection half(world.server->port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  CHECK(isAcknowledged(world.send(world.trusting(world.authority))));
  for (testing::RawConnection& connection : silent) {
    CHECK(connection.receiveAll().empty());
  }
  half.receiveAll();
}

TEST_CASE(
    "hostile: a server that never shakes hands, or answers with garbage or plain HTTP: left in time, and told "
    "nothing") {
  World world;
  std::vector<std::string> heard;
  const auto answering = [&](const std::string& bytes) {
    return [&heard, bytes](testing::RawConnection& connection) {
      connection.sendWhileTaken(bytes);
      heard.push_back(connection.receiveAll());
    };
  };
  testing::RawServer server({answering(""), answering("SSH-2.0-OpenSSH_9.2\r\n"),
                             answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
                             answering(std::string("\x15\x03\x03\x00\x02\x02\x28", 7))});
  HttpSenderOptions options;
  options.tls = world.trusting(world.authority);
  options.handshakeTimeout = std::chrono::milliseconds(200);
  HttpSender sender(options);
  sender.start(world.pool.get_executor());
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    const SendReport report = world.sendWith(sender, "https://127.0.0.1:" + std::to_string(server.port()) + "/inbox");
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
  }
  sender.stop();
  CHECK(server.finish().empty());
  for (const std::string& each : heard) {
    CHECK(each.find("message-") == std::string::npos);
    CHECK(each.find("POST") == std::string::npos);
  }
}

TEST_CASE("P11: plain HTTP to a server with TLS, and TLS to one without, end without an ACK") {
  World world;
  world.listen(serverWith(world.authority.issue("server")));
  const std::string port = std::to_string(world.server->port());
  CHECK_FALSE(isAcknowledged(world.send({}, "http://127.0.0.1:" + port + "/inbox")));
  World plain;
  plain.listen({});
  const std::string plainPort = std::to_string(plain.server->port());
  CHECK(plain.send(plain.trusting(plain.authority), "https://127.0.0.1:" + plainPort + "/inbox").outcome ==
        RequestOutcome::peerUnavailable);
  CHECK(world.manager->getStats().received + plain.manager->getStats().received == 0);
}

TEST_CASE("P11: a server listens beyond loopback only with TLS, or when plain HTTP is asked for by name") {
  World world;
  const auto refusal = [&](const InboundServerOptions& options) -> std::string {
    try {
      world.server.emplace(world.pool.get_executor(), *world.handler, options);
    } catch (const Error& error) {
      CHECK((error.code() == Errc::invalidOption));
      return error.what();
    }
    return {};
  };
  InboundServerOptions options;
  options.address = "0.0.0.0";
  CHECK(refusal(options).find("allowPlainHttp") != std::string::npos);
  options.tls = serverWith(world.authority.issue("server"));
  CHECK(refusal(options).empty());
  options.tls.keyFile = world.authority.issue("other").key;
  CHECK(refusal(options).find("keyFile") != std::string::npos);
  options.tls.certificateFile = "/nowhere.pem";
  CHECK(refusal(options).find("/nowhere.pem") != std::string::npos);
}

TEST_CASE("A server that starts while its certificate is replaced reads the pair once more") {
  World world;
  const CertificateFiles files = world.authority.issue("server");
  const std::filesystem::path itsKey = world.dir.file("its.key");
  std::filesystem::rename(files.key, itsKey);
  std::filesystem::copy_file(world.authority.issue("before").key, files.key);
  // The key that fits comes as soon as the one from before has been read.
  const int reads = inotify_init1(IN_CLOEXEC);
  REQUIRE(inotify_add_watch(reads, files.key.c_str(), IN_CLOSE_NOWRITE) >= 0);
  std::thread replacing([&] {
    std::array<char, 4096> event{};
    CHECK(read(reads, event.data(), event.size()) > 0);
    std::filesystem::rename(itsKey, files.key);
  });
  CHECK_NOTHROW(world.listen(serverWith(files)));
  replacing.join();
  close(reads);
}

TEST_CASE("A certificate's end is the first of its chain's, and a file without one has none") {
  World world;
  CertificateFacts facts;
  facts.validUntil = 1'000'000;
  const TestAuthority between(world.dir.file(""), "between", world.authority);
  const CertificateFiles files = between.issue("server", facts);
  const auto remaining = [](const std::filesystem::path& file) {
    return std::chrono::duration_cast<std::chrono::seconds>(certificateEnds(file).value() - systemClock()->wallNow());
  };
  // The intermediate authority's, which is carried along, is an hour.
  CHECK(remaining(files.certificate) <= std::chrono::seconds(3'600));
  CHECK(remaining(files.certificate) > std::chrono::seconds(3'000));
  CertificateFacts early;
  early.validUntil = 600;
  CHECK(remaining(between.issue("early", early).certificate) <= std::chrono::seconds(600));
  CHECK(remaining(world.authority.issue("alone", facts).certificate) > std::chrono::seconds(990'000));
  CHECK_FALSE(certificateEnds(files.key));
  CHECK_FALSE(certificateEnds("/nowhere.pem"));
  CHECK_FALSE(certificateEnds(world.dir.file("")));
}

TEST_CASE("A certificate of the server or the sender that ends within 21 days, or has ended, is in the log by name") {
  constexpr long kDay = 24 * 3600;
  testing::TempDir dir;
  const TestAuthority authority(dir.file(""), "authority");
  const auto issued = [&](const std::string& name, long validUntil) {
    CertificateFacts facts;
    facts.validFrom = -30 * kDay;
    facts.validUntil = validUntil;
    return authority.issue(name, facts);
  };
  const CertificateFiles fresh = issued("fresh", 22 * kDay);
  const CertificateFiles soon = issued("soon", 20 * kDay);
  const CertificateFiles ended = issued("ended", -kDay);
  std::vector<std::string> lines;
  OutboxOptions options;
  options.log = [&lines](const LogRecord& record) {
    if (record.event == "certificate-ends") {
      lines.push_back(toKeyValue(record));
    }
  };
  options.peers = {{.name = "bob", .url = "https://127.0.0.1:1/"}};
  std::optional<OutboxManager> manager(OutboxManager::open(dir.file("a.db"), options));
  InboundHandler handler(*manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.allowAnonymous = true});
  const auto server = [&](const CertificateFiles& files) {
    InboundServerOptions listening;
    listening.tls = serverWith(files);
    const InboundServer made(handler, listening);
  };
  const auto sender = [&](const CertificateFiles& files) {
    HttpSenderOptions sending;
    sending.tls.authorityFile = authority.file();
    sending.tls.certificateFile = files.certificate;
    sending.tls.keyFile = files.key;
    return std::make_shared<HttpSender>(sending);
  };
  server(fresh);
  manager->setSender(sender(fresh));
  CHECK(lines.empty());
  server(soon);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(" warning certificate-ends file=" + soon.certificate.string() + " ends_at=") !=
        std::string::npos);
  CHECK(lines[0].find("soon.pem ends at ") != std::string::npos);
  manager->setSender(sender(ended));
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].find("ended.pem ended at ") != std::string::npos);
  // A peer's own sender is known at the opening.
  options.peers[0].sender = sender(soon);
  const OutboxManager other = OutboxManager::open(dir.file("b.db"), options);
  CHECK(lines.size() == 3);
}

TEST_CASE("A sender whose certificates cannot be read is refused when it is set, where a peer needs them") {
  HttpSenderOptions options;
  options.tls.authorityFile = "/nowhere.pem";
  HttpSender sender(options);
  PeerOptions peer;
  peer.url = "http://127.0.0.1/";
  CHECK_NOTHROW(sender.usePeers({&peer, 1}));
  peer.url = "https://127.0.0.1/";
  CHECK_THROWS_WITH_AS(sender.usePeers({&peer, 1}), doctest::Contains("/nowhere.pem"), Error);
}

}  // namespace
}  // namespace ackbox::tls_test
