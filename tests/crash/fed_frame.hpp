#pragma once

#include <cstdint>
#include <string>

#include "ledger.hpp"

namespace crash {

/// The `number`-th frame that is fed, counted from 1; the agent and the oracle compute it in the same way.
inline main_job::Entry fedFrame(std::int64_t number) {
  constexpr std::int64_t kSessions = 7;
  return {"session-" + std::to_string(number % kSessions), "{\"number\":" + std::to_string(number) + "}", {}};
}

}  // namespace crash
