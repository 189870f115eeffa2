#include "bench/receiver.hpp"

#include <sys/resource.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <thread>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_server.hpp"
#include "bench/effects.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {

Receiver::Receiver(const std::filesystem::path& file, Durability durability)
    : process_(
          {"--role", durability == Durability::powerCut ? "receiver" : "receiver-normal", "--file", file.string()}),
      url_(process_.readLine()) {}

double Receiver::cpuMicroseconds() {
  process_.writeLine("cpu");
  return std::stod(process_.readLine());
}

int runReceiver(const std::filesystem::path& file, Durability durability) {
  createEffects(file);
  boost::asio::io_context context;
  OutboxOptions options = outboxOptions(durability);
  options.agent = kReceiverAgent;
  OutboxManager manager = OutboxManager::open(file, options);
  InboundHandler handler(manager, effectHandler(), {.allowAnonymous = true});
  InboundServer server(context.get_executor(), handler);
  std::jthread serving([&] { context.run(); });
  const double before = ownCpuMicroseconds();
  std::cout << server.url() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << ownCpuMicroseconds() - before << std::endl;
  }
  server.stop();
  context.stop();
  return 0;
}

std::unique_ptr<OutboxManager> startSender(const std::filesystem::path& file, Durability durability,
                                           const Receiver& receiver) {
  OutboxOptions options = outboxOptions(durability);
  PeerOptions& peer = options.peers.emplace_back();
  peer.url = receiver.url();
  peer.agent = kReceiverAgent;
  auto manager = std::make_unique<OutboxManager>(OutboxManager::open(file, options));
  manager->setSender(std::make_shared<HttpSender>());
  manager->start();
  return manager;
}

double ownCpuMicroseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

}  // namespace ackbox::bench
