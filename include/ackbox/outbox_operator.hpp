#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "ackbox/dead_letters.hpp"
#include "ackbox/error.hpp"
#include "ackbox/file_info.hpp"
#include "ackbox/file_repair.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/resending.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

class OutboxManager;

namespace manager {
class Core;
}

/// Manual changes to an open outbox: dead letters, pauses, clean-up and repair. It needs no run, and works beside one.
/// All changes are durable when they return.
///
/// Unless a function says otherwise, it throws `Error` as `OutboxManager::enqueue` does, and a call that throws has
/// changed nothing.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: shares the manager's open file, which stays open until the manager and all objects made from it are gone.
class OutboxOperator {
public:
  explicit OutboxOperator(OutboxManager& manager);

  /// Redrives a dead letter: puts it back as pending at its session's tail, with a new sequence, the same message id,
  /// its expiry, no charged attempts, and a new horizon. The old sequence stays a gap that the receiver sees. Outside
  /// sessions, the time of its enqueue is set to now, and later than before, which shows the receiver that it is no
  /// repetition. `maxPending` does not refuse it.
  ///
  /// Caution: the receiver takes the new sequence as a new frame. A dead letter that had no answer
  /// (`horizon`, `peer-killer`) may have taken effect already; only a handler that looks at the id can notice it.
  ///
  /// Returns the receipt; refusals are values, because delivery may have moved the message since the operator looked.
  ChangeReceipt retry(std::string_view messageId);

  /// Redrives all dead letters that match `filter`, in their order, in slices, between which enqueues can run. A
  /// message that fails again meanwhile is not redriven twice. Returns the number redriven. After a throw, the slices
  /// before it are done.
  std::uint64_t retryFailed(const DeadLetterFilter& filter);

  /// `retryFailed` for the dead letters with fewer than `maxRetries` charged attempts. 0 redrives none.
  std::uint64_t reconcileFailed(std::uint32_t maxRetries);

  /// Sends an acknowledged message once more that the file has kept (`OutboxOptions::ackedRetention`), as for a
  /// receiver that has lost what it did with it: puts it back as pending at its session's tail, with a new sequence,
  /// the same message id, no charged attempts, and a new horizon. A message that has expired is refused
  /// (`invalidTransition`). The receiver sees it: `InboundFrame::resentOf` is the message's id.
  ///
  /// Caution: in a session, the receiver takes the new sequence as a new frame, and it takes effect again, unless its
  /// handler looks at the id, or at `resentOf`. Outside sessions, a receiver that remembers the id (7 days) answers
  /// that it is a duplicate: `resendAsNew` makes it take effect again.
  ///
  /// Returns as `retry`.
  ChangeReceipt resend(std::string_view messageId);

  /// The same for all messages that match `filter`, which are acknowledged when their turn comes and were in the file
  /// when this call began, in their order, in slices between which enqueues can run. Expired ones are left out.
  /// `OutboxReader::messages` lists them before. Returns the number sent again. Throws `Error` with `invalidOption` if
  /// `filter.state` is another state than acknowledged. After a throw, the slices before it are done.
  std::uint64_t resend(const MessageFilter& filter);

  /// Sends an acknowledged message once more that the file has kept, as a new message with an id of its own, for a
  /// receiver that is to take it again although it remembers it. The new message stands at the end of its session. It
  /// has the type, data, priority, expiry, delay, trace and correlation of the first, and names the first to the
  /// receiver (`InboundFrame::resentOf`). It has no supersede key, so it takes no newer message's place, and no later
  /// one takes its place. The first stays as it is, and so does its idempotency key. `maxPending` refuses it as any
  /// enqueue.
  ///
  /// A message is repeated so once within `OutboxOptions::idempotencyRetention`: after that, send the new one again.
  ResendReceipt resendAsNew(std::string_view messageId);

  /// The same for all messages that `resend` would choose by `filter`, in the same order, slices and errors. Those that
  /// were repeated before are passed over, and so are their repetitions: a call that was interrupted can be made again.
  /// Left out are also ACK events, damaged messages, and those to a peer that was removed.
  ResendReport resendAsNew(const MessageFilter& filter);

