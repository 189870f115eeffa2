#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/failure.hpp"
#include "ackbox/health.hpp"
#include "ackbox/log.hpp"
#include "ackbox/random.hpp"
#include "ackbox/retry_policy.hpp"
#include "ackbox/secret.hpp"

namespace ackbox {

/// What an enqueue has survived when it returns.
enum class Durability : std::uint8_t {
  /// A power cut: the commit is fsynced (`synchronous=FULL`). The default: a message that `enqueue`
  /// returned for survives (P1 in ARCHITECTURE.md).
  powerCut,
  /// A crash of the process, not of the machine (`synchronous=NORMAL`): a power cut may take the last commits.
  processCrash,
};

/// What becomes of messages that a peer had acknowledged, when it turns out to have lost its database, or to have been
/// restored from a backup (`OutboxManager::onPeerReset`).
///
/// How it is noticed: a new database by the identity that each answer carries; one that was restored by a session, of
/// which the peer has less than it had acknowledged since the backup, at that session's next message. A peer that was
/// restored and had acknowledged only messages without a session since its backup looks like one that was restarted,
/// and neither policy comes into force.
///
/// What the peer had deferred, and no longer knows, is sent again in either case.
enum class PeerResetPolicy : std::uint8_t {
  /// The sessions go on from what the peer has; what it forgot is a gap that it sees. The default: its effects outside
  /// its file still stand, and only its owner knows how it was mended.
  proceed,
  /// The acknowledged messages that are still kept (`OutboxOptions::ackedRetention`) and have not expired are sent
  /// again first, in their order and under their numbers, of all sessions and of none; of those that the peer still
  /// knows it says that they are duplicates. Needs an `ackedRetention` above 0: without it nothing would be left to
  /// send again, and `validate` refuses the combination.
  resend,
};

class Sender;
class TraceHooks;

/// What `HttpSender` takes for an ACK.
enum class PeerProfile : std::uint8_t {
  /// The protocol in `proto/`: only an ACK document, signed where keys are shared, settles a message.
  native,
  /// Any receiver of Standard Webhooks: one frame a request, as `application/json`, and the status alone decides. Any
  /// 2xx whose status line was read is the ACK, whatever follows it and wherever it comes from: a captive portal's page
  /// retires a message, so give such a peer `https://`.
  webhook,
  /// Any receiver of CloudEvents over HTTP in structured mode, such as an official SDK makes: as `webhook`, and signed
  /// as one, but as `application/cloudevents+json`.
  cloudevents,
  /// The same in binary mode, for receivers that take no other: attributes are `ce-` headers, the body is the data. A
  /// signature covers `webhook-id`, which is the event's id, and the data; every other attribute may be changed on the
  /// way unless `url` is `https://`.
  cloudeventsBinary,
};

/// A remote agent and how it is reached.
struct PeerOptions {
  /// The name that frames address. 1 to 256 bytes.
  std::string name = "default";
  /// Where its inbox is, such as `http://127.0.0.1:8080/inbox`; used by `HttpSender`, may stay empty with others. Two
  /// peers of an `HttpSender` lead to one URL only if each names another `agent`, or neither is `native`: each numbers
  /// its sessions for itself, and one receiver would take the second's messages for the first's.
  std::string url = {};
  /// Its agent URI, sent as `audience` and compared by the receiver with its own: with a wrong value the peer is `held`
  /// (`wrong-audience`), its messages wait uncharged, and it is probed. Empty: not sent. ACK events need it on both
  /// sides. An ACK event settles a message only if its request was authenticated and its source is `agent` of the
  /// message's peer. With `InboundOptions::allowAnonymous` alone, the sender learns a deferred outcome at its next
  /// `ackTimeout` (60 s).
  std::string agent = {};
  /// Requests to it that may be under way at once. 1 to 64. Default 8: on two cores half as much again as 4, and 16
  /// gained nothing more.
  std::uint32_t maxRequests = 8;
  /// See `RateLimit`. Default: none.
  RateLimit rateLimit = {};
  /// For its messages, instead of `OutboxOptions::retry`. Default: not set.
  std::optional<RetryPolicy> retry = {};
  /// For its sessions, instead of `OutboxOptions::gap`. Default: not set.
  std::optional<GapPolicy> gap = {};
  /// For what it forgot, instead of `OutboxOptions::peerReset`. Default: not set.
  std::optional<PeerResetPolicy> peerReset = {};
  /// The keys shared with it. `HttpSender` then signs each request with all that can, and takes no answer for an ACK
  /// that none of them verifies. At least one must be able to verify: `whsec_` or `whpk_`; for any other profile, in
  /// which no answer is signed, to sign: `whsec_` or `whsk_`. Default: none, nothing is signed.
  SecretSource secrets = {};
  /// Whether `url` may be `http://` to another machine, unencrypted and readable on the way. Default: only to
  /// loopback.
  bool allowPlainHttp = false;
  /// See `PeerProfile`. Default: the protocol.
  PeerProfile profile = PeerProfile::native;
  /// Carries this peer's messages instead of the sender that `OutboxManager::setSender` sets, which does not get to
  /// know this peer. Several peers of one manager may share one; it belongs to that manager alone. Null (default): that
  /// sender.
  std::shared_ptr<Sender> sender = {};
};

/// Policies of some sessions. Each field that is set counts before those of the peer and of the outbox; of several
/// `SessionPolicy` that fit and set it, the first.
struct SessionPolicy {
  /// Which sessions: exact names, or the beginning of names with `*` behind it. Not empty. Default: all.
  std::string peer = "*";
  std::string session = "*";
  std::optional<RetryPolicy> retry = {};
  std::optional<GapPolicy> gap = {};
};

/// How an `OutboxManager` opens and works its file. Every field has a default that suits an agent on one machine;
/// `validate` checks the ranges and every constructor that takes options calls it.
///
/// Beside `FILE` there are `FILE-wal` and `FILE-shm`, which are SQLite's, and `FILE-ackbox-owners`: an empty file on
/// which each open manager holds a kernel lock, so that others see at once when its process has died. It stays when the
/// last manager closes. Copy or restore `FILE` without it; never delete it while a manager has the file open, because
/// each side would then take the other for dead and send its messages, too.
struct OutboxOptions {
  /// This agent's URI, the `source` of its frames, such as `urn:agent:alice`. Not empty.
  std::string agent = "urn:ackbox:agent";
  /// The peers that frames may be addressed to. Empty: one peer named `default`, for custom senders; none with
  /// `adoptPeers`.
  std::vector<PeerOptions> peers = {};
  /// Whether frames may also be addressed to the peers that the file knows from earlier opens, whose rows are then left
  /// as they are; a new file gets no `default`. For tools beside an agent that do not know its configuration. Default
  /// off: an agent's peers are those that it was given.
  bool adoptPeers = false;

