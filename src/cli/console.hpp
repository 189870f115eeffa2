#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"
#include "cli/table.hpp"
#include "cli/tool.hpp"
#include "json/line.hpp"

namespace ackbox::cli {

/// Where a command's output goes, in the form that was asked for.
class Console {
public:
  Console(const World& world, const Arguments& arguments) : world_(world), json_(arguments.json) {}

  /// Whether `--json` was given: then only `line` prints to standard output.
  [[nodiscard]] bool json() const noexcept { return json_; }
  [[nodiscard]] const World& world() const noexcept { return world_; }
  [[nodiscard]] WallTime now() const { return world_.clock->wallNow(); }

  void line(const json::Line& object) { line(object.text()); }
  /// JSON on one line, without a line's end.
  void line(std::string_view json) { world_.out << json << '\n'; }
  void table(const Table& table);
  /// For people; escaped.
  void say(std::string_view sentence);
  /// For people, on standard error, so that it does not mix with what is piped on; escaped.
  void remark(std::string_view sentence);
  /// On standard error: a sentence, or with `--json` an object. Returns `code`.
  int fail(int code, std::string_view message);

  /// The same with sentences on lines of their own.
  int failOver(int code, std::string_view lines);

  /// `text` in bold, if colours are wanted.
  [[nodiscard]] std::string bold(const std::string& text) const;

private:
  [[nodiscard]] bool colors() const noexcept { return world_.outIsTerminal && !world_.noColor; }

  const World& world_;
  const bool json_;
};

}  // namespace ackbox::cli
