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

/// What an enqueued message survives once the enqueue has returned.
enum class Durability : std::uint8_t {
  /// A power cut: the commit is fsynced (`synchronous=FULL`), see P1 in ARCHITECTURE.md. The default.
  powerCut,
  /// A crash of the process, but not of the machine (`synchronous=NORMAL`): a power cut may undo the last commits.
  processCrash,
};

/// What is done with messages that a peer had acknowledged, if the peer turns out to have lost its database or to have
/// been restored from a backup (`OutboxManager::onPeerReset`).
///
/// A new database is detected by the store identity in each answer. A restored one is detected at the next message of a
/// session of which the peer has less than it had acknowledged since the backup. A peer that was restored and had
/// acknowledged only messages without a session since its backup looks like one that was restarted, and neither policy
/// takes effect.
///
/// Messages that the peer had deferred, and no longer knows, are sent again in either case.
enum class PeerResetPolicy : std::uint8_t {
  /// The sessions go on from what the peer has; what it lost is a gap that it sees. The default, because the peer's
  /// effects outside its file remain, and only its owner knows how it was repaired.
  proceed,
  /// The acknowledged messages that are still kept (`OutboxOptions::ackedRetention`) and have not expired are sent
  /// again first, in their order and with their sequences, in sessions and outside; the peer answers those that it
  /// still knows as duplicates. All are put back in one transaction, for which the other writes wait: keep no more
  /// than are worth that. Needs an `ackedRetention` above 0: otherwise nothing would be left to send again, and
  /// `validate` refuses the combination.
  resend,
};

class Sender;
class TraceHooks;

/// The protocol of a peer, and what `HttpSender` accepts as an ACK.
enum class PeerProfile : std::uint8_t {
  /// The protocol in `proto/`: only an ACK document, signed where keys are shared, settles a message.
  native,
  /// Any receiver of Standard Webhooks: one frame per request, as `application/json`; the status alone decides. Any 2xx
  /// status line that was read is the ACK, whatever follows it and wherever it comes from: a captive portal's page
  /// retires a message, so use `https://` for such a peer.
  webhook,
  /// Any receiver of CloudEvents over HTTP in structured mode, such as one made with an official SDK: as `webhook`,
  /// also in its signature, but as `application/cloudevents+json`.
  cloudevents,
  /// The same in binary mode, for receivers that accept no other: attributes are `ce-` headers, the body is the data. A
  /// signature covers `webhook-id`, which is the event's id, and the data; every other attribute can be changed on the
  /// way unless `url` is `https://`.
  cloudeventsBinary,
};

/// A remote agent and how it is reached.
struct PeerOptions {
  /// The name that frames address. 1 to 256 bytes.
  std::string name = "default";
  /// The URL of its inbox, such as `http://127.0.0.1:8080/inbox`; used by `HttpSender`, may be empty with other
  /// senders. Two peers of an `HttpSender` may have one URL only if they name different `agent`s or neither is
  /// `native`: each peer numbers its own sessions, and one receiver would take the second's messages for the first's.
  std::string url = {};
  /// Its agent URI, sent as `audience` and compared by the receiver with its own: with a wrong value the peer is `held`
  /// (`wrong-audience`), its messages wait uncharged, and it is probed. Empty: not sent. ACK events need it on both
  /// sides. An ACK event settles a message only if its request was authenticated and its source is `agent` of the
  /// message's peer. With `InboundOptions::allowAnonymous` alone, the sender learns a deferred outcome at its next
  /// `ackTimeout` (60 s).
  std::string agent = {};
  /// Maximum requests to it under way at once. 1 to 64. Default 8: on two cores half as much again was delivered as
  /// with 4, and 16 gained nothing more.
  std::uint32_t maxRequests = 8;
  /// See `RateLimit`. Default: none.
  RateLimit rateLimit = {};
  /// For its messages, instead of `OutboxOptions::retry`. Default: not set.
  std::optional<RetryPolicy> retry = {};
  /// For its sessions, instead of `OutboxOptions::gap`. Default: not set.
  std::optional<GapPolicy> gap = {};
  /// For messages that it lost, instead of `OutboxOptions::peerReset`. Default: not set.
  std::optional<PeerResetPolicy> peerReset = {};
  /// The keys shared with it. `HttpSender` signs each request with every key that can sign, and accepts an answer as an
  /// ACK only if one of the keys verifies it. At least one must be able to verify: `whsec_` or `whpk_`; in any other
  /// profile than `native`, where answers are not signed, to sign: `whsec_` or `whsk_`. Default: none, nothing is
  /// signed.
  SecretSource secrets = {};
  /// Headers that `HttpSender` adds to each request, such as the line `Authorization: Bearer TOKEN`, or those of an API
  /// key: at most 16 lines `Name: value` of visible ASCII, 8 KiB in all, none of which may be a header that the sender
  /// sets itself. They are secret, and read again like `secrets`; once there is no header any more, or they cannot be
  /// read for longer than `HttpSenderOptions::secretsGrace`, nothing is sent. Over plain HTTP others can read them on
  /// the way. Default: none.
  SecretSource headers = {};
  /// Whether `url` may be `http://` to another machine, unencrypted and readable on the way. Default: only to
  /// loopback.
  bool allowPlainHttp = false;
  /// Where `HttpSender` may connect to for this peer, for a `url` that the operator did not choose. Each entry is a
  /// network such as `10.0.0.0/8` or `2001:db8::/32`, an address, `loopback` (127.0.0.0/8 and `::1`) or `public`.
  /// `public` has every address of the internet, but no private, link-local, loopback, multicast, reserved or
  /// documentation address; the operator's own machines may have public addresses. An IPv6 address that contains an
  /// IPv4 address counts as that: a mapped one (`::ffff:0:0/96`) for every entry, one of NAT64 (`64:ff9b::/96`) or 6to4
  /// for `public`. Each address is checked right before connecting, so that a name cannot be moved to another address
  /// meanwhile. A forbidden address is passed over; if all are forbidden, the peer is down, and its error says why. A
  /// malformed entry is refused with `invalidOption`. Default: empty, no limit.
  std::vector<std::string> networks = {};
  /// See `PeerProfile`. Default: the protocol in `proto/`.
  PeerProfile profile = PeerProfile::native;
  /// Carries this peer's messages instead of the sender set by `OutboxManager::setSender`, which is then not given this
  /// peer. Several peers of one manager may share a sender; it belongs to that manager alone. Null (default): the
  /// sender set by `setSender`.
  std::shared_ptr<Sender> sender = {};
};

