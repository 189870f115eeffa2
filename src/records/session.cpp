#include "records/session.hpp"

#include <array>

namespace ackbox::records {
namespace {

template <auto Member>
constexpr Field<SessionStats> ofSession(std::string_view name, std::string_view meaning) {
  return field<SessionStats, Member>(name, meaning);
}

constexpr std::array kSession{
    ofSession<&SessionStats::peer>("peer", "The name of its peer."),
    ofSession<&SessionStats::session>("session", "Its name."),
    ofSession<&SessionStats::live>("live", "Messages that are not settled."),
    ofSession<&SessionStats::failed>("failed", "Dead letters."),
    ofSession<&SessionStats::lastSequence>("last_sequence", "Of its newest message."),
    ofSession<&SessionStats::acceptedSequence>(
        "accepted_sequence", "Of the last message that the peer acknowledged or deferred; 0: none yet."),
    ofSession<&SessionStats::inFlight>("in_flight", "A process has it in flight."),
    ofSession<&SessionStats::dueAt>("due_at_ms", "Its head is not tried before; null: it waits for no time."),
    ofSession<&SessionStats::pausedAt>("paused_at_ms", "null: it is not paused."),
    ofSession<&SessionStats::blockedAt>("blocked_at_ms", "null: no dead letter stops it."),
};

}  // namespace

std::span<const Field<SessionStats>> sessionFields() {
  return kSession;
}

json::Line lineOf(const SessionStats& session) {
  return lineOf(sessionFields(), session);
}

}  // namespace ackbox::records
