#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_peer.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/retry_policy.hpp"

namespace boost::asio {
class any_io_executor;
}

namespace ackbox {

class DeferredDemand;
class TraceHooks;

/// Types of deferred frames with places of their own. If these frames are held up, such as by an application that is
/// away, no others are, except those behind them in their sessions. They still count in `DeferredOptions::framesMax`
/// and `bytesMax` with all others: once they fill their sender's share, that sender's further frames of any pool are
/// put off.
struct DeferredPool {
  /// Each a type, or a prefix followed by `*`. At least one.
  std::vector<std::string> types = {};
  /// Frames of the pool worked on at once, each of another session. 1 to 4,096. Default 4.
  std::uint32_t concurrency = 4;
  /// Null (default): all of its frames are wanted.
  std::shared_ptr<DeferredDemand> demand = {};
  /// Frames that each wish of `demand` may have in addition to `concurrency`, so that a consumer that keeps its frames
  /// for long blocks no other consumer. Needs `demand` and an executor. 0 to 256. Default 0.
  std::uint32_t wishConcurrency = 0;
};

/// Mailboxes: addresses for agents that cannot be reached. A frame whose `audience` is such an agent is deferred here,
/// without a call of the `FrameHandler`, and waits until that agent fetches it: the `DeferredHandler` gets it when the
/// agent's wish has room for it. Each mailbox has sessions of its own, so order and deduplication are as if the agent
/// had received the frames itself. Mailboxes take turns.
struct DeferredMailboxes {
  /// Patterns of the agents that have a mailbox, each a URI, or a prefix followed by `*`. This agent has none. Empty
  /// (default): no agent has one, and a frame for another agent is refused (`wrong-audience`).
  std::vector<std::string> agents = {};
  /// The wishes of the agents, with `DeferredWish::mailbox`; required.
  std::shared_ptr<DeferredDemand> demand = {};
  /// Frames of all mailboxes worked on at once, and more that each wish may have in addition, as in `DeferredPool`.
  /// Defaults: 1,024 and 4.
  std::uint32_t concurrency = 1'024;
  std::uint32_t wishConcurrency = 4;
  /// Frames that may wait in one mailbox, so that an agent that sleeps for long does not use up the room of its
  /// senders. Beyond it, a frame is put off with code `limit-mailbox`. It is shared by the senders as
  /// `DeferredOptions::framesMax` is, so that none shuts out the others. Frames of requests that are handled at the
  /// same time may exceed it. At least 1. Default 10,000.
  std::uint64_t mailboxFramesMax = 10'000;
};

/// How deferred frames are worked on. Within each pool, senders take turns, and so do the sessions of a sender: a
/// sender with many or long frames delays those of another only by the frames worked on at that moment.
struct DeferredOptions {
  /// Empty (default): this process works on no deferred frames; a handler's `defer` counts as `notNow`, so that after
  /// its retries the sender gives the message up with reason `retry-budget`.
  DeferredHandler handler = {};
  /// Frames worked on at once, each of another session, of the types that are in no pool. 1 to 256. Default 4.
  std::uint32_t concurrency = 4;
  /// A frame counts in the first pool that has its type, and neither in `concurrency` nor in other pools. Without an
  /// `executor`, `concurrency` and those of the pools are together at most 256, because each place is then a thread.
  /// Default: none.
  std::vector<DeferredPool> pools = {};
  /// Needs an executor. Default: no mailboxes.
  DeferredMailboxes mailboxes = {};
  /// How long a run may go on without `DeferredFrame::progress`. A longer run has failed and is repeated, even if the
  /// old run has not returned yet; the old run can no longer commit. At least 1 ms. Default 5 minutes.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  /// When a failed run is repeated, and when its frame has failed: beyond `maxRetries` with code `retry-budget`,
  /// beyond `horizon` since it was accepted with code `horizon`; both are `term` to the sender. As at a sender, a step
  /// forward of the calendar while a process has the handler makes no frame older, and a process gives up frames from
  /// before by their age only after it has had the handler for an hour, or for the horizon if that is shorter.
  RetryPolicy retry = {};
  /// Whether all frames of a type are deferred: stored as if the `FrameHandler` had answered `defer`, without a call of
  /// it and, for a frame behind another of its session, without a commit of its own. Called on the store's thread: it
  /// must neither block nor throw. Empty (default): the handler is called.
  std::function<bool(std::string_view type)> always = {};
  /// Waiting frames of all senders; further ones are put off with code `inbox-full`, as beyond one of `InboundLimits`.
  /// At least 1. Default 100,000. A single sender may have no more frames waiting than there is room left: 7/16 of this
  /// if it is alone, 7/24 each if there are two, so that there is always room for another sender.
  std::uint64_t framesMax = 100'000;
  /// Bytes of data of waiting frames, shared in the same way. At least 1. Default 1 GiB, which 4,096 of the longest
  /// frames would fill.
  std::uint64_t bytesMax = 1ULL << 30;
  /// Returns the applications that the handler gives frames to, if it does; if several match a type, the first one
  /// counts. Frames of an application that is away are `InboxState::unattended`, and their senders are informed. Called
  /// on the store's thread, also while a frame is answered: it must return at once and not throw. A null result:
  /// nothing is known. Default: not set.
  std::function<std::shared_ptr<const std::vector<Application>>()> applications = {};
  /// Where runs begin, and timers run. Null (default): threads of the handler's own, one for each place and one more.
  /// The program must run an executor that it sets here; its context must outlive the `InboundHandler`.
  std::shared_ptr<const boost::asio::any_io_executor> executor = {};
};

/// Limits on what a sender can make this agent's file keep. Marks are kept for ever or for long, and the sender chooses
/// the names: without limits one peer could fill the disk. Frames of a known session are accepted whatever the limits,
/// unless they are deferred. Any other frame beyond a limit is put off: the sender keeps it, tries again after a minute
/// and later after several, and charges no attempt, so that it is lost only if the limit remains until its horizon (7
/// days, unless the sender chose another). A sender other than ackbox gets `nack`, or 503, with code `limit-…`. Each
/// refusal is counted in `Stats::refusedLimits`, from the first on, and reported to `InboundOptions::onLimit`; the
/// sender shows it as the message's last error. The remedy is to raise the limit, or to delete records that are no
/// longer needed (`OutboxOperator::forgetSender`).
///
/// By default only the limits in bytes apply, because bytes are what fills a disk; set the other limits to keep less.
struct InboundLimits {
  /// Sessions of one sender, of all its stores. At least 1. Default: limited by the bytes alone, to some 12 million.
  std::uint64_t sessionsMax = std::numeric_limits<std::uint64_t>::max();
  /// Stores (`sessionorigin`) of one sender; an honest sender has a new one with each new file. At least 1. Default:
  /// limited by the bytes alone.
  std::uint64_t originsMax = std::numeric_limits<std::uint64_t>::max();
  /// Marks of frames without a sequence, see `processedRetention`, and outcomes of deferred frames, of one sender. At
  /// least 1. Default: limited by the bytes alone, to some 19 million, which is 30 a second for seven days.
  std::uint64_t marksMax = std::numeric_limits<std::uint64_t>::max();
  /// Bytes that all these take in the file, of one sender, estimated from the lengths of the names. At least 1. Default
  /// 4 GiB: a sender of more than some 30 unordered frames a second needs more, or a shorter `processedRetention`.
  std::uint64_t bytesMax = 4ULL << 30;
  /// The same of all senders together. It is the limit for senders without proof (`allowAnonymous`), because they may
  /// use any name. At least `bytesMax`. Default 16 GiB.
  std::uint64_t totalBytesMax = 16ULL << 30;
  /// A store that has been silent for this long is closed if a newer store of the same sender has replaced it: the
  /// marks of its sessions are deleted, and a frame that still comes from it is refused (`term`, code `closed-origin`),
  /// so that nothing takes effect twice. A newer store has replaced it when it began after the silent one's last frame.
  /// 0: never. Default 180 days.
  std::chrono::milliseconds originRetention = std::chrono::hours(24 * 180);
};

/// The limit of `InboundLimits`, or of `DeferredOptions`, that a frame was beyond.
enum class InboundLimit : std::uint8_t {
  sessions,
  origins,
  marks,
  bytes,
  totalBytes,
  /// The sender's share of the inbox, in frames or bytes.
  inbox,
  /// `DeferredMailboxes::mailboxFramesMax`.
  mailbox,
};

/// The limit's name, as printed: `"sessions"`, `"totalBytes"`, …
[[nodiscard]] std::string_view toString(InboundLimit limit) noexcept;

/// A frame was put off because its sender is at a limit.
struct InboundLimitEvent {
  /// The sender's agent URI.
  std::string source = {};
  InboundLimit limit = InboundLimit::sessions;
};

/// Why a request was refused because of its sender. The sender gets 401 or 403 and no reason.
enum class RefusalReason : std::uint8_t {
  /// It is not signed: a header of the signature is missing.
  notSigned,
  /// The signature's headers are not of the form of Standard Webhooks.
  malformed,
  /// It was signed by a clock that differs from this one by more than 300 s.
  clockApart,
  /// `outbox-agent` names no peer in `InboundOptions::peers`, or is missing and there are too many peers to try.
  unknownAgent,
  /// The signature was made with none of the keys of the named peer or, without a name, of all peers.
  wrongKey,
  /// The sender is known but not allowed to do this: a frame has another agent's `source`, or a kind or session that
  /// `InboundPeer` does not allow; or a request without proof claims a known peer's name, or comes from a browser.
  notAllowed,
};

/// The reason's name, as printed: `"not-signed"`, `"clock-apart"`, …
[[nodiscard]] std::string_view toString(RefusalReason reason) noexcept;

/// A request was refused because of its sender.
struct InboundRefusal {
  RefusalReason reason = RefusalReason::notSigned;
  /// The claimed or proven agent; empty if it names none, or not in plain text. Proven only with `notAllowed`.
  std::string agent = {};
  /// For `clockApart`: how far its clock is ahead of this one; negative: behind.
  std::chrono::seconds skew{0};
};

/// Sequences that an inbound session passed over, because its sender gave those messages up.
struct InboundGap {
  std::string source = {};
  std::string session = {};
  std::uint64_t firstMissing = 0;
  std::uint64_t lastMissing = 0;
};

/// How an `InboundHandler` admits frames.
struct InboundOptions {
  /// Frames in one request. 1 to 256. Default 256.
  std::size_t batchFramesMax = 256;
  /// Bytes of one frame's data. 1 to 64 MiB. Default 256 KiB.
  std::size_t frameBytesMax = 256 * 1024;
  /// Bytes of one request; also granted as credit. Default 1 MiB.
  std::size_t bodyBytesMax = 1024 * 1024;
  /// Depth of nesting in a body. Default 64.
  std::size_t depthMax = 64;
  /// The peers that may send to it, at most 10,000. A request is verified before any of its body is decoded; a request
  /// without the proof of a peer in this list is answered with 401, and a frame with another peer's name as `source`
  /// with 403. Default: none.
  std::vector<InboundPeer> peers = {};
  /// Whether unsigned requests are also accepted, and believed as they are, unless they claim to come from one of
  /// `peers`: for an agent that only processes of its own machine can reach. Web pages are kept out: requests of a
  /// browser, requests without a media type and, if the server listens on a loopback address, requests for any host
  /// name but `localhost` or a loopback address are refused. ACK events in unsigned requests settle nothing: the sender
  /// of a deferred message learns the outcome at its next `ackTimeout` (60 s). Default: no.
  bool allowAnonymous = false;
  /// Whether events in CloudEvents' binary mode are accepted. Their attributes are headers, and no signature covers
  /// headers: a third party that reads such a request on its way can send it again as an event of another type, and
  /// keep the true one from being accepted. So use this only if all connections are encrypted. A body that is itself a
  /// frame is never accepted this way. Default: no.
  bool binaryMode = false;
  /// How long a peer's secrets stay in use once their source cannot be read, see `SecretSource`; then no secret
  /// verifies the peer any more. 0: no grace. At most 1 day. Default 10 minutes: longer than it takes to notice and fix
  /// a mistake in a file, shorter than a leaked key should stay valid.
  std::chrono::milliseconds secretsGrace = std::chrono::minutes(10);
  /// Called when a peer's secrets cannot be read, have ended, or can no longer sign or verify: with the first of the
  /// peer's agent URIs and a sentence that contains no secret. Called inside `asyncHandle`, at the first request after
  /// the event; its exceptions are dropped. Empty: not called.
  std::function<void(std::string_view agent, std::string_view what)> onSecretsLost = {};
  /// The minimum time for which the mark of a frame without a sequence is kept; a later expiry of the frame extends it.
  /// Also how long the result of a deferred frame is kept for a sender that asks. At least 601 s, the time for which a
  /// signature is accepted: repeated after its mark has gone, the same request would take effect again. Default 7 days.
  std::chrono::milliseconds processedRetention = std::chrono::hours(24 * 7);
  /// The maximum time for which such a mark is kept, whatever `expirytime` a frame claims, so that a peer cannot fill
  /// the file for ever. A frame that expires even later can take effect again after this time. At least
  /// `processedRetention`. Default 90 days.
  std::chrono::milliseconds processedRetentionMax = std::chrono::hours(24 * 90);
  /// Called for each handler that threw, with the exception's text, which the peer does not get. Called on the
  /// handler's thread; its own exceptions are dropped. Empty: not called.
  std::function<void(const InboundFrame& frame, std::string_view what)> onHandlerError = {};
  /// Called for each gap in a session, after the commit that passed it. Called on the handler's thread; its exceptions
  /// are dropped. Empty: not called; `Stats::gaps` counts the gaps.
  std::function<void(const InboundGap& gap)> onGap = {};
  /// See `InboundLimits`.
  InboundLimits limits = {};
  /// Called when a sender is at a limit, after the commit that put its frame off: the first time at once, then at most
  /// once a minute for each sender and limit. Called on the handler's thread; its exceptions are dropped. Empty
  /// (default): only `Stats::refusedLimits` and the sender's last errors show it.
  std::function<void(const InboundLimitEvent& event)> onLimit = {};
  /// Called when a request is refused because of its sender, with the reason, which the sender does not get: at most
  /// once a minute for each agent and reason, and for at most 1,024 of these pairs; all refusals are counted
  /// (`Stats::refusedUnauthenticated`, `refusedForbidden`). Called inside `asyncHandle`; its exceptions are dropped.
  /// Empty (default): only the log reports it.
  std::function<void(const InboundRefusal& refusal)> onRefused = {};
  /// See `DeferredOptions`.
  DeferredOptions deferred = {};
  /// Called at the beginning and the end of each handling of a frame, see `TraceHooks`. Null (default): no hooks.
  std::shared_ptr<TraceHooks> trace = {};
};

/// Throws `Error` as the constructor of an `InboundHandler` with these options, for the agent with this URI, except for
/// an empty frame handler. Loads the secrets.
void validate(const InboundOptions& options, std::string_view agent);

}  // namespace ackbox
