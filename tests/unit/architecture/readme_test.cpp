// Goal: what the README and docs/testing.md show is what is compiled and tested, and what it points at exists.
// Method: read them as text; look for the example's text and for the files behind its links.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::readme_test {
namespace {

std::string contentsOf(const std::filesystem::path& file) {
  std::ifstream stream(sourceRoot() / file);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What a document has to show of an example: each part between its marks, without the indentation of the mark.
std::vector<std::string> quotesOf(const std::string& example, const std::string& mark,
                                  const std::string& comment = "// ") {
  const std::string begin = comment + "[" + mark + "]\n";
  std::vector<std::string> quotes;
  for (std::size_t start = example.find(begin); start != std::string::npos; start = example.find(begin, start + 1)) {
    const std::size_t end = example.find(comment + "[end " + mark + "]", start);
    REQUIRE(end != std::string::npos);
    std::istringstream lines(example.substr(start + begin.size(), example.rfind('\n', end) + 1 - start - begin.size()));
    const std::string margin(start - (example.rfind('\n', start) + 1), ' ');
    std::string& quote = quotes.emplace_back();
    for (std::string line; std::getline(lines, line);) {
      quote += (line.starts_with(margin) ? line.substr(margin.size()) : line) + '\n';
    }
  }
  return quotes;
}

bool shows(const std::string& document, const std::string& quote, const std::string& language = "cpp") {
  return document.find("```" + language + "\n" + quote + "```\n") != std::string::npos;
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
    for (const std::string& quote : examples == 1 ? std::vector{example} : quotesOf(example, "quote")) {
      ++quotes;
      CHECK_MESSAGE(shows(readme, quote), file << " is not quoted as it is");
    }
  }
  CHECK(examples == 19);
  CHECK(quotes == 3);
}

TEST_CASE("the README points at the examples in other languages, and quotes what is marked in the first of them") {
  const std::string readme = contentsOf("README.md");
  for (const std::string& file : sourceFiles({"examples"}, {"main.py", "main.mjs"})) {
    CHECK_MESSAGE(readme.find("(" + file + ")") != std::string::npos, file << " is not linked");
  }
  const auto quotes = quotesOf(contentsOf("examples/19_python_agent/main.py"), "quote", "# ");
  CHECK(quotes.size() == 1);
  for (const std::string& quote : quotes) {
    CHECK_MESSAGE(shows(readme, quote, "python"), quote);
  }
}

TEST_CASE("docs/testing.md quotes its example letter by letter") {
  const std::string document = contentsOf("docs/testing.md");
  const auto quotes = quotesOf(contentsOf("examples/18_checked_handler/main.cpp"), "quote docs/testing.md");
  CHECK(quotes.size() == 2);
  for (const std::string& quote : quotes) {
    CHECK_MESSAGE(shows(document, quote), quote);
  }
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

}  // namespace ackbox::test::readme_test
