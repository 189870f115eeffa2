#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// Strangers in a process of their own, so that their descriptors are none of the test's. Make it before anything that
/// has threads.
class Crowd {
public:
  Crowd();
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// Has this many of them connect, each send `bytes`, and stay. How many could; those of the call before may be gone.
  std::size_t connect(std::uint16_t port, std::size_t count, std::string_view bytes = {});
  /// How many of those that stay got an answer with each status; under 0, those that were closed without one. Each must
  /// have got one or the other within ten seconds.
  [[nodiscard]] std::map<int, std::size_t> answers();
  /// Connections that the kernel lets this process have.
  [[nodiscard]] static std::size_t most();
  /// Has one more connect, send `bytes`, and read to the end; what came, or nothing where none came within ten seconds.
  [[nodiscard]] std::string ask(std::uint16_t port, std::string_view bytes);

private:
  pid_t process_ = -1;
  int orders_ = -1;
  int answers_ = -1;
};

}  // namespace ackbox::testing
