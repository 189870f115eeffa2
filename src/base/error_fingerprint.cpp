#include "base/error_fingerprint.hpp"

#include <algorithm>

namespace ackbox {

std::string errorFingerprint(std::string_view error) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kWord = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  constexpr std::size_t kStatusDigits = 3;
  std::string form;
  std::string_view before;
  while (!error.empty()) {
    const std::string_view word = error.substr(0, std::min(error.find_first_not_of(kWord), error.size()));
    if (word.empty()) {
      form += error.front();
      error.remove_prefix(1);
      continue;
    }
    const bool isStatus = before == "HTTP" && word.size() == kStatusDigits;
    form += word.find_first_of(kDigits) != std::string_view::npos && !isStatus ? std::string_view("#") : word;
    before = word;
    error.remove_prefix(word.size());
  }
  return form;
}

}  // namespace ackbox
