// Goal: neither size, nor number, nor slowness of what comes in takes memory beyond the limits or keeps an honest peer
// out. Method: floods on raw connections against an agent, with the limits at which the options stand unless a test
// names another; while each is on, alice's frame is acknowledged on a connection of her own, and the greatest use of
// memory is compared with what the limits allow. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "hostile/crowd.hpp"
#include "hostile/memory_meter.hpp"
#include "hostile/target.hpp"

namespace ackbox::testing::server_flood_test {
namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;
// Short enough not to hold up a test in which it is meant to run out.
constexpr std::chrono::milliseconds kShort(200);

const std::string kHead = "POST /inbox HTTP/1.1\r\nHost: here\r\n";
// Nobody's, and worth reading a body for all the same.
const std::string kFalseProof = "webhook-id: a\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,aaaa\r\n";

TEST_CASE("hostile: a body announced as 10 GB: 413 with the limit before a byte of it, and no memory") {
  Target bob;
  CHECK(bob.servesAlice());
  const MemoryMeter meter;
  RawConnection mallory = bob.connect();
  mallory.send(kHead + "Content-Length: 10000000000\r\n\r\n");
  const std::string got = mallory.receiveMessage();
  CHECK(hasStatus(got, 413));
  CHECK(got.find("\"maxbytes\":1048576") != std::string::npos);
  CHECK(bob.servesAlice());
  CHECK(meter.peakGrowth() < kMib);
}

/// Sends `head`, then `piece` over and over until the server has had enough; what it said.
std::string pour(const Target& bob, std::string_view head, std::string_view piece) {
  RawConnection mallory = bob.connect();
  try {
    mallory.send(head);
    // 64 times the limit, if it were taken.
    for (std::size_t poured = 0; poured < 64 * kMib; poured += piece.size()) {
      mallory.send(piece);
    }
  } catch (const std::system_error&) {
    // It has hung up.
  }
  try {
    return mallory.receiveAll();
  } catch (const std::runtime_error& silence) {
    return silence.what();
  }
}

TEST_CASE("hostile: a body in chunks without an end: 413 at the limit, and no memory beyond it") {
  Target bob;
  CHECK(bob.servesAlice());
  const std::string piece = "10000\r\n" + std::string(64 * kKib, 'x') + "\r\n";
  const MemoryMeter meter;
  std::atomic<bool> over = false;
  std::string got;
  std::thread mallory([&] {
    got = pour(bob, kHead + kFalseProof + "Transfer-Encoding: chunked\r\n\r\n", piece);
    over = true;
  });
  do {
    CHECK(bob.servesAlice());
  } while (!over);
  mallory.join();
  // Where it was cut off in the middle of a write, its own side may have lost what was said.
  CHECK((got.empty() || hasStatus(got, 413)));
  CHECK(meter.peakGrowth() < 6 * kMib);
}

/// `count` connections, each with `head` and a body of a mebibyte of which the last byte never comes. Returns the most
/// that all of them took at once; alice is served while they wait.
std::size_t upload(Target& bob, int count, const std::string& head) {
  CHECK(bob.servesAlice());
  const std::string most(kMib - 1, 'x');
  const MemoryMeter meter;
  std::vector<RawConnection> strangers;
  for (int number = 0; number < count; ++number) {
    strangers.push_back(bob.connect());
    strangers.back().sendWhileTaken(head + "Content-Length: " + std::to_string(kMib) + "\r\n\r\n");
    strangers.back().sendWhileTaken(most);
  }
  CHECK(bob.servesAlice());
  return meter.peakGrowth();
}

TEST_CASE("hostile: 100 strangers with bodies of a mebibyte and no proof: they are not read, 401 at their headers") {
  for (const RunsOn runsOn : kEveryRunsOn) {
    CAPTURE(static_cast<int>(runsOn));
    Target bob({}, {}, runsOn);
    CHECK(upload(bob, 100, kHead) < 4 * kMib);
  }
  Target bob;
  CHECK(hasStatus(bob.ask(kHead + "Content-Length: 1000000\r\n\r\n"), 401));
  CHECK(hasStatus(bob.ask(kHead + "Transfer-Encoding: chunked\r\n\r\n2000\r\n" + std::string(8192, 'x')), 401));
}

TEST_CASE("hostile: 100 strangers with bodies of a mebibyte and a false proof: what all take has one limit") {
  for (const RunsOn runsOn : kEveryRunsOn) {
    CAPTURE(static_cast<int>(runsOn));
    InboundServerOptions options;
    options.requestBytesMax = 16 * kMib;
    Target bob(options, {}, runsOn);
    CHECK(upload(bob, 100, kHead + kFalseProof) < 24 * kMib);
  }
}

TEST_CASE("hostile: one chunk's extension, or the trailers, without an end: 431, and no memory") {
  Target bob;
  const std::string piece(64 * kKib, 'x');
  const MemoryMeter meter;
  for (const char* begin : {"1;a=", "0;a=", "0\r\nA: ", "2\r\n{}\r\n0\r\nA: "}) {
    CAPTURE(begin);
    const std::string got = pour(bob, kHead + "Transfer-Encoding: chunked\r\n\r\n" + begin, piece);
    CHECK((got.empty() || hasStatus(got, 431)));
    CHECK(bob.servesAlice());
  }
  CHECK(meter.peakGrowth() < kMib);
}

TEST_CASE("hostile: a flood of headers, on 100 connections at once: 431 each, and no memory beyond the limit of each") {
  Target bob;
  CHECK(bob.servesAlice());
  std::string flood = kHead;
  while (flood.size() < 100 * kKib) {
    flood += "A: " + std::string(100, 'x') + "\r\n";
  }
  const MemoryMeter meter;
  std::vector<RawConnection> attackers;
  for (int count = 0; count < 100; ++count) {
    attackers.push_back(bob.connect());
    attackers.back().sendWhileTaken(flood);
  }
  CHECK(bob.servesAlice());
  for (RawConnection& attacker : attackers) {
    CHECK(hasStatus(attacker.receiveAll(), 431));
  }
  CHECK(meter.peakGrowth() < 100 * 200 * kKib);
}

/// Four times as many connections as there are places, each having sent `bytes`, and having read what it got for them
/// if it gets anything; alice comes after all of them. Times are the ordinary ones: half a minute and more.
void holdPlaces(const std::string& bytes, bool areAnswered = false) {
  InboundServerOptions options;
  options.connectionsMax = 16;
  Target bob(options);
  const MemoryMeter meter;
  std::vector<RawConnection> attackers;
  for (int count = 0; count < 64; ++count) {
    attackers.push_back(bob.connect());
    attackers.back().sendWhileTaken(bytes);
    if (areAnswered) {
      CHECK(hasStatus(attackers.back().receiveMessage(), 401));
    }
  }
  CHECK(bob.servesAlice());
  CHECK(bob.servesAlice());
  // Those who came first had to go, those who came last are still there.
  CHECK(attackers.front().receiveAll().empty());
  CHECK_FALSE(attackers.back().hasNewsWithin(std::chrono::milliseconds(0)));
  CHECK(meter.peakGrowth() < 64 * 100 * kKib);
}

TEST_CASE("hostile: half-open connections, four times the limit: the oldest that never was of use gives way, at once") {
  holdPlaces({});
}

TEST_CASE("hostile: slow writers, four times the limit, in the middle of a header: the oldest gives way, at once") {
  holdPlaces("POST /inbox HTTP/1.1\r\nHost: h");
}

TEST_CASE("hostile: slow writers, four times the limit, in the middle of a body: the oldest gives way, at once") {
  holdPlaces(kHead + kFalseProof + "Content-Length: 100000\r\n\r\n{\"specversion\":");
}

TEST_CASE("hostile: strangers on every place who were refused, and stay: the oldest gives way, at once") {
  const std::string body = malloryFrame("a");
  holdPlaces(kHead + "Content-Type: application/cloudevents+json\r\nContent-Length: " + std::to_string(body.size()) +
                 "\r\n\r\n" + body,
             true);
}

TEST_CASE(
    "hostile: new connections without a pause, beyond the limit: who was served keeps the place, others come in") {
  Crowd strangers;
  Target bob;
  RawConnection kept = bob.connect();
  kept.send(signedRequest(malloryFrame("kept-1")));
  CHECK(hasStatus(kept.receiveMessage(), 200));
  std::atomic<bool> over = false;
  std::thread flood([&] {
    while (!over) {
      strangers.connect(bob.port(), 100);
    }
  });
  for (int served = 0; served < 50; ++served) {
    CHECK(bob.servesAlice());
  }
  kept.send(signedRequest(malloryFrame("kept-2")));
  CHECK(hasStatus(kept.receiveMessage(), 200));
  over = true;
  flood.join();
}

TEST_CASE("hostile: a slow writer that drips bytes: closed when the request's time is over, whatever it adds") {
  InboundServerOptions options;
  options.requestTimeout = kShort;
  Target bob(options);
  RawConnection mallory = bob.connect();
  mallory.send(kHead + kFalseProof + "Content-Length: 100000\r\n\r\n");
  // They would take minutes; the connection is gone long before.
  for (int drops = 0; drops < 100000 && !mallory.hasNewsWithin(std::chrono::milliseconds(5)); ++drops) {
    mallory.sendWhileTaken("x");
  }
  CHECK(mallory.receiveAll().empty());
  CHECK(bob.servesAlice());
}

TEST_CASE("hostile: slow readers without a key, four times the limit: they hold no place, whatever they ask for") {
  for (const RunsOn runsOn : kEveryRunsOn) {
    CAPTURE(static_cast<int>(runsOn));
    InboundServerOptions options;
    options.connectionsMax = 2;
    // Nobody is let in for want of time.
    options.requestTimeout = std::chrono::minutes(5);
    Target bob(options, {}, runsOn);
    const std::string body = malloryFrame("a");
    std::string many;
    for (int count = 0; count < 1000; ++count) {
      many += kHead + "Content-Type: application/cloudevents+json\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body;
    }
    std::vector<RawConnection> strangers;
    for (int count = 0; count < 8; ++count) {
      strangers.emplace_back(bob.port(), 2048);
      // Until nobody reads any more of it.
      std::size_t asked = 0;
      while (asked < 32 * kMib && strangers.back().sendSome(many)) {
        asked += many.size();
      }
    }
    CHECK(bob.servesAlice());
    CHECK(bob.servesAlice());
  }
}

TEST_CASE("hostile: a stranger who is refused ten times on one connection: is answered, and the connection closed") {
  Target bob;
  const std::string body = malloryFrame("a");
  const std::string request =
      kHead + "Content-Type: application/cloudevents+json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  std::string many;
  for (int count = 0; count < 20; ++count) {
    many += request;
  }
  const std::string got = bob.ask(many);
  std::size_t answers = 0;
  for (std::size_t at = got.find("HTTP/1.1 401"); at != std::string::npos; at = got.find("HTTP/1.1 401", at + 1)) {
    ++answers;
  }
  CHECK(answers == 10);
}

TEST_CASE("hostile: a slow reader that asks on and on and takes no answer: waits in its own socket, then is closed") {
  InboundServerOptions options;
  options.requestTimeout = std::chrono::seconds(3);
  Target bob(options);
  CHECK(bob.servesAlice());
  std::string batch = "[";
  for (int number = 0; number < 256; ++number) {
    batch += (number == 0 ? "" : ",") + malloryFrame("slow-" + std::to_string(number));
  }
  const std::string request = signedRequest(batch + "]", "application/cloudevents-batch+json");
  RawConnection mallory(bob.port(), 4096);
  const MemoryMeter meter;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    try {
      while (true) {
        mallory.send(request);
      }
    } catch (const std::exception&) {
      over = true;
    }
  });
  do {
    CHECK(bob.servesAlice());
  } while (!over);
  reader.join();
  CHECK(meter.peakGrowth() < 8 * kMib);
}

}  // namespace
}  // namespace ackbox::testing::server_flood_test
