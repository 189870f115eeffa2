#include "unit/architecture/source_tree.hpp"

#include <algorithm>
#include <fstream>

namespace ackbox::test {

std::filesystem::path sourceRoot() {
  return ACKBOX_SOURCE_DIR;
}

std::vector<std::string> sourceFiles(const std::vector<std::string_view>& folders,
                                     const std::vector<std::string_view>& endings) {
  std::vector<std::string> files;
  for (const std::string_view folder : folders) {
    if (!std::filesystem::is_directory(sourceRoot() / folder)) {
      continue;
    }
    std::filesystem::recursive_directory_iterator entry(sourceRoot() / folder);
    for (; entry != std::filesystem::recursive_directory_iterator(); ++entry) {
      const std::string name = entry->path().filename().generic_string();
      if (entry->is_directory() && name.starts_with("build")) {
        entry.disable_recursion_pending();
      }
      const auto endsName = [&](std::string_view ending) { return name.ends_with(ending); };
      if (entry->is_regular_file() && std::ranges::any_of(endings, endsName)) {
        files.push_back(entry->path().lexically_relative(sourceRoot()).generic_string());
      }
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<SourceLine> readLines(const std::string& file) {
  std::vector<SourceLine> lines;
  std::ifstream stream(sourceRoot() / file);
  for (std::string text; std::getline(stream, text);) {
    lines.push_back({file, lines.size() + 1, text});
  }
  return lines;
}

std::string describe(const SourceLine& line) {
  return line.file + ":" + std::to_string(line.number) + ": " + line.text;
}

}  // namespace ackbox::test
