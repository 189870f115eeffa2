#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "store/postgres/inbound/inbound_marks.hpp"

// Deletes expired marks, the sessions of closed stores, and all marks of one sender.

namespace ackbox::store::postgres {

std::size_t InboundMarks::purge(std::size_t limit) {
  const Result result = context_.connection.run(
      "DELETE FROM #processed_messages WHERE (id,source) IN (SELECT id,source FROM #processed_messages WHERE "
      "keep_until_ms<$1 ORDER BY keep_until_ms LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING source,id",
      context_.now(), limit);
  for (const Row& row : result) {
    context_.shares.add(row.view(0), -shareOfMark(row.view(0), row.view(1)));
  }
  return result.size();
}

// Requires that another store began later: a clock that leaps ahead makes a store look silent for long, but does not
// make another store begin after it.
void InboundMarks::closeSilent(std::string_view source, WallTime now, std::chrono::milliseconds silence) {
  const std::size_t closed =
      context_.connection
          .run(
              "UPDATE #inbound_origins SET state=1 WHERE source=$1 AND origin IN (SELECT origin FROM "
              "#inbound_origins WHERE source=$1 AND state=0 AND seen_at_ms<least($2::bigint,coalesce((SELECT "
              "began_at_ms FROM #inbound_origins WHERE source=$1 AND began_at_ms<=$3 ORDER BY began_at_ms DESC LIMIT "
              "1),0)-$4::bigint) ORDER BY seen_at_ms LIMIT 4 FOR UPDATE SKIP LOCKED)",
              source, now - silence - kSeenStep, now - kSeenStep, std::int64_t{kSeenStep.count()})
          .changed();
  if (closed != 0) {
    origins_.clear();
  }
  sweep(source, kSweptEach);
}

void InboundMarks::sweep(std::string_view source, std::size_t limit) {
  const Result closing = context_.connection.run(
      "SELECT origin FROM #inbound_origins WHERE source=$1 AND state=1 ORDER BY origin FOR UPDATE SKIP LOCKED", source);
  std::size_t left = limit;
  for (const Row& row : closing) {
    if (left == 0) {
      return;
    }
    ForgetPlace place;
    const std::size_t looked = dropSessions(source, row.view(0), place, left, WhenHeld::leave).looked;
    if (looked < left) {
      context_.connection.run(
          "UPDATE #inbound_origins SET state=2 WHERE source=$1 AND origin=$2 AND NOT EXISTS(SELECT 1 FROM "
          "#inbound_sessions WHERE source=$1 AND origin=$2)",
          source, row.view(0));
    }
    // A store without sessions counts as one row.
    left -= std::min(left, std::max<std::size_t>(looked, 1));
  }
}

InboundMarks::Slice InboundMarks::dropSessions(std::string_view source, std::optional<std::string_view> origin,
                                               ForgetPlace& place, std::size_t limit, WhenHeld whenHeld) {
  // Writes the gathered marks, or they would outlive their sessions.
  flush();
  Slice slice;
  std::vector<std::int64_t> toDrop;
  // Locked first: what a receiver has put into their inboxes meanwhile is seen.
  const std::string_view lock =
      whenHeld == WhenHeld::wait
          ? "SELECT id FROM #inbound_sessions WHERE source=$1 AND (origin,session)>($2,$3) AND ($4::text IS NULL OR "
            "origin=$4) ORDER BY origin,session LIMIT $5 FOR UPDATE"
          : "SELECT id FROM #inbound_sessions WHERE source=$1 AND (origin,session)>($2,$3) AND ($4::text IS NULL OR "
            "origin=$4) ORDER BY origin,session LIMIT $5 FOR UPDATE SKIP LOCKED";
  const std::vector<std::int64_t> locked =
      context_.connection.run(lock, source, place.origin, place.session, origin, limit).integers();
  const Result result = context_.connection.run(
      "SELECT s.id,s.origin,s.session,EXISTS(SELECT 1 FROM #inbox AS i WHERE i.source=$1 AND i.origin=s.origin AND "
      "i.session=s.session) FROM #inbound_sessions AS s WHERE s.id=ANY($2::bigint[]) ORDER BY s.origin,s.session",
      source, arrayOf(locked));
  for (const Row& row : result) {
    ++slice.looked;
    place.origin = row.text(1);
    place.session = row.text(2);
    if (row.integer(3) == 0) {
      toDrop.push_back(row.integer(0));
      context_.shares.add(source, -shareOfSession(source, row.view(1), row.view(2)));
      sessions_.erase(std::string(source).append("\n").append(row.view(1)).append("\n").append(row.view(2)));
    }
  }
  context_.connection.run("DELETE FROM #inbound_sessions WHERE id=ANY($1::bigint[])", arrayOf(toDrop));
  slice.dropped = toDrop.size();
  return slice;
}

ForgetReport InboundMarks::forgetSender(std::string_view source, std::optional<std::string_view> origin,
                                        ForgetPlace& place, std::size_t limit) {
  using Table = ForgetPlace::Table;
  ForgetReport report;
  for (std::size_t left = limit; left > 0 && !place.isAtEnd();) {
    const Table table = place.table;
    std::size_t looked = 0;
    switch (table) {
      case Table::sessions: {
        const Slice slice = dropSessions(source, origin, place, left, WhenHeld::wait);
        report.sessions += slice.dropped;
        report.kept += slice.looked - slice.dropped;
        looked = slice.looked;
        break;
      }
      case Table::origins:
        looked = forgetOrigins(source, origin, place, left, report);
        break;
      case Table::results:
        looked = forgetResults(source, origin, place, left, report);
        break;
      case Table::marks:
        looked = origin ? 0 : forgetMarks(source, place, left, report);
        break;
      case Table::none:
        break;
    }
    if (looked < left) {
      place = {};
      place.table = static_cast<Table>(static_cast<int>(table) + 1);
    }
    left -= looked;
  }
  origins_.clear();
  return report;
}

// A store stays known while any of its sessions stays.
std::size_t InboundMarks::forgetOrigins(std::string_view source, std::optional<std::string_view> origin,
                                        ForgetPlace& place, std::size_t limit, ForgetReport& report) {
  const Result found = context_.connection.run(
      "SELECT origin FROM #inbound_origins WHERE source=$1 AND origin>$2 AND ($3::text IS NULL OR origin=$3) ORDER BY "
      "origin LIMIT $4",
      source, place.origin, origin, limit);
  for (const Row& row : found) {
    const std::size_t dropped =
        context_.connection
            .run(
                "DELETE FROM #inbound_origins WHERE source=$1 AND origin=$2 AND NOT EXISTS(SELECT 1 FROM "
                "#inbound_sessions WHERE source=$1 AND origin=$2)",
                source, row.view(0))
            .changed();
    if (dropped != 0) {
      context_.shares.add(source, -shareOfOrigin(source, row.view(0)));
      ++report.origins;
    }
    place.origin = row.text(0);
  }
  return found.size();
}

// Looks at all senders' rows: neither table has an index on the sender, which each mark would have to update.
std::size_t InboundMarks::forgetResults(std::string_view source, std::optional<std::string_view> origin,
                                        ForgetPlace& place, std::size_t limit, ForgetReport& report) {
  const Result found = context_.connection.run(
      "SELECT frame_id,source,origin,session,sequence,octet_length(coalesce(code,'')||coalesce(detail,'')||"
      "coalesce(result,'')||type) FROM #inbox_results WHERE (frame_id,source,origin,session,sequence)>($1,$2,$3,$4,$5) "
      "ORDER "
      "BY frame_id,source,origin,session,sequence LIMIT $6",
      place.id, place.source, place.origin, place.session, place.sequence, limit);
  for (const Row& row : found) {
    Columns columns(row);
    columns >> place.id >> place.source >> place.origin >> place.session >> place.sequence;
    if (place.source == source && (!origin || place.origin == *origin)) {
      const std::size_t dropped =
          context_.connection
              .run(
                  "DELETE FROM #inbox_results WHERE frame_id=$1 AND source=$2 AND origin=$3 AND session=$4 AND "
                  "sequence=$5",
                  place.id, place.source, place.origin, place.session, place.sequence)
              .changed();
      // Another process may have dropped it meanwhile.
      if (dropped != 0) {
        context_.shares.add(source,
                            -shareOfResult(source, place.origin, place.session, place.id, row.as<std::size_t>(5)));
        ++report.marks;
      }
    }
  }
  return found.size();
}

std::size_t InboundMarks::forgetMarks(std::string_view source, ForgetPlace& place, std::size_t limit,
                                      ForgetReport& report) {
  const Result found = context_.connection.run(
      "SELECT id,source FROM #processed_messages WHERE (id,source)>($1,$2) ORDER BY id,source LIMIT $3", place.id,
      place.source, limit);
  for (const Row& row : found) {
    place.id = row.text(0);
    place.source = row.text(1);
    if (place.source == source) {
      const std::size_t dropped =
          context_.connection.run("DELETE FROM #processed_messages WHERE id=$1 AND source=$2", place.id, source)
              .changed();
      if (dropped != 0) {
        context_.shares.add(source, -shareOfMark(source, place.id));
        ++report.marks;
      }
    }
  }
  return found.size();
}

}  // namespace ackbox::store::postgres
