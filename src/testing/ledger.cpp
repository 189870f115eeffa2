#include "ackbox/testing/ledger.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ackbox::testing {
namespace {

std::vector<std::string> idsOf(SQLite::Database& database, const std::string& effects) {
  std::vector<std::string> ids;
  SQLite::Statement rows(database, effects);
  while (rows.executeStep()) {
    ids.push_back(rows.getColumn(0).getString());
  }
  return ids;
}

std::string times(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " time" : " times");
}

}  // namespace

std::string Ledger::eachOnce(SQLite::Database& database, const std::string& effects) const {
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& id : idsOf(database, effects)) {
    ++counts[id];
  }
  std::map<std::string, std::uint64_t> due;
  for (const SentFrame& frame : applied_) {
    due[frame.frame.id] = 1;
  }
  std::string wrong;
  for (const SentFrame& frame : sent_) {
    const std::string& id = frame.frame.id;
    const auto found = counts.find(id);
    const std::uint64_t count = found == counts.end() ? 0 : found->second;
    if (count != due[id]) {
      wrong += id + " took effect " + times(count) +
               (due[id] == 1 ? ", but the receiver acknowledged it\n" : ", but the receiver did not accept it\n");
    }
    counts.erase(id);
  }
  for (const auto& [id, count] : counts) {
    wrong += "an effect names \"" + id + "\", which no sender sent\n";
  }
  return wrong;
}

std::string Ledger::eachOnceInOrder(SQLite::Database& database, const std::string& effects) const {
  std::string wrong = eachOnce(database, effects);
  std::map<std::string, const SentFrame*> byId;
  for (const SentFrame& frame : sent_) {
    byId[frame.frame.id] = &frame;
  }
  std::map<std::pair<std::string, std::string>, const SentFrame*> last;
  for (const std::string& id : idsOf(database, effects)) {
    const auto found = byId.find(id);
    if (found == byId.end() || found->second->sequence == 0) {
      continue;
    }
    const SentFrame*& before = last[{found->second->sender, found->second->frame.session}];
    if (before != nullptr && before->sequence > found->second->sequence) {
      wrong += id + " (" + found->second->frame.session + "#" + std::to_string(found->second->sequence) +
               ") took effect after " + before->frame.id + " (#" + std::to_string(before->sequence) + ") of " +
               found->second->sender + "\n";
    }
    before = found->second;
  }
  return wrong;
}

std::string Ledger::repliesEqualEffects(SQLite::Database& database, const std::string& effects) const {
  std::multimap<std::string, const ReceivedReply*> open;
  for (const ReceivedReply& reply : replies_) {
    open.emplace(reply.correlationId, &reply);
  }
  std::string wrong;
  SQLite::Statement rows(database, effects);
  while (rows.executeStep()) {
    const std::string id = rows.getColumn(0).getString();
    const auto [first, end] = open.equal_range(id);
    const auto fits = [&](const auto& entry) {
      return rows.getColumnCount() < 2 || entry.second->data == rows.getColumn(1).getString();
    };
    if (const auto reply = std::find_if(first, end, fits); reply != end) {
      open.erase(reply);
    } else if (first == end) {
      wrong += "the effect of " + id + " has no reply\n";
    } else {
      wrong += "the reply to " + id + " is " + first->second->data + ", its effect is " +
               rows.getColumn(1).getString() + "\n";
      open.erase(first);
    }
  }
  for (const auto& [id, reply] : open) {
    wrong +=
        "the reply " + reply->data + " to " + (id.empty() ? "no frame" : id) + " has no effect, or is one too many\n";
  }
  return wrong;
}

}  // namespace ackbox::testing
