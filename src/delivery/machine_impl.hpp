#pragma once

// The machine's state, and its members by file: machine.cpp (events from outside, time), scheduling.cpp (the next
// session), unordered.cpp (unordered messages), claiming.cpp (the store's answer to a claim), answering.cpp (a peer's
// answer to a request), settling.cpp (the outcome of each frame), refusing.cpp (whether the message or the peer causes
// a refusal), peer_reset.cpp (the identity of the peer's store, and of this file), holds.cpp (operators' holds).

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "delivery/machine.hpp"
#include "delivery/open_clock.hpp"
#include "delivery/peer.hpp"
#include "delivery/request.hpp"
#include "delivery/session.hpp"
#include "delivery/timers.hpp"
#include "delivery/verdict.hpp"

namespace ackbox::delivery {

struct Machine::Impl {
  Impl(MachineOptions machineOptions, Random& machineRandom);

  // --- machine.cpp: rows and time.
  Peer& peerOf(PeerKey key);
  void introduce(const SessionInfo& info, const Now& now);
  void see(const RowSeen& row, const Now& now);
  [[nodiscard]] bool isInFlight(const Session& session, MessageKey key) const;
  [[nodiscard]] bool isLive(const Timers::Timer& timer) const;
  void expire(const Timers::Timer& timer, const Now& now, Actions& actions);
  /// A deferred message goes back to pending, charged: the peer asks for it, or has lost it.
  void recall(Session& session, MessageKey key, const char* why, const Now& now, Actions& actions);
  /// A deferred message goes back to pending because its ACK deadline has passed: the peer is asked again.
  void askAgain(Session& session, MessageKey key, const Now& now, Actions& actions);
  [[nodiscard]] static Settlement returning(const Session& session,
                                            const std::pair<const MessageKey, Deferred>& deferred, const Now& now);
  void sendAgain(Session& session, std::map<MessageKey, Deferred>::iterator place);
  /// The session that keeps the waits of `session`: its unordered queue for a unit, otherwise itself.
  [[nodiscard]] static Session& keeperOf(Session& session);
  /// How long to wait for the ACK of a message that was just deferred: twice as long each time, within limits.
  [[nodiscard]] std::chrono::milliseconds ackWait(Session& session, MessageKey key) const;
  void watch(Session& session, MessageKey key, const Deferred& deferred);

  // --- scheduling.cpp: sessions' turns and peers' limits.
  /// Which of its peer's queues a session waits in.
  enum class Turn : std::uint8_t { ordinary, suspect, refused, late };
  [[nodiscard]] static Turn turnOf(const Session& session);
  [[nodiscard]] static ReadyQueue& queueOf(Peer& peer, Turn turn);
  void touch(Peer& peer);
  /// The session's request or wait is over: the session queues for its turn, or has nothing to send.
  void wake(Session& session);
  void park(Session& session, Phase phase, SteadyTime until);
  /// Starts the requests that may start at the peers that the event touched. The last step of every event.
  void startRequests(const Now& now, Actions& actions);
  bool startRequest(Peer& peer, const Now& now, Actions& actions);
  /// The queue that has its turn; nothing: none for now.
  [[nodiscard]] std::optional<Turn> nextTurn(Peer& peer, const Now& now);
  [[nodiscard]] std::optional<Turn> nextProbe(Peer& peer, const Now& now);
  static bool mayAskAgain(Peer& peer);
  /// The same for messages that took long; `areOthersNext`: another message can go now.
  static bool mayAskLate(Peer& peer, bool areOthersNext);
  void tidy(Peer& peer);
  void tidy(Peer& peer, Turn turn);
  /// Whether another message, or a request under way, can show whether the peer refuses everything.
  [[nodiscard]] bool hasOthersToAsk(Peer& peer);
  /// See `Actions::Claim`.
  [[nodiscard]] std::uint64_t bytesMax(const Peer& peer) const;
  void assemble(Request& request, std::size_t allowed, const Now& now);
  void enqueueReady(Session& session);
  void setPriority(Session& session, std::uint8_t priority);
  [[nodiscard]] static std::vector<SessionClaim> takeHead(ReadyQueue& queue, const Now& now);
  /// Clears the suspicions and refusals recorded for the message.
  static void absolve(Peer& peer, MessageKey key);
  /// The frames that the peer's rate limit allows now; arranges a new check for when it allows more.
  [[nodiscard]] std::size_t allowance(Peer& peer, const Now& now);
  void pausePeer(Peer& peer, SteadyTime until);
  /// The request no longer counts against its peer.
  void endRequest(const Request& request);

