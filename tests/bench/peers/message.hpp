#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox::bench::peers {

// As in bench/workload.hpp and bench/window.cpp, which need the library.
constexpr std::size_t kMessageBytes = 512;
constexpr std::uint64_t kSessions = 1'000;
/// How many messages a producer has outstanding, published and not yet acknowledged by the queue.
constexpr std::size_t kWindow = 1'000;

struct Message {
  std::string session;
  std::string data;
};

/// The `number`th message, from 0: sessions in turn, each message carrying its own place in its session, from 1.
[[nodiscard]] Message messageOf(std::uint64_t number);

/// The place in its session that `messageOf` wrote into `data`. Throws `std::runtime_error` for anything else.
[[nodiscard]] std::uint64_t placeOf(std::string_view data);

}  // namespace ackbox::bench::peers
