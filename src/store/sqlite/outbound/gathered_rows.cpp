#include "store/sqlite/outbound/gathered_rows.hpp"

namespace ackbox::store::sqlite {

void GatheredRows::add(NewRow&& row) {
  gathered_.push_back(std::move(row));
  if (gathered_.size() == OutboxRows::kTogether) {
    flush();
  }
}

void GatheredRows::flush() {
  if (gathered_.empty()) {
    return;
  }
  rows_.insert(gathered_);
  for (NewRow& fresh : gathered_) {
    cache_.add(fresh.key, std::move(fresh.row));
  }
  gathered_.clear();
}

}  // namespace ackbox::store::sqlite
