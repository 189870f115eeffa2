#include "bench/peers/cpu.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace ackbox::bench::peers {
namespace {

struct Process {
  pid_t parent = 0;
  double ticks = 0;
};

// What /proc/PID/stat says; none for a process that has just ended.
bool readProcess(const std::filesystem::path& file, Process& process) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  // The name, in parentheses, may hold anything.
  const std::size_t nameEnd = text.rfind(')');
  if (nameEnd == std::string::npos) {
    return false;
  }
  std::istringstream fields(text.substr(nameEnd + 1));
  std::string state;
  std::string ignored;
  fields >> state >> process.parent;
  // proc(5): fields 5 to 13; then utime, stime, and both of the children that were waited for.
  for (int field = 5; field <= 13; ++field) {
    fields >> ignored;
  }
  for (int field = 14; field <= 17; ++field) {
    double ticks = 0;
    fields >> ticks;
    process.ticks += ticks;
  }
  return !fields.fail();
}

std::map<pid_t, Process> readProcesses() {
  std::map<pid_t, Process> processes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    Process process;
    if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size() &&
        readProcess(entry.path() / "stat", process)) {
      processes[pid] = process;
    }
  }
  return processes;
}

}  // namespace

double cpuMicrosecondsOfTree(pid_t root) {
  const std::map<pid_t, Process> processes = readProcesses();
  std::set<pid_t> tree = {root};
  for (std::size_t before = 0; before != tree.size();) {
    before = tree.size();
    for (const auto& [pid, process] : processes) {
      if (tree.contains(process.parent)) {
        tree.insert(pid);
      }
    }
  }
  double ticks = 0;
  for (const pid_t pid : tree) {
    if (const auto found = processes.find(pid); found != processes.end()) {
      ticks += found->second.ticks;
    }
  }
  return ticks * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace ackbox::bench::peers
