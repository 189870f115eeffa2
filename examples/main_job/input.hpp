#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "ackbox/frame.hpp"

namespace main_job {

/// One line of an input file.
struct InputLine {
  std::uint64_t number = 0;
  /// Absent for a blank or malformed line.
  std::optional<ackbox::Frame> frame;
  /// What is wrong with a malformed line.
  std::string problem;
};

/// A JSONL file: one object per line, `{"session":"…","type":"…","data":…}`.
class InputFile {
public:
  /// Throws `std::runtime_error` when it cannot be read.
  explicit InputFile(std::filesystem::path path);

  /// The next line, or nothing at the end. Throws `std::runtime_error` when reading fails.
  std::optional<InputLine> next();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t number_ = 0;
};

/// `FILE:LINE: problem`.
[[nodiscard]] std::string complaint(const InputFile& file, const InputLine& line);

}  // namespace main_job
