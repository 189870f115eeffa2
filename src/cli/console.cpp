#include "cli/console.hpp"

#include "cli/text.hpp"

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
    world_.err << JsonLine().add("error", message).add("exit_code", code).text() << '\n';
  } else {
    remark("ackbox: " + std::string(message));
  }
  return code;
}

std::string Console::bold(const std::string& text) const {
  return colors() ? kBold + text + kPlain : text;
}

}  // namespace ackbox::cli
