// The contents of the file at a glance: `stats`, `peers`, `sessions`, `blocked`.

#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/record_table.hpp"
#include "cli/stats_view.hpp"
#include "records/peer.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

constexpr std::size_t kBlockedMax = 10'000;

}  // namespace

int stats(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const Stats stats = reader.getStats();
  const std::vector<std::int64_t> processes = reader.processIds();
  if (console.json()) {
    console.line(records::lineOf(stats, processes));
  } else {
    console.table(statsTable(stats, processes, console.now()));
  }
  return kDone;
}

int peers(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::vector<records::PeerFigures> peers = records::readPeers(reader);
  if (!console.json() && reader.processIds().empty()) {
    console.say("no process has the outbox open");
  }
  print(console, peers);
  for (const records::PeerFigures& peer : peers) {
    if (!console.json() && records::widthOf(peer.figures.lastError) > records::kWhyWidth) {
      // The table has shortened this error.
      console.say(peer.figures.peer + ": " + peer.figures.lastError);
    }
  }
  return peers.empty() ? kNothing : kDone;
}

int sessions(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  SessionFilter filter;
  filter.peer = arguments.peer;
  filter.occupied = !arguments.all;
  const bool isAny = printPages(console, arguments, "no session matches", [&](std::size_t limit, std::int64_t after) {
    SessionPage page = reader.sessions(filter, limit, after);
    return std::pair(std::move(page.sessions), page.next);
  });
  return isAny ? kDone : kNothing;
}

int blocked(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::size_t limit = arguments.limit == 0 ? kBlockedMax : arguments.limit;
  const std::vector<BlockedSession> sessions = reader.blockedSessions(limit);
  print(console, sessions);
  if (sessions.empty() && !console.json()) {
    console.remark("no session is blocked");
  }
  if (sessions.size() == limit && limit < kBlockedMax) {
    console.remark("there may be more: raise --limit");
  }
  return sessions.empty() ? kNothing : kDone;
}

}  // namespace ackbox::cli
