#include "bench/neighbour.hpp"

#include <iostream>
#include <sstream>
#include <stdexcept>

#include "ackbox/outbox_manager.hpp"
#include "bench/measured_disk.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

using std::chrono::steady_clock;

constexpr const char* kReady = "ready";
constexpr const char* kEnqueue = "enqueue";
constexpr const char* kPing = "ping";

steady_clock::time_point instant(steady_clock::rep ticks) {
  return steady_clock::time_point(steady_clock::duration(ticks));
}

}  // namespace

Neighbour::Enqueued Neighbour::ask(const std::string& what) {
  process_.writeLine(what);
  std::istringstream words(process_.readLine());
  steady_clock::rep called = 0;
  steady_clock::rep returned = 0;
  words >> called >> returned;
  return {instant(called), instant(returned)};
}

Neighbour::Enqueued Neighbour::enqueue() {
  return ask(kEnqueue);
}

steady_clock::duration Neighbour::pipeWake() {
  const steady_clock::time_point written = ask(kPing).returned;
  return steady_clock::now() - written;
}

int runNeighbour(const std::filesystem::path& file) {
  OutboxManager manager = OutboxManager::open(file, outboxOptions(Durability::powerCut));
  std::cout << kReady << std::endl;
  std::uint64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto called = steady_clock::now();
    if (line == kEnqueue) {
      const std::uint64_t syncs = diskCounts().logSyncs;
      if (!manager.enqueue(frameOf(number++)).isNew()) {
        throw std::runtime_error("an enqueue was refused");
      }
      if (diskCounts().logSyncs == syncs) {
        throw std::runtime_error("a durable enqueue was not synced");
      }
    }
    const auto returned = steady_clock::now();
    std::cout << called.time_since_epoch().count() << ' ' << returned.time_since_epoch().count() << std::endl;
  }
  return 0;
}

}  // namespace ackbox::bench
