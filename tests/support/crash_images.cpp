#include "support/crash_images.hpp"

#include <algorithm>
#include <cstring>

#include "ackbox/random.hpp"

namespace ackbox::testing {

std::string Survival::text() const {
  const std::string unit = sectorBytes == 0 ? "write " : std::to_string(sectorBytes) + "-byte piece ";
  const std::string which = unit + std::to_string(piece);
  switch (rule) {
    case Rule::all:
      return "all survives";
    case Rule::none:
      return names ? "only names survive" : "nothing survives";
    case Rule::allBut:
      return "all but " + which + " survives";
    case Rule::only:
      return "only " + which + " survives";
    case Rule::some:
      return "coins with seed " + std::to_string(seed) + " over each " + unit + "decide";
  }
  return {};
}

DiskHistory::DiskHistory(const DiskFiles& start) {
  for (const auto& [path, bytes] : start) {
    names_.emplace(path, inodes_.size());
    inodes_.push_back({bytes, {}, 0});
  }
  syncedNames_ = names_;
}

void DiskHistory::apply(const DiskOperation& operation) {
  if (operation.kind == DiskCall::open) {
    names_[operation.path] = inodes_.size();
    nameAir_.push_back({operation.path, static_cast<std::ptrdiff_t>(inodes_.size())});
    inodes_.push_back({{}, {}, namesSettled_ + nameAir_.size()});
    return;
  }
  if (operation.kind == DiskCall::remove) {
    names_.erase(operation.path);
    nameAir_.push_back({operation.path, -1});
    return;
  }
  const auto named = names_.find(operation.path);
  if (named == names_.end()) {
    // The file was deleted while open: no name leads to it any more.
    return;
  }
  Inode& inode = inodes_[named->second];
  if (operation.kind == DiskCall::sync) {
    for (const Change& change : inode.air) {
      perform(inode.synced, change);
    }
    inode.air.clear();
    settleNames(inode.created);
  } else if (operation.kind == DiskCall::forget) {
    forget(inode, operation.offset);
  } else {
    inode.air.push_back({operation.kind == DiskCall::truncate, operation.offset, operation.bytes});
  }
}

// A file's length is not lost with the forgotten pages: the file system keeps it elsewhere.
void DiskHistory::forget(Inode& inode, std::uint64_t seed) {
  constexpr std::size_t kPageBytes = 4096;
  const auto random = seededRandom(seed);
  // One coin decides for all changes of a page.
  std::map<std::size_t, bool> isWritten;
  for (const Change& change : inode.air) {
    for (const Change& part : split(change, kPageBytes)) {
      const auto page = isWritten.try_emplace(part.offset / kPageBytes, false);
      if (page.second && seed != 0) {
        page.first->second = random->next() % 2 == 0;
      }
      if (part.truncates || page.first->second) {
        perform(inode.synced, part);
      }
    }
  }
  inode.air.clear();
}

void DiskHistory::settleNames(std::size_t count) {
  for (; namesSettled_ < count; ++namesSettled_) {
    const NameChange change = nameAir_.front();
    nameAir_.erase(nameAir_.begin());
    if (change.inode < 0) {
      syncedNames_.erase(change.path);
    } else {
      syncedNames_[change.path] = static_cast<std::size_t>(change.inode);
    }
  }
}

std::size_t DiskHistory::pieces(std::size_t sectorBytes) const {
  std::size_t count = 0;
  for (const auto& [path, inode] : names_) {
    for (const Change& change : inodes_[inode].air) {
      const std::size_t end = change.offset + std::max<std::size_t>(change.bytes.size(), 1) - 1;
      count += change.truncates || sectorBytes == 0 ? 1 : end / sectorBytes - change.offset / sectorBytes + 1;
    }
  }
  return count;
}

std::vector<Survival> DiskHistory::survivals(std::size_t coins, std::uint64_t seed) const {
  std::vector<Survival> ways{{Survival::Rule::all}, {Survival::Rule::none}, {Survival::Rule::none, 0, 0, false}};
  for (const std::size_t sectorBytes : {std::size_t{0}, std::size_t{512}, std::size_t{4096}}) {
    const std::size_t count = pieces(sectorBytes);
    for (std::size_t piece = 0; piece < count; ++piece) {
      ways.push_back({Survival::Rule::allBut, piece, 0, true, sectorBytes});
      ways.push_back({Survival::Rule::only, piece, 0, true, sectorBytes});
    }
    for (std::size_t coin = 0; coin < coins && count > 1; ++coin) {
      ways.push_back({Survival::Rule::some, 0, seed + coin, true, sectorBytes});
    }
  }
  return ways;
}

DiskFiles DiskHistory::image(const Survival& survival) const {
  const auto random = seededRandom(survival.seed);
  std::size_t piece = 0;
  const auto survives = [&] {
    const std::size_t index = piece++;
    switch (survival.rule) {
      case Survival::Rule::all:
        return true;
      case Survival::Rule::none:
        return false;
      case Survival::Rule::allBut:
        return index != survival.piece;
      case Survival::Rule::only:
        return index == survival.piece;
      case Survival::Rule::some:
        break;
    }
    return random->next() % 2 == 0;
  };

  std::map<std::string, std::size_t> names = syncedNames_;
  std::size_t nameChanges = survival.names ? nameAir_.size() : 0;
  if (survival.rule == Survival::Rule::some) {
    nameChanges = random->next() % (nameAir_.size() + 1);
  }
  for (std::size_t index = 0; index < nameChanges; ++index) {
    const NameChange& change = nameAir_[index];
    if (change.inode < 0) {
      names.erase(change.path);
    } else {
      names[change.path] = static_cast<std::size_t>(change.inode);
    }
  }
  DiskFiles files;
  for (const auto& [path, inode] : names) {
    std::string bytes = inodes_[inode].synced;
    for (const Change& change : inodes_[inode].air) {
      for (const Change& part : split(change, survival.sectorBytes)) {
        if (survives()) {
          perform(bytes, part);
        }
      }
    }
    files.emplace(path, std::move(bytes));
  }
  return files;
}

std::vector<DiskHistory::Change> DiskHistory::split(const Change& change, std::size_t sectorBytes) {
  if (sectorBytes == 0 || change.truncates) {
    return {change};
  }
  std::vector<Change> parts;
  for (std::size_t start = 0; start < change.bytes.size();) {
    const std::size_t offset = change.offset + start;
    const std::size_t count = std::min(sectorBytes - offset % sectorBytes, change.bytes.size() - start);
    parts.push_back({false, offset, change.bytes.substr(start, count)});
    start += count;
  }
  return parts;
}

void DiskHistory::perform(std::string& bytes, const Change& change) {
  if (change.truncates) {
    bytes.resize(change.offset);
  } else {
    bytes.resize(std::max(bytes.size(), change.offset + change.bytes.size()));
    std::memcpy(bytes.data() + change.offset, change.bytes.data(), change.bytes.size());
  }
}

}  // namespace ackbox::testing
