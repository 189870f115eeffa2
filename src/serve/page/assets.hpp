#pragma once

#include <string>
#include <string_view>

namespace ackbox::serve::page {

/// A file of the page that is compiled into the program.
struct Asset {
  /// Compressed with gzip.
  std::string_view bytes;
  std::string_view contentType;
  /// `page.3f2a….css`: changes with the content, so that a browser may cache it for ever.
  std::string name;
};

[[nodiscard]] const Asset& styleSheet();
[[nodiscard]] const Asset& script();
[[nodiscard]] const Asset& icon();

/// Null if no asset has this name.
[[nodiscard]] const Asset* findAsset(std::string_view name);

}  // namespace ackbox::serve::page
