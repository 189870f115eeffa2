// A sender of the recovery test, to be killed:
//
//   recovery_agent DATABASE URL FRAMES PASSES
//
// Enqueues FRAMES frames in four sessions, makes PASSES single passes over what is due and prints how many messages
// they claimed, then delivers until it is killed.

#include <unistd.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "ackbox/http_sender.hpp"
#include "ackbox/outbox_manager.hpp"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: recovery_agent DATABASE URL FRAMES PASSES\n";
    return EXIT_FAILURE;
  }
  try {
    ackbox::OutboxOptions options;
    options.peers.emplace_back().url = argv[2];
    ackbox::OutboxManager manager = ackbox::OutboxManager::open(argv[1], options);
    manager.setSender(std::make_shared<ackbox::HttpSender>());
    for (int frame = 0, frames = std::stoi(argv[3]); frame < frames; ++frame) {
      manager.enqueue("session-" + std::to_string(frame % 4), "com.example.event", std::to_string(frame));
    }
    std::uint64_t claimed = 0;
    for (int pass = 0, passes = std::stoi(argv[4]); pass < passes; ++pass) {
      claimed += manager.drainOnce().claimed;
    }
    manager.start();
    std::cout << claimed << std::endl;
    for (;;) {
      pause();
    }
  } catch (const std::exception& error) {
    std::cerr << "recovery_agent: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
