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

/// Types of deferred frames with places of their own. Whatever holds up these frames, such as an application that is
/// away, holds up no others, except those behind them in their sessions. But they count in `DeferredOptions::framesMax`
/// and `bytesMax` with all others: once they fill their sender's share, its further frames of any pool are put off.
struct DeferredPool {
  /// Each a type, or the beginning of types with `*` behind it. At least one.
  std::vector<std::string> types = {};
  /// Frames of the pool worked on at once, each of another session. 1 to 4,096. Default 4.
  std::uint32_t concurrency = 4;
  /// Null (default): all of its frames are wanted.
  std::shared_ptr<DeferredDemand> demand = {};
  /// Frames that each wish of `demand` may have beside those of `concurrency`, so that consumers that keep theirs for
  /// long stop no other consumer. It needs `demand` and an executor. 0 to 256. Default 0.
  std::uint32_t wishConcurrency = 0;
};

/// How deferred frames are worked on. Senders have turns, and the sessions of a sender, within each pool: a sender with
/// many frames or long ones delays those of another by what is worked on just then.
struct DeferredOptions {
  /// Empty (default): this process works on none; a handler that answers `defer` is taken to have said `notNow`, so
  /// that after its retries the sender gives the message up with reason `retry-budget`.
  DeferredHandler handler = {};
  /// Frames worked on at once, each of another session, of the types that are in no pool. 1 to 256. Default 4.
  std::uint32_t concurrency = 4;
  /// A frame counts in the first pool that has its type, and for nothing in `concurrency` nor in other pools. Without
  /// an `executor`, `concurrency` and those of the pools are together at most 256, as each place is a thread then.
  /// Default: none.
  std::vector<DeferredPool> pools = {};
  /// How long a run may go on without `DeferredFrame::progress`. A run beyond it has failed and is made again, even if
  /// the old one still has not returned; that one commits nothing any more. At least 1 ms. Default 5 minutes.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  /// When a failed run is made again, and when its frame is given up: beyond `maxRetries` with code `retry-budget`,
  /// beyond `horizon` since it was accepted with code `horizon`; both are `term` to the sender. As at a sender, what
  /// the calendar skips while a process has the handler makes no frame older, and frames from before are given up by
  /// their age only after it has had the handler for an hour, or for the horizon if that is shorter.
  RetryPolicy retry = {};
  /// Whether all frames of a type are deferred: they are kept as if the `FrameHandler` had answered `defer`, which
  /// spares its call and, where a frame waits behind another of its session, a commit of its own. Called on the store's
  /// thread: it must not block, nor throw. Empty (default): the handler is asked.
  std::function<bool(std::string_view type)> always = {};
  /// Frames that may wait, of all senders; further ones are put off with code `inbox-full`, as beyond one of
  /// `InboundLimits`. At least 1. Default 100,000. A single sender may have no more waiting than there is room left:
  /// 7/16 of this when it is alone, 7/24 each when there are two, so that there is always room for one more.
  std::uint64_t framesMax = 100'000;
  /// Their bytes of data; the same holds for it. At least 1. Default 1 GiB: the longest frames would fill that with
  /// 4,096.
  std::uint64_t bytesMax = 1ULL << 30;
  /// The applications that the handler gives frames to, where it does: of several that fit a type the first counts.
  /// Frames whose application is away are `InboxState::unattended`, and their senders are informed. Called on the
  /// store's thread, also while a frame is answered: it must return at once and not throw; null: nothing is known.
  /// Default: not set.
  std::function<std::shared_ptr<const std::vector<Application>>()> applications = {};
  /// Where runs begin, and timers run. Null (default): threads of the handler's own, one for each place and one
  /// more. One of yours must be run by your program; its context must live until the `InboundHandler` has gone.
  std::shared_ptr<const boost::asio::any_io_executor> executor = {};
};

