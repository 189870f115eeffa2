#include "manager/inbound/ack_events.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "protocol/ack_event.hpp"
#include "protocol/wire.hpp"

namespace ackbox::manager {
namespace {

using protocol::AckEventEntry;

// The most bytes of an event's results, unless it has only one: a peer may not take larger frames.
constexpr std::size_t kEventBytes = 64UL * 1024;

AckEventEntry ackEntryOf(const store::InboxEnding& end) {
  const InboundFrame& frame = end.row->frame;
  // A redrive outside sessions has no new number, so a refusal is about one enqueue only. An effect counts for all of
  // them.
  const bool isAboutOne = frame.sequence == 0 && end.result->outcome != Outcome::ack;
  return {frame.id, frame.sequence, end.result, isAboutOne ? frame.time : std::nullopt};
}

std::size_t ackBytesOf(const AckEventEntry& entry) {
  // Names and punctuation.
  constexpr std::size_t kRest = 64;
  return entry.id.size() + entry.result->code.size() + entry.result->detail.size() + entry.result->result.size() +
         kRest;
}

/// Does nothing, and returns false, if the event is too large for a frame.
bool enqueueIfItFits(store::Store& store, const std::string& peer, std::span<const AckEventEntry> entries,
                     bool carriesResults) {
  Frame event;
  event.peer = peer;
  event.session = protocol::kAckEventType;
  event.type = protocol::kAckEventType;
  event.data = protocol::encodeAckEvent(entries, carriesResults);
  return store.outbox().enqueue(event).status != EnqueueStatus::frameTooLarge;
}

void enqueueAckEvent(store::Store& store, const std::string& peer, std::span<const AckEventEntry> entries) {
  if (enqueueIfItFits(store, peer, entries, true)) {
    return;
  }
  if (entries.size() == 1) {
    static_cast<void>(enqueueIfItFits(store, peer, entries, false));
    return;
  }
  for (const AckEventEntry& entry : entries) {
    enqueueAckEvent(store, peer, {&entry, 1});
  }
}

void enqueueAcksTo(store::Store& store, const std::string& peer, std::span<const AckEventEntry> entries) {
  while (!entries.empty()) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < std::min(entries.size(), protocol::kAckEventResultsMax); ++count) {
      bytes += ackBytesOf(entries[count]);
      if (count > 0 && bytes > kEventBytes) {
        break;
      }
    }
    enqueueAckEvent(store, peer, entries.first(count));
    entries = entries.subspan(count);
  }
}

}  // namespace

// Never sends to an address that a frame names. If the sender is not a peer of this agent, or the outbox is full, only
// time is lost: the sender asks again at its deadline.
void enqueueAckEvents(store::Store& store, std::span<const store::InboxEnding> ends) {
  const std::span<const store::PeerRow> peers = store.peers().rows();
  // Those of mailboxes as well: their senders know whose mailboxes this agent keeps (`InboundPeer::mailboxes`).
  std::vector<const store::InboxEnding*> rest;
  rest.reserve(ends.size());
  for (const store::InboxEnding& end : ends) {
    rest.push_back(&end);
  }
  std::vector<AckEventEntry> entries;
  while (!rest.empty()) {
    const std::string& source = rest.front()->row->frame.source;
    const auto others = std::stable_partition(
        rest.begin(), rest.end(), [&](const store::InboxEnding* end) { return end->row->frame.source == source; });
    const auto sender = std::ranges::find_if(
        peers, [&](const store::PeerRow& peer) { return !peer.agent.empty() && peer.agent == source; });
    if (sender != peers.end()) {
      entries.clear();
      std::transform(rest.begin(), others, std::back_inserter(entries),
                     [](const store::InboxEnding* end) { return ackEntryOf(*end); });
      enqueueAcksTo(store, sender->name, entries);
    }
    rest.erase(rest.begin(), others);
  }
}

}  // namespace ackbox::manager
