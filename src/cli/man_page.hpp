#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace ackbox::cli {

/// The manual page of `grammar`, section 1, in roff.
[[nodiscard]] std::string manPage(const CLI::App& grammar);

}  // namespace ackbox::cli
