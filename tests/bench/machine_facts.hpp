#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ackbox::bench {

/// What the figures depend on besides the code.
struct MachineFacts {
  std::string processor;
  unsigned cores = 0;
  std::string kernel;
  std::string fileSystem;
  /// Median of an append of 4 KiB and its fdatasync.
  double fdatasyncMicroseconds = 0;
  std::string sqlite;
  std::string compiler;
  std::string build;
  std::string sanitizers;
  /// Why the figures are not to be quoted; empty when they may be.
  std::vector<std::string> warnings;
};

[[nodiscard]] MachineFacts machineFacts(const std::filesystem::path& folder);

/// The name of the file system that `path` is on, such as `ext4`; a hexadecimal magic number when it is a rare one.
[[nodiscard]] std::string fileSystemOf(const std::filesystem::path& path);

}  // namespace ackbox::bench
