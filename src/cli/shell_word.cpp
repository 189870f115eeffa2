#include "cli/shell_word.hpp"

namespace ackbox::cli {

std::string singleQuoted(std::string_view text) {
  std::string made = "'";
  for (const char one : text) {
    made += one == '\'' ? "'\\''" : std::string(1, one);
  }
  return made + "'";
}

std::string shellWord(std::string_view text) {
  const bool isPlain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
                       std::string_view::npos;
  return isPlain ? std::string(text) : singleQuoted(text);
}

}  // namespace ackbox::cli
