#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "ackbox/clock.hpp"

namespace ackbox::transport {

/// The connections that one client may have open, shared out among the places that want one. Places that have answered
/// last time go first, and a quarter is theirs alone; of the rest, one grant of eight is kept for the other places, as
/// long as one of them waits. Any other place has one connection at a time, and gives it back when it was silent for a
/// while and somebody waits: at first for a second, then for twice as long each time. So many mute peers do not keep
/// the others waiting, and busy ones do not keep a new peer from being served.
///
/// Thread-safety: owned by the client's strand, but for two figures.
class ConnectionBudget : public std::enable_shared_from_this<ConnectionBudget> {
public:
  class Slot;
  /// Called on the strand, never inside `ask`. Of a slot that is given back, its holder closes the connection.
  using Grant = std::function<void(std::shared_ptr<Slot>)>;
  using Evict = std::function<void()>;

  /// What asks; to let go of it is to want nothing any more.
  struct Wish {
    Grant grant;
    Evict evict;
  };

  /// `evictIdle` closes an unused connection; false if all are in use.
  ConnectionBudget(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, std::size_t connections,
                   std::function<bool()> evictIdle);

  [[nodiscard]] std::shared_ptr<Wish> ask(const std::string& place, Grant grant, Evict evict);
  /// The place has answered a request, or has not.
  void answered(const std::string& place);
  void failed(const std::string& place);
  /// A connection that was granted is open, or could not be opened.
  void opened(bool isOpen);
  /// The process has no more descriptors: nothing is granted for a moment, and then little at a time.
  void shortage();
  /// Somebody may be granted a connection now.
  void look();
  void close();

  /// Connections that are granted. From any thread.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  /// How many there may be. From any thread.
  [[nodiscard]] std::size_t most() const noexcept { return max_; }
  /// Places that are remembered: all that are in use, and some of the others.
  [[nodiscard]] std::size_t placesKnown() const noexcept { return places_.size(); }

private:
  struct Place {
    std::string name;
    std::deque<std::weak_ptr<Wish>> waiting;
    bool isLive = false;
    /// How often it was silent since it answered.
    std::uint32_t silences = 0;
    /// Of a place that is not live, its only one.
    Slot* slot = nullptr;
    /// Connections that it has.
    std::size_t slots = 0;
    /// In `turns_`, with this number.
    std::uint64_t turn = 0;
    /// In `unused_`, with this number; 0: it is in use.
    std::uint64_t unusedSince = 0;
  };
  using Turn = std::tuple<bool, std::uint32_t, std::uint64_t, Place*>;

  Place& placeOf(const std::string& name);
  [[nodiscard]] static Turn turnOf(Place& place);
  void queue(Place& place);
  void unqueue(Place& place);
  void settle();
  [[nodiscard]] Place& nextPlace();
  [[nodiscard]] bool mayHaveOne(const Place& place) const noexcept;
  /// Forgets the oldest places that nothing is asked of, beyond those that are worth remembering.
  void rest(Place& place);
  void grant(Place& place, const std::shared_ptr<Wish>& wish);
  void gone(Slot& slot) noexcept;
  void prove(Place& place);
  void makeRoom();
  void setAlarm();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::size_t max_;
  const std::size_t unprovenMax_;
  const std::function<bool()> evictIdle_;
  const std::unique_ptr<Alarm> alarm_;
  std::map<std::string, Place> places_;
  std::set<Turn> turns_;
  // Places with no connection that nobody asks for, by when that began. What is remembered of them is a courtesy.
  std::map<std::uint64_t, Place*> unused_;
  std::uint64_t lastUnused_ = 0;
  // Grants to live places since another one that waited had one.
  std::uint32_t liveGrants_ = 0;
  // Of places that are not live, by when they may be evicted.
  std::set<std::pair<SteadyTime, Slot*>> unproven_;
  std::uint64_t lastTurn_ = 0;
  std::atomic<std::size_t> used_ = 0;
  // Granted and not open yet, and how many may be.
  std::size_t opening_ = 0;
  std::size_t window_ = std::numeric_limits<std::size_t>::max();
  SteadyTime pausedUntil_{};
  bool isLooking_ = false;
  bool closed_ = false;
};

/// One connection of the budget; its end gives it back.
class ConnectionBudget::Slot {
public:
  Slot(std::weak_ptr<ConnectionBudget> budget, Place& place, std::weak_ptr<Wish> wish)
      : budget_(std::move(budget)), place_(place), wish_(std::move(wish)) {}
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

private:
  friend class ConnectionBudget;

  const std::weak_ptr<ConnectionBudget> budget_;
  Place& place_;
  const std::weak_ptr<Wish> wish_;
  // While it is among the unproven.
  SteadyTime evictAt_{};
  bool isUnproven_ = false;
};

}  // namespace ackbox::transport
