// Goal: whatever a parser makes of one connection's bytes, it is the end of that connection and of nothing else.
// Method: complete headers and trailers around the sizes at which a field's length no longer fits in 16 bits, on raw
// connections to an agent whose server runs on its own thread, on a context of the application's and on a pool of
// threads; after each, alice's frame is acknowledged. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hostile/target.hpp"

namespace ackbox::testing::server_parser_test {
namespace {

constexpr std::size_t kFieldBytes[] = {60'000, 65'000, 65'530, 65'533, 65'536, 66'000, 80'000};
const std::string kHead = "POST /inbox HTTP/1.1\r\nHost: here\r\n";

/// Each of these gets `status`, or nothing where the connection was cut in the middle of what it sent.
void allEnd(int status, const std::vector<std::string>& attacks) {
  for (const RunsOn runsOn : kEveryRunsOn) {
    CAPTURE(static_cast<int>(runsOn));
    Target bob({}, {}, runsOn);
    for (const std::string& attack : attacks) {
      CAPTURE(attack.size());
      const std::string got = bob.ask(attack);
      CHECK((got.empty() || hasStatus(got, status)));
      CHECK(bob.servesAlice());
    }
    CHECK(bob.mallorys() == 0);
  }
}

TEST_CASE("hostile: a complete trailer of 60,000 to 80,000 bytes, on whatever runs the server: 431, and others go on") {
  std::vector<std::string> attacks;
  for (const std::size_t bytes : kFieldBytes) {
    attacks.push_back(kHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: " + std::string(bytes, 'x') + "\r\n\r\n");
    attacks.push_back(kHead + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + std::string(bytes, 'A') +
                      ": x\r\n\r\n");
  }
  allEnd(431, attacks);
}

TEST_CASE("hostile: a complete header of 60,000 to 80,000 bytes, on whatever runs the server: 431, and others go on") {
  std::vector<std::string> attacks;
  for (const std::size_t bytes : kFieldBytes) {
    attacks.push_back(kHead + "A: " + std::string(bytes, 'x') + "\r\n\r\n");
    attacks.push_back(kHead + std::string(bytes, 'A') + ": x\r\n\r\n");
  }
  allEnd(431, attacks);
}

}  // namespace
}  // namespace ackbox::testing::server_parser_test
