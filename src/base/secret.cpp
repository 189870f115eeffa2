#include "ackbox/secret.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} * 1024;
constexpr std::string_view kBlanks = " \t\r\n\f\v";

// Not a plain fill: the compiler may leave out writes that are never read.
void wipe(std::string& text) noexcept {
  explicit_bzero(text.data(), text.size());
}

/// The bytes of a file, overwritten when they go out of scope.
struct WipedBuffer {
  WipedBuffer() = default;
  WipedBuffer(const WipedBuffer&) = delete;
  WipedBuffer& operator=(const WipedBuffer&) = delete;
  ~WipedBuffer() { explicit_bzero(bytes.data(), bytes.size()); }

  std::array<char, kFileBytesMax + 1> bytes{};
};

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::vector<Secret> readFile(const std::filesystem::path& path) {
  WipedBuffer buffer;
  // Opening a pipe would wait for its other end.
  if (std::error_code absent; std::filesystem::is_fifo(path, absent)) {
    throw Error(Errc::secretsUnreadable, "secrets: file '" + path.string() + "' is no regular file, but a pipe");
  }
  std::ifstream stream;
  // Unbuffered, so that no other copy is left behind.
  stream.rdbuf()->pubsetbuf(nullptr, 0);
  errno = 0;
  stream.open(path, std::ios::binary);
  stream.read(buffer.bytes.data(), static_cast<std::streamsize>(buffer.bytes.size()));
  const auto size = static_cast<std::size_t>(stream.gcount());
  if (!stream.is_open() || stream.bad()) {
    const std::string cause = errno == 0 ? "an unknown cause" : std::generic_category().message(errno);
    throw Error(Errc::secretsUnreadable, "secrets: file '" + path.string() + "' cannot be read: " + cause);
  }
  if (size > kFileBytesMax) {
    throw Error(Errc::invalidOption, "secrets: file '" + path.string() + "' has more than 64 KiB");
  }
  std::vector<Secret> secrets;
  std::string_view rest(buffer.bytes.data(), size);
  // The UTF-8 byte order mark, with which some editors begin a text.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  rest.remove_prefix(rest.starts_with(kMark) ? kMark.size() : 0);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    if (!line.empty() && line.front() != '#') {
      secrets.emplace_back(std::string(line));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return secrets;
}

std::vector<Secret> splitWords(std::string_view text) {
  std::vector<Secret> secrets;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    secrets.emplace_back(std::string(word));
    text.remove_prefix(word.size());
  }
  return secrets;
}

}  // namespace

Secret::Secret(std::string text)
    : text_(std::shared_ptr<std::string>(new std::string(text.data(), text.size()), [](std::string* last) {
        wipe(*last);
        delete last;
      })) {
  wipe(text);
}

std::string_view Secret::reveal() const noexcept {
  return text_ ? std::string_view(*text_) : std::string_view();
}

SecretSource SecretSource::fixed(std::vector<Secret> secrets) {
  return callback([secrets = std::move(secrets)] { return secrets; });
}

SecretSource SecretSource::file(std::filesystem::path path) {
  return callback([path = std::move(path)] { return readFile(path); });
}

SecretSource SecretSource::environment(const std::string& variable) {
  const char* const text = std::getenv(variable.c_str());
  if (text == nullptr) {
    throw Error(Errc::secretsUnreadable, "secrets: the environment has no variable '" + variable + "'");
  }
  return fixed(splitWords(text));
}

SecretSource SecretSource::callback(std::function<std::vector<Secret>()> function) {
  SecretSource source;
  source.function_ = std::move(function);
  return source;
}

SecretSource SecretSource::bearer(SecretSource token) {
  return callback([token = std::move(token)] {
    const std::vector<Secret> tokens = token.load();
    if (tokens.size() != 1) {
      throw OptionError("headers", "needs one token, and the source has " + std::to_string(tokens.size()));
    }
    if (tokens.front().reveal().find_first_of(kBlanks) != std::string_view::npos) {
      throw OptionError("headers", "needs a token, which cannot contain a blank");
    }
    return std::vector{Secret("Authorization: Bearer " + std::string(tokens.front().reveal()))};
  });
}

std::vector<Secret> SecretSource::load() const {
  return function_ ? function_() : std::vector<Secret>();
}

}  // namespace ackbox
