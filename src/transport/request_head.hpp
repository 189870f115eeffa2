#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::transport {

/// The whole head of a request, without parts that contradict each other.
///
/// Lifetime: the call that receives it; the returned views live as long.
class RequestHead {
public:
  virtual ~RequestHead() = default;

  /// `GET`, `POST`, …; empty for a method that HTTP does not define.
  [[nodiscard]] virtual std::string_view method() const = 0;
  /// Path and query, as received.
  [[nodiscard]] virtual std::string_view target() const = 0;
  /// The value of the first header with this name, whatever its case; empty if it is absent.
  [[nodiscard]] virtual std::string_view header(std::string_view name) const = 0;
  /// How often the header occurs.
  [[nodiscard]] virtual std::size_t count(std::string_view name) const = 0;
  /// The URIs in the client's certificate, if mutual TLS verified one.
  [[nodiscard]] virtual const std::vector<std::string>& certificateAgents() const = 0;
  /// See `Stream::peerAddress`.
  [[nodiscard]] virtual std::string peerAddress() const = 0;
};

}  // namespace ackbox::transport
