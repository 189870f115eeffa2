#pragma once

#include <memory>
#include <string>

#include "cli/arguments.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace ackbox::cli {

/// The command line's grammar, bound to `arguments`, which must outlive it. Help, completion and the man page derive
/// from the grammar.
[[nodiscard]] std::shared_ptr<CLI::App> makeGrammar(Arguments& arguments);

/// The commands grouped by purpose, one group a line: the output of `ackbox` without arguments.
[[nodiscard]] std::string overview();

}  // namespace ackbox::cli
