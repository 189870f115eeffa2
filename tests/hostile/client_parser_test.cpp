// Goal: whatever a parser makes of one peer's answer, it is the end of that exchange and of nothing else. Method:
// complete headers and trailers around the sizes at which a field's length no longer fits in 16 bits, from a scripted
// peer to a sender on one thread, on a pool of threads, and on the manager's own. tests/HOSTILE.md is made of the
// names.

#include <doctest/doctest.h>

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string>
#include <vector>

#include "hostile/victim.hpp"
#include "support/lone_frame.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::testing::client_parser_test {
namespace {

constexpr std::size_t kFieldBytes[] = {60'000, 65'530, 65'536, 66'000, 80'000};

/// Honest but for one field, which is none of HTTP's limits' business and far beyond ours.
std::vector<std::string> oversized() {
  std::vector<std::string> answers;
  for (const std::size_t bytes : kFieldBytes) {
    answers.push_back("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: " + std::string(bytes, 'x') + "\r\n\r\n");
    answers.push_back("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + std::string(bytes, 'x') +
                      "\r\n\r\n");
    answers.push_back("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" +
                      std::string(bytes, 'A') + ": x\r\n\r\n");
  }
  return answers;
}

/// A sender on `executor` has each of them, and then an honest answer.
void survives(const boost::asio::any_io_executor& executor) {
  Target bob;
  HttpSender sender;
  PeerOptions honest;
  honest.name = "bob";
  honest.url = bob.url();
  honest.agent = "urn:agent:bob";
  honest.secrets = Target::alicesSecret();
  sender.usePeers({&honest, 1});
  sender.start(executor);
  int sent = 0;
  for (const std::string& answer : oversized()) {
    CAPTURE(answer.size());
    RawServer mallory({[&](RawConnection& connection) {
      connection.receiveMessage();
      connection.sendWhileTaken(answer);
      static_cast<void>(connection.receiveAll());
    }});
    const SendReport report = sendAndWait(sender, loneFrame(mallory.url(), ++sent));
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
    CHECK(report.error.find("not an acceptable HTTP answer") != std::string::npos);
    CHECK(mallory.finish().empty());
    SendRequest request = loneFrame(honest.url, ++sent);
    request.peer = honest.name;
    request.peerAgent = honest.agent;
    CHECK(isAcknowledged(sendAndWait(sender, std::move(request))));
  }
  sender.stop();
}

TEST_CASE(
    "hostile: an answer with a field of 60,000 to 80,000 bytes, to a sender on one thread: no answer, it goes on") {
  IoThread context;
  survives(context.executor());
}

TEST_CASE("hostile: an answer with a field of 60,000 to 80,000 bytes, to a sender on a pool: no answer, it goes on") {
  boost::asio::thread_pool pool(2);
  survives(boost::asio::make_strand(pool));
  pool.join();
}

TEST_CASE("hostile: an answer with a field of 60,000 to 80,000 bytes, to a run of its own thread: retires nothing") {
  for (const std::string& answer : oversized()) {
    CAPTURE(answer.size());
    Victim alice;
    const Ending ending =
        alice.face([&](RawConnection& connection, const std::string&) { connection.sendWhileTaken(answer); });
    CHECK(ending.report.outcome == RequestOutcome::peerUnavailable);
    CHECK(isKept(ending));
  }
}

}  // namespace
}  // namespace ackbox::testing::client_parser_test
