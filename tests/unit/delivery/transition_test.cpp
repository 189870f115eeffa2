// Goal: the transition table is exactly the design's: every legal pair leads where it should, every other is illegal.
// Method: all (state, transition) pairs are named in a table of their own and compared one by one.

#include "delivery/transition.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ackbox::delivery::transition_test {
namespace {

struct Pair {
  MessageState from;
  Transition transition;
  Next to;
};

using enum MessageState;
constexpr Next kIllegal = Next::illegal;

constexpr Pair kTable[] = {
    {pending, Transition::claim, Next::sending},
    {pending, Transition::ack, Next::acked},
    {pending, Transition::defer, kIllegal},
    {pending, Transition::retry, kIllegal},
    {pending, Transition::release, kIllegal},
    {pending, Transition::fail, Next::failed},
    {pending, Transition::redrive, kIllegal},
    {pending, Transition::discard, kIllegal},

    {sending, Transition::claim, kIllegal},
    {sending, Transition::ack, Next::acked},
    {sending, Transition::defer, Next::sent},
    {sending, Transition::retry, Next::pending},
    {sending, Transition::release, Next::pending},
    {sending, Transition::fail, Next::failed},
    {sending, Transition::redrive, kIllegal},
    {sending, Transition::discard, kIllegal},

    {sent, Transition::claim, kIllegal},
    {sent, Transition::ack, Next::acked},
    {sent, Transition::defer, kIllegal},
    {sent, Transition::retry, Next::pending},
    {sent, Transition::release, Next::pending},
    {sent, Transition::fail, Next::failed},
    {sent, Transition::redrive, kIllegal},
    {sent, Transition::discard, kIllegal},

    {acked, Transition::claim, kIllegal},
    {acked, Transition::ack, kIllegal},
    {acked, Transition::defer, kIllegal},
    {acked, Transition::retry, kIllegal},
    {acked, Transition::release, kIllegal},
    {acked, Transition::fail, kIllegal},
    {acked, Transition::redrive, kIllegal},
    {acked, Transition::discard, kIllegal},

    {failed, Transition::claim, kIllegal},
    {failed, Transition::ack, kIllegal},
    {failed, Transition::defer, kIllegal},
    {failed, Transition::retry, kIllegal},
    {failed, Transition::release, kIllegal},
    {failed, Transition::fail, kIllegal},
    {failed, Transition::redrive, Next::pending},
    {failed, Transition::discard, Next::gone},

    // A peer that has forgotten what it acknowledged.
    {pending, Transition::resend, kIllegal},
    {sending, Transition::resend, kIllegal},
    {sent, Transition::resend, kIllegal},
    {acked, Transition::resend, Next::pending},
    {failed, Transition::resend, kIllegal},

    // An operator sends an acknowledged message once more.
    {pending, Transition::repeat, kIllegal},
    {sending, Transition::repeat, kIllegal},
    {sent, Transition::repeat, kIllegal},
    {acked, Transition::repeat, Next::pending},
    {failed, Transition::repeat, kIllegal},
};
static_assert(std::size(kTable) == 5U * 10U);

TEST_CASE("row 23: every pair of state and transition leads where the design says, and nowhere else") {
  for (const Pair& pair : kTable) {
    const std::string name =
        std::string(ackbox::toString(pair.from)) + " -" + std::string(toString(pair.transition)) + "->";
    CAPTURE(name);
    CHECK((next(pair.from, pair.transition) == pair.to));
  }
}

TEST_CASE("A value outside the enums is illegal, not undefined") {
  CHECK((next(static_cast<MessageState>(9), Transition::claim) == Next::illegal));
  CHECK((next(pending, static_cast<Transition>(15)) == Next::illegal));
  CHECK((next(pending, static_cast<Transition>(200)) == Next::illegal));
}

TEST_CASE("Each transition has a name of its own") {
  CHECK((toString(Transition::claim) == "claim"));
  CHECK((toString(Transition::release) == "release"));
  CHECK((toString(Transition::discard) == "discard"));
  CHECK((toString(Transition::resend) == "resend"));
  CHECK((toString(Transition::repeat) == "repeat"));
  CHECK((toString(static_cast<Transition>(99)) == "unknown"));
}

}  // namespace
}  // namespace ackbox::delivery::transition_test