  /// See `Durability`.
  Durability durability = Durability::powerCut;
  /// Begins every table's name, so that several outboxes, or the application's own tables, share one file.
  /// Letters, digits and `_`, at most 32, not starting with a digit or with `sqlite_`.
  std::string tablePrefix = "ackbox_";
  /// Whether to create the tables. Off: they must be there already.
  bool createSchema = true;
  /// Whether the file's triggers and views do their work, those of the application in handlers' transactions among
  /// them. Off: nothing in the file is run, and a statement that takes too long, or produces too much output, fails:
  /// for tools that open files of others. On or off, a trigger on one of the outbox's own tables is refused, functions
  /// that SQLite does not vouch for are not called by the file (`trusted_schema=OFF`), and no statement can rewrite the
  /// schema (`SQLITE_DBCONFIG_DEFENSIVE`). Default on: the file is the agent's own.
  bool trustSchema = true;
  /// The permissions of a file that is made here, as for `chmod`: 0 to 0777, the owner's reading and writing (0600)
  /// included. Its log and the sidecar take the same; what is there keeps its own. Default 0600: no other user may read
  /// messages. 0660 for agents of several users in one group.
  std::uint32_t fileMode = 0600;
  /// The SQLite VFS to open the file with; empty: the platform's.
  std::string vfs = {};
  /// How long a write may wait for another process's. Default 5 s.
  std::chrono::milliseconds busyTimeout = std::chrono::seconds(5);
  /// WAL pages after which the store checkpoints, from its own connection. Default 4,000 (16 MB).
  std::uint32_t checkpointPages = 4'000;

  /// Undelivered messages at which enqueues answer `queueFull`. 0: no limit. Default 1,000,000.
  std::uint64_t maxPending = 1'000'000;
  /// Their bytes of data at which enqueues answer `queueFull`. 0: no limit. Default 4 GiB.
  std::uint64_t maxPendingBytes = 4ULL << 30;
  /// Enqueues that may wait for room (`WhenFull::wait`) at once; further ones answer `queueFull`. 0: none may. Default
  /// 1,024: their frames are in memory only.
  std::uint32_t maxWaiting = 1'024;
  /// Bytes of one frame's data. 1 to 64 MiB. Default 256 KiB, the wire's default limit.
  std::size_t frameBytesMax = 256 * 1024;