  /// Stores for `peer` what the file has for another one, `filter.peer`: for a peer that has subscribed late, from what
  /// an earlier subscriber was sent. Each message that matches `filter`, was in the file when this call began, and has
  /// not expired is stored as a new one, with an id and a number of its own, whatever became of the first:
  /// acknowledged (`OutboxOptions::ackedRetention`), waiting, or a dead letter. In their order, in slices between which
  /// enqueues can run. `OutboxReader::messages` lists them before. What the new message keeps of the first is that
  /// which `resendAsNew` keeps.
  ///
  /// A message is stored for the peer once, however often this is called within `OutboxOptions::idempotencyRetention`,
  /// also if it is taken from a third peer, or from a repetition. What the peer got as a subscriber of its own is not
  /// recognised: choose `filter.before`. Nor is what was published distinguished from what was for the other peer
  /// alone: choose `filter.type`.
  ///
  /// Also throws `unknownPeer` if the file has no such peer at the beginning, and `Error` with `invalidOption` if
  /// `filter.peer` is not set, or is `peer`. A peer that is removed meanwhile refuses the rest. After a throw, the
  /// slices before it are done.
  ResendReport resendTo(std::string_view peer, const MessageFilter& filter);

  /// Deletes a dead letter for good; its id can be used again. Returns as `retry`.
  ChangeReceipt discard(std::string_view messageId);

  /// Discards all dead letters that match `filter`; slices, returns and throws as `retryFailed`.
  std::uint64_t discardFailed(const DeadLetterFilter& filter);

  /// Makes a pending or sent message a dead letter. A message in flight is refused, because its outcome is on the way.
  /// Its session goes on past it, whatever its `GapPolicy`. `reason` is cut at 1,000 bytes. Subscribers of
  /// `OutboxManager::onFailed` are called. Returns as `retry`.
  ChangeReceipt markFailed(std::string_view messageId, std::string_view reason = "marked-failed");

  /// The same for all messages that match `filter`, which are pending or sent when their turn comes and were in the
  /// file when this call began, in their order, in slices between which enqueues can run. Those in flight are left.
  /// `OutboxReader::messages` lists them before. Messages behind row `lastRow` (`MessageInfo::row`) are left: those
  /// that were enqueued since a list was shown. Returns the number of dead letters. Throws `Error` with `invalidOption`
  /// if `filter.state` is another state. After a throw, the slices before it are done.
  std::uint64_t markFailed(const MessageFilter& filter, std::string_view reason = "marked-failed",
                           std::int64_t lastRow = std::numeric_limits<std::int64_t>::max());

  /// Stops the peer's messages from being claimed; requests under way finish, enqueues go on. The pause is kept in the
  /// file: it outlasts a restart, and every process obeys it within its poll interval.
  ///
  /// Returns false if the peer was paused already. Also throws `unknownPeer`.
  bool pause(std::string_view peer);

  /// The same for one session; a session that has no messages yet is paused in advance. Also throws `invalidOption`,
  /// for an empty name: unordered messages are paused with their peer.
  bool pause(std::string_view peer, std::string_view session);

  /// Ends the pause. A peer that is down, held or disabled is probed at once, by every process within its poll
  /// interval. Returns false when it was not paused (the probe is made all the same). Throws as `pause`.
  bool resume(std::string_view peer);

  /// Ends the session's pause. A session that a dead letter blocks stays blocked. Returns and throws as `pause`.
  bool resume(std::string_view peer, std::string_view session);

  /// Adds a peer to the file, or changes one that was added: every process that has the file open, and knows what to do
  /// with the definition (`OutboxOptions::addedPeer`), sends its messages, now and after a restart. `definition` is a
  /// text of the program's own, 1 to 16,384 bytes, from which that function makes the options again. It is stored as it
  /// is, and so are `peer.url` and `peer.agent`: put no secret into them. Of `peer`, the rest is only checked.
  ///
  /// A peer that was removed continues where it was: its sessions keep their numbers. Changed options take effect at
  /// the next request; a changed `gap` takes effect in sessions without unsettled messages, and elsewhere at the next
  /// start.
  ///
  /// Returns true if the peer is new, or was removed before; false if it was changed. Also throws `invalidOption`: an
  /// option is wrong, `definition` has another length, the name is that of a peer in `OutboxOptions::peers`, or 10,000
  /// peers were added already.
  bool addPeer(const PeerOptions& peer, std::string_view definition);

