#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ackbox::transport {

/// The head of an HTTP answer, read more generously than the grammar: what is missing or plain in it that mainstream
/// clients do not need either, and that leaves no doubt where the answer ends.
struct AnswerHead {
  /// Of a status line of HTTP/1.0 or 1.1; 0 before it has come, or if it is missing.
  int status = 0;
  /// Up to and with the empty line; 0: the head is not whole.
  std::size_t bytes = 0;
  /// The same as RFC 9112 writes it, where the server did not: with the blank behind the status, which goes missing
  /// with the reason, and with CR LF for lines that end in LF alone. Empty: it is as it should be, or not whole.
  std::string mended;
};

/// `bytes` begins where the answer does.
[[nodiscard]] AnswerHead readAnswerHead(std::string_view bytes);

}  // namespace ackbox::transport
