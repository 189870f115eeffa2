#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ackbox::bench {

/// A folder of our own on a real disk: `TMPDIR`, else `/tmp`, else `/var/tmp`, else the current folder, whichever
/// first is no memory file system, where an fsync costs nothing and proves nothing. Removed at the end.
class Scratch {
public:
  /// Throws `std::runtime_error` when there is no real disk, unless `memoryAllowed`.
  explicit Scratch(bool memoryAllowed);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  /// What was passed over and why.
  [[nodiscard]] const std::optional<std::string>& warning() const noexcept { return warning_; }

private:
  std::filesystem::path folder_;
  std::optional<std::string> warning_;
};

/// Removes `file`, an SQLite database, with all that stands beside it.
void removeDatabase(const std::filesystem::path& file);

/// A name for a database in `folder` that nobody had before; an older one of this name is removed.
[[nodiscard]] std::filesystem::path freshDatabase(const std::filesystem::path& folder, const std::string& name);

}  // namespace ackbox::bench
