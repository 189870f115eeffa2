#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace ackbox::serve {

/// A file's permissions and owner.
struct FileAccess {
  mode_t mode = 0;
  uid_t owner = 0;
  /// The file lies in memory that is mounted read-only, as files from an orchestrator do, which no other user sees.
  bool isHandedOver = false;
};

/// Why a file with secrets (tokens, keys) is not safe, and what to do, for people; empty if it is safe. Only its owner
/// may write it. Its owner may read it; so may its group if root owns it, as with systemd's credentials and groups such
/// as ssl-cert; and so may all users if it was handed over, as by Kubernetes and Docker.
[[nodiscard]] std::string exposureOf(const FileAccess& access);

/// The content of a file that a person wrote. It may be secret; the destructor overwrites it.
struct RegularFile {
  RegularFile() = default;
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  RegularFile(RegularFile&&) = default;
  RegularFile& operator=(RegularFile&&) = default;
  ~RegularFile();

  std::string text = {};
  FileAccess access = {};
  /// Why the file was not read, with its name; empty if it was read.
  std::string problem = {};
};

/// Reads a file of at most `bytesMax` bytes. Refuses a pipe, a device or a folder before reading a byte: reading a pipe
/// may block, and a device may have no end.
[[nodiscard]] RegularFile readRegularFile(const std::filesystem::path& path, std::size_t bytesMax);

/// Like `readRegularFile`, for a file with secrets: does not read it if it is not safe, see `exposureOf`.
[[nodiscard]] RegularFile readSecretFile(const std::filesystem::path& path, std::size_t bytesMax);

}  // namespace ackbox::serve
