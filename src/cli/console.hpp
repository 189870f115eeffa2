#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"
#include "cli/table.hpp"
#include "cli/tool.hpp"
#include "json/line.hpp"

namespace ackbox::cli {

/// Writes a command's output, as text or as JSON.
class Console {
public:
  Console(const World& world, const Arguments& arguments) : world_(world), json_(arguments.json) {}

  /// Whether `--json` was given: standard output then carries only what `line` prints.
  [[nodiscard]] bool json() const noexcept { return json_; }
  [[nodiscard]] const World& world() const noexcept { return world_; }
  [[nodiscard]] WallTime now() const { return world_.clock->wallNow(); }

  void line(const json::Line& object) { line(object.text()); }
  /// Prints one line of JSON. `json` must not end with a line break.
  void line(std::string_view json) { world_.out << json << '\n'; }
  void table(const Table& table);
  /// Prints a sentence for people; escapes it.
  void say(std::string_view sentence);
  /// Prints a sentence for people to standard error, which keeps it out of a pipe; escapes it.
  void remark(std::string_view sentence);
  /// Prints a sentence, or with `--json` an object, to standard error. Returns `code`.
  int fail(int code, std::string_view message);

  /// Like `fail`, with each sentence on its own line.
  int failOver(int code, std::string_view lines);

  /// `text` in bold, if colours are wanted.
  [[nodiscard]] std::string bold(const std::string& text) const;

private:
  [[nodiscard]] bool colors() const noexcept { return world_.outIsTerminal && !world_.noColor; }

  const World& world_;
  const bool json_;
};

}  // namespace ackbox::cli
