#include "store/postgres/read/inbox_reader.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/sender.hpp"
#include "store/application_lines.hpp"
#include "store/kept_session.hpp"
#include "store/postgres/inbound/inbox.hpp"
#include "store/postgres/read/explainer.hpp"
#include "store/postgres/read/message_pages.hpp"

namespace ackbox::store::postgres {
namespace {

// The session of ACK events, which equals their type. Also defined in `protocol`, which does not depend on the store.
constexpr std::string_view kAckEventSession = "ackbox.ack.v1";

// What a frame costs that is read in full and then not in the state that was asked for, in looks at a row.
constexpr std::size_t kLooksOfFrame = 4;

// The number of rows that are searched for frames that wait for an application.
constexpr std::size_t kUnattendedLooks = 10'000;

// The states are the numbers of `InboxState`, without those that depend on applications. `$1` is the current instant.
constexpr std::string_view kInfoColumns =
    "i.id,i.frame_id,i.source,i.origin,i.session,i.sequence,i.type,CASE WHEN i.owner_id<>0 THEN 3 WHEN "
    "i.due_at_ms>$1::bigint THEN 4 WHEN i.sequence>0 AND EXISTS(SELECT 1 FROM #inbox AS b WHERE b.source=i.source AND "
    "b.origin=i.origin AND b.session=i.session AND b.sequence>0 AND b.sequence<i.sequence) THEN 2 ELSE 0 END,"
    "i.retry_count,i.starts,i.accepted_at_ms,i.started_at_ms,i.due_at_ms,i.failed_at_ms,coalesce(i.last_error,''),"
    "octet_length(i.data),i.owner_id";
static_assert(static_cast<int>(InboxState::behind) == 2 && static_cast<int>(InboxState::running) == 3 &&
              static_cast<int>(InboxState::backoff) == 4);

constexpr int kOwnerColumn = 16;

// $4: the row, or 0 if it is not known. $2 and $3: its sender and id.
constexpr std::string_view kOfFrame =
    " WHERE i.source=$2 AND i.frame_id=$3 AND i.id=CASE WHEN $4::bigint<>0 THEN $4::bigint ELSE (SELECT f.id FROM "
    "#inbox AS f WHERE f.source=$2 AND f.frame_id=$3 ORDER BY f.id LIMIT 1) END";

Reason awayReason(const Application& application, WallTime acceptedAt) {
  return {.blockReason = BlockReason::applicationAway,
          .since = std::max(*application.awaySince, acceptedAt),
          .detail = application.cause};
}

InboxInfo frameInfoOf(const Row& row) {
  InboxInfo info;
  std::string session;
  Columns columns(row);
  columns >> info.row >> info.messageId >> info.source >> info.origin >> session >> info.sequence >> info.type >>
      info.state >> info.retryCount >> info.startCount >> info.acceptedAt >> info.startedAt >> info.dueAt >>
      info.failedAt >> info.lastError >> info.bytes;
  info.mailbox = KeptSession::mailboxOf(session);
  info.session = KeptSession::sessionOf(session);
  return info;
}

// Of a frame that has ended, see `endedInfoOf`. The reason is the one that the sender stores for a refusal without a
// code.
constexpr std::string_view kResultColumns =
    "frame_id,source,origin,session,CASE WHEN origin='' THEN 0 ELSE sequence END,outcome,coalesce(code,'rejected'),"
    "coalesce(detail,''),keep_until_ms,type,starts,ended_at_ms";
constexpr int kResultChosenColumn = 12;

InboxInfo endedInfoOf(const Row& row) {
  InboxInfo info;
  std::string session;
  Outcome outcome{};
  Columns columns(row);
  columns >> info.messageId >> info.source >> info.origin >> session >> info.sequence >> outcome >> info.reason >>
      info.lastError >> info.keptUntil >> info.type >> info.startCount >> info.endedAt;
  info.mailbox = KeptSession::mailboxOf(session);
  info.session = KeptSession::sessionOf(session);
  info.state = InboxState::ended;
  if (outcome == Outcome::ack) {
    info.reason.clear();
  }
  return info;
}

std::string frameSelect(std::string_view rest) {
  return std::string("SELECT ").append(kInfoColumns).append(" FROM #inbox AS i").append(rest);
}

// The refusals that are kept, the last first, and whether the filter chooses each.
const std::string& refusedSelect() {
  static const std::string kSelect =
      std::string("SELECT ")
          .append(kResultColumns)
          .append(
              ",(CASE WHEN ($3::text IS NULL OR source=$3) AND ($4::text IS NULL OR session=$4) AND ($5::text IS NULL "
              "OR starts_with(session,$5)) AND ($6::text IS NULL OR frame_id=$6 OR type=$6 OR code=$6 OR "
              "strpos(session,$6)>0 OR strpos(source,$6)>0 OR strpos(detail,$6)>0) THEN 1 ELSE 0 END)::bigint FROM "
              "#inbox_results WHERE outcome<>0 ORDER BY keep_until_ms DESC,frame_id,source,origin,session,sequence "
              "LIMIT $1::bigint OFFSET $2::bigint");
  return kSelect;
}

}  // namespace

InboxPage InboxReader::page(const InboxFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  static const std::string kSelect = frameSelect(
      " WHERE i.id>$2::bigint AND ($4::text IS NULL OR i.source=$4) AND ($5::text IS NULL OR i.session=$5) AND "
      "($6::text IS NULL OR starts_with(i.session,$6)) AND ($7::text IS NULL OR i.frame_id=$7 OR i.type=$7 OR "
      "strpos(i.session,$7)>0 OR strpos(i.source,$7)>0 OR strpos(i.last_error,$7)>0) ORDER BY i.id LIMIT $3::bigint");
  InboxPage page;
  const std::vector<Application> known = applications();
  // The name of a mailbox's session begins with the mailbox.
  InboxFilter kept = filter;
  if (filter.mailbox && filter.session) {
    kept.session = KeptSession(*filter.mailbox, *filter.session).name();
    kept.mailbox.reset();
  } else if (filter.mailbox) {
    kept.mailbox = KeptSession(*filter.mailbox, {}).name();
  }
  if (filter.state == InboxState::ended) {
    refused(page, kept, limit, after);
    return page;
  }
  std::size_t looked = 0;
  std::int64_t last = 0;
  const Result rows = connection_.run(kSelect, options_.clock->wallNow(), after, kPageLooks, kept.source, kept.session,
                                      kept.mailbox, kept.text);
  for (const Row& row : rows) {
    ++looked;
    InboxInfo info = frameInfoOf(row);
    last = info.row;
    noteAway(known, info);
    if (!filter.state || info.state == *filter.state) {
      page.frames.push_back(std::move(info));
    } else {
      looked += kLooksOfFrame;
    }
    if (page.frames.size() == limit || looked >= kPageLooks) {
      page.next = last;
      break;
    }
  }
  return page;
}

void InboxReader::refused(InboxPage& page, const InboxFilter& kept, std::size_t limit, std::int64_t after) {
  std::size_t looked = 0;
  for (const Row& row :
       connection_.run(refusedSelect(), kPageLooks, after, kept.source, kept.session, kept.mailbox, kept.text)) {
    ++looked;
    if (row.integer(kResultChosenColumn) != 0) {
      page.frames.push_back(endedInfoOf(row));
    }
    if (page.frames.size() == limit || looked == kPageLooks) {
      page.next = after + static_cast<std::int64_t>(looked);
      break;
    }
  }
}

UnattendedFrames InboxReader::unattended() {
  UnattendedFrames found;
  const std::vector<Application> known = applications();
  if (std::ranges::none_of(known, [](const Application& one) { return one.awaySince.has_value(); })) {
    return found;
  }
  std::size_t looked = 0;
  for (const Row& row :
       connection_.run("SELECT type,accepted_at_ms,session FROM #inbox WHERE due_at_ms<=$1 ORDER BY id LIMIT $2",
                       options_.clock->wallNow(), kUnattendedLooks + 1)) {
    if (++looked > kUnattendedLooks) {
      found.isCut = true;
      break;
    }
    // The agent of a mailbox may sleep.
    const bool isMailed = !KeptSession::mailboxOf(row.view(2)).empty();
    const Application* const away = isMailed ? nullptr : awayFrom(known, {}, row.view(0));
    if (away == nullptr) {
      continue;
    }
    if (++found.frames == 1) {
      found.oldestAt = row.instant(1);
      found.type = row.text(0);
      found.cause = away->cause;
    }
    found.since = std::min(found.since.value_or(*away->awaySince), *away->awaySince);
  }
  return found;
}

std::vector<Application> InboxReader::applications() {
  for (const Row& row :
       connection_.run("SELECT applications FROM #owners WHERE applications<>'' AND #lives(id) ORDER BY id")) {
    return readApplicationLines(row.view(0));
  }
  return {};
}

std::optional<InboxInfo> InboxReader::find(std::string_view source, std::string_view messageId, std::int64_t row) {
  static const std::string kSelect = frameSelect(kOfFrame);
  const std::vector<Application> known = applications();
  if (const Result result = connection_.run(kSelect, options_.clock->wallNow(), source, messageId, row);
      !result.empty()) {
    InboxInfo info = frameInfoOf(result.front());
    noteAway(known, info);
    return info;
  }
  static const std::string kEnded =
      std::string("SELECT ")
          .append(kResultColumns)
          .append(" FROM #inbox_results WHERE frame_id=$2 AND source=$1 ORDER BY keep_until_ms DESC LIMIT 1");
  const Result ended = connection_.run(kEnded, source, messageId);
  return ended.empty() ? std::nullopt : std::optional(endedInfoOf(ended.front()));
}

std::optional<InboundFrame> InboxReader::frame(std::string_view source, std::string_view messageId, std::int64_t row) {
  static const std::string kSelect = std::string("SELECT ")
                                         .append(kFrameColumns)
                                         .append(" FROM #inbox AS i")
                                         .append(kOfFrame)
                                         .append(" AND $1::bigint=0");
  const Result result = connection_.run(kSelect, 0, source, messageId, row);
  if (result.empty()) {
    return std::nullopt;
  }
  Columns columns(result.front());
  return readFrame(columns);
}

std::vector<std::string> InboxReader::sources(std::string_view messageId) {
  std::vector<std::string> found;
  for (const Row& row : connection_.run("SELECT source FROM #inbox WHERE frame_id=$1 UNION SELECT source FROM "
                                        "#inbox_results WHERE frame_id=$1 ORDER BY source",
                                        messageId)) {
    found.push_back(row.text(0));
  }
  return found;
}

std::optional<InboxExplanation> InboxReader::explain(std::string_view source, std::string_view messageId,
                                                     std::int64_t row) {
  static const std::string kSelect = frameSelect(kOfFrame);
  std::optional<InboxInfo> frame = find(source, messageId, row);
  if (!frame) {
    return std::nullopt;
  }
  InboxExplanation explanation;
  switch (frame->state) {
    case InboxState::ended:
      explainEnded(*frame, explanation.reasons);
      break;
    case InboxState::running: {
      const Result result = connection_.run(kSelect, options_.clock->wallNow(), source, messageId, row);
      explanation.reasons.push_back(runReason(*frame, result.front().integer(kOwnerColumn)));
      break;
    }
    case InboxState::waiting:
    case InboxState::unattended:
    case InboxState::behind:
    case InboxState::backoff:
      explainWaiting(*frame, applications(), explanation.reasons);
      break;
  }
  explanation.frame = *std::move(frame);
  return explanation;
}

Reason InboxReader::runReason(const InboxInfo& frame, std::int64_t owner) {
  const OwnerLook look = lookAtOwner(connection_, owner);
  return {.blockReason = look.lives ? BlockReason::running : BlockReason::ownerDead,
          .since = frame.startedAt,
          .processId = look.processId,
          .detail = {}};
}

void InboxReader::explainWaiting(const InboxInfo& frame, std::span<const Application> applications,
                                 std::vector<Reason>& reasons) {
  if (frame.sequence != 0) {
    const Result result = connection_.run(
        "SELECT sequence,retry_count,coalesce(last_error,''),owner_id,due_at_ms,started_at_ms,type,accepted_at_ms FROM "
        "#inbox WHERE source=$1 AND origin=$2 AND session=$3 AND sequence>0 AND sequence<$4 ORDER BY sequence LIMIT 1",
        frame.source, frame.origin, KeptSession(frame.mailbox, frame.session).name(), frame.sequence);
    if (!result.empty()) {
      const Row row = result.front();
      reasons.push_back({.blockReason = BlockReason::behind,
                         .sequence = row.as<std::uint64_t>(0),
                         .retryCount = row.as<std::uint32_t>(1),
                         .detail = row.text(2)});
      // The reasons that block that frame block this one too.
      InboxInfo first;
      first.dueAt = row.instant(4);
      first.startedAt = row.instant(5);
      first.mailbox = frame.mailbox;
      first.type = row.text(6);
      first.acceptedAt = row.instant(7);
      explainFirst(first, row.integer(3), applications, reasons);
    }
  }
  if (frame.state == InboxState::backoff) {
    reasons.push_back({.blockReason = BlockReason::backoff, .until = frame.dueAt, .detail = frame.lastError});
  }
  if (frame.state == InboxState::unattended) {
    if (const Application* const away = awayFrom(applications, frame.mailbox, frame.type)) {
      reasons.push_back(awayReason(*away, frame.acceptedAt));
    }
  }
  if (!hasHandler()) {
    reasons.push_back({.blockReason = BlockReason::noDeferredHandler, .detail = {}});
  }
}

void InboxReader::explainFirst(const InboxInfo& first, std::int64_t owner, std::span<const Application> applications,
                               std::vector<Reason>& reasons) {
  if (owner == 0 && first.dueAt > options_.clock->wallNow()) {
    reasons.push_back({.blockReason = BlockReason::backoff, .until = first.dueAt, .detail = {}});
  } else if (const Application* const away = awayFrom(applications, first.mailbox, first.type)) {
    reasons.push_back(awayReason(*away, first.acceptedAt));
  } else if (owner != 0) {
    reasons.push_back(runReason(first, owner));
  }
}

void InboxReader::explainEnded(const InboxInfo& frame, std::vector<Reason>& reasons) {
  if (frame.reason.empty()) {
    reasons.push_back({.blockReason = BlockReason::handled, .until = frame.keptUntil, .detail = {}});
  } else {
    reasons.push_back({.blockReason = BlockReason::refused,
                       .until = frame.keptUntil,
                       .detail = frame.reason + (frame.lastError.empty() ? "" : ": " + frame.lastError)});
  }
  const Result peer =
      connection_.run("SELECT id,name FROM #peers WHERE agent=$1 AND agent<>'' ORDER BY id LIMIT 1", frame.source);
  if (peer.empty()) {
    reasons.push_back({.blockReason = BlockReason::senderIsNoPeer, .detail = {}});
    return;
  }
  const std::int64_t waiting =
      connection_
          .run(
              "SELECT count(*) FROM #sessions AS s JOIN #outbox AS o ON o.session_id=s.id WHERE s.peer_id=$1 AND "
              "s.name=$2 AND s.lane=0 AND o.state IN (0,2)",
              peer.front().integer(0), kAckEventSession)
          .front()
          .integer(0);
  if (waiting > 0) {
    reasons.push_back({.blockReason = BlockReason::ackEventsWait,
                       .sequence = static_cast<std::uint64_t>(waiting),
                       .detail = peer.front().text(1)});
  }
}

bool InboxReader::hasHandler() {
  return !connection_.run("SELECT 1 FROM #owners WHERE deferred_handlers>0 AND #lives(id) LIMIT 1").empty();
}

}  // namespace ackbox::store::postgres
