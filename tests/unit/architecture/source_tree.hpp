#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::test {

/// One line of a source file.
struct SourceLine {
  /// Relative to the project's root, with forward slashes.
  std::string file;
  std::size_t number = 0;
  std::string text;
};

/// The project's root.
[[nodiscard]] std::filesystem::path sourceRoot();

/// Files below the root's `folders` that end in one of `endings`, relative to the root and sorted. Build folders are
/// left out; a folder that is missing has none.
[[nodiscard]] std::vector<std::string> sourceFiles(const std::vector<std::string_view>& folders,
                                                   const std::vector<std::string_view>& endings);

/// The lines of one of them.
[[nodiscard]] std::vector<SourceLine> readLines(const std::string& file);

/// `file:number: text`, the way compilers print it.
[[nodiscard]] std::string describe(const SourceLine& line);

}  // namespace ackbox::test
