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

/// The bearer tokens of a file that is safe (see `exposureOf`): a line each, `NAME ROLE[,ROLE…] TOKEN`; blank lines and
/// those that begin with `#` are passed over. Of a token only its SHA-256 is kept.
///
/// Thread-safety: as a constant.
class Tokens {
public:
  /// Adds what is wrong with the file, which may be that it cannot be read, that others can read it, that a line is
  /// malformed, that two have the same token, or that the file has no token: each with file and line, and no token is
  /// shown. What it returns is of use only if there is nothing.
  [[nodiscard]] static Tokens read(const std::filesystem::path& file, std::vector<std::string>& problems);
  /// Throws `Error` with `invalidOption` and the first of these.
  [[nodiscard]] static Tokens load(const std::filesystem::path& file);

  /// A token's SHA-256.
  using Digest = std::array<std::uint8_t, 32>;
  [[nodiscard]] static Digest digestOf(std::string_view token);

  /// The caller that a token stands for. Takes as long for a wrong token as for any right one.
  [[nodiscard]] std::optional<Caller> find(const Digest& digest) const;

  /// Nobody has one.
  [[nodiscard]] bool isEmpty() const noexcept { return entries_.empty(); }

private:
  struct Entry {
    Digest digest;
    Caller caller;
  };

  std::vector<Entry> entries_;
};

}  // namespace ackbox::serve
