#pragma once

#include <string>
#include <utility>

#include "ackbox/frame.hpp"

namespace ackbox::testing {

/// A frame to the default peer, for tests in which only the session matters.
[[nodiscard]] inline Frame testFrame(std::string session) {
  Frame frame;
  frame.session = std::move(session);
  frame.type = "test.event";
  frame.data = "{}";
  return frame;
}

}  // namespace ackbox::testing
