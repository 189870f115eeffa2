#include "store/claim_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ackbox::store {
namespace {

// Rows to a statement where claims are scattered.
constexpr std::size_t kBlocksTogether = 16;

std::string writeText(std::size_t blocks) {
  return "REPLACE INTO #claims(block,owner_id,bits) VALUES" + repeated("(?,?,?)", blocks);
}

}  // namespace

ClaimBlocks::ClaimBlocks(Connection& connection)
    : select_(connection.prepare("SELECT block,owner_id,bits FROM #claims")),
      write_(connection.prepare(writeText(1))),
      writeMany_(connection.prepare(writeText(kBlocksTogether))),
      erase_(connection.prepare("DELETE FROM #claims WHERE block BETWEEN ?1 AND ?2 AND owner_id=?3")),
      removeForeign_(
          connection.prepare("UPDATE #claims SET bits=bits&~?3 WHERE block=?1 AND owner_id<>?2 AND bits&?3")),
      eraseForeign_(connection.prepare("DELETE FROM #claims WHERE block=?1 AND owner_id<>?2 AND bits=0")),
      removeAll_(connection.prepare("DELETE FROM #claims WHERE owner_id=?1")) {}

bool ClaimBlocks::holds(Place place) {
  load();
  const auto found = own_.find(place.block);
  return found != own_.end() && (found->second.bits & place.bit) != 0;
}

bool ClaimBlocks::isForeign(Place place) {
  load();
  const auto found = foreign_.find(place.block);
  return found != foreign_.end() && (found->second & place.bit) != 0;
}

void ClaimBlocks::add(Place place) {
  change(place.block).bits |= place.bit;
}

void ClaimBlocks::remove(Place place) {
  if (holds(place)) {
    change(place.block).bits &= ~place.bit;
  } else if (isForeign(place)) {
    Query(removeForeign_, place.block, owner_, place.bit).run();
    Query(eraseForeign_, place.block, owner_).run();
    foreign_[place.block] &= ~place.bit;
  }
}

void ClaimBlocks::removeAll(std::int64_t owner) {
  flush();
  Query(removeAll_, owner).run();
  forget();
}

void ClaimBlocks::flush() {
  std::ranges::sort(changed_);
  std::vector<std::int64_t> written;
  for (const std::int64_t number : changed_) {
    const auto first = own_.find(number);
    if (first == own_.end()) {
      // It went with one before it.
      continue;
    }
    if (first->second.bits != 0) {
      first->second.isChanged = false;
      written.push_back(number);
      continue;
    }
    const auto end = std::find_if(first, own_.end(), [](const auto& block) { return block.second.bits != 0; });
    Query(erase_, number, std::prev(end)->first, owner_).run();
    own_.erase(first, end);
  }
  changed_.clear();
  write(writeMany_, kBlocksTogether, written);
  write(write_, 1, written);
}

// As many as go by the statement, from the end.
void ClaimBlocks::write(Statement& statement, std::size_t together, std::vector<std::int64_t>& blocks) {
  while (blocks.size() >= together) {
    Query query(statement);
    for (std::size_t place = 0; place < together; ++place) {
      query.add(blocks.back(), owner_, own_.at(blocks.back()).bits);
      blocks.pop_back();
    }
    query.run();
  }
}

void ClaimBlocks::forget() noexcept {
  loaded_ = false;
  own_.clear();
  changed_.clear();
  foreign_.clear();
}

void ClaimBlocks::load() {
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

ClaimBlocks::Block& ClaimBlocks::change(std::int64_t number) {
  load();
  Block& block = own_[number];
  if (!std::exchange(block.isChanged, true)) {
    changed_.push_back(number);
  }
  return block;
}

ClaimBlocks::Place ClaimSet::placeOf(std::int64_t id) const noexcept {
  const std::int64_t number = id >> 6;
  return {table_ == Table::rows ? number : ~number, std::uint64_t{1} << (static_cast<std::uint64_t>(id) & 63U)};
}

}  // namespace ackbox::store
