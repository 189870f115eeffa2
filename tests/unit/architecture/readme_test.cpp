// Goal: what the README and the documents show is what is compiled and tested, and what they point at exists.
// Method: read them as text; look for the example's text and for the files behind its links.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
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

/// The README and the documents that it leads to, with the links as they are from the README.
std::string documents() {
  std::string all = contentsOf("README.md");
  for (const char* file : {"docs/cpp.md", "docs/clients.md"}) {
    all += std::regex_replace(contentsOf(file), std::regex(R"(\]\(\.\./)"), "](");
  }
  return all;
}

/// `## What is promised` is reached as `#what-is-promised`.
std::set<std::string> anchorsOf(const std::string& document) {
  std::set<std::string> anchors;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) {
      continue;
    }
    std::string anchor = "#";
    for (const char letter : line.substr(line.find_first_not_of("# "))) {
      const auto byte = static_cast<unsigned char>(letter);
      if (letter == ' ') {
        anchor += '-';
      } else if (std::isalnum(byte) != 0 || letter == '-' || letter == '_' || byte >= 0x80) {
        anchor += static_cast<char>(std::tolower(byte));
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

bool shows(const std::string& document, const std::string& quote, const std::string& language = "cpp") {
  return document.find("```" + language + "\n" + quote + "```\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the documents point at each numbered example, and quote letter by letter what is marked in it") {
  const std::string readme = documents();
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

TEST_CASE("the documents point at the examples in other languages, and quote what is marked in the first of them") {
  const std::string readme = documents();
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

TEST_CASE("each link of a document leads to a file, and to a heading of it") {
  std::vector<std::string> files = sourceFiles({"docs", "clients", "proto", "tests"}, {".md"});
  files.insert(files.end(), {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"});
  const std::regex link(R"(\]\(([^)#: ]*)(#[^) ]*)?\))");
  std::size_t links = 0;
  for (const std::string& file : files) {
    const std::string text = contentsOf(file);
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
      CAPTURE(file);
      CAPTURE(found->str());
      const std::string path = (*found)[1].str();
      const std::filesystem::path target =
          path.empty() ? std::filesystem::path(file) : std::filesystem::path(file).parent_path() / path;
      ++links;
      REQUIRE(std::filesystem::exists(sourceRoot() / target));
      if ((*found)[2].matched) {
        CHECK(anchorsOf(contentsOf(target)).contains((*found)[2].str()));
      }
    }
  }
  CHECK(links > 150);
}

TEST_CASE("the README is at most 150 lines long") {
  const std::string readme = contentsOf("README.md");
  CHECK(std::ranges::count(readme, '\n') <= 150);
}

}  // namespace ackbox::test::readme_test
