#include "store/claim_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ackbox::store {
namespace {

// Rows to a statement where claims are scattered.
constexpr std::size_t kBlocksTogether = 16;

constexpr std::int64_t blockOf(std::int64_t id) {
  return id >> 6;
}

constexpr std::uint64_t bitOf(std::int64_t id) {
  return std::uint64_t{1} << (static_cast<std::uint64_t>(id) & 63U);
}

std::string on(std::string_view before, std::string_view table, std::string_view behind) {
  return std::string(before).append(table).append(behind);
}

}  // namespace

ClaimSet::ClaimSet(Connection& connection, std::string_view table)
    : select_(connection.prepare(on("SELECT block,owner_id,bits FROM ", table, ""))),
      write_(connection.prepare(on("REPLACE INTO ", table, "(block,owner_id,bits) VALUES(?,?,?)"))),
      writeMany_(connection.prepare(on("REPLACE INTO ", table, "(block,owner_id,bits) VALUES") +
                                    repeated("(?,?,?)", kBlocksTogether))),
      erase_(connection.prepare(on("DELETE FROM ", table, " WHERE block BETWEEN ?1 AND ?2 AND owner_id=?3"))),
      removeForeign_(connection.prepare(
          on("UPDATE ", table, " SET bits=bits&~(1<<(?1&63)) WHERE block=?1>>6 AND owner_id<>?2 AND bits>>(?1&63)&1"))),
      eraseForeign_(connection.prepare(on("DELETE FROM ", table, " WHERE block=?1>>6 AND owner_id<>?2 AND bits=0"))),
      removeAll_(connection.prepare(on("DELETE FROM ", table, " WHERE owner_id=?1"))) {}

bool ClaimSet::holds(std::int64_t id) {
  load();
  const auto found = own_.find(blockOf(id));
  return found != own_.end() && (found->second.bits & bitOf(id)) != 0;
}

bool ClaimSet::isForeign(std::int64_t id) {
  load();
  const auto found = foreign_.find(blockOf(id));
  return found != foreign_.end() && (found->second & bitOf(id)) != 0;
}

void ClaimSet::add(std::int64_t id) {
  change(id).bits |= bitOf(id);
}

void ClaimSet::remove(std::int64_t id) {
  if (holds(id)) {
    change(id).bits &= ~bitOf(id);
  } else if (isForeign(id)) {
    Query(removeForeign_, id, owner_).run();
    Query(eraseForeign_, id, owner_).run();
    foreign_[blockOf(id)] &= ~bitOf(id);
  }
}

void ClaimSet::removeAll(std::int64_t owner) {
  flush();
  Query(removeAll_, owner).run();
  forget();
}

void ClaimSet::flush() {
  std::ranges::sort(changed_);
  std::vector<std::int64_t> written;
  for (const std::int64_t number : changed_) {
    const auto first = own_.find(number);
    if (first == own_.end()) {
      // It went with one before it.
      continue;
    }
    if (first->second.bits != 0) {
      first->second.changed = false;
      written.push_back(number);
      continue;
    }
    const auto end = std::find_if(first, own_.end(), [](const auto& block) { return block.second.bits != 0; });
    Query(erase_, number, std::prev(end)->first, owner_).run();
    own_.erase(first, end);
  }
  changed_.clear();
  std::span<const std::int64_t> rest = written;
  for (; rest.size() >= kBlocksTogether; rest = rest.subspan(kBlocksTogether)) {
    write(writeMany_, rest.first(kBlocksTogether));
  }
  for (; !rest.empty(); rest = rest.subspan(1)) {
    write(write_, rest.first(1));
  }
}

void ClaimSet::write(Statement& statement, std::span<const std::int64_t> blocks) {
  Query query(statement);
  for (const std::int64_t number : blocks) {
    query.add(number, owner_, static_cast<std::int64_t>(own_.at(number).bits));
  }
  query.run();
}

void ClaimSet::forget() noexcept {
  loaded_ = false;
  own_.clear();
  changed_.clear();
  foreign_.clear();
}

void ClaimSet::load() {
  if (std::exchange(loaded_, true)) {
    return;
  }
  for (Query query(select_); query.next();) {
    const auto bits = query.as<std::uint64_t>(2);
    if (query.integer(1) == owner_) {
      own_[query.integer(0)].bits = bits;
    } else {
      foreign_[query.integer(0)] |= bits;
    }
  }
}

ClaimSet::Block& ClaimSet::change(std::int64_t id) {
  load();
  Block& block = own_[blockOf(id)];
  if (!std::exchange(block.changed, true)) {
    changed_.push_back(blockOf(id));
  }
  return block;
}

}  // namespace ackbox::store
