#pragma once

#include <filesystem>

namespace ackbox::testing {

/// A new folder, removed with its contents by the destructor.
class TemporaryFolder {
public:
  /// Throws `std::system_error`.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

}  // namespace ackbox::testing
