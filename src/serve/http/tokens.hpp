#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/caller.hpp"

namespace ackbox::serve {

/// The bearer tokens of a safe file (see `exposureOf`), one `NAME ROLE[,ROLE…][,LIMIT…] TOKEN` per line. Blank lines
/// and lines that begin with `#` are ignored. Only the SHA-256 of a token is kept.
///
/// Thread-safety: immutable.
class Tokens {
public:
  /// Adds each problem with its file and line, without showing a token: the file cannot be read, others can read it, a
  /// line is malformed, two lines have the same token, or the file has no token. The result is usable only if there are
  /// no problems.
  [[nodiscard]] static Tokens read(const std::filesystem::path& file, std::vector<std::string>& problems);
  /// Throws `Error` with `invalidOption` and the first of these problems.
  [[nodiscard]] static Tokens load(const std::filesystem::path& file);

  /// A token's SHA-256.
  using Digest = std::array<std::uint8_t, 32>;
  [[nodiscard]] static Digest digestOf(std::string_view token);

  /// The caller with this token. Takes as long for a wrong token as for a right one.
  [[nodiscard]] std::optional<Caller> find(const Digest& digest) const;

  /// Whether there are no tokens.
  [[nodiscard]] bool isEmpty() const noexcept { return entries_.empty(); }

private:
  struct Entry {
    Digest digest = {};
    Caller caller = {};
  };

  std::vector<Entry> entries_;
};

}  // namespace ackbox::serve
