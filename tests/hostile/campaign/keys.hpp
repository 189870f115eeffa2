#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ackbox::campaign {

// The agents of the campaign. The target is under attack; the honest one speaks to it, the neighbour listens to it;
// mallory has a key and means harm; the two of the crowd have so many keys that with the others there are 32, the most
// that a request without a name is verified with.
inline constexpr std::string_view kTarget = "urn:agent:bob";
inline constexpr std::string_view kHonest = "urn:agent:alice";
inline constexpr std::string_view kNeighbour = "urn:agent:carol";
inline constexpr std::string_view kMallory = "urn:agent:mallory";
inline constexpr std::string_view kCrowd = "urn:agent:crowd";
inline constexpr std::string_view kOtherCrowd = "urn:agent:other-crowd";

inline constexpr std::string_view kHonestKey = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWw=";
inline constexpr std::string_view kNeighboursKey = "whsec_Y2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2wgY2E=";
inline constexpr std::string_view kMallorysKey = "whsec_bWFsbG9yeSBtYWxsb3J5IG1hbGxvcnkgbWFsbG9yeSE=";

/// `count` keys, other ones for each `first` that is `count` apart. At most 32 in all.
[[nodiscard]] inline std::vector<std::string> crowdsKeys(int first, int count) {
  std::vector<std::string> keys;
  for (int number = first; number < first + count; ++number) {
    // 43 letters of base64 and its end: 32 bytes, another first one for each key.
    const char letter = static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26);
    keys.push_back("whsec_" + std::string(1, letter) + std::string(42, 'A') + "=");
  }
  return keys;
}

}  // namespace ackbox::campaign
