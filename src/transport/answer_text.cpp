#include "transport/answer_text.hpp"

#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <string_view>

#include "protocol/http_date.hpp"

namespace ackbox::transport {

std::string headOf(const InboundResponse& response, Framing framing, std::size_t bodyBytes, bool keepAlive,
                   WallTime now) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head = "HTTP/1.1 ";
  head.append(std::to_string(response.status)).append(" ").append(reason.data(), reason.size()).append("\r\n");
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  // A sender with a wrong clock learns the difference from it.
  add("Date", protocol::formatHttpDate(now));
  if (!response.contentType.empty()) {
    add("Content-Type", response.contentType);
  }
  if (response.retryAfterSeconds) {
    add("Retry-After", std::to_string(*response.retryAfterSeconds));
  }
  for (const auto& [name, value] : response.headers) {
    add(name, value);
  }
  if (!keepAlive) {
    add("Connection", "close");
  }
  if (framing == Framing::counted) {
    add("Content-Length", std::to_string(bodyBytes));
  } else if (framing == Framing::chunked) {
    add("Transfer-Encoding", "chunked");
  }
  return head.append("\r\n");
}

std::string chunkHead(std::size_t bytes) {
  std::array<char, 2 * sizeof(bytes)> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

}  // namespace ackbox::transport
