#include "bench/machine_facts.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "bench/latencies.hpp"

namespace ackbox::bench {
namespace {

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

std::string kernelName() {
  utsname names{};
  uname(&names);
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

double fdatasyncMedian(const std::filesystem::path& folder) {
  constexpr int kAppends = 100;
  const std::filesystem::path path = folder / "fdatasync";
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    throw std::runtime_error("cannot write in " + folder.string());
  }
  const std::array<char, 4096> page{};
  Latencies latencies;
  for (int append = 0; append < kAppends; ++append) {
    const auto start = std::chrono::steady_clock::now();
    if (write(file, page.data(), page.size()) < 0 || fdatasync(file) != 0) {
      break;
    }
    latencies.add(std::chrono::steady_clock::now() - start);
  }
  close(file);
  std::filesystem::remove(path);
  return latencies.percentile(0.5);
}

}  // namespace

std::string fileSystemOf(const std::filesystem::path& path) {
  struct statfs facts {};
  if (statfs(path.c_str(), &facts) != 0) {
    return "unknown";
  }
  // The kernel's linux/magic.h.
  switch (static_cast<std::uint32_t>(facts.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x858458F6:
      return "ramfs";
    case 0x9123683E:
      return "btrfs";
    case 0x58465342:
      return "xfs";
    case 0x794C7630:
      return "overlayfs";
    case 0x2FC12FC1:
      return "zfs";
    default: {
      std::ostringstream text;
      text << std::hex << std::showbase << facts.f_type;
      return text.str();
    }
  }
}

MachineFacts machineFacts(const std::filesystem::path& folder) {
  MachineFacts facts;
  facts.processor = processorName();
  facts.cores = std::thread::hardware_concurrency();
  facts.kernel = kernelName();
  facts.fileSystem = fileSystemOf(folder);
  facts.fdatasyncMicroseconds = fdatasyncMedian(folder);
  facts.sqlite = sqlite3_libversion();
  facts.compiler = "C++ " __VERSION__;
  facts.build = ACKBOX_BENCH_BUILD;
  facts.sanitizers = ACKBOX_BENCH_SANITIZE;
#ifndef NDEBUG
  facts.warnings.emplace_back("this build keeps its debug checks: quote figures of a Release build only");
#endif
  if (!facts.sanitizers.empty()) {
    facts.warnings.emplace_back("this build is sanitized (" + facts.sanitizers + "): its figures prove nothing");
  }
  return facts;
}

}  // namespace ackbox::bench
