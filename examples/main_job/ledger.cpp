#include "ledger.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace main_job {

Comparison compare(std::span<const Entry> putIn, std::span<const Entry> effects) {
  struct Session {
    std::uint64_t frames = 0;
    // Places in the session of the frames with these data that have had no effect yet, in order.
    std::unordered_map<std::string, std::deque<std::uint64_t>> places;
    std::set<std::string> applied;
    std::uint64_t furthest = 0;
  };
  std::map<std::string, Session> sessions;
  Comparison result;
  result.putIn = putIn.size();
  result.effects = effects.size();
  for (const Entry& entry : putIn) {
    Session& session = sessions[entry.session];
    session.places[entry.data].push_back(++session.frames);
  }
  for (const Entry& effect : effects) {
    Session& session = sessions[effect.session];
    const bool known = !effect.messageId.empty() && !session.applied.insert(effect.messageId).second;
    const auto found = session.places.find(effect.data);
    if (known || (found != session.places.end() && found->second.empty())) {
      ++result.repeated;
    } else if (found == session.places.end()) {
      ++result.unexpected;
    } else {
      const std::uint64_t place = found->second.front();
      found->second.pop_front();
      result.reordered += place < session.furthest ? 1U : 0U;
      session.furthest = std::max(session.furthest, place);
    }
  }
  for (const auto& [name, session] : sessions) {
    for (const auto& [data, places] : session.places) {
      result.lost += places.size();
    }
  }
  return result;
}

std::string replyData(std::uint64_t count) {
  return "{\"confirmed\":" + std::to_string(count) + "}";
}

std::vector<Entry> repliesTo(std::span<const Entry> putIn) {
  std::map<std::string, std::uint64_t> counts;
  std::vector<Entry> replies;
  for (const Entry& entry : putIn) {
    const std::uint64_t count = ++counts[entry.session];
    if (count % kReplyEvery == 0) {
      replies.push_back({entry.session, replyData(count), {}});
    }
  }
  return replies;
}

bool Flow::balances() const noexcept {
  const bool settled = sender.pending == 0 && sender.sending == 0 && sender.sent == 0 && sender.failed == 0;
  return comparison.clean() && settled && sender.enqueued == comparison.putIn && sender.acked == comparison.putIn &&
         receiver.received == comparison.effects && receiver.gaps == 0;
}

}  // namespace main_job
