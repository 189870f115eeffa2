// Goal: what the README shows is what is compiled and tested, and what it points at exists.
// Method: read the README as text; look for the example's text and for the files behind its links.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test {
namespace {

std::string contentsOf(const std::filesystem::path& file) {
  std::ifstream stream(sourceRoot() / file);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What the README has to show of an example: what stands between its marks, without the indentation of the first line;
/// empty: there are no marks.
std::string quoteOf(const std::string& example) {
  const std::string begin = "// [quote]\n";
  const std::size_t start = example.find(begin);
  const std::size_t end = example.find("// [end quote]");
  if (start == std::string::npos || end == std::string::npos) {
    return {};
  }
  std::istringstream lines(example.substr(start + begin.size(), example.rfind('\n', end) + 1 - start - begin.size()));
  const std::string margin(start - (example.rfind('\n', start) + 1), ' ');
  std::string quote;
  for (std::string line; std::getline(lines, line);) {
    quote += (line.starts_with(margin) ? line.substr(margin.size()) : line) + '\n';
  }
  return quote;
}

}  // namespace

TEST_CASE("the README points at each numbered example, and quotes letter by letter what is marked in it") {
  const std::string readme = contentsOf("README.md");
  const std::regex numbered("examples/[0-9]{2}_[a-z_]+/main\\.cpp");
  std::size_t examples = 0;
  std::size_t quotes = 0;
  for (const std::string& file : sourceFiles({"examples"}, {"main.cpp"})) {
    if (!std::regex_match(file, numbered)) {
      continue;
    }
    ++examples;
    CHECK_MESSAGE(readme.find("(" + file + ")") != std::string::npos, file << " is not linked");
    // The first one is short, and shown as a whole.
    const std::string example = contentsOf(file);
    const std::string quote = examples == 1 ? example : quoteOf(example);
    quotes += quote.empty() ? 0U : 1U;
    CHECK_MESSAGE((quote.empty() || readme.find("```cpp\n" + quote + "```\n") != std::string::npos),
                  file << " is not quoted as it is");
  }
  CHECK(examples == 17);
  CHECK(quotes == 3);
}

TEST_CASE("the README and ARCHITECTURE.md point at files that exist") {
  for (const char* document : {"README.md", "ARCHITECTURE.md"}) {
    const std::string text = contentsOf(document);
    const std::regex link(R"(\]\(([^)#: ]+)\))");
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
      CAPTURE(document);
      CAPTURE((*found)[1].str());
      CHECK(std::filesystem::exists(sourceRoot() / (*found)[1].str()));
    }
  }
}

}  // namespace ackbox::test
