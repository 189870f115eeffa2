#include "protocol/base64.hpp"

#include <array>

namespace ackbox::protocol {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> makeValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t index = 0; index < kAlphabet.size(); ++index) {
    values[static_cast<unsigned char>(kAlphabet[index])] = static_cast<std::uint8_t>(index);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = makeValues();

}  // namespace

std::string encodeBase64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t index = 0; index < bytes.size(); index += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - index);
    std::uint32_t group = static_cast<std::uint32_t>(bytes[index]) << 16U;
    group |= count > 1 ? static_cast<std::uint32_t>(bytes[index + 1]) << 8U : 0U;
    group |= count > 2 ? static_cast<std::uint32_t>(bytes[index + 2]) : 0U;
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text.push_back(digit > count ? '=' : kAlphabet[(group >> (18U - 6U * digit)) & 0x3fU]);
    }
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  const std::size_t padding = text.ends_with("==") ? 2 : (text.ends_with('=') ? 1 : 0);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const bool isPadding = index >= text.size() - padding;
    const std::uint8_t value = isPadding ? std::uint8_t{0} : kValues[static_cast<unsigned char>(text[index])];
    if (value == kNone) {
      return std::nullopt;
    }
    group = (group << 6U) | value;
    if (index % 4 == 3) {
      bytes.push_back(static_cast<std::uint8_t>(group >> 16U));
      bytes.push_back(static_cast<std::uint8_t>(group >> 8U));
      bytes.push_back(static_cast<std::uint8_t>(group));
    }
  }
  for (std::size_t index = 0; index < padding; ++index) {
    if (bytes.back() != 0) {
      return std::nullopt;
    }
    bytes.pop_back();
  }
  return bytes;
}

}  // namespace ackbox::protocol
