// Whether the peer and this store agree on their sessions. Each answer names the peer's store and, for each session of
// the request, the sequence reached. Less than before: the peer has lost data. More than was ever sent: this store has.

#include <algorithm>
#include <utility>

#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {
namespace {

constexpr const char* kDisowned =
    "stale-epoch: the peer knows messages of this store that this outbox does not; it was restored from a backup, "
    "or is a copy of one in use. Go on with the newer one. Without it, stop, and make this one a new store (ackbox "
    "restore FILE FILE --identity new), which sends what is pending: messages from before the backup may have taken "
    "effect, and would again; those enqueued since have not";

}  // namespace

void Machine::peerKnown(PeerKey peer, std::string store, std::uint64_t storeEpoch) {
  Peer& known = impl_->peerOf(peer);
  known.store = std::move(store);
  known.storeEpoch = storeEpoch;
}

bool Machine::Impl::isOfLostStore(const Request& request, const SendReport& report) {
  return request.id <= request.peer->metAt && !report.store.empty() && report.store != request.peer->store;
}

void Machine::Impl::notePeerStore(const Request& request, const SendReport& report, Actions& actions) {
  Peer& peer = *request.peer;
  const bool isKnown = report.store == peer.store && report.storeEpoch <= peer.storeEpoch;
  // An answer of the old store may arrive after one of the new store.
  if (report.store.empty() || isKnown || request.id <= peer.metAt) {
    return;
  }
  PeerIdentity identity{.peer = peer.key, .store = report.store, .storeEpoch = report.storeEpoch};
  if (!peer.store.empty() && report.store != peer.store) {
    identity.found = PeerResetKind::peerLost;
    peer.metAt = lastRequest;
    // The new store has never known another file.
    peer.disowned.clear();
    for (auto& [key, session] : sessions) {
      if (session.peer == &peer) {
        session.doubt.reset();
      }
    }
  }
  peer.store = report.store;
  peer.storeEpoch = report.storeEpoch;
  actions.identities.push_back(std::move(identity));
}

std::optional<PeerIdentity> Machine::Impl::whetherStale(const Request& request, const SendReport& report) {
  Peer& peer = *request.peer;
  if (std::none_of(report.results.begin(), report.results.end(), isStale)) {
    // A peer checks the epoch only in sessions, and notes it only for frames that it takes.
    bool isAnyTaken = false;
    for (std::size_t index = 0; index < request.items.size(); ++index) {
      const Outcome outcome = report.results[index].outcome;
      isAnyTaken = isAnyTaken ||
                   (request.items[index].row.sequence != 0 && (outcome == Outcome::ack || outcome == Outcome::defer));
    }
    if (isAnyTaken) {
      peer.staleAt = 0;
      own(peer, 0);
    }
    return std::nullopt;
  }
  // A request that begins from now on has the file's current epoch: a newer one if another process opened the file.
  if (peer.staleAt == 0 || request.id <= peer.staleAt || request.ownEpoch > peer.staleEpoch) {
    peer.staleAt = std::max(peer.staleAt, lastRequest);
    peer.staleEpoch = std::max(peer.staleEpoch, request.ownEpoch);
    return std::nullopt;
  }
  PeerIdentity found;
  found.peer = peer.key;
  found.found = PeerResetKind::selfRestored;
  return found;
}

const SessionReport* Machine::Impl::reportOf(const SendReport& report, std::size_t firstItem, Items items,
                                             std::size_t& next) {
  if (isUnit(items.front().session->key)) {
    return nullptr;
  }
  if (next < report.sessions.size() && report.sessions[next].firstFrame == firstItem) {
    return &report.sessions[next++];
  }
  const auto progress = std::find_if(report.sessions.begin(), report.sessions.end(),
                                     [&](const SessionReport& one) { return one.firstFrame == firstItem; });
  return progress == report.sessions.end() ? nullptr : &*progress;
}

bool Machine::Impl::mistrusts(Items items, std::uint64_t confirmed, const SessionReport& progress) {
  Session& session = *items.front().session;
  if (progress.isOther) {
    return true;
  }
  const auto isAccepted = [&progress](const Request::Item& item) { return item.row.sequence == progress.accepted; };
  // A number without an id only shows that this file has used the number.
  const bool isOfRequest = progress.acceptedId.empty() ? progress.accepted <= items.back().row.sequence
                                                       : std::any_of(items.rbegin(), items.rend(), isAccepted);
  if (progress.accepted <= confirmed || isOfRequest) {
    return false;
  }
  // The answer to that frame may have been lost, or this file may never have known the frame: the store finds out.
  session.doubt = AcceptedFrame{progress.accepted, progress.acceptedId};
  return true;
}

PeerIdentity Machine::Impl::selfRestored(PeerKey peer, const Session& session, std::uint64_t confirmed,
                                         std::uint64_t accepted) {
  PeerIdentity found;
  found.peer = peer;
  found.found = PeerResetKind::selfRestored;
  found.session = session.key;
  found.expected = confirmed;
  found.accepted = accepted;
  return found;
}

void Machine::Impl::reportForgotten(const Request& request, const Session& session, std::uint64_t predecessor,
                                    const SessionReport& progress, const SendReport& report, Actions& actions) {
  // With another store, all of the peer's sessions begin again; that was already reported.
  if (request.id <= request.peer->metAt) {
    return;
  }
  PeerIdentity identity;
  identity.peer = request.peer->key;
  identity.found = PeerResetKind::peerRestored;
  identity.store = report.store;
  identity.storeEpoch = report.storeEpoch;
  identity.session = session.key;
  identity.expected = predecessor;
  identity.accepted = progress.accepted;
  // A session may report long after the others what the peer had before it was restored.
  identity.isFresh = session.restoresSeen == request.peer->restores;
  request.peer->restores += identity.isFresh ? 1 : 0;
  actions.identities.push_back(std::move(identity));
}

void Machine::Impl::disown(const Request& request, const PeerIdentity& found, const Now& now, Actions& actions) {
  // Reported once, however many sessions show it.
  if (request.peer->disowned.empty()) {
    actions.identities.push_back(found);
  }
  request.peer->disowned.insert(found.session);
  keepDisowned(request, now, actions);
}

void Machine::Impl::keepDisowned(const Request& request, const Now& now, Actions& actions) {
  SendReport report;
  report.outcome = RequestOutcome::peerRefused;
  report.error = kDisowned;
  peerFailed(request, PeerHealth::Failure::refused, report, now, actions);
}

void Machine::Impl::own(Peer& peer, SessionKey session) {
  peer.disowned.erase(session);
}

}  // namespace ackbox::delivery