/// What a sender may make this agent's file keep. Marks against repetition are kept for ever, or for long, and names
/// are the sender's to choose: without limits one peer could fill the disk. Frames of a session
/// that is known are taken whatever the limits, unless they are deferred; any other that is beyond one is put off: the
/// sender keeps it, tries again after a minute and later after several, and charges it no attempt, so that it is lost
/// only if the limit stands until its horizon (7 days, where the sender did not choose another). A sender that is no
/// ackbox sees `nack`, or 503, with code `limit-…`. Each refusal is counted in `Stats::refusedLimits`, from the first
/// on, and reported to `InboundOptions::onLimit`; the sender shows it as the message's last error. The remedy is to
/// raise the limit, or to forget what is not needed any more (`OutboxOperator::forgetSender`).
///
/// By default the bytes alone limit, because they are what fills a disk; set the numbers to keep less.
struct InboundLimits {
  /// Sessions of one sender, of all its stores. At least 1. Default: as many as there are bytes for, some 12 million.
  std::uint64_t sessionsMax = std::numeric_limits<std::uint64_t>::max();
  /// Stores (`sessionorigin`) of one sender; an honest one has a new one with each new file. At least 1. Default: as
  /// many as there are bytes for.
  std::uint64_t originsMax = std::numeric_limits<std::uint64_t>::max();
  /// Marks of frames without a sequence, see `processedRetention`, and outcomes of deferred frames, of
  /// one sender. At least 1. Default: as many as there are bytes for, some 19 million, which is 30 a second for seven
  /// days.
  std::uint64_t marksMax = std::numeric_limits<std::uint64_t>::max();
  /// Bytes that all these take in the file, of one sender, reckoned from the lengths of the names. At least 1. Default
  /// 4 GiB: a sender of more than some 30 unordered frames a second needs more, or a shorter `processedRetention`.
  std::uint64_t bytesMax = 4ULL << 30;
  /// The same of all senders together; it is what limits those that prove nothing (`allowAnonymous`), as they may use
  /// any name. At least `bytesMax`. Default 16 GiB.
  std::uint64_t totalBytesMax = 16ULL << 30;
  /// A store that has been silent for this long is closed if a newer store of the same sender has replaced it: the
  /// marks of its sessions are deleted, and a frame that still comes from it is refused (`term`, code `closed-origin`),
  /// so that nothing takes effect twice. A newer store has replaced it when it began after the silent one's last frame.
  /// 0: never. Default 180 days.
  std::chrono::milliseconds originRetention = std::chrono::hours(24 * 180);
};

/// Which of `InboundLimits`, or of `DeferredOptions`, a frame was beyond.
enum class InboundLimit : std::uint8_t {
  sessions,
  origins,
  marks,
  bytes,
  totalBytes,
  /// The sender's share of the inbox, in frames or bytes.
  inbox,
};

/// The limit's name, as printed: `"sessions"`, `"totalBytes"`, …
[[nodiscard]] std::string_view toString(InboundLimit limit) noexcept;

/// A frame was put off because its sender is at a limit.
struct InboundLimitEvent {
  /// The sender's agent URI.
  std::string source = {};
  InboundLimit limit = InboundLimit::sessions;
};

/// Why a request was refused on account of its sender. The sender gets 401 or 403 and no reason.
enum class RefusalReason : std::uint8_t {
  /// It is not signed: a header of the signature is missing.
  notSigned,
  /// The signature's headers are not of the form of Standard Webhooks.
  malformed,
  /// It was signed by a clock that is more than 300 s from this one.
  clockApart,
  /// `outbox-agent` names nobody in `InboundOptions::peers`, or it names nobody and there are too many to try.
  unknownAgent,
  /// None of the keys of the peer that it names, or of all peers, has made the signature.
  wrongKey,
  /// The sender is known and may not do this: a frame has another's `source`, or is of a kind or in a session that
  /// `InboundPeer` does not allow; or a request without proof claims a known peer's name, or comes from a browser.
  notAllowed,
};

/// The reason's name, as printed: `"not-signed"`, `"clock-apart"`, …
[[nodiscard]] std::string_view toString(RefusalReason reason) noexcept;

/// A request was refused on account of its sender.
struct InboundRefusal {
  RefusalReason reason = RefusalReason::notSigned;
  /// Whose it claims to be, or is; empty when it does not say, or not in plain text. Not proven but with `notAllowed`.
  std::string agent = {};
  /// For `clockApart`: how far its clock is ahead of this one; negative: behind.
  std::chrono::seconds skew{0};
};

