#include "records/unattended.hpp"

#include "records/text.hpp"

namespace ackbox::records {

std::string unattendedText(const UnattendedFrames& frames, WallTime now) {
  return (frames.isCut ? "at least " : "") + countText(frames.frames, "frame") +
         (frames.frames == 1 ? " waits" : " wait") + " for an application; type " + frames.type + " has had none for " +
         durationText(now - frames.since.value_or(now)) + " (" + (frames.frames == 1 ? "it waits" : "they wait") +
         " for " + frames.cause + ")";
}

std::string unattendedText(const PeerStats& peer, WallTime now) {
  return "peer " + peer.peer + " has deferred " + countText(peer.sent, "message") +
         ", and has had no application for type " + peer.unattendedType + " for " +
         durationText(now - peer.unattendedSince.value_or(now));
}

std::string silentText(const SilentConsumer& consumer, WallTime now) {
  return consumer.name + " has had " + countText(consumer.frames, "frame") + " in hand for " +
         durationText(now - consumer.since) + " and has settled none" + (consumer.frames == 1 ? "" : " of them");
}

}  // namespace ackbox::records
