#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"

namespace ackbox::cli {

class Console;
struct Arguments;

/// All that the tool has of the world.
struct World {
  /// Without the program's name.
  std::vector<std::string> arguments;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool outIsTerminal = false;
  bool errIsTerminal = false;
  /// A non-empty NO_COLOR, or TERM=dumb.
  bool noColor = false;
  std::shared_ptr<Clock> clock = {};
  std::shared_ptr<Random> random = {};
  /// The daemon, which is built on this library: what `serve` and `health` run. Empty: they are refused.
  std::function<int(Console&, const Arguments&)> serve = {};
  std::function<int(Console&, const Arguments&)> health = {};
};

/// Runs the tool once. Returns an `ExitCode`; does not throw.
[[nodiscard]] int run(const World& world);

}  // namespace ackbox::cli
