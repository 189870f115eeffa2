// Goal: a store learns of the messages that a job is about to store, and of no others.
// Method: the works of jobs, asked without a store.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "manager/facade/enqueue.hpp"
#include "manager/facade/jobs.hpp"

namespace ackbox::frames_to_store_test {

TEST_CASE("frames that passed their check are announced, and refused ones are not") {
  std::vector<Frame> frames(3);
  frames[1].data = "no JSON";
  const OutboxOptions options;
  for (Frame& frame : frames) {
    frame.type = "test";
  }
  const std::vector<EnqueueReceipt> checked = manager::checkFrames(frames, options);
  std::vector<const Frame*> announced;
  manager::announceOf(manager::FramesToStore{frames, checked}, announced);
  CHECK(announced == std::vector<const Frame*>{&frames[0], &frames[2]});
}

TEST_CASE("a job announces its own frame, and work that knows none announces none") {
  const manager::FrameToStore work{Frame{}};
  std::vector<const Frame*> announced;
  manager::announceOf(work, announced);
  CHECK(announced == std::vector<const Frame*>{&work.frame});
  manager::announceOf([](store::Store&) { return 0; }, announced);
  CHECK(announced.size() == 1);
}

}  // namespace ackbox::frames_to_store_test
