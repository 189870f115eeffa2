#pragma once

#include <cstdint>
#include <filesystem>
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

/// The file system that a file is on.
struct Disk {
  /// For this user.
  std::uint64_t freeBytes = 0;
  /// Its kind as `statfs` numbers it; 0: unknown.
  std::uint64_t kind = 0;
};

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
  /// Empty: the kernel is asked.
  std::function<Disk(const std::filesystem::path&)> disk = {};
};

/// Of the file system that `file` is on.
[[nodiscard]] Disk diskOf(const World& world, const std::filesystem::path& file);

/// Runs the tool once. Returns an `ExitCode`; does not throw.
[[nodiscard]] int run(const World& world);

}  // namespace ackbox::cli
