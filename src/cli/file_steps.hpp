#pragma once

#include <filesystem>
#include <string>

namespace ackbox::cli {

/// A copy of an outbox under construction beside its final path. Deleted unless it was placed.
class PartialFile {
public:
  /// Creates `<place>.partial-<process id>`; deletes such files that killed processes left behind.
  explicit PartialFile(const std::filesystem::path& place);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Renames the copy to its final path in one step, and syncs the folder. Without `overwrite`, keeps an existing file.
  /// Throws `Error`.
  void place(bool overwrite);

  /// Renames the copy to `place` after the existing file, or what is left of it, was renamed to `aside` or, if that
  /// name is taken, to one that begins with it. Returns that name; empty if nothing existed. Throws `Error`; then
  /// nothing was changed, or the previous file is still at `place` or `aside`.
  [[nodiscard]] std::filesystem::path placeKeeping(const std::filesystem::path& aside);

private:
  void remove() noexcept;

  const std::filesystem::path place_;
  const std::filesystem::path path_;
};

/// Whether this name exists, even as a dangling link.
[[nodiscard]] bool isThere(const std::filesystem::path& file);

/// Why `path`, if it exists, is not a regular file; empty if it is one or does not exist.
[[nodiscard]] std::string whyNotRegular(const std::filesystem::path& path);

/// Why `path` cannot be replaced: it is the log, log index or owners file of another file; empty if it is not such a
/// file.
[[nodiscard]] std::string whyCompanion(const std::filesystem::path& path);

/// Like `whyNotRegular`, for the files that SQLite would open beside `file`.
[[nodiscard]] std::string whyNotRegularBeside(const std::filesystem::path& file);

/// The name under which `placeKeeping` keeps a file: `base`, or an unused name that begins with it.
[[nodiscard]] std::filesystem::path freeNameFor(const std::filesystem::path& base);

/// The path of the previous file that an interrupted restore made `file` a link to; empty if `file` is not such a link.
[[nodiscard]] std::filesystem::path interruptedRestoreOf(const std::filesystem::path& file);

/// The commands that put back the newest file that a restore kept, for when `file` does not exist; empty if no file was
/// kept.
[[nodiscard]] std::string howToPutBack(const std::filesystem::path& file);

/// Syncs the folder that `file` is in. Throws `Error`.
void syncFolderOf(const std::filesystem::path& file);

/// Gives `file` the permissions and, if permitted, the owner of `model`. Returns whether the owner is right.
[[nodiscard]] bool makeLike(const std::filesystem::path& file, const std::filesystem::path& model);

}  // namespace ackbox::cli
