// Goal: the statuses of ackbox.h below 100 are the codes of `Errc`, by name and number.
// Method: compare the numbers that the two headers give.

#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <regex>
#include <string>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::c_header_test {
namespace {

using Numbers = std::map<std::string, int>;

/// The numbers of the enumerators that `pattern` finds in a header, up to the end of ackbox.h's statuses.
Numbers numbersOf(const std::string& header, const std::string& pattern) {
  const std::regex enumerator(pattern);
  Numbers numbers;
  for (const SourceLine& line : readLines(header)) {
    if (line.text == "} ackbox_status;") {
      break;
    }
    if (std::smatch match; std::regex_match(line.text, match, enumerator)) {
      numbers[match[1].str()] = std::stoi(match[2].str());
    }
  }
  return numbers;
}

/// `diskFull` as `DISK_FULL`.
std::string inCapitals(const std::string& name) {
  std::string capitals;
  for (const char letter : name) {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0) {
      capitals += '_';
    }
    capitals += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return capitals;
}

}  // namespace

TEST_CASE("the statuses of ackbox.h below 100 are the codes of Errc") {
  Numbers codes;
  for (const auto& [name, number] : numbersOf("include/ackbox/error.hpp", R"(  ([a-z]\w*) = (\d+),)")) {
    codes[inCapitals(name)] = number;
  }
  CHECK(codes.size() >= 29);
  Numbers statuses = numbersOf("include/ackbox.h", R"(  ACKBOX_([A-Z_]+) = (\d{1,2}),)");
  CHECK(statuses.erase("OK") == 1);
  CHECK(statuses == codes);
}

}  // namespace ackbox::test::c_header_test
