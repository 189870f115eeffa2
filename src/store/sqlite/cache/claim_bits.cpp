#include "store/sqlite/cache/claim_bits.hpp"

#include <algorithm>
#include <iterator>

namespace ackbox::store::sqlite {
namespace {

// Rows per statement for scattered claims.
constexpr std::size_t kBlocksTogether = 16;

std::string writeBlocksText(std::size_t blocks) {
  return "REPLACE INTO #claims(block,owner_id,bits) VALUES" + repeated("(?,?,?)", blocks);
}

}  // namespace

ClaimBits::ClaimBits(Connection& connection)
    : select_(connection.prepare("SELECT block,owner_id,bits FROM #claims")),
      write_(connection.prepare(writeBlocksText(1))),
      writeMany_(connection.prepare(writeBlocksText(kBlocksTogether))),
      erase_(connection.prepare("DELETE FROM #claims WHERE block BETWEEN ?1 AND ?2 AND owner_id=?3")),
      removeForeign_(
          connection.prepare("UPDATE #claims SET bits=bits&~?3 WHERE block=?1 AND owner_id<>?2 AND bits&?3")),
      eraseForeign_(connection.prepare("DELETE FROM #claims WHERE block=?1 AND owner_id<>?2 AND bits=0")),
      removeAll_(connection.prepare("DELETE FROM #claims WHERE owner_id=?1")) {}

bool ClaimBits::holds(Place place) {
  load();
  const auto found = own_.find(place.block);
  return found != own_.end() && (found->second.bits & place.bit) != 0;
}

bool ClaimBits::isForeign(Place place) {
  load();
  const auto found = foreign_.find(place.block);
  return found != foreign_.end() && (found->second & place.bit) != 0;
}

void ClaimBits::add(Place place) {
  change(place.block).bits |= place.bit;
}

void ClaimBits::remove(Place place) {
  if (holds(place)) {
    change(place.block).bits &= ~place.bit;
  } else if (isForeign(place)) {
    Query(removeForeign_, place.block, owner_, place.bit).run();
    Query(eraseForeign_, place.block, owner_).run();
    foreign_[place.block] &= ~place.bit;
  }
}

void ClaimBits::removeAll(std::int64_t owner) {
  flush();
  Query(removeAll_, owner).run();
  forget();
}

void ClaimBits::flush() {
  if (changed_.empty()) {
    return;
  }
  std::ranges::sort(changed_);
  std::vector<std::int64_t> written;
  for (const std::int64_t number : changed_) {
    const auto first = own_.find(number);
    if (first == own_.end()) {
      // It was erased together with an earlier block.
      continue;
    }
    Block& block = first->second;
    block.isChanged = false;
    if (block.bits == 0) {
      erase(first, std::find_if(first, own_.end(), [](const auto& other) { return other.second.bits != 0; }));
    } else if (block.bits != block.written) {
      block.written = block.bits;
      written.push_back(number);
    }
  }
  changed_.clear();
  write(written);
}

void ClaimBits::erase(Blocks::iterator first, Blocks::iterator end) {
  if (std::any_of(first, end, [](const auto& block) { return block.second.written != 0; })) {
    Query(erase_, first->first, std::prev(end)->first, owner_).run();
  }
  own_.erase(first, end);
}

void ClaimBits::write(std::vector<std::int64_t>& blocks) {
  write(writeMany_, kBlocksTogether, blocks);
  write(write_, 1, blocks);
}

// Writes blocks from the end of `blocks`, `together` at a time, and removes them from it.
void ClaimBits::write(Statement& statement, std::size_t together, std::vector<std::int64_t>& blocks) {
  while (blocks.size() >= together) {
    Query query(statement);
    for (std::size_t place = 0; place < together; ++place) {
      query.add(blocks.back(), owner_, own_.at(blocks.back()).written);
      blocks.pop_back();
    }
    query.run();
  }
}

void ClaimBits::forget() noexcept {
  own_.clear();
  foreign_.clear();
  changed_.clear();
  loaded_ = false;
}

void ClaimBits::load() {
  if (loaded_) {
    return;
  }
  for (Query query(select_); query.next();) {
    const std::int64_t number = query.integer(0);
    const auto bits = query.as<std::uint64_t>(2);
    if (query.integer(1) == owner_) {
      own_[number] = {bits, bits, false};
    } else {
      foreign_[number] |= bits;
    }
  }
  loaded_ = true;
}

ClaimBits::Block& ClaimBits::change(std::int64_t number) {
  load();
  Block& block = own_[number];
  if (!block.isChanged) {
    changed_.push_back(number);
    block.isChanged = true;
  }
  return block;
}

ClaimBits::Place ClaimSet::placeOf(std::int64_t id) const noexcept {
  const std::int64_t number = id >> 6;
  return {table_ == Table::rows ? number : ~number, std::uint64_t{1} << (static_cast<std::uint64_t>(id) & 63U)};
}

}  // namespace ackbox::store::sqlite