/// Numbers that an inbound session passed over, because its sender gave those messages up.
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
  /// Bytes of one frame. Default 256 KiB.
  std::size_t frameBytesMax = 256 * 1024;
  /// Bytes of one request; also granted as credit. Default 1 MiB.
  std::size_t bodyBytesMax = 1024 * 1024;
  /// Depth of nesting in a body. Default 64.
  std::size_t depthMax = 64;
  /// The peers that may send to it, at most 10,000. A request is verified before any of its body is decoded; a request
  /// without the proof of a peer in this list is answered with 401, and a frame that claims another's name with 403.
  /// Default: none.
  std::vector<InboundPeer> peers = {};
  /// Whether unsigned requests are taken as well, and believed as they are, except where they claim to be of one in
  /// `peers`: for an agent that only processes of its own machine can reach. Not from a web page: those of a browser,
  /// those without a media type, and, where the server listens on a loopback address, those for the host of another
  /// name than `localhost` or a loopback address are refused. Their ACK events settle nothing: the sender of a
  /// deferred message learns the outcome at its next `ackTimeout` (60 s). Default: no.
  bool allowAnonymous = false;
  /// Whether events in CloudEvents' binary mode are taken. Their attributes are headers, and no signature covers
  /// headers: a third party that reads such a request on its way can send it again as an event of another type, and
  /// keep the true one from being taken. So ask for it only where all connections are encrypted. A body that is a frame
  /// itself is never taken this way. Default: no.
  bool binaryMode = false;
  /// How long the secrets of a peer go on when their source cannot be read any more, see `SecretSource`; afterwards it
  /// is known by none. 0: not at all. At most 1 day. Default 10 minutes: longer than a mistake in a file takes to be
  /// seen and mended, shorter than a key that leaked should live.
  std::chrono::milliseconds secretsGrace = std::chrono::minutes(10);
  /// Called when a peer's secrets cannot be read, have ended, or cannot sign or verify any more: with the first of the
  /// peer's agent URIs and a sentence that shows none of them. Called inside `asyncHandle`, with the first request
  /// after it happened; what it throws is dropped. Empty: not called.
  std::function<void(std::string_view agent, std::string_view what)> onSecretsLost = {};
  /// How long the mark of a frame without a sequence is kept, at least; a frame that expires later asks for more. Also
  /// how long the result of a deferred frame is kept for a sender that asks. At least 601 s, as long as a signature is
  /// taken: sent again after its mark has gone, the same request would take effect again. Default 7 days.
  std::chrono::milliseconds processedRetention = std::chrono::hours(24 * 7);
  /// How long such a mark is kept at most, whatever `expirytime` a frame claims: a peer must not fill the file for
  /// ever. A frame that expires even later can take effect again after this. At least `processedRetention`. Default 90
  /// days.
  std::chrono::milliseconds processedRetentionMax = std::chrono::hours(24 * 90);
  /// Called for each handler that threw, with the exception's text, which the peer does not get. Runs where the handler
  /// does; what it throws is dropped. Empty: not called.
  std::function<void(const InboundFrame& frame, std::string_view what)> onHandlerError = {};
  /// Called for each gap in a session, after the commit that passed it. Runs where the handler does; what it throws is
  /// dropped. Empty: not called; `Stats::gaps` counts them.
  std::function<void(const InboundGap& gap)> onGap = {};
  /// See `InboundLimits`.
  InboundLimits limits = {};
  /// Called when a sender is at a limit, at most once a minute for each sender and limit, after the commit that put its
  /// frame off; the first time at once. Runs where the handler does; what it throws is dropped. Empty (default): only
  /// `Stats::refusedLimits` shows it, and the sender's last errors.
  std::function<void(const InboundLimitEvent& event)> onLimit = {};
  /// Called when a request is refused on account of its sender, with the reason that it does not get: at most once a
  /// minute for each agent and reason, and for at most 1,024 of them; all are counted (`Stats::refusedUnauthenticated`,
  /// `refusedForbidden`). Called inside `asyncHandle`; what it throws is dropped. Empty (default): only the log says
  /// it.
  std::function<void(const InboundRefusal& refusal)> onRefused = {};
  /// See `DeferredOptions`.
  DeferredOptions deferred = {};
  /// Is called at the begin and the end of each handling of a frame, see `TraceHooks`. Null (default): nothing is.
  std::shared_ptr<TraceHooks> trace = {};
};

/// Throws `Error` as an `InboundHandler` with these options does, of an agent with this URI, but for the handler
/// itself. Loads the secrets.
void validate(const InboundOptions& options, std::string_view agent);

}  // namespace ackbox
