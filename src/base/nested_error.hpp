#pragma once

#include <string>

#include "ackbox/error.hpp"

namespace ackbox {

/// The text that an error was thrown with, without the text of its code.
[[nodiscard]] inline std::string circumstancesOf(const Error& error) {
  std::string circumstances = error.what();
  const std::string text = ": " + error.code().message();
  if (circumstances.ends_with(text)) {
    circumstances.resize(circumstances.size() - text.size());
  }
  return circumstances;
}

/// Throws `cause` again, with `where` before its circumstances, or before the field of an `OptionError`. The code
/// stays, and its text appears once.
[[noreturn]] inline void throwNested(const std::string& where, const Error& cause) {
  if (const auto* const option = dynamic_cast<const OptionError*>(&cause)) {
    throw OptionError(where + option->field(), option->problem(), option->allowed());
  }
  throw Error(static_cast<Errc>(cause.code().value()), where + circumstancesOf(cause));
}

}  // namespace ackbox
