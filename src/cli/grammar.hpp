#pragma once

#include <memory>
#include <string>

#include "cli/arguments.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace ackbox::cli {

/// The command line's grammar, bound to `arguments`, which must outlive it. Help, completion and the man page are made
/// from it.
[[nodiscard]] std::shared_ptr<CLI::App> makeGrammar(Arguments& arguments);

/// The commands by what they are for, a line each: what `ackbox` alone prints.
[[nodiscard]] std::string overview();

}  // namespace ackbox::cli
