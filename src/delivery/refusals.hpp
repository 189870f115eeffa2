#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The messages that a peer did not take in single-message requests, while it is unknown whether the message or the
/// peer is at fault. Other messages to the same peer decide it: a message that is refused, and refused again after
/// another was taken, is at fault. In memory only: a restart costs at most two more requests per message.
///
/// Thread-safety: none.
class Refusals {
public:
  [[nodiscard]] bool contains(MessageKey key) const { return !known_.empty() && known_.contains(key); }
  void clear(MessageKey key) {
    if (contains(key)) {
      const auto place = known_.find(key);
      order_.erase(place->second.place);
      known_.erase(place);
    }
  }

  /// Whether its last refused request took long.
  [[nodiscard]] bool isLate(MessageKey key) const {
    const auto place = known_.find(key);
    return place != known_.end() && place->second.isLate;
  }

  /// The peer has answered `request` frame by frame; `isTaken`: it has taken at least one message.
  void answered(RequestId request, bool isTaken, SteadyTime now) {
    if (inRow_ > std::max(kOutageMin, inRowByChance())) {
      std::erase_if(known_, [this](const auto& known) { return forgives(known.second); });
    }
    answeredAt_ = std::max(answeredAt_, request);
    inRow_ = 0;
    if (isTaken) {
      takenAt_ = std::max(takenAt_, request);
      isRefusedSinceTaken_ = false;
      takenLast_ = now;
      isMixed_ = isMixed_ || isBefore(goneAt_, request);
      count(taken_);
    }
  }
  /// Whether a request that began after the refusal of `key` has been taken, and nothing was refused since: a further
  /// refusal is the message's fault. `amongOthers`: its refusal in a request of several; 0: none.
  [[nodiscard]] bool isItsOwn(MessageKey key, RequestId amongOthers) const {
    return !isRefusedSinceTaken_ && (isBefore(refusedAt(key), takenAt_) || isBefore(amongOthers, takenAt_));
  }
  /// Whether other messages have been answered since `key` was refused, even if not taken: then it is no outage.
  [[nodiscard]] bool isAloneRefused(MessageKey key) const {
    return inRow_ == 0 && isBefore(refusedAt(key), answeredAt_);
  }
  /// Whether a request that began later was taken: then the failure of `request` does not show that the peer is away.
  [[nodiscard]] bool isOvertaken(RequestId request) const noexcept { return isBefore(request, takenAt_); }
  /// Counts a refusal of the message itself; returns their number. Others must be answered before the next one counts.
  std::uint32_t charge(MessageKey key, RequestId lastRequest, bool isLate) {
    Known& known = keep(key);
    known.until = lastRequest;
    known.isLate = isLate;
    if (known.strikes == 0) {
      count(own_);
    }
    return ++known.strikes;
  }

  /// A request with the one message `key`, or with several (0), was refused. A message counts once until the peer
  /// answers a request. `lastRequest`: the newest request that has begun. `isOutage`: the peer is away or overloaded
  /// and did not refuse. `isLate`: the request took long.
  void refused(MessageKey key, RequestId lastRequest, bool isOutage, bool isLate) {
    bool isCounted = false;
    if (key != 0) {
      Known& known = keep(key);
      isCounted = known.until != 0 && known.until >= answeredAt_ && inRow_ > 0;
      known.until = lastRequest;
      known.isOutage = isOutage;
      known.isLate = isLate;
    }
    inRow_ += isCounted ? 0 : 1;
    isRefusedSinceTaken_ = true;
  }

