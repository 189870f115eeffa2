#pragma once

#include <string>

#include "ackbox/error.hpp"

namespace ackbox {

/// What an error was thrown with, without its code's text behind it.
[[nodiscard]] inline std::string circumstancesOf(const Error& error) {
  std::string circumstances = error.what();
  const std::string text = ": " + error.code().message();
  if (circumstances.ends_with(text)) {
    circumstances.resize(circumstances.size() - text.size());
  }
  return circumstances;
}

/// `cause` with `where` before its circumstances: the code stays that of the cause, and its text is said once.
[[nodiscard]] inline Error nested(const std::string& where, const Error& cause) {
  return {static_cast<Errc>(cause.code().value()), where + circumstancesOf(cause)};
}

}  // namespace ackbox