/// Policies for some sessions. A field that is set takes precedence over those of the peer and of the outbox; if
/// several `SessionPolicy` match and set it, the first one applies.
struct SessionPolicy {
  /// The sessions: exact names, or a prefix followed by `*`. Not empty. Default: all.
  std::string peer = "*";
  std::string session = "*";
  std::optional<RetryPolicy> retry = {};
  std::optional<GapPolicy> gap = {};
};

/// How an `OutboxManager` opens and uses its file. Every field has a default that suits an agent on one machine;
/// `validate` checks the ranges and every constructor that takes options calls it.
///
/// Beside `FILE` there are SQLite's `FILE-wal` and `FILE-shm`, and `FILE-ackbox-owners`: an empty file on which each
/// open manager holds a kernel lock, so that other processes see at once when a manager's process has died. It stays
/// when the last manager closes. Copy or restore `FILE` without it; never delete it while a manager has the file open,
/// because then each process would take the others for dead and send their messages, too.
struct OutboxOptions {
  /// This agent's URI, the `source` of its frames, such as `urn:agent:alice`. Not empty.
  std::string agent = "urn:ackbox:agent";
  /// The peers that frames may be addressed to. Empty: one peer named `default`, for custom senders; none with
  /// `adoptPeers`.
  std::vector<PeerOptions> peers = {};
  /// Whether frames may also be addressed to peers that the file knows from earlier opens; their rows are left
  /// unchanged, and a new file gets no `default`. For tools beside an agent that do not know its configuration. Default
  /// off: an agent's peers are those in `peers`.
  bool adoptPeers = false;

  /// Makes the peers that `OutboxOperator::addPeer` has added to the file, by any process, peers of this one as well:
  /// is given a peer's name and its definition, and returns its options, in which `name` is ignored and `sender` must
  /// be null. Called in `open` and, for a change, on the store's thread, where it must be fast; a change by another
  /// process is noticed within `pollInterval`. A name in `peers` takes precedence. If it throws, the messages of that
  /// peer wait as for one that is down, with the exception's text as the cause. Default: not set; peers that were added
  /// are no peers of this process.
  std::function<PeerOptions(const std::string& name, const std::string& definition)> addedPeer = {};

  /// See `Durability`.
  Durability durability = Durability::powerCut;
  /// The prefix of every table's name, so that several outboxes, or an outbox and the application's own tables, can
  /// share one file. Letters, digits and `_`, at most 32, not starting with a digit or with `sqlite_`.
  std::string tablePrefix = "ackbox_";
  /// Whether to create the tables. Off: they must exist.
  bool createSchema = true;
  /// Whether triggers and views in the file run, including those of the application in handlers' transactions. Off, for
  /// tools that open files from others: nothing in the file runs, and a statement that takes too long, or produces too
  /// much output, fails. On or off, a trigger on one of the outbox's own tables is refused, the file cannot call
  /// functions that SQLite does not consider innocuous (`trusted_schema=OFF`), and no statement can rewrite the schema
  /// (`SQLITE_DBCONFIG_DEFENSIVE`). Default on: the file is the agent's own.
  bool trustSchema = true;
  /// The permissions of a file that is created here, as for `chmod`: 0 to 0777, including read and write for the owner
  /// (0600). Its log and `FILE-ackbox-owners` get the same; existing files keep theirs. Default 0600: no other user may
  /// read messages. 0660 for agents of several users in one group.
  std::uint32_t fileMode = 0600;
  /// The SQLite VFS to open the file with; empty: the platform's.
  std::string vfs = {};
  /// How long a write may wait for another process's write. Default 5 s.
  std::chrono::milliseconds busyTimeout = std::chrono::seconds(5);
  /// WAL pages after which the store checkpoints, from its own connection. Default 4,000 (16 MB).
  std::uint32_t checkpointPages = 4'000;

