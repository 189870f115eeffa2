#include "records/subscription.hpp"

#include <array>

namespace ackbox::records {
namespace {

constexpr std::array kSubscription{
    field<&PeerSubscription::name>("name", "What it is called.", {"", "NAME"}),
    field<&PeerSubscription::peer>("peer", "The peer that gets what is published.", {"", "PEER"}),
    field<&PeerSubscription::type>("type", "The types that it gets; a * at the end stands for any end.", {"", "TYPE"}),
    field<&PeerSubscription::session>("session", "The same of sessions; empty: any, and none.", {"", "SESSION"}),
    field<&PeerSubscription::since>("since_at_ms", "When it was made, or last changed.", {"", "SINCE"}),
};

constexpr std::array kPublished{
    field<&PublishedMessage::peer>("peer", "The subscriber."),
    field<&PublishedMessage::messageId>("message_id", "Its message."),
    field<&PublishedMessage::sequence>("sequence", "The message's number in the subscriber's session; 0: unordered."),
};

}  // namespace

template <>
std::span<const Field<PeerSubscription>> fields() {
  return kSubscription;
}

template <>
std::span<const Field<PublishedMessage>> fields() {
  return kPublished;
}

}  // namespace ackbox::records
