#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::testing {

/// Garbles the headers of leaf pages of a SQLite table with 4 KiB pages, as a failing disk may do: of all pages that
/// contain `text`, except the first and last few, which an opening reads. At least one; the file must be closed.
inline void garblePages(const std::filesystem::path& file, std::string_view text) {
  constexpr std::size_t kPageBytes = 4096;
  constexpr std::size_t kHeaderBytes = 8;
  constexpr std::size_t kKept = 3;
  constexpr char kLeafOfTable = 0x0d;
  std::string bytes;
  {
    std::ifstream stream(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
  }
  std::vector<std::size_t> pages;
  for (std::size_t at = kPageBytes; at + kPageBytes <= bytes.size(); at += kPageBytes) {
    if (bytes[at] == kLeafOfTable && std::string_view(bytes).substr(at, kPageBytes).find(text) != std::string::npos) {
      pages.push_back(at);
    }
  }
  REQUIRE(pages.size() > 2 * kKept);
  for (std::size_t index = kKept; index < pages.size() - kKept; ++index) {
    bytes.replace(pages[index], kHeaderBytes, kHeaderBytes, '\x7f');
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace ackbox::testing