  /// Undelivered messages at which enqueues answer `queueFull`. 0: no limit. Default 1,000,000.
  std::uint64_t maxPending = 1'000'000;
  /// Bytes of undelivered messages' data at which enqueues answer `queueFull`. 0: no limit. Default 4 GiB.
  std::uint64_t maxPendingBytes = 4ULL << 30;
  /// Enqueues that may wait for room (`WhenFull::wait`) at once; further ones answer `queueFull`. 0: none may. Default
  /// 1,024: their frames are in memory only.
  std::uint32_t maxWaiting = 1'024;
  /// Bytes of one frame's data. 1 to 64 MiB. Default 256 KiB, the wire's default limit.
  std::size_t frameBytesMax = 256 * 1024;

  /// How long an idempotency key is remembered after its enqueue; in any case while its message is in the store. 0:
  /// only while its message is there. Default 7 days, as receivers keep their marks.
  std::chrono::milliseconds idempotencyRetention = std::chrono::hours(24 * 7);

  /// Frames in one request. 1 to 256. Default 256, the wire's default limit.
  std::uint32_t batchFrames = 256;
  /// Bytes of data in one request; a single larger frame still goes alone. Default 768 KiB, under the wire's 1 MiB.
  std::size_t batchBytes = 768 * 1024;
  /// How long one request may take from its start to the whole answer. Default 30 s.
  std::chrono::milliseconds requestTimeout = std::chrono::seconds(30);
  /// How long a deferred message waits for its ACK event before the peer is asked, by sending the message again. The
  /// next waits are 2, 4 and 8 times as long, but are not lengthened beyond an hour. Nothing has failed, so no retry is
  /// counted. Default 60 s.
  std::chrono::milliseconds ackTimeout = std::chrono::seconds(60);
  /// How often the file is checked for rows that another process or connection committed. Own commits wake the sender
  /// at once. Also the time that a run that was alone may take to notice that another process has opened the file, and
  /// thus that process's first messages. Default 1 s.
  std::chrono::milliseconds pollInterval = std::chrono::seconds(1);
  /// The same while other processes have the file open (`start` notices their commits at once), and how often it is
  /// checked whether they are alive. Default 20 ms.
  std::chrono::milliseconds sharedPollInterval = std::chrono::milliseconds(20);
  /// How long acknowledged rows are kept. 0 (default): deleted by the ACK itself.
  std::chrono::milliseconds ackedRetention{0};
  /// How long `stop` waits for requests under way before it gives them up. Default 5 s.
  std::chrono::milliseconds stopTimeout = std::chrono::seconds(5);

  /// See `RetryPolicy`.
  RetryPolicy retry = {};
  /// The same for peers of any profile but `native`; `retry` does not apply to them. Default: `webhookRetryPolicy()`,
  /// which retries for days.
  RetryPolicy webhookRetry = webhookRetryPolicy();
  /// See `GapPolicy`. Default: a session goes on past its dead letters.
  GapPolicy gap = GapPolicy::skip;
  /// Exceptions for some sessions. Default: none.
  std::vector<SessionPolicy> sessionPolicies = {};
  /// See `PeerResetPolicy`. Default: sessions go on from what the peer has.
  PeerResetPolicy peerReset = PeerResetPolicy::proceed;
  /// Called to decide about each message that failed, see `FailureFunction`. Default: not set, the policies decide.
  FailureFunction onFailure = {};
  /// See `PeerHealthPolicy`.
  PeerHealthPolicy peerHealth = {};
  /// See `HealthThresholds`, and `OutboxManager::onHealth`.
  HealthThresholds health = {};

  /// Receives the records of the outbox's events, see `LogSink`, such as `logToStandardError()`. Empty (default): only
  /// these go to standard error, once for each cause or peer: the twelve kinds that docs/log.md names, such as
  /// a file that could not be opened, a process that cannot go on, or a peer that cannot be reached. A sink that does
  /// nothing silences these, too.
  LogSink log = {};
  /// Records below this level are left out. At `debug` each message makes several. Default `info`.
  LogLevel logLevel = LogLevel::info;
  /// Called at the beginning and the end of enqueues and requests, see `TraceHooks`. Null (default): no hooks.
  std::shared_ptr<TraceHooks> trace = {};

  /// Runs the store's transactions, and the delivery that `OutboxManager::start` begins: called with work to run later,
  /// not inside the call, one piece at a time, in the order of the calls. Null (default): threads of the manager's own.
  /// For simulations and for programs that own every thread. With it, members that block (`enqueue`, …) run the queued
  /// work themselves, so call them on the thread where that work runs. As with a thread, a single transaction may run
  /// inside its caller's call.
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
