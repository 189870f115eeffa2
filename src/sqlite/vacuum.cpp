#include "sqlite/vacuum.hpp"

#include <algorithm>
#include <string>

namespace ackbox::sqlite {
namespace {

constexpr const char* kIncremental = "2";
// A queue reuses the pages that it frees: a quarter of the file, and 4 MB, are kept free.
constexpr std::size_t kKeptShare = 4;
constexpr std::size_t kKeptPages = 1'024;
// About a millisecond of the write lock.
constexpr std::size_t kSlicePages = 64;

}  // namespace

Vacuum::Vacuum(const Connection& connection)
    : connection_(connection.handle()),
      possible_(scalar(connection_, "PRAGMA auto_vacuum") == kIncremental),
      pages_(connection_, "SELECT p.page_count,f.freelist_count FROM pragma_page_count AS p,pragma_freelist_count AS f",
             {}) {}

std::size_t Vacuum::release(std::size_t pages) {
  if (!possible_ || pages == 0) {
    return 0;
  }
  const std::size_t before = freePages();
  // An argument of 0 would mean all free pages.
  execute(connection_, "PRAGMA incremental_vacuum(" + std::to_string(pages) + ")");
  return before - std::min(before, freePages());
}

bool Vacuum::releaseIfMany() {
  if (!possible_) {
    return false;
  }
  const auto many = [this] {
    Query query(pages_);
    query.next();
    return query.as<std::size_t>(1) > std::max(query.as<std::size_t>(0) / kKeptShare, kKeptPages);
  };
  return many() && release(kSlicePages) != 0 && many();
}

std::size_t Vacuum::freePages() {
  Query query(pages_);
  query.next();
  return query.as<std::size_t>(1);
}

}  // namespace ackbox::sqlite
