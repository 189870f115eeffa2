// Goal: a peer that is limited to networks is not connected to anywhere else, by whatever name or number. Method: an
// `HttpSender` on loopback against a scripted peer; what must not arrive would be accepted.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/options.hpp"
#include "support/reserved_port.hpp"
#include "transport/connector.hpp"
#include "transport/networks.hpp"
#include "transport/url.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::http_sender_networks_test {
namespace {

using testing::RawConnection;
using testing::RawServer;

/// A started sender to one peer.
struct LimitedSender {
  LimitedSender() { sender.start(io.executor()); }
  ~LimitedSender() { sender.stop(); }
  LimitedSender(const LimitedSender&) = delete;
  LimitedSender& operator=(const LimitedSender&) = delete;

  void limit(std::vector<std::string> networks) {
    PeerOptions bob;
    bob.name = "bob";
    // 127.1 is not loopback by its text.
    bob.allowPlainHttp = true;
    bob.networks = std::move(networks);
    sender.usePeers({&bob, 1});
  }
  SendReport send(const std::string& url) {
    SendRequest request;
    request.peer = "bob";
    request.url = url;
    request.timeout = std::chrono::seconds(10);
    request.frames.push_back({.messageId = "m-1", .type = "t", .data = "{}", .sequence = 1});
    std::promise<SendReport> promise;
    sender.asyncSend(std::move(request), [&](SendReport report) { promise.set_value(std::move(report)); });
    return promise.get_future().get();
  }

  testing::IoThread io;
  HttpSender sender;
};

void answerOnce(RawConnection& connection) {
  connection.receiveMessage();
  connection.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
}

std::string urlOf(const std::string& host, const RawServer& peer) {
  return "http://" + host + ":" + std::to_string(peer.port()) + "/inbox";
}

}  // namespace

TEST_CASE("P11: a peer that is limited to networks is connected to nowhere else, by number or by name") {
  RawServer peer({answerOnce});
  LimitedSender sender;
  struct Row {
    std::string host;
    std::vector<std::string> networks;
  };
  for (const Row& row : std::vector<Row>{{"127.0.0.1", {"public"}},
                                         {"localhost", {"public"}},
                                         {"[::ffff:127.0.0.1]", {"public", "10.0.0.0/8", "::/0"}},
                                         {"127.1", {"public"}},
                                         {"2130706433", {"0.0.0.0/2"}},
                                         {"127.0.0.1", {"127.0.0.2", "::1"}}}) {
    CAPTURE(row.host);
    sender.limit(row.networks);
    const SendReport report = sender.send(urlOf(row.host, peer));
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
    CHECK(report.error.starts_with("connecting to " + row.host + ":" + std::to_string(peer.port()) + ": "));
    CHECK_MESSAGE(report.error.ends_with(" is not in a network that this peer may use (networks)"), report.error);
  }
  sender.limit({"loopback"});
  CHECK(sender.send(peer.url()).status == 401);
  CHECK(peer.finish().empty());
}

TEST_CASE("The error names the address, and a forbidden one is passed over for one that is permitted") {
  RawServer peer({answerOnce, answerOnce});
  LimitedSender sender;
  sender.limit({"public"});
  CHECK(sender.send(peer.url()).error == "connecting to 127.0.0.1:" + std::to_string(peer.port()) +
                                             ": 127.0.0.1 is not in a network that this peer may use (networks)");
  sender.limit({"loopback"});
  CHECK(sender.send(urlOf("localhost", peer)).status == 401);
  // Where the name has ::1, too, that is not tried.
  sender.limit({"127.0.0.0/8"});
  CHECK(sender.send(urlOf("localhost", peer)).status == 401);
  CHECK(peer.finish().empty());
}

TEST_CASE("Where a permitted address fails, its failure is told, not that another is forbidden") {
  const testing::ReservedPort gone;
  LimitedSender sender;
  boost::asio::io_context context;
  const auto addresses = boost::asio::ip::tcp::resolver(context).resolve("localhost", "9");
  const std::string first = addresses.begin()->endpoint().address().to_string();
  sender.limit({first});
  // Where the name has no other address, this is an ordinary failure.
  CHECK_FALSE(sender.send("http://localhost:" + std::to_string(gone.number()) + "/").error.ends_with("(networks)"));
}

TEST_CASE("What is forbidden is reported later, not inside the call that connects") {
  boost::asio::io_context context;
  auto options = std::make_shared<HttpSenderOptions>();
  options->clock = systemClock();
  const auto connector = std::make_shared<transport::Connector>(context.get_executor(), options);
  std::string failed;
  connector->start(transport::parseUrl("http://10.0.0.5:9/").url.value(), nullptr,
                   std::make_shared<const transport::Networks>(std::vector<std::string>{"public"}),
                   [&](const std::shared_ptr<transport::Stream>& stream, const transport::Connector::Failure& failure) {
                     CHECK(stream == nullptr);
                     CHECK_FALSE(failure.isOurs);
                     failed = failure.error;
                   });
  CHECK(failed.empty());
  context.run();
  CHECK(failed == "connecting to 10.0.0.5:9: 10.0.0.5 is not in a network that this peer may use (networks)");
}

TEST_CASE("P11: a connection that was opened under other rules is not used again") {
  std::vector<RawConnection> kept;
  const auto keep = [&kept](RawConnection& connection) { kept.push_back(std::move(connection)); };
  RawServer peer({[&](RawConnection& connection) {
                    answerOnce(connection);
                    answerOnce(connection);
                    keep(connection);
                  },
                  [&](RawConnection& connection) {
                    answerOnce(connection);
                    keep(connection);
                  }});
  LimitedSender sender;
  sender.limit({"loopback"});
  CHECK(sender.send(peer.url()).status == 401);
  // The same rules again.
  sender.limit({"loopback"});
  CHECK(sender.send(peer.url()).status == 401);
  sender.limit({"public"});
  CHECK(sender.send(peer.url()).error.ends_with("(networks)"));
  sender.limit({});
  CHECK(sender.send(peer.url()).status == 401);
  CHECK(peer.finish().empty());
}

TEST_CASE("P11: a malformed network is refused with the peer, by its field") {
  LimitedSender sender;
  CHECK_THROWS_WITH_AS(sender.limit({"public", "10.0.0.5/8"}),
                       doctest::Contains("peers['bob'].networks: '10.0.0.5/8' has bits behind its prefix; write "
                                         "10.0.0.0/8"),
                       OptionError);
}

}  // namespace ackbox::http_sender_networks_test