  /// Removes a peer that was added to the outbox: enqueues to it answer `unknownPeer`, and nothing is sent to it any
  /// more; requests under way finish. Its dead letters stay. Unsettled messages would wait for ever: with `refuse`, the
  /// call changes nothing if there are any. With `fail`, they become dead letters with the reason `peer-removed`, in
  /// slices; those in flight are left, because their outcome is on the way: call it again until none is left. Its
  /// subscriptions are removed with it.
  ///
  /// Also throws `unknownPeer` if no peer of that name was ever added. After another throw, the peer may be removed,
  /// and the slices before it are done.
  PeerRemoval removePeer(std::string_view name, WaitingMessages waiting = WaitingMessages::refuse);

  /// Subscribes a peer to what is published (`OutboxManager::publish`), by any process that has the file open, or
  /// changes the subscription of that name. The peer gets what is published from then on; `resendTo` gives it
  /// what was published before. A peer with several subscriptions that fit a frame gets it once.
  ///
  /// Returns true if the name is new. Also throws `unknownPeer`, and `invalidOption`: a text has another form than
  /// `PeerSubscription` says, or the outbox has 1,000 subscriptions already.
  bool subscribe(const PeerSubscription& subscription);

  /// Ends the subscription of that name; messages that are stored stay. Returns false if no subscription has it.
  bool unsubscribe(std::string_view name);

  /// Lets a session that a dead letter stopped (`GapPolicy::block`) go on past it; the dead letter stays. Redriving or
  /// discarding the dead letter unblocks the session, too. (A redriven message goes to the tail, behind the messages
  /// that waited.)
  ///
  /// Returns false when the session is not blocked or was never used. Throws as `pause`.
  bool unblock(std::string_view peer, std::string_view session);

  /// Deletes retained acknowledged rows (`OutboxOptions::ackedRetention`) that were acknowledged at least `age` ago, in
  /// slices. Returns the number deleted. After a throw, the slices before it are done.
  std::uint64_t cleanupDone(std::chrono::milliseconds age);

  /// Repairs what statements of other programs on the file's tables leave behind. Counts every gauge again from the
  /// rows: of the store, and of each peer, session and sender. Makes a message a dead letter again if an UPDATE made it
  /// pending under a sequence that its session has passed, because its peer would take it for a repetition (`retry`
  /// gives it a new sequence). Unblocks a session if the dead letter that blocked it is gone. Gives rows that broke an
  /// invariant of `verify` the only value that fits; a value that would be a guess stays. Other processes may have the
  /// file open. All of it is one transaction, which takes about a second for a million messages; enqueues wait
  /// meanwhile.
  ///
  /// A negative gauge, and that of an empty queue that counts as full, are counted again without this call. Returns
  /// what was repaired.
  RepairReport repair();

  /// As `repair`, on a file that this process has not opened, also one that `OutboxManager::open` refuses because a
  /// value breaks an invariant. Also creates missing indexes and views, and reports what is left. Throws `Error` as
  /// `OutboxManager::open`; then nothing was changed, unless only the final check for what is left failed.
  static FileRepairReport repairFile(const std::filesystem::path& file, OutboxOptions options = {});

  /// Returns what `repairFile` would repair and leave in `file`: the repair is done in a transaction that is rolled
  /// back. Agents may run beside it; their enqueues wait until the file is verified, for `busyTimeout` at most. The
  /// file is not changed. Throws `Error` as `OutboxManager::open`.
  static FileRepairReport previewRepair(const std::filesystem::path& file, OutboxOptions options = {});

