#pragma once

namespace ackbox::cli {

/// The tool's exit statuses. Scripts rely on the numbers: never renumber.
enum ExitCode : int {
  /// Done.
  kDone = 0,
  /// Nothing has this id or matches the filter, or the change was refused.
  kNothing = 1,
  /// The command line is wrong.
  kUsage = 2,
  /// The file, or the input, cannot be opened, read or written.
  kCannot = 3,
  /// `verify` found problems, or `export` found damaged messages.
  kProblems = 4,
  /// Some frames, or new messages of `resend`, were refused; the others are stored.
  kPartly = 5,
};

}  // namespace ackbox::cli
