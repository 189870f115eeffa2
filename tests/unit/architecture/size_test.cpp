// Goal: a file is short enough to have one idea, and a function to be seen at once. Method: count the lines of each
// file of include/ and src/, and of each function in it.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::size_test {
namespace {

constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kFunctionLinesMax = 60;

/// A function's body, from the line that opens it to the one that closes it.
struct Function {
  SourceLine head;
  std::size_t lines = 0;
};

/// Finds functions in text as clang-format lays it out, by indentation: a declaration begins at the indentation of its
/// scope, its body where a line ends in a brace, and it ends in a line that is a brace alone at the indentation where
/// it began.
///
/// Not seen: a function whose body is on the line of its head, which is short; what macros make. A lambda counts as
/// part of the function around it, and one in a constructor's initializers as the constructor's body. Tables and raw
/// strings are not functions.
class FunctionFinder {
public:
  void read(const SourceLine& line) {
    if (isInRawString(line.text)) {
      return;
    }
    const std::string_view text = withoutComment(line.text);
    const std::size_t indentation = text.find_first_not_of(' ');
    if (indentation == std::string_view::npos || text[indentation] == '#' || text.ends_with(':')) {
      return;
    }
    const std::string_view words = text.substr(indentation);
    if (body_ && indentation == scope() && words.starts_with('}')) {
      if (words == "}") {
        found_.push_back({*body_, line.number - body_->number + 1});
      }
      body_.reset();
      return;
    }
    if (body_ && indentation > scope()) {
      return;
    }
    // A constructor whose initializers have the only braces has ended with its last line.
    body_.reset();
    if (words.starts_with('}') && !scopes_.empty()) {
      scopes_.pop_back();
      return;
    }
    if (indentation == scope()) {
      isScope_ = beginsScope(words);
      isNamespace_ = words.starts_with("namespace") || words.starts_with("inline namespace");
    }
    if (text.ends_with('{') && isScope_) {
      scopes_.push_back(isNamespace_ ? scope() : scope() + 2);
    } else if (text.ends_with('{')) {
      body_ = line;
    }
  }

  [[nodiscard]] const std::vector<Function>& found() const { return found_; }
  /// Whether the scanner has kept its place: every scope was closed.
  [[nodiscard]] bool isAtEnd() const { return scopes_.empty() && !body_; }

private:
  [[nodiscard]] std::size_t scope() const { return scopes_.empty() ? 0 : scopes_.back(); }

  static bool beginsScope(std::string_view words) {
    constexpr std::string_view kKinds[] = {"namespace ", "inline namespace ", "class ", "struct ", "enum ",
                                           "union ",     "extern \"C\""};
    return std::ranges::any_of(kKinds, [&](std::string_view kind) { return words.starts_with(kind); });
  }

  static std::string_view withoutComment(std::string_view text) {
    const std::size_t words = text.find_first_not_of(' ');
    const bool isComment = words != std::string_view::npos && text.substr(words).starts_with("//");
    text = text.substr(0, isComment ? 0 : std::min(text.find("  // "), text.size()));
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

  /// Whether the line begins in a raw string.
  bool isInRawString(std::string_view text) {
    const bool isInside = !rawEnd_.empty();
    const std::size_t open = isInside ? 0 : rawBegin(text);
    if (open == std::string_view::npos) {
      return false;
    }
    if (!isInside) {
      rawEnd_ = ")" + std::string(text.substr(open, text.find('(', open) - open)) + "\"";
    }
    if (text.find(rawEnd_, open) != std::string_view::npos) {
      rawEnd_.clear();
    }
    return isInside;
  }

  /// Behind the quote that begins a raw string: no letter stands before its `R`.
  static std::size_t rawBegin(std::string_view text) {
    for (std::size_t place = text.find("R\""); place != std::string_view::npos; place = text.find("R\"", place + 1)) {
      if (place == 0 || std::string_view(" (,{=").find(text[place - 1]) != std::string_view::npos) {
        return place + 2;
      }
    }
    return std::string_view::npos;
  }

  // The indentations of what stands in the scopes that are open.
  std::vector<std::size_t> scopes_;
  // Of the declaration that was begun last.
  bool isScope_ = false;
  bool isNamespace_ = false;
  std::optional<SourceLine> body_;
  std::string rawEnd_;
  std::vector<Function> found_;
};

std::vector<Function> functionsOf(const std::vector<SourceLine>& lines) {
  FunctionFinder finder;
  for (const SourceLine& line : lines) {
    finder.read(line);
  }
  CHECK_MESSAGE(finder.isAtEnd(), (lines.empty() ? "" : lines.front().file) << ": a scope stays open for this test");
  return finder.found();
}

std::vector<std::string> tooLong(const std::string& file) {
  const std::vector<SourceLine> lines = readLines(file);
  std::vector<std::string> found;
  if (lines.size() > kFileLinesMax) {
    found.push_back(file + " has " + std::to_string(lines.size()) + " lines, more than " +
                    std::to_string(kFileLinesMax) + ": give each of its ideas a file");
  }
  for (const Function& function : functionsOf(lines)) {
    if (function.lines > kFunctionLinesMax) {
      found.push_back(describe(function.head) + "\nthe function has " + std::to_string(function.lines) +
                      " lines, more than " + std::to_string(kFunctionLinesMax) + ": name its steps");
    }
  }
  return found;
}

}  // namespace

TEST_CASE("no file has more than 500 lines, and no function more than 60") {
  for (const std::string& file : sourceFiles({"include", "src"}, {".hpp", ".cpp"})) {
    for (const std::string& what : tooLong(file)) {
      CHECK_MESSAGE(false, what);
    }
  }
}

TEST_CASE("a function is found whatever stands around and in it") {
  const std::vector<std::string_view> text = {
      "namespace a {",
      "namespace {",
      "constexpr int kTable[] = {",
      "    1,",
      "};",
      "template <typename T>",
      "void wrapped(int one,",
      "             int two) {  // why",
      "  if (one) {",
      "    two();",
      "  }",
      "}",
      "}  // namespace",
      "class B final : public C {",
      "public:",
      "  B() : c_([] {",
      "          return 1;",
      "        }) {}",
      "  void member() {",
      "    const char* text = R\"sql(",
      "}",
      ")sql\";",
      "    use([&] {",
      "      text();",
      "    });",
      "  }",
      "  int short() { return 1; }",
      "};",
      "}  // namespace a",
  };
  std::vector<SourceLine> lines;
  for (const std::string_view line : text) {
    lines.push_back({"text", lines.size() + 1, std::string(line)});
  }
  const std::vector<Function> found = functionsOf(lines);
  REQUIRE(found.size() == 2);
  CHECK(found[0].head.number == 8);
  CHECK(found[0].lines == 5);
  CHECK(found[1].head.number == 19);
  CHECK(found[1].lines == 8);
}

TEST_CASE("most functions of the library are found") {
  std::size_t functions = 0;
  for (const std::string& file : sourceFiles({"include", "src"}, {".hpp", ".cpp"})) {
    functions += functionsOf(readLines(file)).size();
  }
  CHECK(functions > 3'000);
}

}  // namespace ackbox::test::size_test
