#include "cli/shell_word.hpp"

namespace ackbox::cli {

std::string shellWord(std::string_view text) {
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
      std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char one : text) {
    quoted += one == '\'' ? "'\\''" : std::string(1, one);
  }
  return quoted + "'";
}

}  // namespace ackbox::cli