  // --- unordered.cpp: unordered messages.
  void seeUnordered(Session& unorderedQueue, const RowSeen& row, const Now& now);
  [[nodiscard]] bool isNews(Session& unorderedQueue, const RowSeen& row, const Now& now);
  void queueUnordered(Session& unorderedQueue, MessageKey key);
  void delay(Session& unorderedQueue, MessageKey key, const Delay& delay);
  [[nodiscard]] SessionClaim takeUnit(Session& unorderedQueue, const Now& now);
  static void noteWaited(const Session& session, SessionClaim& claim, const Now& now);
  void retire(Session& unit);
  [[nodiscard]] bool rejoinQueue(Session& unit);
  void parkUnit(Session& unit, SteadyTime until);
  void forgetUnordered(Session& unorderedQueue, MessageKey key);
  void sweepRetired();

  // --- claiming.cpp: the answer of the store.
  struct Filling {
    std::uint64_t bytesMax = 0;
    std::uint64_t bytes = 0;
    bool full = false;
  };
  void take(Request& request, const SessionClaim& asked, const SessionClaimed& got, Filling& filling, const Now& now,
            Actions& actions);
  void takeRows(Request& request, Session& session, const SessionClaimed& got, Filling& filling, const Now& now,
                Actions& actions);
  /// The session's claim is over. A unit has no claim to release.
  static void release(const Session& session, SessionRelease release, Actions& actions);
  void putBackUnclaimed(Session& session, const SessionClaim& asked, const SessionClaimed& got);
  void putBack(Session& session, std::span<const MessageKey> keys);

  // --- holds.cpp: operators' holds.
  void applyHold(const PeerHolds& held, const Now& now);
  [[nodiscard]] const RetryPolicy& retryOf(const Session& session) const;
  [[nodiscard]] bool isPastHorizon(const Session& session, const ClaimedRow& row, const Now& now);
  [[nodiscard]] OpenClock& openClock() { return options.openClock == nullptr ? ownClock : *options.openClock; }

  // --- answering.cpp: the answer of the peer.
  using Items = std::span<const Request::Item>;
  void peerFailed(const Request& request, PeerHealth::Failure failure, const SendReport& report, const Now& now,
                  Actions& actions);
  void peerAnswered(Peer& peer, Actions& actions);
  void connectionLost(const Request& request, const SendReport& report, const Now& now, Actions& actions);
  void requestRejected(const Request& request, const SendReport& report, const Now& now, Actions& actions);

  // --- settling.cpp: the outcome of each frame.
  void settle(const Request& request, const SendReport& report, const Now& now, Actions& actions);
  void settleSession(Items items, std::span<const FrameResult> results, std::uint64_t predecessor,
                     const SessionReport* progress, const Now& now, Actions& actions);
  struct SessionAnswer;
  void settleFrame(Session& session, const Request::Item& item, const FrameResult& result, SessionAnswer& answer,
                   const Now& now, Actions& actions);
  [[nodiscard]] Verdict verdictOn(Session& session, const Request::Item& item, const FrameResult& result,
                                  SessionAnswer& answer, const Now& now);
  /// Lets the user's function, if there is one, decide on a failure in place of the policies.
  void decide(const Session& session, const ClaimedRow& row, const FrameResult& result, const Now& now,
              Verdict& verdict) const;
  void recallDeferred(Session& session, Items items, const Now& now, Actions& actions);
  void giveBack(const Request& request, const std::string& error, const Now& now, Actions& actions);
  void giveBackSession(Items items, const std::string& error, const Now& now, Actions& actions);
  /// Gives back a request of one frame; its session waits for `delay` before the next attempt.
  void giveBackLater(const Request& request, const std::string& error, std::chrono::milliseconds delay, const Now& now,
                     Actions& actions);
  void failOnly(const Request& request, const char* reason, const std::string& error, const Now& now, Actions& actions);
  /// Settles a request of one frame.
  void settleOnly(const Request& request, Verdict verdict, const std::string& error, const Now& now, Actions& actions);

