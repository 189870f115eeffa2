#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ackbox::cli {

/// The completion script of `grammar` for `bash`, `zsh` or `fish`.
[[nodiscard]] std::string completionScript(const CLI::App& grammar, const std::string& shell);

}  // namespace ackbox::cli
