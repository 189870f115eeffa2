#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// Garbles the header of each leaf page of a table of SQLite's, with pages of 4 KiB, that holds `text`, as a disk may
/// do. The file is closed. At least one.
inline void garblePages(const std::filesystem::path& file, std::string_view text) {
  constexpr std::size_t kPageBytes = 4096;
  constexpr std::size_t kHeaderBytes = 8;
  constexpr char kLeafOfTable = 0x0d;
  std::string bytes;
  {
    std::ifstream stream(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
  }
  std::size_t garbled = 0;
  for (std::size_t at = kPageBytes; at + kPageBytes <= bytes.size(); at += kPageBytes) {
    if (bytes[at] == kLeafOfTable && std::string_view(bytes).substr(at, kPageBytes).find(text) != std::string::npos) {
      bytes.replace(at, kHeaderBytes, kHeaderBytes, '\x7f');
      ++garbled;
    }
  }
  REQUIRE(garbled > 0);
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace ackbox::testing
