#include "cli/console.hpp"

#include <algorithm>

#include "ackbox/visible.hpp"

namespace ackbox::cli {
namespace {

constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

}  // namespace

void Console::table(const Table& table) {
  world_.out << (colors() ? table.text(kBold, kPlain) : table.text());
}

void Console::say(std::string_view sentence) {
  world_.out << visible(sentence) << '\n';
}

void Console::remark(std::string_view sentence) {
  world_.err << visible(sentence) << '\n';
}

int Console::fail(int code, std::string_view message) {
  if (json_) {
    world_.err << json::Line().add("error", message).add("exit_code", code).text() << '\n';
  } else {
    remark("ackbox: " + std::string(message));
  }
  return code;
}

int Console::failOver(int code, std::string_view lines) {
  const std::size_t end = lines.find('\n');
  if (json_ || end == std::string_view::npos) {
    return fail(code, lines);
  }
  fail(code, lines.substr(0, end));
  for (lines.remove_prefix(end + 1); !lines.empty();) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    remark(line);
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return code;
}

std::string Console::bold(const std::string& text) const {
  return colors() ? kBold + text + kPlain : text;
}

}  // namespace ackbox::cli
