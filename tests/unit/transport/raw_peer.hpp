#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ackbox::testing {

/// One end of a TCP connection on loopback, in a test's hands: blocking, byte for byte. Nothing waits longer than ten
/// seconds; then the test fails by an exception.
class RawConnection {
public:
  /// Connects to a port of this machine.
  explicit RawConnection(std::uint16_t port);
  /// The same, with room for about this many bytes that were not read.
  RawConnection(std::uint16_t port, int receiveBufferBytes);
  /// Takes over a connected descriptor.
  static RawConnection adopt(int descriptor);
  RawConnection(RawConnection&& other) noexcept;
  RawConnection& operator=(RawConnection&&) = delete;
  ~RawConnection();

  void send(std::string_view bytes);
  /// Waits until the other side's kernel has all that was sent.
  void awaitDelivery() const;
  /// As `send`, but the other side may close before it has taken everything.
  void sendWhileTaken(std::string_view bytes);
  /// As much of it as the connection takes without a second's pause; whether it took all of it, and was not closed.
  [[nodiscard]] bool sendSome(std::string_view bytes);
  /// Everything up to and including the first `marker`; what came after it is kept for the next call.
  std::string receiveUntil(std::string_view marker);
  /// Exactly this many bytes.
  std::string receiveExactly(std::size_t size);
  /// A whole HTTP message: headers, and the body that Content-Length announces.
  std::string receiveMessage();
  /// Everything up to the end of the stream, or its reset.
  std::string receiveAll();

  /// Whether bytes, or the end of the stream, came within `time`.
  [[nodiscard]] bool hasNewsWithin(std::chrono::milliseconds time) const;

  /// For those who speak otherwise.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  void close();
  /// Closes so that the other side sees a reset.
  void reset();

private:
  struct FromDescriptor {
    int descriptor;
  };
  explicit RawConnection(FromDescriptor from);
  bool receiveSome();

  int descriptor_ = -1;
  std::string kept_;
};

/// A peer that plays one script for each connection that it accepts, in turn, on a thread of its own.
class RawServer {
public:
  using Script = std::function<void(RawConnection&)>;

  explicit RawServer(std::vector<Script> scripts);
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  /// Waits for the scripts to end.
  ~RawServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& path = "/inbox") const;

  /// Waits for the scripts to end; then, what the last failing one threw, or empty.
  std::string finish();

private:
  void play(const std::vector<Script>& scripts);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::string failure_;
  std::thread thread_;
};

}  // namespace ackbox::testing
