#include "bench/peers/peer.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string_view>

#include "bench/latencies.hpp"
#include "bench/peers/cpu.hpp"
#include "bench/peers/progress.hpp"

namespace ackbox::bench::peers {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  Server server;
  pid_t serverPid = 0;
  double seconds = 1;
  double loneSeconds = 0;
};

Arguments parse(int argc, char** argv) {
  constexpr const char* kUsage =
      "--port N --folder DIR --memory-folder DIR --server-pid PID [--seconds S] [--lone-seconds S] [--variant V]";
  std::map<std::string_view, std::string> given;
  for (int word = 1; word + 1 < argc; word += 2) {
    given[argv[word]] = argv[word + 1];
  }
  bool isComplete = argc % 2 == 1;
  for (const char* needed : {"--port", "--folder", "--memory-folder", "--server-pid"}) {
    isComplete = isComplete && given.contains(needed);
  }
  if (!isComplete) {
    throw std::runtime_error(std::string("usage: ") + argv[0] + " " + kUsage);
  }
  Arguments arguments;
  arguments.server.port = std::stoi(given["--port"]);
  arguments.server.folder = given["--folder"];
  arguments.serverPid = std::stoi(given["--server-pid"]);
  arguments.server.memoryFolder = given["--memory-folder"];
  arguments.server.variant = given["--variant"];
  if (given.contains("--seconds")) {
    arguments.seconds = std::stod(given["--seconds"]);
  }
  if (given.contains("--lone-seconds")) {
    arguments.loneSeconds = std::stod(given["--lone-seconds"]);
  }
  return arguments;
}

std::filesystem::path effectsFile(const Server& server) {
  return server.folder / "effects.db";
}

[[noreturn]] void consumeUntilStopped(const Peer& peer, const Server& server, Progress& progress) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 0;
  try {
    Effects effects(effectsFile(server));
    const std::unique_ptr<Consumer> consumer = peer.consumer(server);
    progress.ready();
    while (!progress.isStopped()) {
      if (const std::size_t count = consumer->consume(effects); count != 0) {
        progress.acknowledged(count);
      }
    }
  } catch (const std::exception& error) {
    std::cerr << "consumer: " << error.what() << '\n';
    status = 1;
  }
  // The producer's process has the rest to end.
  std::cerr.flush();
  _exit(status);
}

struct Cpu {
  double server = 0;
  double clients = 0;
};

Cpu cpuOf(const Arguments& arguments) {
  return {cpuMicrosecondsOfTree(arguments.serverPid), cpuMicrosecondsOfTree(getpid())};
}

double secondsSinceEpoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Publishes through the window for as long as it is told, and awaits the last acknowledgement. Prints the figures;
// begin and end in wall-clock time, so that a trace of another process can be cut to them. Returns how many.
std::uint64_t measureRate(const Arguments& arguments, Producer& producer, Progress& progress, pid_t consumer) {
  std::uint64_t sent = 0;
  const Cpu before = cpuOf(arguments);
  const double beginAt = secondsSinceEpoch();
  const auto start = Clock::now();
  const auto deadline = start + std::chrono::duration<double>(arguments.seconds);
  while (Clock::now() < deadline) {
    producer.publish(messageOf(sent++));
  }
  producer.drain();
  const std::chrono::duration<double> stored = Clock::now() - start;
  progress.awaitAcknowledged(sent, consumer);
  const std::chrono::duration<double> taken = Clock::now() - start;
  const double endAt = secondsSinceEpoch();
  const Cpu after = cpuOf(arguments);
  const auto count = static_cast<double>(sent);
  std::cout << std::fixed << "\"sent\": " << sent << ", \"per_s\": " << count / taken.count()
            << ", \"stored_per_s\": " << count / stored.count()
            << ", \"server_cpu_us\": " << (after.server - before.server) / count
            << ", \"clients_cpu_us\": " << (after.clients - before.clients) / count << ", \"begin_s\": " << beginAt
            << ", \"end_s\": " << endAt;
  return sent;
}

// One message at a time, after some that are not counted. Prints the figures; returns how many with those before.
std::uint64_t measureLone(const Arguments& arguments, Producer& producer, Progress& progress, pid_t consumer,
                          std::uint64_t sent) {
  constexpr std::size_t kWarmUp = 3;
  Latencies latencies;
  const auto deadline = Clock::now() + std::chrono::duration<double>(arguments.loneSeconds);
  for (std::size_t turn = 0; Clock::now() < deadline; ++turn) {
    const Message message = messageOf(sent++);
    const auto start = Clock::now();
    producer.publish(message);
    producer.drain();
    progress.awaitAcknowledged(sent, consumer);
    if (turn >= kWarmUp) {
      latencies.add(Clock::now() - start);
    }
  }
  std::cout << ", \"lone_count\": " << latencies.size() << ", \"lone_p50_us\": " << latencies.percentile(0.5)
            << ", \"lone_p99_us\": " << latencies.percentile(0.99);
  return sent;
}

void measure(const Arguments& arguments, const Peer& peer) {
  Progress progress;
  const pid_t consumer = fork();
  if (consumer < 0) {
    throw std::runtime_error("cannot start the consumer's process");
  }
  if (consumer == 0) {
    consumeUntilStopped(peer, arguments.server, progress);
  }
  progress.awaitReady(consumer);
  const std::unique_ptr<Producer> producer = peer.producer(arguments.server);
  std::cout << "{";
  std::uint64_t sent = measureRate(arguments, *producer, progress, consumer);
  if (arguments.loneSeconds > 0) {
    sent = measureLone(arguments, *producer, progress, consumer, sent);
  }
  progress.stop();
  int status = 0;
  if (waitpid(consumer, &status, 0) != consumer || status != 0) {
    throw std::runtime_error("the consumer failed");
  }
  const Outcome outcome = compareEffects(effectsFile(arguments.server), sent);
  if (outcome.missing != 0) {
    throw std::runtime_error(std::to_string(outcome.missing) + " messages had no effect");
  }
  std::cout << ", \"repeated\": " << outcome.repeated << ", \"disordered\": " << outcome.disordered << "}\n";
}

}  // namespace

int runPeer(int argc, char** argv, const Peer& peer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    measure(parse(argc, argv), peer);
    return 0;
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace ackbox::bench::peers
