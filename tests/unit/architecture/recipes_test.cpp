// Goal: the recipes for other package managers, which no test runs, agree with what the project is built by.
// Method: compare options, dependencies and version with those of CMakeLists.txt.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::recipes_test {
namespace {

std::string textOf(const std::string& file) {
  std::ifstream stream(sourceRoot() / file);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The first group of each match.
std::set<std::string> all(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1].str());
  }
  return found;
}

}  // namespace

TEST_CASE("the recipes of vcpkg and Conan turn off each part that only the project itself builds") {
  const std::set<std::string> parts =
      all(textOf("CMakeLists.txt"), R"(option\((ACKBOX_\w+) [^)]*PROJECT_IS_TOP_LEVEL)");
  CHECK(parts.size() >= 5);
  CHECK(all(textOf("cmake/vcpkg/ackbox/portfile.cmake"), R"(-D(ACKBOX_\w+)=OFF)") == parts);
  CHECK(all(textOf("cmake/conan/conanfile.py"), R"re("(ACKBOX_\w+)": "OFF")re") == parts);
}

TEST_CASE("Conan's recipe exports all that is installed") {
  const std::set<std::string> exported = all(textOf("cmake/conan/conanfile.py"), R"re("([\w.]+)(?:/\*)?"[,)])re");
  const std::set<std::string> installed = all(textOf("cmake/install.cmake"), R"(PROJECT_SOURCE_DIR\}/(\w+))");
  CHECK(installed.size() >= 3);
  for (const std::string& one : installed) {
    CHECK_MESSAGE(exported.contains(one), one);
  }
}

TEST_CASE("each client has the licence, which its package contains") {
  const std::string licence = textOf("LICENSE");
  for (const std::string language : {"go", "python", "typescript"}) {
    CHECK(textOf("clients/" + language + "/LICENSE") == licence);
  }
}

TEST_CASE("the recipes of vcpkg and Conan require each package that CMake looks for, and name its version") {
  const auto port = nlohmann::json::parse(textOf("cmake/vcpkg/ackbox/vcpkg.json"));
  CHECK(port.at("version") == ACKBOX_PROJECT_VERSION);
  const std::string lists = textOf("CMakeLists.txt");
  // Names and oldest versions as Conan has them: boost/[>=1.81
  std::set<std::string> wanted;
  const std::regex package(R"re(find_package\((\w+) ([0-9.]+) REQUIRED\))re");
  for (std::sregex_iterator found(lists.begin(), lists.end(), package), end; found != end; ++found) {
    std::string name = (*found)[1].str();
    for (char& letter : name) {
      letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    wanted.insert(name + "/[>=" + (*found)[2].str());
    const std::string ported = name == "boost" ? "boost-beast" : std::regex_replace(name, std::regex("_"), "-");
    const auto& required = port.at("dependencies");
    CHECK_MESSAGE(std::ranges::find(required, nlohmann::json(ported)) != required.end(), ported);
  }
  CHECK(all(textOf("cmake/conan/conanfile.py"), R"re("(\w+/\[>=[0-9.]+) <)re") == wanted);
}

}  // namespace ackbox::test::recipes_test
