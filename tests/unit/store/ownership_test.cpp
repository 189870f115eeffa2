// Goal: P7, the kernel's locks on the owners' file show which processes live, by whatever name they came to it.
// Method: several holders and stores on one file. What follows from a death, `store_conformance` tries.

#include <doctest/doctest.h>

#include "delivery/types.hpp"
#include "store_world.hpp"

namespace ownership_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;

TEST_CASE("row 23, defect 9: kernel locks show other owners' lives in one process too, and end with their holder") {
  const TempDir directory;
  const auto sidecar = directory.file("owners");
  auto first = store::sqlite::kernelLiveness(sidecar);
  const auto second = store::sqlite::kernelLiveness(sidecar);
  first->hold(7);
  second->hold(8);
  CHECK(second->alive(7));
  CHECK(first->alive(8));
  CHECK_FALSE(first->alive(9));
  first.reset();
  CHECK_FALSE(second->alive(7));
  CHECK(std::filesystem::exists(sidecar));
  CHECK(std::filesystem::file_size(sidecar) == 0);
}

TEST_CASE("P7: an owner that came by a symbolic link lives for those that came by the file's own name") {
  StoreWorld world;
  const auto first = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto reply = claimNew(*first);
  const delivery::SessionClaim wanted{reply.sessions.at(0).session, {reply.sessions.at(0).rows.at(0).key}};
  std::filesystem::create_symlink(world.file, world.directory.file("alias.db"));
  world.file = world.directory.file("alias.db");
  const auto second = world.open();
  CHECK(claimOf(*second, wanted).sessions.at(0).status == ClaimStatus::busy);
}

TEST_CASE("prefixes that differ in case alone are one outbox, and share the owners' file") {
  StoreWorld world;
  world.options.tablePrefix = "AZ_";
  const auto store = world.open();
  CHECK(std::filesystem::exists(world.file.string() + "-ackbox-owners-az_"));
}

}  // namespace ownership_test
