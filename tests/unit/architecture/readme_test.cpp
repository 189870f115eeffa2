// Goal: what the README shows is what is compiled and tested, and what it points at exists.
// Method: read the README as text; look for the example's text and for the files behind its links.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test {
namespace {

std::string contentsOf(const std::filesystem::path& file) {
  std::ifstream stream(sourceRoot() / file);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("the README quotes the embedding example letter by letter") {
  const std::string example = contentsOf("examples/embed/embed.cpp");
  CHECK(contentsOf("README.md").find("```cpp\n" + example + "```\n") != std::string::npos);
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
