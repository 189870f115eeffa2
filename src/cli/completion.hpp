#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace ackbox::cli {

/// The completion script of `grammar` for `bash`, `zsh` or `fish`.
[[nodiscard]] std::string completionScript(const CLI::App& grammar, const std::string& shell);

}  // namespace ackbox::cli
