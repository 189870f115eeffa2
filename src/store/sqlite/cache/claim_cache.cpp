#include "store/sqlite/cache/claim_cache.hpp"

#include <utility>

namespace ackbox::store::sqlite {
namespace {

std::size_t bytesOf(const OutboxRow& row) {
  return sizeof(OutboxRow) + row.frame.data.size() + row.frame.messageId.size() + row.frame.type.size() +
         row.frame.traceparent.size() + row.frame.correlationId.size() + row.frame.resentOf.size();
}

}  // namespace

void ClaimCache::add(delivery::MessageKey key, OutboxRow&& row) {
  const std::size_t bytes = bytesOf(row);
  if (hasRoom() && rows_.try_emplace(key, std::move(row)).second) {
    rowBytes_ += bytes;
  }
}

std::optional<OutboxRow> ClaimCache::take(delivery::MessageKey key) {
  auto found = rows_.extract(key);
  if (!found) {
    return std::nullopt;
  }
  rowBytes_ -= bytesOf(found.mapped());
  return std::move(found.mapped());
}

SessionRow* ClaimCache::session(delivery::SessionKey key) {
  const auto found = sessions_.find(key);
  return found == sessions_.end() ? nullptr : &found->second;
}

SessionRow& ClaimCache::keep(delivery::SessionKey key, SessionRow&& row) {
  if (sessions_.size() >= kSessionsMax) {
    sessions_.clear();
  }
  return sessions_.insert_or_assign(key, std::move(row)).first->second;
}

void ClaimCache::forget() noexcept {
  rows_.clear();
  rowBytes_ = 0;
  sessions_.clear();
}

}  // namespace ackbox::store::sqlite
