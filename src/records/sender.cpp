#include "records/sender.hpp"

#include <array>

namespace ackbox::records {
namespace {

constexpr std::array kSender{
    field<&InboundSenderStats::source>("source", "Its URI.", {"Sender", "SENDER"}),
    field<&InboundSenderStats::sessions>("sessions", "Its sessions, of all its stores.", {"Sessions", "SESSIONS"}),
    field<&InboundSenderStats::origins>("origins", "Its stores.", {"Stores", "STORES"}),
    field<&InboundSenderStats::marks>("marks", "Unordered frames, and outcomes, that are kept.",
                                      {"Unordered", "UNORDERED"}),
    field<&InboundSenderStats::bytes>("bytes", "What these take in the outbox.", {"Kept", "KEPT", Form::bytes}),
    field<&InboundSenderStats::inbox>("inbox", "Its frames in the inbox.", {"Waiting", "WAITING"}),
    field<&InboundSenderStats::inboxBytes>("inbox_bytes", "The bytes of their data.", {"Data", "DATA", Form::bytes}),
};

constexpr std::array kOrigin{
    field<&InboundOriginStats::origin>("origin", "The store's identity.", {"", "ORIGIN"}),
    field<&InboundOriginStats::epoch>("epoch", "How often its sender has opened it.", {"", "EPOCH"}),
    field<&InboundOriginStats::sessions>("sessions", "Its sessions.", {"", "SESSIONS"}),
    field<&InboundOriginStats::isClosed>("closed", "Its frames are refused.", {"", "CLOSED"}),
    field<&InboundOriginStats::beganAt>("began_at_ms", "When its first frame was accepted.", {"", "BEGAN"}),
    field<&InboundOriginStats::seenAt>("seen_at_ms", "When its newest was, to a day.", {"", "SEEN"}),
};

}  // namespace

template <>
std::span<const Field<InboundSenderStats>> fields() {
  return kSender;
}

template <>
std::span<const Field<InboundOriginStats>> fields() {
  return kOrigin;
}

}  // namespace ackbox::records