  /// Deletes what this file keeps of a sender of inbound frames (`InboundLimits`), or of one of its stores
  /// (`sessionorigin`, see `OutboxReader::inboundOrigins`): its sessions, closed stores and single frames, in slices.
  /// Sessions with frames in the inbox stay.
  ///
  /// Caution: frames that the sender sends again take effect again, because they are no longer known here. A sender
  /// with `PeerResetPolicy::resend` notices that its sessions are unknown here, and sends again every acknowledged
  /// message that it has kept. Forget a sender that is gone, a store that is gone, one of the many that a peer made up
  /// with its key, or a closed store that its sender uses again.
  ///
  /// Returns what was deleted. After a throw, the slices before it are done.
  ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin = {});

  /// Runs a deferred frame again now: ends its backoff and clears its charged runs, so that it has all of
  /// `DeferredOptions::retry.maxRetries` again. Its `horizon` still counts from its acceptance, its last error stays
  /// until the next one. A frame behind another of its session goes on waiting. A process that works on the file
  /// notices within its poll interval.
  ///
  /// Returns the receipt; refusals are values, because its handler may be running (`InboxState::running`), or it may
  /// have ended.
  InboxReceipt retryInbox(std::string_view source, std::string_view messageId);

  /// The same for all frames that match `filter`, in slices between which other commits can run. Running frames are
  /// left out. Returns the number of frames changed. After a throw, the slices before it are done.
  std::uint64_t retryInbox(const InboxFilter& filter);

  /// Gives a deferred frame up for good: ends it as a `term` with the code `reason`, and the next frame of its session
  /// goes on. The sender learns this from an ACK event, as after a handler's `reject`, or, if none can go to it, when
  /// it asks again: its message becomes a dead letter with `reason`. The outcome is kept for 7 days, in which a
  /// repetition gets the same refusal, also one outside sessions that its sender redrives. Returns as `retryInbox`;
  /// also throws `invalidOption`, for a `reason` that is empty or longer than 128 bytes.
  InboxReceipt discardInbox(std::string_view source, std::string_view messageId, std::string_view reason = "discarded");

  /// The same for all frames that match `filter`; slices, returns and throws as `retryInbox`.
  std::uint64_t discardInbox(const InboxFilter& filter, std::string_view reason = "discarded");

  /// Gives free pages of the file back to the file system, in slices of about a millisecond between which enqueues can
  /// run; at most `pagesMax`, 0 (default): all. The log is checkpointed first, unless a reader or a writer prevents it:
  /// pages given back are written to the log, and the log may be what fills the disk. A run does the same by itself
  /// while more than a quarter of the file is free. Returns the number of pages given back: none in a file that the
  /// application made without incremental vacuum, which is never converted. The file gets shorter once its log is
  /// checkpointed, which follows unless a reader prevents it. After a throw, the slices before it are done.
  std::uint64_t vacuum(std::uint64_t pagesMax = 0);

  /// Makes the outbox in `file` another store, after a backup was restored: it gets a new identity, and its sessions
  /// are numbered from 1, so that no peer takes its messages for those that the lost file has sent. Pending messages
  /// stay pending, with ids, order and charged attempts; messages delivered since the backup are sent, and take effect,
  /// again. Deferred and retained acknowledged messages are deleted, because their peers have them. What the file has
  /// received is not changed.
  ///
  /// No other process may have the file open. Throws `Error` as `OutboxManager::open`, and `alreadyRunning` if one has;
  /// then nothing was changed.
  static NewStoreReport makeNewStore(const std::filesystem::path& file, OutboxOptions options = {});

  /// Brings the tables of `file` to this release's version, which `OutboxManager::open` needs (`schemaOutdated`). First
  /// it copies the file to `FILE.version-N` beside it, N being the old version, or to a name that begins so; then it
  /// calls `announce`, if there is one, with what it is about to do; then it changes the tables in one transaction. A
  /// process that dies meanwhile leaves the file as it was, and perhaps the copy. Does nothing to tables that have the
  /// version already.
  ///
  /// No other process may have the file open: end agents, and applications that write by an `OutboxWriter` or by the
  /// loadable extension, which this call does not notice.
  ///
  /// Throws `Error` as `OutboxManager::open`, and `alreadyRunning` if an agent has the file open; what `announce`
  /// throws; `std::filesystem::filesystem_error` if the copy cannot be named. Then the tables were not changed.
  static MigrationReport migrateFile(const std::filesystem::path& file, OutboxOptions options = {},
                                     const std::function<void(const MigrationReport& planned)>& announce = {});

  /// Returns what `migrateFile` would do, without the copy. The file is not changed; agents may run beside it. Throws
  /// `Error` as `OutboxReader::open`, but not for an earlier version.
  static MigrationReport previewMigration(const std::filesystem::path& file, OutboxOptions options = {});

private:
  std::shared_ptr<manager::Core> core_;
};

}  // namespace ackbox
