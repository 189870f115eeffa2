// What is in the file at a glance: `stats`, `peers`, `sessions`, `blocked`.

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/peer_view.hpp"
#include "cli/stats_view.hpp"
#include "records/peer.hpp"
#include "records/session.hpp"
#include "records/stats.hpp"

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
  if (console.json()) {
    for (const records::PeerFigures& peer : peers) {
      console.line(records::lineOf(peer));
    }
  } else {
    const bool isOpen = !reader.processIds().empty();
    if (!isOpen) {
      console.say("no process has the file open");
    }
    console.table(peerTable(peers, isOpen, console.now()));
    for (const std::string& cause : longCauses(peers)) {
      console.say(cause);
    }
  }
  return peers.empty() ? kNothing : kDone;
}

int sessions(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  SessionFilter filter;
  filter.peer = arguments.peer;
  filter.occupied = !arguments.all;
  std::int64_t after = arguments.after;
  std::uint64_t shown = 0;
  do {
    const std::uint64_t left = arguments.limit == 0 ? kPage : arguments.limit - shown;
    const SessionPage page = reader.sessions(filter, std::min<std::uint64_t>(left, kPage), after);
    after = page.next;
    if (console.json()) {
      for (const SessionStats& session : page.sessions) {
        console.line(records::lineOf(session));
      }
    } else if (!page.sessions.empty()) {
      console.table(sessionTable(page.sessions, console.now()));
    }
    shown += page.sessions.size();
  } while (after != 0 && (arguments.limit == 0 || shown < arguments.limit));
  if (after != 0) {
    console.remark("more: --after " + std::to_string(after));
  } else if (shown == 0 && !console.json()) {
    console.remark("no session matches");
  }
  return shown == 0 ? kNothing : kDone;
}

int blocked(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const std::size_t limit = arguments.limit == 0 ? kBlockedMax : arguments.limit;
  const std::vector<BlockedSession> sessions = reader.blockedSessions(limit);
  if (console.json()) {
    for (const BlockedSession& session : sessions) {
      console.line(records::lineOf(session));
    }
  } else if (sessions.empty()) {
    console.remark("no session is blocked");
  } else {
    console.table(blockedTable(sessions, console.now()));
  }
  if (sessions.size() == limit && limit < kBlockedMax) {
    console.remark("there may be more: raise --limit");
  }
  return sessions.empty() ? kNothing : kDone;
}

}  // namespace ackbox::cli
