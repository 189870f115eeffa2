// What those do whom the target sends to, and the networks between.

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/rest.hpp"
#include "hostile/campaign/attacks.hpp"

namespace ackbox::campaign {
namespace {

constexpr auto kLookPause = std::chrono::milliseconds(100);

std::string answerOf(std::size_t number) {
  const std::string field(60'000 + number % 11 * 2'000, 'a');
  if (number % 2 == 0) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
           "chunked\r\n\r\n1\r\n{\r\n0\r\nX-T: " +
           (number % 4 == 0 ? std::string(66'000, 'a') : field) + "\r\n\r\n";
  }
  return "HTTP/1.1 200 OK\r\nX-H: " + field + "\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{";
}

// Lets time pass until so many others than beats have come; whether they came before the end.
bool awaitOthers(Arena& arena, std::uint64_t count) {
  while (arena.neighbour().others() < count) {
    if (arena.isOver() || !arena.target().ending().empty()) {
      return false;
    }
    bench::rest(std::chrono::milliseconds(10));
  }
  return true;
}

std::string deliveredOf(Arena& arena, int count, Instant start) {
  const bool isAll = awaitOthers(arena, static_cast<std::uint64_t>(count));
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::to_string(arena.neighbour().others()) + " of " + std::to_string(count) + " delivered in " +
         (isAll ? "" : "all of ") + std::to_string(took).substr(0, 4) + " s";
}

// Passes requests on to the neighbour, and breaks the connection at two of five: before the request is passed on, or
// before its answer is.
void relay(Line caller, std::uint16_t port, std::uint32_t seed, const std::atomic<bool>& over, Tally& tally) {
  std::minstd_rand random(seed);
  Line neighbour(port);
  while (!over) {
    bool isWhole = false;
    const std::string request = caller.receiveMessage(in(std::chrono::seconds(1)), isWhole);
    if (!isWhole) {
      if (!request.empty() || caller.hasEnded()) {
        return;
      }
      continue;
    }
    const std::uint32_t fate = static_cast<std::uint32_t>(random() % 10);
    tally.add(fate < 4 ? "broken" : "passed");
    if (fate < 2) {
      return caller.reset();
    }
    neighbour.sendAll(request, in(std::chrono::seconds(5)));
    const std::string answer = neighbour.receiveMessage(in(std::chrono::seconds(5)));
    if (fate < 4) {
      return caller.reset();
    }
    caller.sendAll(answer, in(std::chrono::seconds(5)));
  }
}

}  // namespace

std::string answerOversizedFields(Arena& arena) {
  const Listener listener;
  arena.addPeers("mallory", 8, listener.url());
  arena.open();
  arena.target().ask("enqueue mallory 8 10 50 100");
  arena.begin();
  std::size_t answered = 0;
  while (!arena.isOver() && arena.target().ending().empty()) {
    Line line = listener.accept(in(kLookPause));
    bool isWhole = false;
    static_cast<void>(line.receiveMessage(in(std::chrono::seconds(1)), isWhole));
    if (isWhole) {
      line.sendAll(answerOf(answered++), in(std::chrono::seconds(1)));
      // Whatever it says to that is awaited, so that all of the answer was read.
      static_cast<void>(line.receiveMessage(in(kLookPause)));
    }
  }
  return std::to_string(answered) + " requests answered so";
}

std::string pileUpLargeFrames(Arena& arena) {
  arena.addPeers("bulk", 0, arena.neighbour().url());
  arena.open();
  const int count = arena.scaled(2'000);
  arena.target().ask("enqueue bulk 0 50 " + std::to_string(count) + " 250000", std::chrono::minutes(2));
  const Instant start = std::chrono::steady_clock::now();
  arena.begin();
  std::string delivered = deliveredOf(arena, count, start);
  return delivered;
}

std::string withholdMemory(Arena& arena) {
  arena.addPeers("bulk", 0, arena.neighbour().url());
  arena.open();
  const int count = arena.scaled(300);
  arena.target().ask("enqueue bulk 0 300 " + std::to_string(count) + " 250000", std::chrono::minutes(2));
  // Enough for the threads that begin.
  arena.target().ask("headroom 32");
  const Instant start = std::chrono::steady_clock::now();
  arena.begin();
  return deliveredOf(arena, count, start);
}

std::string loseConnections(Arena& arena) {
  const Listener listener;
  arena.addPeers("lossy", 0, listener.url());
  arena.open();
  const int count = arena.scaled(20'000);
  arena.target().ask("enqueue lossy 0 100 " + std::to_string(count) + " 100", std::chrono::minutes(2));
  Tally tally;
  std::atomic<bool> over = false;
  std::vector<std::thread> relays;
  std::thread proxy([&] {
    for (std::uint32_t number = 1; !over; ++number) {
      Line caller = listener.accept(in(kLookPause));
      if (caller.isOpen()) {
        relays.emplace_back([&, number, line = std::move(caller)]() mutable {
          relay(std::move(line), arena.neighbour().port(), number, over, tally);
        });
      }
    }
  });
  const Instant start = std::chrono::steady_clock::now();
  arena.begin();
  const std::string delivered = deliveredOf(arena, count, start);
  over = true;
  proxy.join();
  for (std::thread& relayed : relays) {
    relayed.join();
  }
  return delivered + "; requests: " + tally.text();
}

std::string keepManyPeersMute(Arena& arena) {
  const Listener listener;
  const int live = arena.scaled(100);
  const int mute = arena.scaled(1'900);
  arena.addPeers("beat", live, arena.neighbour().url());
  arena.addPeers("mute", mute, listener.url());
  arena.open();
  arena.target().ask("enqueue mute " + std::to_string(mute) + " 3 3 100", std::chrono::minutes(2));
  arena.begin("test", live);
  std::vector<Line> kept;
  while (!arena.isOver() && arena.target().ending().empty()) {
    if (Line line = listener.accept(in(kLookPause)); line.isOpen()) {
      kept.push_back(std::move(line));
    }
  }
  const std::string down = arena.target().ask("down", std::chrono::seconds(10)).value_or("down ? ?");
  return std::to_string(kept.size()) +
         " connections held mute; peers down, and with too many open files: " + down.substr(5);
}

}  // namespace ackbox::campaign
