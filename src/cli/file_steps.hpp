#pragma once

#include <filesystem>
#include <string>

namespace ackbox::cli {

/// A copy of an outbox that is being made beside the place where it shall be, and is deleted unless `place` was called.
class PartialFile {
public:
  /// `<place>.partial-<process id>`; what a killed process of this id left there is deleted.
  explicit PartialFile(const std::filesystem::path& place);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Gives it the name, in one step, and syncs the folder. Without `overwrite`, a file of that name is kept. Throws
  /// `Error`.
  void place(bool overwrite);

private:
  void remove() noexcept;

  const std::filesystem::path place_;
  const std::filesystem::path path_;
};

/// Whether anything has this name, also a link that leads nowhere.
[[nodiscard]] bool isThere(const std::filesystem::path& file);

/// Syncs the folder that `file` is in. Throws `Error`.
void syncFolderOf(const std::filesystem::path& file);

/// Moves `file` and its log to `aside`, so that a crash in between loses neither, and no log is left beside a file that
/// takes its place. Throws `Error`.
void moveAside(const std::filesystem::path& file, const std::filesystem::path& aside);

/// Gives `file` the permissions and, where this process may, the owner of `model`. Returns whether the owner is right.
[[nodiscard]] bool makeLike(const std::filesystem::path& file, const std::filesystem::path& model);

}  // namespace ackbox::cli
