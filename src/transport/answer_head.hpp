#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ackbox::transport {

/// The head of an HTTP answer, read more leniently than the grammar: it accepts the omissions that mainstream clients
/// accept and that leave no doubt where the answer ends.
struct AnswerHead {
  /// The status of a status line of HTTP/1.0 or 1.1; 0 if that line is not whole or is invalid.
  int status = 0;
  /// The length of the head, including the empty line; 0 if the head is not whole.
  std::size_t bytes = 0;
  /// The head as RFC 9112 writes it, where the server did not: with the space after the status, which servers omit with
  /// the reason, and with CR LF in place of a lone LF. Empty: nothing is to be mended, or the head is not whole.
  std::string mended;
};

/// `bytes` begins at the start of the answer.
[[nodiscard]] AnswerHead readAnswerHead(std::string_view bytes);

}  // namespace ackbox::transport