  /// How long an idempotency key is remembered after its enqueue; longer while its message is in the store. 0: only
  /// that long. Default 7 days, as the receivers' marks.
  std::chrono::milliseconds idempotencyRetention = std::chrono::hours(24 * 7);

  /// Frames in one request. 1 to 256. Default 256, the wire's default limit.
  std::uint32_t batchFrames = 256;
  /// Bytes of data in one request; a single larger frame still goes alone. Default 768 KiB, under the wire's 1 MiB.
  std::size_t batchBytes = 768 * 1024;
  /// How long one request may take from its start to the whole answer. Default 30 s.
  std::chrono::milliseconds requestTimeout = std::chrono::seconds(30);
  /// How long a deferred message waits for its ACK event before the peer is asked, by sending it again. The next waits
  /// are 2, 4 and 8 times as long, but for that no longer than an hour. Nothing has failed, so no retry is counted.
  /// Default 60 s.
  std::chrono::milliseconds ackTimeout = std::chrono::seconds(60);
  /// How often the file is asked for rows that another process or connection committed. Own commits wake the sender
  /// at once. It is also how long a run that was alone may take to notice that another process has opened the file, and
  /// with it that process's first messages. Default 1 s.
  std::chrono::milliseconds pollInterval = std::chrono::seconds(1);
  /// The same while others have the file open (`start` notices their commits at once), and for whether they are still
  /// alive. Default 20 ms.
  std::chrono::milliseconds sharedPollInterval = std::chrono::milliseconds(20);
  /// How long acknowledged rows are kept. 0 (default): deleted by the ACK itself.
  std::chrono::milliseconds ackedRetention{0};
  /// How long `stop` waits for requests under way before it gives them up. Default 5 s.
  std::chrono::milliseconds stopTimeout = std::chrono::seconds(5);

  /// See `RetryPolicy`.
  RetryPolicy retry = {};
  /// The same for peers of any profile but `native`, which `retry` is not for. Default: `webhookRetryPolicy()`, for
  /// days.
  RetryPolicy webhookRetry = webhookRetryPolicy();
  /// See `GapPolicy`. Default: a session goes on past its dead letters.
  GapPolicy gap = GapPolicy::skip;
  /// Exceptions for some sessions. Default: none.
  std::vector<SessionPolicy> sessionPolicies = {};
  /// See `PeerResetPolicy`. Default: sessions go on from what the peer has.
  PeerResetPolicy peerReset = PeerResetPolicy::proceed;
  /// Asked what becomes of each message that failed, see `FailureFunction`. Default: not set, the policies decide.
  FailureFunction onFailure = {};
  /// See `PeerHealthPolicy`.
  PeerHealthPolicy peerHealth = {};
  /// See `HealthThresholds`, and `OutboxManager::onHealth`.
  HealthThresholds health = {};

  /// Is given what happens to the outbox, see `LogSink`, such as `logToStandardError()`. Empty (default): only that the
  /// file could not be opened or was replaced, that this process cannot go on (`HealthCheck::process`), or that a peer
  /// cannot be reached, refuses this agent or is gone, is written on standard error, once for each cause or peer; a
  /// sink that does nothing silences that, too.
  LogSink log = {};
  /// Records below are left out. At `debug` each message makes several. Default `info`.
  LogLevel logLevel = LogLevel::info;
  /// Is called at the begin and the end of enqueues and requests, see `TraceHooks`. Null (default): nothing is.
  std::shared_ptr<TraceHooks> trace = {};

  /// Runs the store's transactions, and what `OutboxManager::start` starts: is called with work to run later, not
  /// inside the call, one piece at a time, in the order of the calls. Null (default): threads of the manager's own. For
  /// simulations and for programs that own every thread. With it, members that block (`enqueue`, …) run what is queued
  /// themselves, so call them where that work runs. As with a thread, a transaction that comes alone may run in its
  /// caller's call.
  std::function<void(std::function<void()>)> storeExecutor = {};
  /// Time; null: `systemClock()`.
  std::shared_ptr<Clock> clock = {};
  /// Randomness; null: `systemRandom()`.
  std::shared_ptr<Random> random = {};
};

/// Checks every range above.
/// Throws `Error` with `Errc::invalidOption` naming the first field that is out of range and its range.
void validate(const OutboxOptions& options);

}  // namespace ackbox
