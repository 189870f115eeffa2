// Goal: nothing that was written is forgotten by the build. A source or test that no CMakeLists.txt names would be
// neither compiled nor run, and nobody would notice.
// Method: read the tree and the CMakeLists.txt files as text, and look for each file's name.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "ackbox/version.hpp"
#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::registration_test {
namespace {

namespace fs = std::filesystem;

/// The words of a CMake file without its comments.
std::set<std::string> cmakeWords(const std::string& file) {
  constexpr std::string_view kBetween = " \t()\"";
  std::set<std::string> words;
  for (const SourceLine& line : readLines(file)) {
    const std::string code = line.text.substr(0, line.text.find('#'));
    for (std::size_t start = code.find_first_not_of(kBetween); start != std::string::npos;) {
      const std::size_t end = std::min(code.find_first_of(kBetween, start), code.size());
      words.insert(code.substr(start, end - start));
      start = code.find_first_not_of(kBetween, end);
    }
  }
  return words;
}

/// Whether the CMakeLists.txt of the file's folder, or of one above it, names the file relative to itself.
bool isNamed(const fs::path& file) {
  for (fs::path folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    const fs::path list = folder / "CMakeLists.txt";
    if (fs::exists(sourceRoot() / list) &&
        cmakeWords(list.generic_string()).contains(file.lexically_relative(folder).generic_string())) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("every source file is named by a CMakeLists.txt of its folder or above") {
  const auto files = sourceFiles({"src", "tests", "examples"}, {".cpp"});
  CHECK(files.size() > 10);
  for (const std::string& file : files) {
    CHECK_MESSAGE(isNamed(file), file << " is compiled by nobody: name it in its folder's CMakeLists.txt");
  }
}

TEST_CASE("every public header is named by include/CMakeLists.txt") {
  const auto words = cmakeWords("include/CMakeLists.txt");
  for (const std::string& file : sourceFiles({"include"}, {".hpp"})) {
    const std::string name = fs::path(file).lexically_relative("include").generic_string();
    CHECK_MESSAGE(words.contains(name), file << " is not installed: name it in include/CMakeLists.txt");
  }
}

TEST_CASE("every folder with a CMakeLists.txt is added by the one above, or is a project of its own") {
  for (const std::string& file : sourceFiles({"src", "tests", "examples"}, {"CMakeLists.txt"})) {
    const fs::path folder = fs::path(file).parent_path();
    const std::string above = (folder.parent_path() / "CMakeLists.txt").generic_string();
    const auto words = cmakeWords(above);
    const bool added = words.contains("add_subdirectory") && words.contains(folder.filename().generic_string());
    CHECK_MESSAGE((added || cmakeWords(file).contains("project")), folder << " is not added by " << above);
  }
}

TEST_CASE("the version in version.hpp is the version of the CMake project") {
  CHECK(kVersion == ACKBOX_PROJECT_VERSION);
}

}  // namespace ackbox::test::registration_test