  /// The number of refusals since the peer last answered, each message counted once.
  [[nodiscard]] std::uint32_t inRow() const noexcept { return inRow_; }
  /// The length of a row of refusals that occurs by chance once in a hundred times, given the share of messages that
  /// the peer refuses for themselves; 0 while it has taken none.
  [[nodiscard]] std::uint32_t inRowByChance() const noexcept {
    if (taken_ == 0) {
      return 0;
    }
    const double share = (own_ + 1.0) / (own_ + taken_ + 2.0);
    std::uint32_t row = 0;
    for (double chance = 1; chance > 0.01 && row < kRowMax; ++row) {
      chance *= share;
    }
    return row;
  }
  /// The same; 0 while the peer has refused no message for itself.
  [[nodiscard]] std::uint32_t inRowByOwn() const noexcept { return own_ == 0 ? 0 : inRowByChance(); }
  /// The peer has answered that it is gone for good, as of `lastRequest`.
  void saidGone(RequestId lastRequest) noexcept { goneAt_ = goneAt_ == 0 ? lastRequest : goneAt_; }
  /// Whether the peer took a message after it answered "gone", and one within the last day: "gone" is about messages.
  [[nodiscard]] bool isMixed(SteadyTime now) const noexcept { return isMixed_ && now - takenLast_ < kGoneAfter; }
  /// Whether there are too few to conclude that the peer is gone for good, while other messages can be tried.
  [[nodiscard]] bool areFew() const noexcept { return inRow_ < std::max(kGoneMin, inRowByChance()); }

private:
  struct Known {
    /// The newest request at its last refusal.
    RequestId until = 0;
    std::uint64_t place = 0;
    /// How often it was refused for itself.
    std::uint32_t strikes = 0;
    /// The peer was away or overloaded at the last attempt with this message.
    bool isOutage = false;
    bool isLate = false;
  };

  // After more than this many refusals in a row, an answer is the end of an outage: see `forgives`.
  static constexpr std::uint32_t kOutageMin = 8;
  // A peer that takes 4 in 10 refuses its first 16 once in 3,500 times.
  static constexpr std::uint32_t kGoneMin = 16;
  static constexpr std::chrono::hours kGoneAfter{24};
  static constexpr std::uint32_t kRowMax = 64;
  // Limits the counts, so that the shares are those of the latest messages.
  static constexpr std::uint32_t kCountedMax = 128;
  // Beyond this, the oldest are forgotten, at the cost of at most two more requests each: a peer that refuses for weeks
  // is tried with another message each time.
  static constexpr std::size_t kKnownMax = 1'024;

  static bool isBefore(RequestId refused, RequestId other) { return refused != 0 && refused < other; }
  [[nodiscard]] RequestId refusedAt(MessageKey key) const {
    const auto place = known_.find(key);
    return place == known_.end() ? 0 : place->second.until;
  }
  void count(std::uint32_t& what) {
    ++what;
    if (own_ + taken_ >= kCountedMax) {
      own_ /= 2;
      taken_ /= 2;
    }
  }

  // So many refusals in a row were an outage of the peer, which is over.
  bool forgives(const Known& known) {
    const bool isForgiven = known.isOutage && known.strikes == 0;
    if (isForgiven) {
      order_.erase(known.place);
    }
    return isForgiven;
  }
  Known& keep(MessageKey key) {
    const auto [place, isNew] = known_.try_emplace(key);
    if (isNew) {
      place->second.place = ++lastPlace_;
      order_.emplace(lastPlace_, key);
      if (known_.size() > kKnownMax) {
        known_.erase(order_.begin()->second);
        order_.erase(order_.begin());
      }
    }
    return place->second;
  }

  std::unordered_map<MessageKey, Known> known_;
  std::map<std::uint64_t, MessageKey> order_;
  std::uint64_t lastPlace_ = 0;
  RequestId takenAt_ = 0;
  RequestId answeredAt_ = 0;
  bool isRefusedSinceTaken_ = false;
  SteadyTime takenLast_{};
  // The newest request when the peer first answered that it is gone; 0: it did not.
  RequestId goneAt_ = 0;
  bool isMixed_ = false;
  std::uint32_t inRow_ = 0;
  std::uint32_t own_ = 0;
  std::uint32_t taken_ = 0;
};

}  // namespace ackbox::delivery