  // --- refusing.cpp: answers that may be about the message or about the peer.
  void notTaken(const Request& request, PeerHealth::Failure failure, const SendReport& report, const Now& now,
                Actions& actions);
  void refusedForItself(const Request& request, PeerHealth::Failure failure, bool areOthersTaken, bool isLate,
                        const SendReport& report, const Now& now, Actions& actions);
  /// An answer that names neither an outage nor a pause, and may be about its messages.
  [[nodiscard]] static bool isUnclear(const SendReport& report);

  // --- peer_reset.cpp: the identity of the peer's store, and of this file.
  /// The peer has shown that it knows this file: removes `session` from `Peer::disowned`; 0: the entry of all sessions.
  static void own(Peer& peer, SessionKey session);
  /// As `disown`, for an earlier finding.
  void keepDisowned(const Request& request, const Now& now, Actions& actions);
  /// Whether the answer is of a store that is known to be lost: the frames that it reports were lost with that store.
  [[nodiscard]] static bool isOfLostStore(const Request& request, const SendReport& report);
  /// Records which store has answered. If it is another store than before, its deferred frames are lost, too.
  void notePeerStore(const Request& request, const SendReport& report, Actions& actions);
  /// `selfRestored`, if the peer has seen a later epoch of this file. Nothing while a process that shares the file may
  /// just have outdated the request's epoch.
  [[nodiscard]] std::optional<PeerIdentity> whetherStale(const Request& request, const SendReport& report);
  /// The peer's report on the session of `items`; null: no report. `next` is the first unused report, as long as the
  /// reports are in the order of the sessions.
  [[nodiscard]] static const SessionReport* reportOf(const SendReport& report, std::size_t firstItem, Items items,
                                                     std::size_t& next);
  /// Whether the session's results must not count yet. They count only if the frame that the peer accepted last is
  /// known to be of this file: one of the request, or one that the peer was known to have. For any other frame, the
  /// next claim finds out.
  [[nodiscard]] static bool mistrusts(Items items, std::uint64_t confirmed, const SessionReport& progress);
  [[nodiscard]] static PeerIdentity selfRestored(PeerKey peer, const Session& session, std::uint64_t confirmed,
                                                 std::uint64_t accepted);
  /// Reports that the peer has less of the session than it was known to have.
  static void reportForgotten(const Request& request, const Session& session, std::uint64_t predecessor,
                              const SessionReport& progress, const SendReport& report, Actions& actions);
  /// The peer knows another file by this one's name: from now on only probes are sent to it.
  void disown(const Request& request, const PeerIdentity& found, const Now& now, Actions& actions);

  // Constant after construction.
  const MachineOptions options;
  Random& random;

  // Owned by the strand. The maps' nodes have stable addresses, so pointers to their elements stay valid.
  std::unordered_map<SessionKey, Session> sessions;
  std::unordered_map<PeerKey, Peer> peers;
  std::unordered_map<RequestId, Request> requests;
  Timers timers;
  OpenClock ownClock;
  std::vector<Peer*> touched;
  // Units to be forgotten at the end of the event.
  std::vector<SessionKey> retired;
  std::vector<Peer*> changed;
  // In phase `halted`.
  std::set<SessionKey> halted;
  RequestId lastRequest = 0;
  // See `Actions::Claim::recalls`.
  std::int64_t recalls = 0;
  bool claiming = true;
  std::size_t claimBudget = std::numeric_limits<std::size_t>::max();
};

}  // namespace ackbox::delivery
