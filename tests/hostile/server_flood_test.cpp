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

#include "hostile/memory_meter.hpp"
#include "hostile/target.hpp"

namespace ackbox::testing {
namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;
// Short enough not to hold up a test in which it is meant to run out.
constexpr std::chrono::milliseconds kShort(200);

const std::string kHead = "POST /inbox HTTP/1.1\r\nHost: here\r\n";

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
    got = pour(bob, kHead + "Transfer-Encoding: chunked\r\n\r\n", piece);
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
  holdPlaces(kHead + "Content-Length: 100000\r\n\r\n{\"specversion\":");
}

TEST_CASE("hostile: strangers on every place who were refused, and stay: the oldest gives way, at once") {
  const std::string body = malloryFrame("a");
  holdPlaces(kHead + "Content-Type: application/cloudevents+json\r\nContent-Length: " + std::to_string(body.size()) +
                 "\r\n\r\n" + body,
             true);
}

TEST_CASE(
    "hostile: new connections without a pause, beyond the limit: who was served keeps the place, others come in") {
  InboundServerOptions options;
  options.connectionsMax = 64;
  Target bob(options);
  RawConnection kept = bob.connect();
  kept.send(signedRequest(malloryFrame("kept-1")));
  CHECK(hasStatus(kept.receiveMessage(), 200));
  std::atomic<bool> over = false;
  std::thread flood([&] {
    std::vector<RawConnection> open;
    while (!over) {
      open.push_back(bob.connect());
      if (open.size() > 1000) {
        open.clear();
      }
    }
  });
  // A new connection lives for as long as it takes to fill all places anew: her first try may come too late.
  int tries = 0;
  for (int served = 0; served < 5 && tries < 50; ++tries) {
    served += bob.servesAlice() ? 1 : 0;
  }
  CHECK(tries < 50);
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
  mallory.send(kHead + "Content-Length: 100000\r\n\r\n");
  // They would take minutes; the connection is gone long before.
  for (int drops = 0; drops < 100000 && !mallory.hasNewsWithin(std::chrono::milliseconds(5)); ++drops) {
    mallory.sendWhileTaken("x");
  }
  CHECK(mallory.receiveAll().empty());
  CHECK(bob.servesAlice());
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
}  // namespace ackbox::testing
