#include "bench/scratch.hpp"

#include <stdlib.h>

#include <stdexcept>
#include <vector>

#include "bench/machine_facts.hpp"

namespace ackbox::bench {
namespace {

std::vector<std::filesystem::path> candidates() {
  std::vector<std::filesystem::path> found;
  if (const char* chosen = std::getenv("TMPDIR"); chosen != nullptr && *chosen != '\0') {
    found.emplace_back(chosen);
  }
  found.insert(found.end(), {"/tmp", "/var/tmp", std::filesystem::current_path()});
  return found;
}

std::filesystem::path makeFolder(const std::filesystem::path& parent) {
  std::string name = (parent / "ackbox-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder in " + parent.string());
  }
  return name;
}

}  // namespace

Scratch::Scratch(bool memoryAllowed) {
  for (const std::filesystem::path& parent : candidates()) {
    const std::string kind = fileSystemOf(parent);
    if (kind != "tmpfs" && kind != "ramfs") {
      folder_ = makeFolder(parent);
      return;
    }
    if (!warning_) {
      warning_ = parent.string() + " is in memory (" + kind + "), where fsync is free; it was not used";
    }
  }
  if (!memoryAllowed) {
    throw std::runtime_error("no real disk among TMPDIR, /tmp, /var/tmp and the current folder: set TMPDIR");
  }
  folder_ = makeFolder(candidates().front());
  warning_ = folder_.string() + " is in memory, where fsync is free: these figures prove nothing";
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void removeDatabase(const std::filesystem::path& file) {
  const std::string prefix = file.filename().string();
  std::vector<std::filesystem::path> doomed;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
    if (entry.path().filename().string().starts_with(prefix)) {
      doomed.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& path : doomed) {
    std::filesystem::remove(path);
  }
}

std::filesystem::path freshDatabase(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::path file = folder / (name + ".db");
  removeDatabase(file);
  return file;
}

}  // namespace ackbox::bench
