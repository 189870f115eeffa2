#include "serve/config/regular_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace ackbox::serve {
namespace {

bool isReadOnlyMemory(int descriptor) {
  struct statfs found {};
  return ::fstatfs(descriptor, &found) == 0 && (found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC) &&
         (found.f_flags & ST_RDONLY) != 0;
}

struct OpenFile {
  explicit OpenFile(const std::filesystem::path& path)
      // Without O_NONBLOCK, opening a pipe would wait for a writer.
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }

  const int descriptor;
};

/// Why the file cannot be read; empty if it was read.
std::string readAll(const OpenFile& file, std::size_t bytesMax, bool isSecret, RegularFile& read) {
  struct stat found {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &found) != 0) {
    return "cannot be read: " + std::generic_category().message(errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return S_ISDIR(found.st_mode) ? "is a folder; name a file in it" : "is no regular file, but a pipe or a device";
  }
  read.access = {found.st_mode, found.st_uid, isReadOnlyMemory(file.descriptor)};
  if (isSecret) {
    if (std::string exposure = exposureOf(read.access); !exposure.empty()) {
      return exposure;
    }
  }
  // One byte more than the file's size or limit, to detect a file that grows or is too large.
  read.text.resize(std::min(static_cast<std::size_t>(found.st_size), bytesMax) + 1);
  std::size_t size = 0;
  while (size <= bytesMax) {
    if (size == read.text.size()) {
      read.text.resize(std::min(2 * size, bytesMax + 1));
    }
    const ssize_t got = ::read(file.descriptor, read.text.data() + size, read.text.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return "cannot be read: " + std::generic_category().message(errno);
    }
    if (got == 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  if (size > bytesMax) {
    return "is larger than " + std::to_string(bytesMax / 1024) + " KiB";
  }
  read.text.resize(size);
  return {};
}

RegularFile readFile(const std::filesystem::path& path, std::size_t bytesMax, bool isSecret) {
  const OpenFile file(path);
  RegularFile read;
  if (const std::string problem = readAll(file, bytesMax, isSecret, read); !problem.empty()) {
    read.text.clear();
    read.problem = path.string() + ": " + problem;
  }
  return read;
}

}  // namespace

std::string exposureOf(const FileAccess& access) {
  const auto mayAnyOf = [&](mode_t bits) { return (access.mode & bits) != 0; };
  if (mayAnyOf(S_IWGRP | S_IWOTH)) {
    return "others can write it, and it has secrets; chmod 600 it";
  }
  if (access.isHandedOver) {
    return {};
  }
  if (mayAnyOf(S_IROTH)) {
    return "others can read it, and it has secrets; chmod 600 it";
  }
  if (mayAnyOf(S_IRGRP) && access.owner != 0) {
    return "its group can read it, and it has secrets; chmod 600 it, or let root own it";
  }
  return {};
}

RegularFile::~RegularFile() {
  explicit_bzero(text.data(), text.size());
}

RegularFile readRegularFile(const std::filesystem::path& path, std::size_t bytesMax) {
  return readFile(path, bytesMax, false);
}

RegularFile readSecretFile(const std::filesystem::path& path, std::size_t bytesMax) {
  return readFile(path, bytesMax, true);
}

}  // namespace ackbox::serve
