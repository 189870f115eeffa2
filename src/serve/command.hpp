#pragma once

namespace ackbox::cli {
class Console;
struct Arguments;
}  // namespace ackbox::cli

namespace ackbox::serve {

// Each function runs one subcommand of the tool and returns a `cli::ExitCode`. Each may throw `ackbox::Error`.

/// `ackbox serve`: runs until SIGTERM or SIGINT; SIGHUP reloads.
int runServe(cli::Console& console, const cli::Arguments& arguments);

/// `ackbox health`.
int runHealth(cli::Console& console, const cli::Arguments& arguments);

}  // namespace ackbox::serve
