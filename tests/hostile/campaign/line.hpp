#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox::campaign {

using Instant = std::chrono::steady_clock::time_point;

/// One end of a TCP connection on loopback that never blocks for longer than it is told, and takes whatever the other
/// side does for an answer.
class Line {
public:
  Line() = default;
  /// Begins to connect; with room for about `receiveBufferBytes` that were not read, unless 0. `isOpen` is false if
  /// that failed at once.
  explicit Line(std::uint16_t port, int receiveBufferBytes = 0);
  Line(Line&& other) noexcept;
  Line& operator=(Line&& other) noexcept;
  ~Line();

  /// Takes over a connected descriptor.
  [[nodiscard]] static Line adopt(int descriptor);

  [[nodiscard]] bool isOpen() const { return descriptor_ >= 0; }
  /// Whether the other side has closed or reset it.
  [[nodiscard]] bool hasEnded() const;
  /// Sends what is taken at once. Returns how much; nothing is sent on a connection that has ended.
  std::size_t sendSome(std::string_view bytes);
  /// Sends everything until `deadline`; whether it did.
  bool sendAll(std::string_view bytes, Instant deadline);
  /// A whole HTTP message with its body as Content-Length has it, what came of it until the other side's end, or until
  /// `deadline`; `isWhole` says whether it is whole.
  [[nodiscard]] std::string receiveMessage(Instant deadline, bool& isWhole);
  [[nodiscard]] std::string receiveMessage(Instant deadline);
  /// Closes so that the other side sees a reset.
  void reset();
  void close();

private:
  [[nodiscard]] bool await(short events, Instant deadline) const;

  int descriptor_ = -1;
  std::string kept_;
};

/// Listens on a port of loopback of the kernel's choice.
class Listener {
public:
  Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const;
  /// A connection, or a closed line when none came until `deadline`.
  [[nodiscard]] Line accept(Instant deadline) const;

private:
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
};

/// What an answer is, for a count: its status, `no answer` when it is empty, `no status` when it begins otherwise.
[[nodiscard]] std::string statusOf(std::string_view answer);

[[nodiscard]] inline Instant in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace ackbox::campaign
