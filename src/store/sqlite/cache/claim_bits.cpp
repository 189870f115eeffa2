#include "store/sqlite/cache/claim_bits.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

namespace ackbox::store {
namespace {

// Rows to a statement where claims are scattered.
constexpr std::size_t kBlocksTogether = 16;

std::string writeText(std::size_t blocks) {
  return "REPLACE INTO #claims(block,owner_id,bits) VALUES" + repeated("(?,?,?)", blocks);
}

}  // namespace

ClaimBits::ClaimBits(Connection& connection)
    : select_(connection.prepare("SELECT block,owner_id,bits FROM #claims")),
      write_(connection.prepare(writeText(1))),
      writeMany_(connection.prepare(writeText(kBlocksTogether))),
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
  // The file is as this owner would have it; the others' claims are read again.
  restore();
}

void ClaimBits::flush() {
  if (changed_.empty()) {
    return;
  }
  load();
  std::ranges::sort(changed_);
  std::vector<std::int64_t> written;
  for (const std::int64_t number : changed_) {
    const auto first = own_.find(number);
    Block& block = first->second;
    if (block.bits == block.written) {
      continue;
    }
    if (block.bits != 0) {
      block.written = block.bits;
      written.push_back(number);
      continue;
    }
    erase(first, std::find_if(first, own_.end(), [](const auto& other) { return other.second.bits != 0; }));
  }
  write(written);
}

void ClaimBits::erase(Blocks::iterator first, Blocks::iterator end) {
  Query(erase_, first->first, std::prev(end)->first, owner_).run();
  for (; first != end; ++first) {
    first->second.written = 0;
  }
}

void ClaimBits::write(std::vector<std::int64_t>& blocks) {
  write(writeMany_, kBlocksTogether, blocks);
  write(write_, 1, blocks);
}

// As many as go by the statement, from the end.
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

void ClaimBits::committed() noexcept {
  std::erase_if(changed_, [this](std::int64_t number) {
    const auto found = own_.find(number);
    Block& block = found->second;
    block.kept = block.bits;
    if (block.bits != block.written) {
      return false;
    }
    block.isChanged = false;
    if (block.bits == 0) {
      own_.erase(found);
    }
    return true;
  });
}

void ClaimBits::forget() noexcept {
  for (auto& [number, block] : own_) {
    block.bits = block.kept;
  }
  loaded_ = false;
}

// All ones leave what the file says, once it is read.
void ClaimBits::restore() {
  loaded_ = false;
  for (auto& [number, block] : own_) {
    block.bits = ~std::uint64_t{0};
    list(number, block);
  }
}

void ClaimBits::load() {
  if (loaded_) {
    return;
  }
  foreign_.clear();
  for (auto& [number, block] : own_) {
    block.written = 0;
  }
  for (Query query(select_); query.next();) {
    const auto bits = query.as<std::uint64_t>(2);
    if (query.integer(1) == owner_) {
      own_[query.integer(0)].written = bits;
    } else {
      foreign_[query.integer(0)] |= bits;
    }
  }
  for (auto& [number, block] : own_) {
    block.bits &= block.written;
    list(number, block);
  }
  loaded_ = true;
}

ClaimBits::Block& ClaimBits::change(std::int64_t number) {
  load();
  Block& block = own_[number];
  list(number, block);
  return block;
}

void ClaimBits::list(std::int64_t number, Block& block) {
  if (!block.isChanged) {
    changed_.push_back(number);
    block.isChanged = true;
  }
}

ClaimBits::Place ClaimSet::placeOf(std::int64_t id) const noexcept {
  const std::int64_t number = id >> 6;
  return {table_ == Table::rows ? number : ~number, std::uint64_t{1} << (static_cast<std::uint64_t>(id) & 63U)};
}

}  // namespace ackbox::store
