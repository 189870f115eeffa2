#include "serve/oauth/token_machine.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// RFC 6749, 5.1: a server that says no lifetime documents it elsewhere. Most give an hour.
constexpr seconds kUsualLifetime{300};
constexpr seconds kLeastLifetime{1};
constexpr seconds kMostLifetime = std::chrono::hours(24);
// A request that leaves now arrives with a token that is valid there, also if the clocks' rates differ.
constexpr seconds kEarly{30};
constexpr minutes kGiveUpEvery{1};

struct Pauses {
  milliseconds first;
  milliseconds most;
};
constexpr Pauses kOutage{seconds(1), minutes(1)};
constexpr Pauses kRefusal{seconds(10), minutes(5)};
constexpr unsigned kDoublingsMost = 10;

}  // namespace

TokenMachine::Step TokenMachine::asked(SteadyTime now) {
  if (number_ > 0 && now < renewAt_) {
    return Step::use;
  }
  if (isFetching_) {
    return Step::wait;
  }
  if (now < retryAt_) {
    return isValid(now) ? Step::use : Step::refuse;
  }
  isFetching_ = true;
  return Step::fetch;
}

void TokenMachine::fetched(std::optional<seconds> lifetime, SteadyTime now) {
  const seconds counted = std::clamp(lifetime.value_or(kUsualLifetime), kLeastLifetime, kMostLifetime);
  isFetching_ = false;
  ++number_;
  expiresAt_ = now + counted;
  renewAt_ = expiresAt_ - std::min<milliseconds>(kEarly, milliseconds(counted) / 4);
  failures_ = 0;
  retryAt_ = now;
  cause_.clear();
}

void TokenMachine::failed(std::string cause, bool isRefusal, std::optional<milliseconds> retryAfter, SteadyTime now) {
  const Pauses& pauses = isRefusal ? kRefusal : kOutage;
  const milliseconds own = std::min(pauses.most, pauses.first * (1U << std::min(failures_, kDoublingsMost)));
  isFetching_ = false;
  ++failures_;
  retryAt_ = now + std::max(own, std::min<milliseconds>(retryAfter.value_or(own), kRefusal.most));
  cause_ = std::move(cause);
}

bool TokenMachine::refused(std::uint64_t number, SteadyTime now) {
  if (number != number_) {
    return true;
  }
  if (givenUpAt_ && now < *givenUpAt_ + kGiveUpEvery) {
    return false;
  }
  givenUpAt_ = now;
  renewAt_ = now;
  expiresAt_ = now;
  return true;
}

milliseconds TokenMachine::pause(SteadyTime now) const noexcept {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(retryAt_ - now));
}

}  // namespace ackbox::serve
