#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"

namespace ackbox::cli {

class Console;
struct Arguments;

/// The file system that a file is on.
struct Disk {
  /// Bytes available to this user.
  std::uint64_t freeBytes = 0;
  /// The file system's type as `statfs` numbers it; 0 if unknown.
  std::uint64_t kind = 0;
};

/// The tool's environment.
struct World {
  /// Without the program's name.
  std::vector<std::string> arguments;
  /// The words of a shell that stand before the arguments where the tool was called.
  std::string calledAs = "ackbox";
  /// The user of the systemd unit, if the caller is root and there is one.
  std::string serviceUser = {};
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool outIsTerminal = false;
  bool errIsTerminal = false;
  /// NO_COLOR is not empty, or TERM is dumb.
  bool noColor = false;
  std::shared_ptr<Clock> clock = {};
  std::shared_ptr<Random> random = {};
  /// The daemon's `serve` and `health`, which are built on this library. If empty, both commands are refused.
  std::function<int(Console&, const Arguments&)> serve = {};
  std::function<int(Console&, const Arguments&)> health = {};
  /// The peer of a definition, which is then without comments; throws `OptionError`. Of the daemon, too.
  std::function<PeerOptions(const std::string& name, std::string& definition)> readPeer = {};
  /// Replaces the query to the kernel, if set.
  std::function<Disk(const std::filesystem::path&)> disk = {};
};

/// Queries the file system that `file` is on.
[[nodiscard]] Disk diskOf(const World& world, const std::filesystem::path& file);

/// Runs the tool once. Returns an `ExitCode`; does not throw.
[[nodiscard]] int run(const World& world);

}  // namespace ackbox::cli
