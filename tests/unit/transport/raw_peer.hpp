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

/// One end of a TCP connection on loopback, controlled by a test: blocking, byte for byte. No call waits longer than
/// ten seconds; then an exception fails the test.
class RawConnection {
public:
  /// Connects to a port of this machine.
  explicit RawConnection(std::uint16_t port);
  /// The same, with a receive buffer of about this many bytes.
  RawConnection(std::uint16_t port, int receiveBufferBytes);
  /// Takes over a connected descriptor.
  static RawConnection adopt(int descriptor);
  RawConnection(RawConnection&& other) noexcept;
  RawConnection& operator=(RawConnection&&) = delete;
  ~RawConnection();

  void send(std::string_view bytes);
  /// Waits until the other side's kernel has all that was sent.
  void awaitDelivery() const;
  /// Like `send`, but the other side may close before it has taken everything.
  void sendWhileTaken(std::string_view bytes);
  /// Sends until the connection pauses for a second. Returns whether it took all bytes and was not closed.
  [[nodiscard]] bool sendSome(std::string_view bytes);
  /// Receives everything up to and including the first `marker`; keeps later bytes for the next call.
  std::string receiveUntil(std::string_view marker);
  /// Receives exactly this many bytes.
  std::string receiveExactly(std::size_t size);
  /// Receives a whole HTTP message: headers, and the body that Content-Length announces.
  std::string receiveMessage();
  /// Receives everything up to the end of the stream, or its reset.
  std::string receiveAll();

  /// Whether bytes, or the end of the stream, arrived within `time`.
  [[nodiscard]] bool hasNewsWithin(std::chrono::milliseconds time) const;

  /// For tests that use the socket directly.
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

/// A peer that plays one script for each accepted connection, in turn, on its own thread.
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

  /// Waits for the scripts to end; returns the exception text of the last one that failed, or an empty text.
  std::string finish();

private:
  void play(const std::vector<Script>& scripts);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::string failure_;
  std::thread thread_;
};

}  // namespace ackbox::testing
