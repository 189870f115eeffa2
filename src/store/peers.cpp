#include "store/peers.hpp"

#include <algorithm>

namespace ackbox::store {
namespace {

constexpr std::size_t kErrorBytesMax = 1'000;

}  // namespace

std::vector<PeerOptions> configuredPeers(const OutboxOptions& options) {
  return options.peers.empty() ? std::vector<PeerOptions>(1) : options.peers;
}

Peers::Peers(Context& context)
    : context_(context),
      upsert_(context.prepare("INSERT INTO #peers(name,url,agent,max_requests) VALUES(?1,?2,?3,?4) "
                              "ON CONFLICT(name) DO UPDATE SET url=?2, agent=?3, max_requests=?4 RETURNING id")),
      record_(context.prepare("UPDATE #peers SET down=?2, failures=?3, down_since_ms=?4, next_probe_at_ms=?5, "
                              "last_error=?6 WHERE id=?1")) {}

void Peers::configure() {
  rows_.clear();
  byName_.clear();
  for (const PeerOptions& peer : configuredPeers(context_.options)) {
    Query query(upsert_, peer.name, peer.url, peer.agent, peer.maxRequests);
    query.next();
    const std::int64_t key = query.integer(0);
    // A statement with RETURNING takes effect for good only when it is stepped to its end.
    query.run();
    byName_.emplace(peer.name, rows_.size());
    rows_.push_back({key, peer.name, peer.url, peer.agent});
  }
}

const PeerRow* Peers::find(delivery::PeerKey key) const noexcept {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [key](const PeerRow& row) { return row.key == key; });
  return found == rows_.end() ? nullptr : &*found;
}

const PeerRow* Peers::find(std::string_view name) const noexcept {
  const auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : &rows_[found->second];
}

void Peers::record(const delivery::PeerRecord& record) {
  Query(record_, record.peer, record.down, record.failures, record.downSince, record.nextProbeAt,
        truncatedError(record.error))
      .run();
}

std::string_view truncatedError(std::string_view text) noexcept {
  if (text.size() <= kErrorBytesMax) {
    return text;
  }
  std::size_t end = kErrorBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace ackbox::store
