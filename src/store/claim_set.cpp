#include "store/claim_set.hpp"

#include <utility>

namespace ackbox::store {
namespace {

// Blocks of which it is remembered what others have claimed: half a megabyte.
constexpr std::size_t kKnownBlocksMax = 8'192;

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
    : selectOwn_(connection.prepare(on("SELECT block,bits FROM ", table, " WHERE owner_id=?1"))),
      selectForeign_(connection.prepare(on("SELECT bits FROM ", table, " WHERE block=?1 AND owner_id<>?2"))),
      write_(connection.prepare(on("REPLACE INTO ", table, "(block,owner_id,bits) VALUES(?1,?2,?3)"))),
      erase_(connection.prepare(on("DELETE FROM ", table, " WHERE block=?1 AND owner_id=?2"))),
      removeForeign_(connection.prepare(
          on("UPDATE ", table, " SET bits=bits&~(1<<(?1&63)) WHERE block=?1>>6 AND owner_id<>?2 AND bits>>(?1&63)&1"))),
      removeAll_(connection.prepare(on("DELETE FROM ", table, " WHERE owner_id=?1"))) {}

bool ClaimSet::holds(std::int64_t id) {
  load();
  const auto found = own_.find(blockOf(id));
  return found != own_.end() && (found->second.bits & bitOf(id)) != 0;
}

bool ClaimSet::isForeign(std::int64_t id) {
  return (foreignBits(blockOf(id)) & bitOf(id)) != 0;
}

void ClaimSet::add(std::int64_t id) {
  change(id).bits |= bitOf(id);
}

void ClaimSet::remove(std::int64_t id) {
  if (holds(id)) {
    change(id).bits &= ~bitOf(id);
  } else if (isForeign(id)) {
    Query(removeForeign_, id, owner_).run();
    foreign_.erase(blockOf(id));
  }
}

void ClaimSet::removeAll(std::int64_t owner) {
  flush();
  Query(removeAll_, owner).run();
  forget();
}

void ClaimSet::flush() {
  for (const std::int64_t number : changed_) {
    const auto block = own_.find(number);
    block->second.changed = false;
    if (block->second.bits == 0) {
      own_.erase(block);
      Query(erase_, number, owner_).run();
    } else {
      Query(write_, number, owner_, static_cast<std::int64_t>(block->second.bits)).run();
    }
  }
  changed_.clear();
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
  for (Query query(selectOwn_, owner_); query.next();) {
    own_[query.integer(0)].bits = static_cast<std::uint64_t>(query.integer(1));
  }
}

std::uint64_t ClaimSet::foreignBits(std::int64_t block) {
  if (foreign_.size() >= kKnownBlocksMax) {
    foreign_.clear();
  }
  const auto [known, isNew] = foreign_.try_emplace(block, 0);
  if (isNew) {
    for (Query query(selectForeign_, block, owner_); query.next();) {
      known->second |= static_cast<std::uint64_t>(query.integer(0));
    }
  }
  return known->second;
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
