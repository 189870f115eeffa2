#include "store/claim_set.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

namespace ackbox::store {
namespace {

// Rows to a statement where claims are scattered.
constexpr std::size_t kBlocksTogether = 16;

constexpr std::uint64_t kWhole = ~std::uint64_t{0};

// Each is looked at by each commit.
constexpr std::size_t kCoveredBlocks = 8;

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
  // The file is as this owner would have it; the others' claims are read again.
  restore();
}

ClaimBlocks::Held ClaimBlocks::held() {
  load();
  Held held;
  for (const auto& [number, block] : own_) {
    if (block.bits == 0) {
      continue;
    }
    const auto count = static_cast<std::size_t>(std::popcount(block.bits));
    const auto first = static_cast<std::int64_t>(std::countr_zero(block.bits));
    if (number >= 0) {
      held.rows += count;
      held.row = (number << 6) + first;
    } else {
      held.sessions += count;
      held.session = (~number << 6) + first;
    }
  }
  return held;
}

void ClaimBlocks::flush() {
  if (changed_.empty()) {
    return;
  }
  load();
  std::ranges::sort(changed_);
  std::vector<std::int64_t> written;
  for (const std::int64_t number : changed_) {
    const auto first = own_.find(number);
    Block& block = first->second;
    block.isCovered = false;
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

// Each block of the file is then exact, or covered. When one is taken, so is what else is claimed, and those of
// messages that are done with go; of sessions a few may come again. While one of a session is covered, so is one of
// messages.
void ClaimBlocks::cover(bool takesWhole) {
  if (changed_.empty()) {
    return;
  }
  load();
  const auto lacks = [this](std::int64_t number) {
    const Block& block = own_.at(number);
    return (block.bits & ~block.written) != 0;
  };
  const auto isTold = [this](std::int64_t number) {
    const Block& block = own_.at(number);
    return block.isCovered || block.written == block.bits;
  };
  if (std::ranges::all_of(changed_, isTold)) {
    return;
  }
  const bool isTaking = takesWhole && std::ranges::any_of(changed_, lacks);
  const bool areFew = own_.size() <= kCoveredBlocks;
  std::vector<std::int64_t> written;
  for (auto place = own_.begin(); place != own_.end(); ++place) {
    auto& [number, block] = *place;
    const bool isTaken = isTaking && block.bits != 0;
    const bool stays = block.isCovered && (block.bits != 0 || !isTaking || (number < 0 && areFew));
    block.isCovered = isTaken || stays;
    const std::uint64_t wanted = block.isCovered ? kWhole : block.bits;
    if (wanted == block.written) {
      continue;
    }
    // One that was exact is told otherwise now.
    list(number, block);
    if (wanted == 0) {
      erase(place, std::next(place));
    } else {
      block.written = wanted;
      written.push_back(number);
    }
  }
  write(written);
}

void ClaimBlocks::erase(Blocks::iterator first, Blocks::iterator end) {
  Query(erase_, first->first, std::prev(end)->first, owner_).run();
  for (; first != end; ++first) {
    first->second.written = 0;
  }
}

void ClaimBlocks::write(std::vector<std::int64_t>& blocks) {
  write(writeMany_, kBlocksTogether, blocks);
  write(write_, 1, blocks);
}

// As many as go by the statement, from the end.
void ClaimBlocks::write(Statement& statement, std::size_t together, std::vector<std::int64_t>& blocks) {
  while (blocks.size() >= together) {
    Query query(statement);
    for (std::size_t place = 0; place < together; ++place) {
      query.add(blocks.back(), owner_, own_.at(blocks.back()).written);
      blocks.pop_back();
    }
    query.run();
  }
}

void ClaimBlocks::committed() noexcept {
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

void ClaimBlocks::forget() noexcept {
  for (auto& [number, block] : own_) {
    block.bits = block.kept;
  }
  loaded_ = false;
}

// All ones leave what the file says, once it is read.
void ClaimBlocks::restore() {
  loaded_ = false;
  for (auto& [number, block] : own_) {
    block.bits = ~std::uint64_t{0};
    list(number, block);
  }
}

void ClaimBlocks::load() {
  if (loaded_) {
    return;
  }
  foreign_.clear();
  for (auto& [number, block] : own_) {
    block.written = 0;
    block.isCovered = false;
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

ClaimBlocks::Block& ClaimBlocks::change(std::int64_t number) {
  load();
  Block& block = own_[number];
  list(number, block);
  return block;
}

void ClaimBlocks::list(std::int64_t number, Block& block) {
  if (!block.isChanged) {
    changed_.push_back(number);
    block.isChanged = true;
  }
}

CoveredClaims::CoveredClaims(sqlite3* connection, std::string_view prefix)
    : any_(connection, "SELECT 1 FROM #claims WHERE block>=0 AND bits=-1", prefix),
      live_(connection,
            std::string("SELECT c.owner_id,o.id,o.session_id,o.sequence<>0 FROM ")
                .append(kClaimedRows)
                .append(" LIMIT 2"),
            prefix),
      narrow_(connection,
              "UPDATE #claims SET bits=CASE WHEN owner_id IS NOT ?1 THEN 0 WHEN block=?2>>6 THEN 1<<(?2&63) WHEN "
              "block=~(?3>>6) THEN 1<<(?3&63) ELSE 0 END WHERE bits=-1",
              prefix),
      erase_(connection, "DELETE FROM #claims WHERE bits=0", prefix) {}

void CoveredClaims::uncover(std::uint64_t live) {
  if (live > 1 || !Query(any_).next()) {
    return;
  }
  std::optional<std::int64_t> owner;
  std::int64_t row = 0;
  std::optional<std::int64_t> session;
  if (Query query(live_); query.next()) {
    owner = query.integer(0);
    row = query.integer(1);
    session = query.integer(3) != 0 ? std::optional(query.integer(2)) : std::nullopt;
    if (query.next()) {
      // The counters are wrong. Nobody is robbed as long as too much is claimed.
      return;
    }
  }
  Query(narrow_, owner, row, session).run();
  Query(erase_).run();
}

ClaimBlocks::Place ClaimSet::placeOf(std::int64_t id) const noexcept {
  const std::int64_t number = id >> 6;
  return {table_ == Table::rows ? number : ~number, std::uint64_t{1} << (static_cast<std::uint64_t>(id) & 63U)};
}

}  // namespace ackbox::store
