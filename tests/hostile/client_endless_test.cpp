// Goal: a peer that answers too much, too slowly or never takes no more memory than the limits allow and no more time
// than a request has, and the others' traffic goes on meanwhile. Method: an agent with a message to a scripted server,
// which goes on until it is cut off; the state of the message, and the greatest use of memory. tests/HOSTILE.md is made
// of the names.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <thread>

#include "hostile/memory_meter.hpp"
#include "hostile/victim.hpp"

namespace ackbox::testing::client_endless_test {
namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;
// Of a request that is meant to run out of time.
constexpr std::chrono::seconds kShort(2);

/// Says `head`, then `piece` over and over until it is cut off. Other traffic goes on meanwhile; what is in memory at
/// the worst is below `most`.
void isCutOff(const std::string& head, const std::string& piece, std::size_t most) {
  CAPTURE(head);
  Victim alice;
  const MemoryMeter meter;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    connection.send(head);
    try {
      while (true) {
        connection.send(piece);
      }
    } catch (const std::system_error&) {
      // The client has hung up.
    }
  });
  CAPTURE(ending.report.error);
  CHECK(isKept(ending));
  CHECK(ending.report.outcome == RequestOutcome::peerUnavailable);
  // Not by the request's time, which would cut off anything.
  CHECK(ending.report.error.find("no answer within") == std::string::npos);
  CHECK(meter.peakGrowth() < most);
}

TEST_CASE("hostile: an answer announced as 10 GB: cut off by its announcement, and no memory") {
  isCutOff("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", std::string(64 * kKib, 'x'), 2 * kMib);
}

TEST_CASE("hostile: an answer in chunks without an end: cut off at the limit") {
  isCutOff("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n" + std::string(64 * kKib, 'x') + "\r\n",
           16 * kMib);
}

TEST_CASE("hostile: an answer without a length or an end: cut off at the limit") {
  isCutOff("HTTP/1.1 200 OK\r\n\r\n", std::string(64 * kKib, 'x'), 16 * kMib);
}

TEST_CASE("hostile: headers, trailers or a chunk's extension without an end: cut off at the limit") {
  const std::string header = "A: " + std::string(1000, 'x') + "\r\n";
  const std::string line(64 * kKib, 'x');
  isCutOff("HTTP/1.1 200 OK\r\n", header, 2 * kMib);
  isCutOff("HTTP/1.1 200 OK\r\nA: ", line, 2 * kMib);
  isCutOff("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=", line, 2 * kMib);
  isCutOff("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", header, 2 * kMib);
}

TEST_CASE("hostile: interim answers without an end: cut off after 16") {
  isCutOff("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n", 2 * kMib);
}

TEST_CASE("hostile: an answer that never comes, or drips without an end: cut off when the request's time is over") {
  {
    Victim alice(kShort);
    const Ending ending =
        alice.face([](RawConnection& connection, const std::string&) { CHECK(connection.receiveAll().empty()); });
    CHECK(isKept(ending));
    CHECK(ending.report.outcome == RequestOutcome::peerUnavailable);
  }
  Victim alice(kShort);
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    connection.sendWhileTaken("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (!connection.hasNewsWithin(std::chrono::milliseconds(5))) {
      connection.sendWhileTaken("1\r\n \r\n");
    }
  });
  CHECK(isKept(ending));
  CHECK(ending.report.outcome == RequestOutcome::peerUnavailable);
}

TEST_CASE("hostile: ten answers to one request, each retiring more: the first counts, the others are thrown away") {
  Victim alice;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    std::string answers = answerOf(ackOf("another"));
    for (int count = 0; count < 10; ++count) {
      answers += answerOf(ackOf(alice.messageId()));
    }
    connection.send(answers);
    connection.receiveAll();
  });
  CHECK(isKept(ending));
}

}  // namespace
}  // namespace ackbox::testing::client_endless_test
