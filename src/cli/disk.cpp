#include <sys/vfs.h>

#include "cli/tool.hpp"

namespace ackbox::cli {

Disk diskOf(const World& world, const std::filesystem::path& file) {
  if (world.disk) {
    return world.disk(file);
  }
  struct statfs found {};
  if (statfs(file.c_str(), &found) != 0) {
    return {};
  }
  // Blocks that are reserved for the superuser are not available to this user.
  return {static_cast<std::uint64_t>(found.f_bavail) * static_cast<std::uint64_t>(found.f_frsize),
          static_cast<std::uint64_t>(found.f_type) & 0xffffffffU};
}

}  // namespace ackbox::cli
