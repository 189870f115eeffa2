#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "store_conformance/messages.hpp"

namespace ackbox::testing {

struct FailedMessage {
  const char* id;
  const char* session;
};

/// A store whose messages have all failed.
template <typename World>
struct FailedMessages {
  explicit FailedMessages(std::initializer_list<FailedMessage> messages) : store(world.open()) {
    for (const auto [id, session] : messages) {
      enqueueOne(*store, frameOf(session, R"({"of":")" + std::string(id) + "\"}", id));
    }
    settleAll(*store, delivery::Transition::fail, "rejected");
  }

  World world;
  decltype(std::declval<World&>().open()) store;
};

}  // namespace ackbox::testing
