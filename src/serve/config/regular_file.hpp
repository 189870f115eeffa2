#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace ackbox::serve {

/// Who may open a file.
struct FileAccess {
  mode_t mode = 0;
  uid_t owner = 0;
  /// It lies in memory that is mounted read-only: so does what an orchestrator hands over, which nobody else sees.
  bool isHandedOver = false;
};

/// Why a file with secrets (tokens, keys) is not safe as it is, and what to do, for people; empty: it is. Nobody but
/// its owner may write it. It may be read by its owner; by its group where root owns it, as systemd's credentials and
/// groups such as ssl-cert have it; and by everybody where it was handed over, as Kubernetes and Docker do.
[[nodiscard]] std::string exposureOf(const FileAccess& access);

/// What a file that a person wrote says. It may be secret, and is overwritten at the end.
struct RegularFile {
  RegularFile() = default;
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  RegularFile(RegularFile&&) = default;
  RegularFile& operator=(RegularFile&&) = default;
  ~RegularFile();

  std::string text = {};
  FileAccess access = {};
  /// Why it was not read, with its name; empty: it was.
  std::string problem = {};
};

/// Reads a file of at most `bytesMax`. A pipe, a device or a folder is refused before a byte of it is read: the first
/// would be waited for, the second may have no end.
[[nodiscard]] RegularFile readRegularFile(const std::filesystem::path& path, std::size_t bytesMax);

/// The same of a file with secrets, which is not read where it is not safe: see `exposureOf`.
[[nodiscard]] RegularFile readSecretFile(const std::filesystem::path& path, std::size_t bytesMax);

}  // namespace ackbox::serve
