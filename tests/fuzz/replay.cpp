// Goal: what a fuzzer found stays found. Method: without a fuzzer, a target's inputs are the files of its corpus, each
// once; the program ends as the target does when one of them is at fault, with the file's name before it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "check.hpp"

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int index = 1; index < count; ++index) {
    const std::filesystem::path given(arguments[index]);
    if (std::filesystem::is_directory(given)) {
      std::copy(std::filesystem::directory_iterator(given), std::filesystem::directory_iterator(),
                std::back_inserter(files));
    } else {
      files.push_back(given);
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    // Seen only if it is the last line.
    std::cerr << '\r' << file.string() << std::flush;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::cerr << "\r" << files.size() << " inputs replayed\n";
  return files.empty() ? 1 : 0;
}
