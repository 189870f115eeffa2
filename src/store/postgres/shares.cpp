#include "store/postgres/shares.hpp"

namespace ackbox::store::postgres {

SenderShare Shares::of(std::string_view source) {
  const Result result = connection_.run(
      "SELECT coalesce(sum(sessions),0),coalesce(sum(origins),0),coalesce(sum(marks),0),coalesce(sum(bytes),0),"
      "coalesce(sum(inbox),0),coalesce(sum(inbox_bytes),0) FROM #sender_shares WHERE source=$1",
      source);
  const Row row = result.front();
  SenderShare share{row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4), row.integer(5)};
  if (const auto own = changes_.find(source); own != changes_.end()) {
    share += own->second;
  }
  return share;
}

void Shares::add(std::string_view source, const SenderShare& difference) {
  auto place = changes_.find(source);
  if (place == changes_.end()) {
    place = changes_.emplace(source, SenderShare()).first;
  }
  place->second += difference;
  counts_.add(Count::inboundBytes, difference.bytes);
  counts_.add(Count::inbox, difference.inbox);
  counts_.add(Count::inboxBytes, difference.inboxBytes);
}

void Shares::flush() {
  for (const auto& [source, share] : changes_) {
    if (!(share == SenderShare())) {
      connection_.post("INSERT INTO #sender_shares VALUES($1,$2,$3,$4,$5,$6,$7)", source, share.sessions, share.origins,
                       share.marks, share.bytes, share.inbox, share.inboxBytes);
    }
  }
  changes_.clear();
}

}  // namespace ackbox::store::postgres
