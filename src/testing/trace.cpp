#include "testing/trace.hpp"

#include <array>
#include <cstdio>

namespace ackbox::testing {
namespace {

// Names of processes are short; the events are aligned after two names.
constexpr std::size_t kNamesWidth = 18;

}  // namespace

void Trace::add(std::string_view process, std::string_view event) {
  if (!isOn()) {
    return;
  }
  std::array<char, 32> instant{};
  std::snprintf(instant.data(), instant.size(), "%10.3f s  ", std::chrono::duration<double>(now_).count());
  std::string line = instant.data() + std::string(process);
  line.append(process.size() < kNamesWidth ? kNamesWidth - process.size() : 1, ' ');
  lines_.push_back(line.append(event));
  if (lines_.size() > linesMax_) {
    lines_.pop_front();
    ++left_;
  }
}

void Trace::add(std::string_view from, std::string_view to, std::string_view event) {
  if (isOn()) {
    add(std::string(from).append(" -> ").append(to), event);
  }
}

std::string Trace::text() const {
  std::string text = left_ == 0 ? "" : "(" + std::to_string(left_) + " earlier events are left out)\n";
  for (const std::string& line : lines_) {
    text.append(line).append("\n");
  }
  return text;
}

}  // namespace ackbox::testing
