#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace ackbox::serve {

/// What a file that a person wrote says. It may be secret, and is overwritten at the end.
struct RegularFile {
  RegularFile() = default;
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  RegularFile(RegularFile&&) = default;
  RegularFile& operator=(RegularFile&&) = default;
  ~RegularFile();

  std::string text = {};
  mode_t mode = 0;
  /// Why it was not read, with its name; empty: it was.
  std::string problem = {};
};

/// Reads a file of at most `bytesMax`. A pipe, a device or a folder is refused before a byte of it is read: the first
/// would be waited for, the second may have no end.
[[nodiscard]] RegularFile readRegularFile(const std::filesystem::path& path, std::size_t bytesMax);

}  // namespace ackbox::serve
