#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/stats.hpp"
#include "records/peer.hpp"
#include "records/symptoms.hpp"
#include "serve/api/audit.hpp"
#include "serve/api/history.hpp"
#include "serve/inbox/frame_waits.hpp"
#include "serve/page/health_sentence.hpp"
#include "serve/page/parts.hpp"

namespace ackbox::serve::page {

// The views: each renders data as HTML, and reads nothing itself.

struct Overview {
  Stats stats = {};
  std::vector<records::PeerFigures> peers = {};
  BoundedCount blockedSessions = {};
  /// See `Service::troubles`.
  std::vector<records::Symptom> troubles = {};
  Reception reception = {};
};
[[nodiscard]] Html overviewView(const View& view, const Overview& overview);

/// When the peer's state began, and when it is probed next.
[[nodiscard]] Html circuitInstants(const View& view, const PeerStatus& peer);

/// The number of a peer's dead letters, as a link to them.
[[nodiscard]] Html deadLink(const View& view, const records::PeerFigures& peer);

/// Sorts by name, with the peers that are not up before all others.
void sortByNeed(std::vector<records::PeerFigures>& peers);

[[nodiscard]] Html peersView(const View& view, std::vector<records::PeerFigures> peers);

/// Dead letters that have the same reason, and errors of the same form (`errorFingerprint`).
struct DeadLetterGroup {
  std::string reason = {};
  std::set<std::string> peers = {};
  std::set<std::string> types = {};
  std::uint64_t count = 0;
  WallTime oldestAt = {};
  WallTime newestAt = {};
  /// The error and the id of the newest of them.
  std::string lastError = {};
  std::string messageId = {};
};

/// Groups the dead letters, the largest group first.
[[nodiscard]] std::vector<DeadLetterGroup> groupsOf(const std::vector<MessageInfo>& deadLetters);

struct DeadLetterOverview {
  std::vector<DeadLetterGroup> groups = {};
  /// How many dead letters, the newest ones, are in the groups.
  std::uint64_t looked = 0;
  /// The number of all dead letters; with a filter, of those in the groups.
  std::uint64_t failed = 0;
  /// There are older ones, which are in no group.
  bool isCut = false;
  /// The filters, as in the address.
  std::string peer = {};
  std::string type = {};
};
[[nodiscard]] Html deadLettersView(const View& view, const DeadLetterOverview& overview);

struct MessageList {
  MessagePage page = {};
  /// The filters, as in the address.
  std::string state = {};
  std::string peer = {};
  std::string session = {};
  std::string type = {};
  /// In the error; also the session or the type, if it is the whole of it.
  std::string text = {};
  /// How long ago the enqueues were at most, such as `24h`.
  std::string within = {};
  bool isOldestFirst = false;
  bool isFirst = true;
  std::vector<std::string> peers = {};
  /// The page is not full, because a page reads a limited number of messages only.
  bool isShort = false;
};
[[nodiscard]] Html messagesView(const View& view, const MessageList& list);

/// A table of messages; the caption is for screen readers alone, as the heading above it says the same.
[[nodiscard]] Html messageTable(const View& view, std::string_view caption, const std::vector<MessageInfo>& messages);

/// What the file has under a text that a person looks for.
struct SearchResult {
  /// Empty if nothing was looked for yet.
  std::string text = {};
  /// The message with this id.
  std::optional<MessageInfo> message = {};
  /// The ids of the messages that were enqueued with this idempotency key, and those of them that are here.
  std::vector<std::string> keyIds = {};
  std::vector<MessageInfo> ofKey = {};
  /// The newest dead letters of this session or type, or with the text in their last error.
  MessagePage dead = {};
  /// The newest of all messages, chosen in the same way.
  MessagePage messages = {};
  /// The oldest received frames with this id, session or type, or with the text in their last error.
  InboxPage frames = {};
  FrameWaits waits = {};
  /// The last refused frames that the text chooses.
  std::vector<InboxInfo> ended = {};
};
[[nodiscard]] Html searchView(const View& view, const SearchResult& result);

/// Why a message or frame is in its state, the nearest reason first. Nothing for a single reason: the sentence about
/// the message or frame has it.
[[nodiscard]] Html reasonChain(const View& view, const std::vector<Reason>& reasons);

/// `frame` is empty if the message was removed while the view was made.
[[nodiscard]] Html messageView(const View& view, const Explanation& explanation, const std::optional<Frame>& frame);

struct SessionList {
  SessionPage page = {};
  /// At most as many as a page shows.
  std::vector<BlockedSession> blocked = {};
  bool isBlockedCut = false;
  std::string peer = {};
  bool isFirst = true;
};
[[nodiscard]] Html sessionsView(const View& view, const SessionList& list);

struct InboxList {
  InboxPage page = {};
  FrameWaits waits = {};
  std::vector<InboundSenderStats> senders = {};
  std::uint64_t waiting = 0;
  bool isFirst = true;
  /// The filters, as in the address.
  std::string state = {};
  std::string source = {};
  std::string text = {};
};
[[nodiscard]] Html inboxView(const View& view, const InboxList& list);

/// A frame's id as a link to its view.
[[nodiscard]] Html frameLink(const View& view, const InboxInfo& frame);

/// A table of received frames; the caption is for screen readers alone.
[[nodiscard]] Html frameTable(const View& view, std::string_view caption, const std::vector<InboxInfo>& frames,
                              const FrameWaits& waits);

/// `content` is empty if the frame has ended.
[[nodiscard]] Html frameView(const View& view, const InboxExplanation& explanation,
                             const std::optional<InboundFrame>& content, const FrameWaits& waits);

/// The figures of the last day, by minutes, and of the last week, by hours.
[[nodiscard]] Html historyView(const View& view, const std::vector<HistorySpan>& day,
                               const std::vector<HistorySpan>& week);

/// What callers changed, the newest first.
[[nodiscard]] Html changesView(const View& view, const std::vector<AuditEntry>& entries);

/// The peer's state as a word; `removed` if it was.
[[nodiscard]] std::string_view stateOf(const records::PeerFigures& peer);

/// The buttons for what can be done with a peer in its state.
[[nodiscard]] Html peerActions(const View& view, const records::PeerFigures& peer);

struct PeerPage {
  records::PeerFigures peer = {};
  /// Those of this peer.
  std::vector<PeerSubscription> subscriptions = {};
  /// Where it is, if the configuration says so.
  std::string url = {};
};
[[nodiscard]] Html peerView(const View& view, const PeerPage& page);

struct Checkup {
  records::Contents contents = {};
  std::vector<std::int64_t> processIds = {};
  /// See `Service::troubles`.
  std::vector<records::Symptom> troubles = {};
};
[[nodiscard]] Html doctorView(const View& view, const Checkup& checkup);

/// `next`: the view to open after the login. `problem` is empty before the first attempt.
[[nodiscard]] Html loginView(const View& view, const std::string& next, std::string_view problem);

/// The content in place of a view, such as for an unknown message.
[[nodiscard]] Html noticeView(const View& view, std::string_view title, std::string_view text);

}  // namespace ackbox::serve::page
