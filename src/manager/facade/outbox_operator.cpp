#include "ackbox/outbox_operator.hpp"

#include "ackbox/inbound_options.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/home_process.hpp"
#include "base/options.hpp"
#include "base/pattern.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "manager/facade/jobs.hpp"
#include "manager/facade/resend_as_new.hpp"
#include "manager/inbound/ack_events.hpp"
#include "manager/log/log.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"
#include "store/sqlite/open.hpp"
#include "store/store.hpp"

namespace ackbox {
namespace {

// The most rows changed in one transaction, so that the write lock is free again after a few milliseconds.
constexpr std::size_t kSliceRows = 500;
// Of a peer that is added.
constexpr std::size_t kDefinitionBytesMax = std::size_t{16} * 1024;
// Of a subscription's texts.
constexpr std::size_t kNameBytesMax = 256;
// The same as `kSliceRows` for pages.
constexpr std::uint64_t kSlicePages = 64;

store::HandChange changeOne(manager::Core& core, std::string_view messageId, delivery::Transition transition,
                            std::string_view reason = {}) {
  return manager::commitBlocking(core.writer(), true, [&](store::Store& store) {
    return store.deadLetters().change(messageId, transition, reason);
  });
}

std::uint64_t changeAll(manager::Core& core, const DeadLetterFilter& filter, delivery::Transition transition) {
  std::uint64_t changed = 0;
  store::SliceReport report;
  report.next.filter = filter;
  do {
    report = manager::commitBlocking(core.writer(), true, [&, slice = report.next](store::Store& store) {
      return store.deadLetters().change(slice, transition, kSliceRows);
    });
    changed += report.changed;
  } while (report.more);
  return changed;
}

template <typename Change>
bool commitHold(manager::Core& core, Change change) {
  return manager::commitBlocking(core.writer(), true, [&](store::Store& store) { return change(store.holds()); });
}

using InboxHand = std::function<InboxReceipt(store::Store&, store::InboxKey)>;

InboxReceipt changeFrame(manager::Core& core, std::string_view source, std::string_view messageId,
                         const InboxHand& change) {
  return manager::commitBlocking(core.writer(), true, [&](store::Store& store) {
    // Frees the rows of dead processes first.
    store.owners().releaseDead();
    const store::InboxKey key = store.inbox().find(source, messageId);
    if (key != 0) {
      return change(store, key);
    }
    InboxReceipt receipt;
    receipt.refusal = Errc::unknownMessage;
    if (store.inbox().hasEnded(source, messageId)) {
      receipt.refusal = Errc::invalidTransition;
      receipt.state = InboxState::ended;
    }
    return receipt;
  });
}

std::uint64_t changeFrames(manager::Core& core, const InboxFilter& filter, const InboxHand& change) {
  std::uint64_t changed = 0;
  std::int64_t after = 0;
  do {
    const InboxPage page = core.reader().inbox(filter, kSliceRows, after);
    after = page.next;
    changed += manager::commitBlocking(core.writer(), true, [&](store::Store& store) {
      std::uint64_t done = 0;
      store.owners().releaseDead();
      for (const InboxInfo& frame : page.frames) {
        done += change(store, frame.row).done() ? 1U : 0U;
      }
      return done;
    });
  } while (after != 0);
  return changed;
}

/// The last row's: a change of many leaves alone what comes later.
delivery::MessageKey lastKeyOf(manager::Core& core) {
  return manager::commitBlocking(core.writer(), false,
                                 [](store::Store& store) { return store.deadLetters().highestKey(); });
}

std::uint64_t repeatAll(manager::Core& core, MessageFilter filter) {
  if (filter.state.value_or(MessageState::acked) != MessageState::acked) {
    throw OptionError("filter.state", "must be acknowledged, or not be set: only such messages are sent again");
  }
  filter.state = MessageState::acked;
  filter.isNewestFirst = false;
  const delivery::MessageKey until = lastKeyOf(core);
  std::uint64_t changed = 0;
  std::int64_t after = 0;
  do {
    const MessagePage page = core.reader().messages(filter, kSliceRows, after);
    std::vector<delivery::MessageKey> keys;
    for (const MessageInfo& message : page.messages) {
      // Those behind it were sent again by this call, and acknowledged since.
      if (message.row <= until) {
        keys.push_back(message.row);
      }
    }
    if (!keys.empty()) {
      changed += manager::commitBlocking(core.writer(), true,
                                         [&](store::Store& store) { return store.deadLetters().repeat(keys); });
    }
    after = page.next;
  } while (after != 0 && after <= until);
  return changed;
}

/// Reports the change to subscribers, if it was made.
void reportFailed(manager::Core& core, std::string messageId, store::HandChange&& change) {
  if (!change.receipt.done()) {
    return;
  }
  FailedEvent event;
  event.messageId = std::move(messageId);
  event.peer = std::move(change.peer);
  event.session = std::move(change.session);
  event.sequence = change.receipt.sequence;
  event.reason = std::move(change.reason);
  event.error = std::move(change.lastError);
  core.settledOutside(change.message, [event](manager::EventHub& events) { events.failed.emit(event); });
}

/// Messages that are in flight when their turn comes are left.
std::uint64_t failAll(manager::Core& core, MessageFilter filter, std::string_view reason,
                      std::int64_t lastRow = std::numeric_limits<std::int64_t>::max()) {
  filter.isNewestFirst = false;
  const delivery::MessageKey until = std::min(lastKeyOf(core), lastRow);
  std::uint64_t failed = 0;
  std::int64_t after = 0;
  do {
    MessagePage page = core.reader().messages(filter, kSliceRows, after);
    after = page.next;
    std::erase_if(page.messages, [until](const MessageInfo& message) { return message.row > until; });
    std::vector<store::HandChange> changes = manager::commitBlocking(core.writer(), true, [&](store::Store& store) {
      std::vector<store::HandChange> made;
      for (const MessageInfo& message : page.messages) {
        made.push_back(store.deadLetters().change(message.messageId, delivery::Transition::fail, reason));
      }
      return made;
    });
    for (std::size_t index = 0; index < changes.size(); ++index) {
      failed += changes[index].receipt.done() ? 1U : 0U;
      reportFailed(core, page.messages[index].messageId, std::move(changes[index]));
    }
  } while (after != 0 && after <= until);
  return failed;
}

void requireValid(const PeerSubscription& subscription) {
  const auto require = [](const char* field, const std::string& text, bool mayBeEmpty) {
    if ((text.empty() && !mayBeEmpty) || !protocol::isPlainText(text, kNameBytesMax)) {
      throw OptionError(
          field, "has another form",
          std::string(mayBeEmpty ? "at most" : "1 to") + " 256 bytes of UTF-8 without control characters");
    }
  };
  const auto requirePattern = [](const char* field, const std::string& text) {
    if (const std::string_view problem = patternProblem(text); !problem.empty()) {
      throw OptionError(field, std::string(problem));
    }
  };
  require("name", subscription.name, false);
  require("type", subscription.type, false);
  require("session", subscription.session, true);
  requirePattern("type", subscription.type);
  requirePattern("session", subscription.session);
}

InboxReceipt retryFrame(store::Store& store, store::InboxKey key) {
  return store.inbox().retryNow(key).receipt;
}

InboxHand discardingAs(std::string_view reason) {
  if (reason.empty() || reason.size() > protocol::kCodeBytesMax) {
    throw OptionError("reason", "has " + std::to_string(reason.size()) + " bytes", "1 to 128 bytes");
  }
  FrameResult result;
  result.outcome = Outcome::term;
  result.code = reason;
  result.detail = "an operator of the receiver discarded the frame";
  return [result = std::move(result)](store::Store& store, store::InboxKey key) {
    const store::InboxChange change = store.inbox().discard(key, result, InboundOptions().processedRetention);
    if (change.receipt.done()) {
      const store::InboxEnding end{&change.row, &result};
      manager::enqueueAckEvents(store, {&end, 1});
    }
    return change.receipt;
  };
}

// Requires an existing outbox, and keeps the peers that it has.
OutboxOptions optionsOfExisting(OutboxOptions options) {
  options = validated(std::move(options));
  options.createSchema = false;
  options.adoptPeers = true;
  return options;
}

}  // namespace

OutboxOperator::OutboxOperator(OutboxManager& manager) : core_(manager::CoreOf::manager(manager)) {}

ChangeReceipt OutboxOperator::retry(std::string_view messageId) {
  return changeOne(manager::here(core_), messageId, delivery::Transition::redrive).receipt;
}

std::uint64_t OutboxOperator::retryFailed(const DeadLetterFilter& filter) {
  return changeAll(manager::here(core_), filter, delivery::Transition::redrive);
}

std::uint64_t OutboxOperator::reconcileFailed(std::uint32_t maxRetries) {
  if (maxRetries == 0) {
    return 0;
  }
  DeadLetterFilter filter;
  filter.retriesBelow = maxRetries;
  return retryFailed(filter);
}

ChangeReceipt OutboxOperator::resend(std::string_view messageId) {
  return changeOne(manager::here(core_), messageId, delivery::Transition::repeat).receipt;
}

std::uint64_t OutboxOperator::resend(const MessageFilter& filter) {
  return repeatAll(manager::here(core_), filter);
}

ResendReceipt OutboxOperator::resendAsNew(std::string_view messageId) {
  return manager::resendAsNew(manager::here(core_), messageId);
}

ResendReport OutboxOperator::resendAsNew(const MessageFilter& filter) {
  return manager::resendAsNew(manager::here(core_), filter);
}

ResendReport OutboxOperator::resendTo(std::string_view peer, const MessageFilter& filter) {
  return manager::resendTo(manager::here(core_), peer, filter);
}

ChangeReceipt OutboxOperator::discard(std::string_view messageId) {
  return changeOne(manager::here(core_), messageId, delivery::Transition::discard).receipt;
}

std::uint64_t OutboxOperator::discardFailed(const DeadLetterFilter& filter) {
  return changeAll(manager::here(core_), filter, delivery::Transition::discard);
}

ChangeReceipt OutboxOperator::markFailed(std::string_view messageId, std::string_view reason) {
  store::HandChange change = changeOne(manager::here(core_), messageId, delivery::Transition::fail, reason);
  const ChangeReceipt receipt = change.receipt;
  reportFailed(manager::here(core_), std::string(messageId), std::move(change));
  return receipt;
}

std::uint64_t OutboxOperator::markFailed(const MessageFilter& filter, std::string_view reason, std::int64_t lastRow) {
  if (filter.state && filter.state != MessageState::pending && filter.state != MessageState::sent) {
    throw OptionError("filter.state", "must be pending or sent, or not be set: only such messages become dead letters");
  }
  std::uint64_t failed = 0;
  MessageFilter chosen = filter;
  for (const MessageState state : {MessageState::pending, MessageState::sent}) {
    if (filter.state.value_or(state) == state) {
      chosen.state = state;
      failed += failAll(manager::here(core_), chosen, reason, lastRow);
    }
  }
  return failed;
}

InboxReceipt OutboxOperator::retryInbox(std::string_view source, std::string_view messageId) {
  return changeFrame(manager::here(core_), source, messageId, retryFrame);
}

std::uint64_t OutboxOperator::retryInbox(const InboxFilter& filter) {
  return changeFrames(manager::here(core_), filter, retryFrame);
}

InboxReceipt OutboxOperator::discardInbox(std::string_view source, std::string_view messageId,
                                          std::string_view reason) {
  return changeFrame(manager::here(core_), source, messageId, discardingAs(reason));
}

std::uint64_t OutboxOperator::discardInbox(const InboxFilter& filter, std::string_view reason) {
  return changeFrames(manager::here(core_), filter, discardingAs(reason));
}

bool OutboxOperator::addPeer(const PeerOptions& peer, std::string_view definition) {
  manager::Core& core = manager::here(core_);
  OutboxOptions alone;
  alone.peers = {peer};
  alone.ackedRetention = core.options().ackedRetention;
  validate(alone);
  if (definition.empty() || definition.size() > kDefinitionBytesMax) {
    throw OptionError("definition", "has " + std::to_string(definition.size()) + " bytes", "1 to 16,384 bytes");
  }
  if (std::ranges::find(core.options().peers, peer.name, &PeerOptions::name) != core.options().peers.end()) {
    throw OptionError("name", "'" + peer.name + "' is a peer of a configuration; change it there");
  }
  const std::optional<bool> isNew = manager::commitBlocking(
      core.writer(), true, [&](store::Store& store) { return store.addPeer(peer, definition); });
  if (!isNew) {
    throw OptionError("name", "the outbox has 10,000 peers that were added; remove one first");
  }
  return *isNew;
}

PeerRemoval OutboxOperator::removePeer(std::string_view name, WaitingMessages waiting) {
  manager::Core& core = manager::here(core_);
  PeerRemoval report = manager::commitBlocking(core.writer(), true,
                                               [&](store::Store& store) { return store.removePeer(name, waiting); });
  if (!report.isRemoved || waiting == WaitingMessages::refuse) {
    return report;
  }
  MessageFilter filter;
  filter.peer = name;
  for (const MessageState state : {MessageState::pending, MessageState::sent}) {
    // A search passes the file's other messages on its way, so none is made for what is not there.
    if (report.failed < report.left) {
      filter.state = state;
      report.failed += failAll(core, filter, "peer-removed");
    }
  }
  report.left -= std::min(report.left, report.failed);
  return report;
}

bool OutboxOperator::subscribe(const PeerSubscription& subscription) {
  requireValid(subscription);
  const std::optional<bool> isNew =
      manager::commitBlocking(manager::here(core_).writer(), true,
                              [&](store::Store& store) { return store.subscriptions().put(subscription); });
  if (!isNew) {
    throw OptionError("name", "the outbox has 1,000 subscriptions; remove one first");
  }
  return *isNew;
}

bool OutboxOperator::unsubscribe(std::string_view name) {
  return manager::commitBlocking(manager::here(core_).writer(), true,
                                 [&](store::Store& store) { return store.subscriptions().remove(name); });
}

bool OutboxOperator::pause(std::string_view peer) {
  return commitHold(manager::here(core_), [&](store::Holds& holds) { return holds.pausePeer(peer); });
}

bool OutboxOperator::pause(std::string_view peer, std::string_view session) {
  return commitHold(manager::here(core_), [&](store::Holds& holds) { return holds.pauseSession(peer, session); });
}

bool OutboxOperator::resume(std::string_view peer) {
  return commitHold(manager::here(core_), [&](store::Holds& holds) { return holds.resumePeer(peer); });
}

bool OutboxOperator::resume(std::string_view peer, std::string_view session) {
  return commitHold(manager::here(core_), [&](store::Holds& holds) { return holds.resumeSession(peer, session); });
}

bool OutboxOperator::unblock(std::string_view peer, std::string_view session) {
  return commitHold(manager::here(core_), [&](store::Holds& holds) { return holds.unblock(peer, session); });
}

std::uint64_t OutboxOperator::vacuum(std::uint64_t pagesMax) {
  const auto vacuum = [this](std::uint64_t pages) {
    return manager::commitBlocking(manager::here(core_).writer(), false, [pages](store::Store& store) {
      return static_cast<std::uint64_t>(store.vacuum(static_cast<std::size_t>(pages)));
    });
  };
  // The log first: released pages are written to it, and the disk may be full.
  vacuum(0);
  std::uint64_t released = 0;
  std::uint64_t slice = 0;
  std::uint64_t wanted = 0;
  do {
    wanted = pagesMax == 0 ? kSlicePages : std::min<std::uint64_t>(kSlicePages, pagesMax - released);
    slice = vacuum(wanted);
    released += slice;
  } while (slice != 0 && slice == wanted);
  return released;
}

RepairReport OutboxOperator::repair() {
  return manager::commitBlocking(manager::here(core_).writer(), true,
                                 [](store::Store& store) { return store.repair(); });
}

FileRepairReport OutboxOperator::previewRepair(const std::filesystem::path& file, OutboxOptions options) {
  const OpenFile openFile(named(file));
  return store::sqlite::repairFile(file, optionsOfExisting(std::move(options)), true);
}

FileRepairReport OutboxOperator::repairFile(const std::filesystem::path& file, OutboxOptions options) {
  const OpenFile openFile(named(file));
  return store::sqlite::repairFile(file, optionsOfExisting(std::move(options)), false);
}

NewStoreReport OutboxOperator::makeNewStore(const std::filesystem::path& file, OutboxOptions options) {
  const OpenFile openFile(named(file));
  return store::sqlite::makeNewStore(file, optionsOfExisting(std::move(options)));
}

MigrationReport OutboxOperator::migrateFile(const std::filesystem::path& file, OutboxOptions options,
                                            const std::function<void(const MigrationReport&)>& announce) {
  const OpenFile openFile(named(file));
  const OutboxOptions used = optionsOfExisting(std::move(options));
  manager::Log log(used.log, used.logLevel, used.clock);
  const auto write = [&](std::string_view event, const MigrationReport& report, const std::string& text) {
    log.write(LogLevel::info, event, text,
              {{"file", file.string()},
               {"from", std::to_string(report.from)},
               {"to", std::to_string(report.to)},
               {"backup", report.backup.string()}});
  };
  MigrationReport report = store::sqlite::migrateFile(
      file, used,
      {[&](const MigrationReport& planned) { return store::sqlite::backUpBefore(file, planned, used); },
       [&](const MigrationReport& planned) {
         write("migration-begins", planned, "the file was copied; its tables are changed in one transaction");
         if (announce) {
           announce(planned);
         }
       }});
  if (!report.changes.empty()) {
    write("migrated", report, "the tables have this release's version");
  }
  return report;
}

MigrationReport OutboxOperator::previewMigration(const std::filesystem::path& file, OutboxOptions options) {
  const OpenFile openFile(named(file));
  return store::sqlite::previewMigration(file, optionsOfExisting(std::move(options)));
}

ForgetReport OutboxOperator::forgetSender(std::string_view source, std::optional<std::string_view> origin) {
  struct Slice {
    ForgetReport report;
    store::ForgetPlace next;
  };
  ForgetReport sum;
  for (store::ForgetPlace place; !place.isAtEnd();) {
    // Copies its position, because a job may run more than once.
    Slice slice = manager::commitBlocking(manager::here(core_).writer(), true, [&](store::Store& store) {
      Slice done{{}, place};
      done.report = store.inboundMarks().forgetSender(source, origin, done.next, kSliceRows);
      return done;
    });
    sum.sessions += slice.report.sessions;
    sum.origins += slice.report.origins;
    sum.marks += slice.report.marks;
    sum.kept += slice.report.kept;
    place = std::move(slice.next);
  }
  return sum;
}

std::uint64_t OutboxOperator::cleanupDone(std::chrono::milliseconds age) {
  std::uint64_t deleted = 0;
  std::size_t slice = 0;
  do {
    slice = manager::commitBlocking(manager::here(core_).writer(), true,
                                    [age](store::Store& store) { return store.settles().purgeAcked(kSliceRows, age); });
    deleted += slice;
  } while (slice == kSliceRows);
  return deleted;
}

}  // namespace ackbox
