#include "records/session.hpp"

#include <array>

namespace ackbox::records {
namespace {

constexpr std::array kSession{
    field<&SessionStats::peer>("peer", "The name of its peer.", {"", "PEER"}),
    field<&SessionStats::session>("session", "Its name.", {"", "SESSION"}),
    field<&SessionStats::live>("live", "Messages that are not settled.", {"", "LIVE"}),
    field<&SessionStats::failed>("failed", "Dead letters.", {"", "FAILED"}),
    field<&SessionStats::lastSequence>("last_sequence", "Of its newest message.", {"", "LAST"}),
    field<&SessionStats::acceptedSequence>("accepted_sequence",
                                           "Of the last message that the peer acknowledged or deferred; 0: none yet.",
                                           {"", "ACCEPTED"}),
    field<&SessionStats::inFlight>("in_flight", "A process has it in flight."),
    field<&SessionStats::dueAt>("due_at_ms", "Its head is not tried before; null: it waits for no time."),
    field<&SessionStats::pausedAt>("paused_at_ms", "null: it is not paused."),
    field<&SessionStats::blockedAt>("blocked_at_ms", "null: no dead letter stops it."),
    forPeople<[](const SessionStats& session) -> Value {
      return session.pausedAt    ? "paused"
             : session.blockedAt ? "blocked"
             : session.inFlight  ? "in flight"
                                 : valueOf(session.dueAt);
    }>({"", "NEXT"}),
};

}  // namespace

template <>
std::span<const Field<SessionStats>> fields() {
  return kSession;
}

}  // namespace ackbox::records
