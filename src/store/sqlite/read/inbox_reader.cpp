#include "store/sqlite/read/inbox_reader.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/sender.hpp"
#include "store/application_lines.hpp"
#include "store/kept_session.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/message_pages.hpp"

namespace ackbox::store::sqlite {
namespace {

// The session of ACK events, which equals their type. Also defined in `protocol`, which does not depend on the store.
constexpr std::string_view kAckEventSession = "ackbox.ack.v1";

// The first column after those of `frameInfoOf`.
constexpr int kOwnerColumn = 15;

// The states are the numbers of `InboxState`, without those that depend on applications. `?1` is the current instant.
constexpr std::string_view kInfoColumns =
    "id,frame_id,source,origin,session,sequence,type,CASE WHEN owner_id<>0 THEN 3 WHEN due_at_ms>?1 THEN 4 WHEN "
    "sequence>0 AND EXISTS(SELECT 1 FROM #inbox AS b WHERE b.source=i.source AND b.origin=i.origin AND "
    "b.session=i.session AND b.sequence>0 AND b.sequence<i.sequence) THEN 2 ELSE 0 END,retry_count,starts,"
    "accepted_at_ms,started_at_ms,due_at_ms,failed_at_ms,last_error";
static_assert(static_cast<int>(InboxState::behind) == 2 && static_cast<int>(InboxState::running) == 3 &&
              static_cast<int>(InboxState::backoff) == 4);

// What a frame costs that is read in full and then not in the state that was asked for, in looks at a row.
constexpr std::size_t kLooksOfFrame = 4;

// The number of rows that are searched for frames that wait for an application.
constexpr std::size_t kUnattendedLooks = 10'000;

Reason awayReason(const Application& application, WallTime acceptedAt) {
  return {.blockReason = BlockReason::applicationAway,
          .since = std::max(*application.awaySince, acceptedAt),
          .detail = application.cause};
}

InboxInfo frameInfoOf(const Query& query) {
  InboxInfo info;
  info.row = query.integer(0);
  info.messageId = query.text(1);
  info.source = query.text(2);
  info.origin = query.text(3);
  info.mailbox = KeptSession::mailboxOf(query.view(4));
  info.session = KeptSession::sessionOf(query.view(4));
  info.sequence = query.as<std::uint64_t>(5);
  info.type = query.text(6);
  info.state = query.as<InboxState>(7);
  info.retryCount = query.as<std::uint32_t>(8);
  info.startCount = query.as<std::uint32_t>(9);
  info.acceptedAt = query.instant(10);
  info.startedAt = query.instant(11);
  info.dueAt = query.instant(12);
  info.failedAt = query.optionalInstant(13);
  info.lastError = query.text(14);
  return info;
}

// Of a frame that has ended, see `endedInfoOf`.
constexpr std::string_view kResultColumns =
    "frame_id,source,origin,session,iif(origin='',0,sequence),outcome,code,detail,keep_until_ms,type,starts,"
    "ended_at_ms";
constexpr int kResultChosenColumn = 12;

InboxInfo endedInfoOf(const Query& query) {
  InboxInfo info;
  info.messageId = query.text(0);
  info.source = query.text(1);
  info.origin = query.text(2);
  info.mailbox = KeptSession::mailboxOf(query.view(3));
  info.session = KeptSession::sessionOf(query.view(3));
  info.sequence = query.as<std::uint64_t>(4);
  info.state = InboxState::ended;
  if (query.as<Outcome>(5) != Outcome::ack) {
    // The reason that the sender stores for a refusal without a code.
    info.reason = query.isNull(6) ? "rejected" : query.text(6);
  }
  info.lastError = query.text(7);
  info.keptUntil = query.instant(8);
  info.type = query.text(9);
  info.startCount = query.as<std::uint32_t>(10);
  info.endedAt = query.instant(11);
  return info;
}

// ?4: the row, or 0 if it is not known. ?2 and ?3: its sender and id.
constexpr std::string_view kRowOfFrame =
    "iif(?4<>0,?4,(SELECT id FROM #inbox WHERE source=?2 AND frame_id=?3 ORDER BY id LIMIT 1))";

std::string withInfo(std::string_view rest) {
  return std::string("SELECT ").append(kInfoColumns).append(rest);
}

// The key of each row, and whether the filter may choose it: by a state, a frame is chosen as far as the row alone
// says. What is shown is read of the chosen rows alone. A CASE tests no further than it must.
std::string chosenSelect() {
  return "SELECT id,CASE WHEN (?4 IS NULL OR source=?4) AND (?5 IS NULL OR session=?5) AND (?6 IS NULL OR "
         "substr(session,1,length(?6))=?6) AND (?7 IS NULL OR frame_id=?7 OR type=?7 OR "
         "instr(session,?7)>0 OR instr(source,?7)>0 OR instr(last_error,?7)>0) AND (?8 IS NULL OR CASE ?8 WHEN 2 "
         "THEN "
         "owner_id=0 AND sequence>0 WHEN 3 THEN owner_id<>0 WHEN 4 THEN owner_id=0 AND due_at_ms>?1 ELSE 1 END) THEN 1 "
         "ELSE 0 END FROM #inbox NOT INDEXED WHERE id>?2 ORDER BY id LIMIT ?3";
}

// The refusals that are kept, the last first, and whether the filter chooses each, as in `chosenSelect`.
std::string refusedSelect() {
  return std::string("SELECT ")
      .append(kResultColumns)
      .append(
          ",(?3 IS NULL OR source=?3) AND (?4 IS NULL OR session=?4) AND (?5 IS NULL OR "
          "substr(session,1,length(?5))=?5) AND (?6 IS NULL OR frame_id=?6 OR type=?6 OR code=?6 OR "
          "instr(session,?6)>0 OR instr(source,?6)>0 OR instr(detail,?6)>0) FROM #inbox_results INDEXED BY "
          "#inbox_results_refused WHERE outcome<>0 ORDER BY keep_until_ms DESC LIMIT ?1 OFFSET ?2");
}

}  // namespace

InboxReader::InboxReader(sqlite3* connection, const OutboxOptions& options)
    : options_(options),
      sidecar_(ownersFile(connection, options.tablePrefix)),
      page_(connection, chosenSelect(), options.tablePrefix),
      row_(connection, withInfo(",length(CAST(data AS BLOB)) FROM #inbox AS i WHERE id=?2"), options.tablePrefix),
      waiting_(connection,
               "SELECT type,accepted_at_ms,session FROM #inbox NOT INDEXED WHERE due_at_ms<=?1 ORDER BY id LIMIT ?2",
               options.tablePrefix),
      find_(connection,
            withInfo(",owner_id,length(CAST(data AS BLOB)) FROM #inbox AS i WHERE source=?2 AND frame_id=?3 AND id=" +
                     std::string(kRowOfFrame)),
            options.tablePrefix),
      findResult_(
          connection,
          std::string("SELECT ")
              .append(kResultColumns)
              .append(" FROM #inbox_results WHERE frame_id=?2 AND source=?1 ORDER BY keep_until_ms DESC LIMIT 1"),
          options.tablePrefix),
      refused_(connection, refusedSelect(), options.tablePrefix),
      frame_(connection,
             "SELECT frame_id,source,type,data,time_ms,expires_at_ms,audience,session,origin,epoch,sequence,"
             "previous_sequence,traceparent,correlation_id,resent_of,data_content_type FROM #inbox WHERE source=?2 AND "
             "frame_id=?3 "
             "AND id=" +
                 std::string(kRowOfFrame),
             options.tablePrefix),
      sources_(connection,
               "SELECT source FROM #inbox WHERE frame_id=?1 UNION SELECT source FROM #inbox_results WHERE frame_id=?1 "
               "ORDER BY source",
               options.tablePrefix),
      before_(connection,
              "SELECT sequence,retry_count,last_error,owner_id,due_at_ms,started_at_ms,type,accepted_at_ms FROM #inbox "
              "WHERE source=?1 AND origin=?2 AND session=?3 AND sequence>0 AND sequence<?4 ORDER BY sequence LIMIT 1",
              options.tablePrefix),
      owner_(connection, "SELECT pid FROM #owners WHERE id=?1", options.tablePrefix),
      handlers_(connection, "SELECT id FROM #owners WHERE deferred_handlers>0 ORDER BY id", options.tablePrefix),
      applications_(connection, "SELECT id,applications FROM #owners WHERE applications<>'' ORDER BY id",
                    options.tablePrefix),
      peer_(connection, "SELECT id,name FROM #peers WHERE agent=?1 AND agent<>'' ORDER BY id LIMIT 1",
            options.tablePrefix),
      ackEvents_(connection,
                 std::string("SELECT ")
                     .append(kSessionLive)
                     .append(" FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id LEFT JOIN ")
                     .append(kUnwrittenTails)
                     .append(" AS t ON t.session_id=s.id WHERE s.peer_id=?1 AND s.name=?2 AND s.lane=0"),
                 options.tablePrefix) {}

InboxPage InboxReader::page(const InboxFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  InboxPage page;
  std::size_t looked = 0;
  const std::vector<Application> known = applications();
  // The name of a mailbox's session begins with the mailbox.
  std::optional<std::string> session = filter.session;
  std::optional<std::string> mailbox;
  if (filter.mailbox && filter.session) {
    session = KeptSession(*filter.mailbox, *filter.session).name();
  } else if (filter.mailbox) {
    mailbox = KeptSession(*filter.mailbox, {}).name();
  }
  if (filter.state == InboxState::ended) {
    for (Query query(refused_, kPageLooks, after, filter.source, session, mailbox, filter.text); query.next();) {
      ++looked;
      if (query.integer(kResultChosenColumn) != 0) {
        page.frames.push_back(endedInfoOf(query));
      }
      if (page.frames.size() == limit || looked == kPageLooks) {
        page.next = after + static_cast<std::int64_t>(looked);
        break;
      }
    }
    return page;
  }
  const WallTime now = options_.clock->wallNow();
  const std::optional<int> state = filter.state ? std::optional(static_cast<int>(*filter.state)) : std::nullopt;
  Query query(page_, now, after, kPageLooks, filter.source, session, mailbox, filter.text, state);
  while (query.next()) {
    ++looked;
    if (query.integer(1) != 0) {
      if (Query row(row_, now, query.integer(0)); row.next()) {
        InboxInfo info = frameInfoOf(row);
        info.bytes = row.as<std::uint64_t>(kOwnerColumn);
        noteAway(known, info);
        if (!filter.state || info.state == *filter.state) {
          page.frames.push_back(std::move(info));
        } else {
          looked += kLooksOfFrame;
        }
      }
    }
    if (page.frames.size() == limit || looked >= kPageLooks) {
      page.next = query.integer(0);
      break;
    }
  }
  return page;
}

UnattendedFrames InboxReader::unattended() {
  UnattendedFrames found;
  const std::vector<Application> known = applications();
  if (std::ranges::none_of(known, [](const Application& one) { return one.awaySince.has_value(); })) {
    return found;
  }
  std::size_t looked = 0;
  for (Query query(waiting_, options_.clock->wallNow(), kUnattendedLooks + 1); query.next();) {
    if (++looked > kUnattendedLooks) {
      found.isCut = true;
      break;
    }
    // The agent of a mailbox may sleep.
    const bool isMailed = !KeptSession::mailboxOf(query.view(2)).empty();
    const Application* const away = isMailed ? nullptr : awayFrom(known, {}, query.view(0));
    if (away == nullptr) {
      continue;
    }
    if (++found.frames == 1) {
      found.oldestAt = query.instant(1);
      found.type = query.text(0);
      found.cause = away->cause;
    }
    found.since = std::min(found.since.value_or(*away->awaySince), *away->awaySince);
  }
  return found;
}

std::vector<Application> InboxReader::applications() {
  for (Query query(applications_); query.next();) {
    if (ownerLives(sidecar_, query.integer(0))) {
      return readApplicationLines(query.view(1));
    }
  }
  return {};
}

std::optional<InboxInfo> InboxReader::find(std::string_view source, std::string_view messageId, std::int64_t row) {
  const std::vector<Application> known = applications();
  if (Query query(find_, options_.clock->wallNow(), source, messageId, row); query.next()) {
    InboxInfo info = frameInfoOf(query);
    info.bytes = query.as<std::uint64_t>(kOwnerColumn + 1);
    noteAway(known, info);
    return info;
  }
  Query query(findResult_, source, messageId);
  return query.next() ? std::optional(endedInfoOf(query)) : std::nullopt;
}

std::optional<InboundFrame> InboxReader::frame(std::string_view source, std::string_view messageId, std::int64_t row) {
  Query query(frame_, 0, source, messageId, row);
  if (!query.next()) {
    return std::nullopt;
  }
  InboundFrame frame;
  std::string session;
  Columns columns(query);
  columns >> frame.id >> frame.source >> frame.type >> frame.data >> frame.time >> frame.expiresAt >> frame.audience >>
      session >> frame.origin >> frame.epoch >> frame.sequence >> frame.previousSequence >> frame.traceparent >>
      frame.correlationId >> frame.resentOf >> frame.dataContentType;
  frame.mailbox = KeptSession::mailboxOf(session);
  frame.session = KeptSession::sessionOf(session);
  return frame;
}

std::vector<std::string> InboxReader::sources(std::string_view messageId) {
  std::vector<std::string> found;
  for (Query query(sources_, messageId); query.next();) {
    found.push_back(query.text(0));
  }
  return found;
}

std::optional<InboxExplanation> InboxReader::explain(std::string_view source, std::string_view messageId,
                                                     std::int64_t row) {
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
      Query query(find_, options_.clock->wallNow(), source, messageId, row);
      query.next();
      explanation.reasons.push_back(runReason(*frame, query.integer(kOwnerColumn)));
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
  Query query(owner_, owner);
  const bool registered = query.next();
  return {.blockReason = registered && ownerLives(sidecar_, owner) ? BlockReason::running : BlockReason::ownerDead,
          .since = frame.startedAt,
          .processId = registered ? query.integer(0) : 0,
          .detail = {}};
}

void InboxReader::explainWaiting(const InboxInfo& frame, std::span<const Application> applications,
                                 std::vector<Reason>& reasons) {
  if (frame.sequence != 0) {
    const KeptSession session(frame.mailbox, frame.session);
    Query query(before_, frame.source, frame.origin, session.name(), frame.sequence);
    if (query.next()) {
      reasons.push_back({.blockReason = BlockReason::behind,
                         .sequence = query.as<std::uint64_t>(0),
                         .retryCount = query.as<std::uint32_t>(1),
                         .detail = query.text(2)});
      // The reasons that block that frame block this one too.
      InboxInfo first;
      first.dueAt = query.instant(4);
      first.startedAt = query.instant(5);
      first.mailbox = frame.mailbox;
      first.type = query.text(6);
      first.acceptedAt = query.instant(7);
      explainFirst(first, query.integer(3), applications, reasons);
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
  Query peer(peer_, frame.source);
  if (!peer.next()) {
    reasons.push_back({.blockReason = BlockReason::senderIsNoPeer, .detail = {}});
    return;
  }
  Query query(ackEvents_, peer.integer(0), kAckEventSession);
  if (query.next() && query.integer(0) > 0) {
    reasons.push_back(
        {.blockReason = BlockReason::ackEventsWait, .sequence = query.as<std::uint64_t>(0), .detail = peer.text(1)});
  }
}

bool InboxReader::hasHandler() {
  for (Query query(handlers_); query.next();) {
    if (ownerLives(sidecar_, query.integer(0))) {
      return true;
    }
  }
  return false;
}

}  // namespace ackbox::store::sqlite
