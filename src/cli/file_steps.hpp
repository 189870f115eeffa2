#pragma once

#include <filesystem>
#include <string>

namespace ackbox::cli {

/// A copy of an outbox that is being made beside the place where it shall be, and is deleted unless it was placed.
class PartialFile {
public:
  /// `<place>.partial-<process id>`; what killed processes left under such names is deleted.
  explicit PartialFile(const std::filesystem::path& place);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Gives it the name, in one step, and syncs the folder. Without `overwrite`, a file of that name is kept. Throws
  /// `Error`.
  void place(bool overwrite);

  /// Gives it the name of `place`, after what is there, or what is left of that, has got the name `aside` or, if
  /// something has this name, one that begins with it. Returns the name; empty: nothing was there. Throws `Error`; then
  /// nothing was changed, or the file from before is still at `place` or `aside`.
  [[nodiscard]] std::filesystem::path placeKeeping(const std::filesystem::path& aside);

private:
  void remove() noexcept;

  const std::filesystem::path place_;
  const std::filesystem::path path_;
};

/// Whether anything has this name, also a link that leads nowhere.
[[nodiscard]] bool isThere(const std::filesystem::path& file);

/// What is wrong with `path`, which has to be a regular file if anything has the name; empty: nothing.
[[nodiscard]] std::string whyNotRegular(const std::filesystem::path& path);

/// Why `path` cannot be replaced: it is the log, its index or the owners file of another one; empty if it is not one of
/// these.
[[nodiscard]] std::string whyCompanion(const std::filesystem::path& path);

/// The same as `whyNotRegular` for the files beside `file`, of which SQLite would open them.
[[nodiscard]] std::string whyNotRegularBeside(const std::filesystem::path& file);

/// The name where `placeKeeping` keeps a file: `base`, or one that begins with it, which nothing has.
[[nodiscard]] std::filesystem::path freeNameFor(const std::filesystem::path& base);

/// Where a restore that was interrupted has put the file from before, which `file` leads to since; empty: none was.
[[nodiscard]] std::filesystem::path interruptedRestoreOf(const std::filesystem::path& file);

/// The same where nothing has the name `file`: the commands that put the newest file back which a restore kept; empty:
/// it kept none.
[[nodiscard]] std::string howToPutBack(const std::filesystem::path& file);

/// Syncs the folder that `file` is in. Throws `Error`.
void syncFolderOf(const std::filesystem::path& file);

/// Gives `file` the permissions and, where this process may, the owner of `model`. Returns whether the owner is right.
[[nodiscard]] bool makeLike(const std::filesystem::path& file, const std::filesystem::path& model);

}  // namespace ackbox::cli
