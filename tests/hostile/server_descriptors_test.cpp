// Goal: who takes all of a process's descriptors keeps nobody out, and leaves some to the rest of the process. Method:
// this process may have few descriptors, and strangers in another take them by connections; then an honest request on a
// new connection. On the default server, on a context's thread and on a pool. tests/HOSTILE.md
// is made of the names.

#include <doctest/doctest.h>

#include <string>

#include "hostile/crowd.hpp"
#include "hostile/descriptor_limit.hpp"
#include "hostile/target.hpp"
#include "support/resource_limit.hpp"

namespace ackbox::testing::server_descriptors_test {
namespace {

constexpr rlim_t kUsualLimit = 1024;
constexpr const char* kFrames = "application/cloudevents+json";

TEST_CASE("hostile: 1,100 idle connections at the usual limit of 1,024 descriptors: others are served, some are left") {
  for (const RunsOn runsOn : kEveryRunsOn) {
    CAPTURE(static_cast<int>(runsOn));
    Crowd strangers;
    const ResourceLimit usual(RLIMIT_NOFILE, kUsualLimit);
    Target bob({}, {}, runsOn);
    strangers.connect(bob.port(), 1100);
    CHECK(bob.servesAlice());
    CHECK(
        hasStatus(strangers.ask(bob.port(), signedRequest(malloryFrame("a"), kFrames, "Connection: close\r\n")), 200));
    // For the sender, the database and the application.
    CHECK(openDescriptors() <= kUsualLimit - 200);
  }
}

TEST_CASE("hostile: descriptors that run out below the limit of connections: the oldest idler gives way, at once") {
  for (const RunsOn runsOn : kEveryRunsOn) {
    CAPTURE(static_cast<int>(runsOn));
    Crowd strangers;
    Target bob({}, {}, runsOn);
    strangers.connect(bob.port(), 40);
    // All that were before her are in by now.
    CHECK(bob.servesAlice());
    // Four of those who are in have to go before anybody comes in.
    const DescriptorLimit fewer(openDescriptors() - 4);
    for (int count = 0; count < 10; ++count) {
      const std::string request = signedRequest(malloryFrame(std::to_string(count)), kFrames, "Connection: close\r\n");
      CHECK(hasStatus(strangers.ask(bob.port(), request), 200));
    }
    CHECK(fewer.failures() >= 4);
  }
}

}  // namespace
}  // namespace ackbox::testing::server_descriptors_test
