#pragma once

#include <string>
#include <string_view>

namespace ackbox::serve::page {

/// A file that belongs to the page and is built into the program.
struct Asset {
  /// Compressed with gzip.
  std::string_view bytes;
  std::string_view contentType;
  /// `page.3f2a….css`: it changes with the content, so that a browser may keep it for ever.
  std::string name;
};

[[nodiscard]] const Asset& styleSheet();
[[nodiscard]] const Asset& script();
[[nodiscard]] const Asset& icon();

/// Null if no asset has this name.
[[nodiscard]] const Asset* findAsset(std::string_view name);

}  // namespace ackbox::serve::page
