#pragma once

#include <string>

#include "ackbox/options.hpp"

namespace ackbox::cli {
class Console;
struct Arguments;
}  // namespace ackbox::cli

namespace ackbox::serve {

// Each function runs one subcommand of the tool and returns a `cli::ExitCode`. Each may throw `ackbox::Error`.

/// `ackbox serve`: runs until SIGTERM or SIGINT; SIGHUP reloads.
int runServe(cli::Console& console, const cli::Arguments& arguments);

/// The peer of a definition, as `ackbox add-peer` checks it: the files that it names are those of another process.
/// Takes comments out of the definition. Throws `OptionError`.
PeerOptions readPeerOfTool(const std::string& name, std::string& definition);

/// `ackbox health`.
int runHealth(cli::Console& console, const cli::Arguments& arguments);

}  // namespace ackbox::serve
