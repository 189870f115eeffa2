#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The messages that a peer did not take in requests of their own, of which it is not known yet whether they or the
/// peer are at fault. Others of the same peer show it: a message that is refused, and again after another was taken, is
/// refused for itself. In memory only: a restart forgets, and at worst asks twice again.
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

  /// It held its place for long when it was not taken last.
  [[nodiscard]] bool isLate(MessageKey key) const {
    const auto place = known_.find(key);
    return place != known_.end() && place->second.isLate;
  }

  /// The peer has answered another request for its messages; `isTaken`: it has taken one of them.
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
  /// Whether a request that began after `key` was refused, or `amongOthers`, when one with others and it was (0: none
  /// was), has been taken, and nothing refused since: another refusal is the message's own.
  [[nodiscard]] bool isItsOwn(MessageKey key, RequestId amongOthers) const {
    return !isRefusedSinceTaken_ && (isBefore(refusedAt(key), takenAt_) || isBefore(amongOthers, takenAt_));
  }
  /// The same where others are answered, if not taken: it is no outage.
  [[nodiscard]] bool isAloneRefused(MessageKey key) const {
    return inRow_ == 0 && isBefore(refusedAt(key), answeredAt_);
  }
  /// Whether one that began later was taken: that `request` was not says nothing of the peer.
  [[nodiscard]] bool isOvertaken(RequestId request) const noexcept { return isBefore(request, takenAt_); }
  /// It was refused for itself: how often by now. Others must be answered before that is said again.
  std::uint32_t charge(MessageKey key, RequestId lastRequest, bool isLate) {
    Known& known = keep(key);
    known.until = lastRequest;
    known.isLate = isLate;
    if (known.strikes == 0) {
      count(own_);
    }
    return ++known.strikes;
  }

  /// A request was refused, of the one message `key`, or of several: 0. It counts once until something is answered.
  /// `lastRequest`: the newest that has begun. `isOutage`: it is not refused but away, or overloaded. `isLate`: it took
  /// long.
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

  /// How many were refused, each counted once, since the peer answered last.
  [[nodiscard]] std::uint32_t inRow() const noexcept { return inRow_; }
  /// As many in a row as once in a hundred times are chance, by the share of the peer's messages that it refuses for
  /// themselves; 0 while it has taken none.
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
  /// The same, 0 while it has refused none for itself.
  [[nodiscard]] std::uint32_t inRowByOwn() const noexcept { return own_ == 0 ? 0 : inRowByChance(); }
  /// It has said that it is gone for good, as of `lastRequest`.
  void saidGone(RequestId lastRequest) noexcept { goneAt_ = goneAt_ == 0 ? lastRequest : goneAt_; }
  /// Whether it has taken a message after it said that it is gone, and one within the last day: it speaks of messages.
  [[nodiscard]] bool isMixed(SteadyTime now) const noexcept { return isMixed_ && now - takenLast_ < kGoneAfter; }
  /// Whether they are too few to say that the peer is gone for good, while there are others to ask it with.
  [[nodiscard]] bool areFew() const noexcept { return inRow_ < std::max(kGoneMin, inRowByChance()); }

private:
  struct Known {
    /// The newest request when it was refused last.
    RequestId until = 0;
    std::uint64_t place = 0;
    /// Refused for itself.
    std::uint32_t strikes = 0;
    /// The peer was away or overloaded when it was asked with this one last.
    bool isOutage = false;
    bool isLate = false;
  };

  // What is so many times refused in a row is no longer distinguished from an outage by a handful.
  static constexpr std::uint32_t kOutageMin = 8;
  // A peer that takes 4 in 10 refuses its first 16 once in 3,500 times.
  static constexpr std::uint32_t kGoneMin = 16;
  static constexpr std::chrono::hours kGoneAfter{24};
  static constexpr std::uint32_t kRowMax = 64;
  // The shares are those of the latest.
  static constexpr std::uint32_t kCountedMax = 128;
  // The oldest are forgotten, and at worst asked with twice more: a peer that refuses for weeks is asked with another
  // message each time.
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

  // So many in a row were an outage of the peer's, which is over.
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
  // The newest request when the peer first said that it is gone; 0: it did not.
  RequestId goneAt_ = 0;
  bool isMixed_ = false;
  std::uint32_t inRow_ = 0;
  std::uint32_t own_ = 0;
  std::uint32_t taken_ = 0;
};

}  // namespace ackbox::delivery
