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

/// Shares one client's connections among the places that want one. Places that answered last time go first, and a
/// quarter of the connections is for them alone. One grant in eight goes to another place while one waits. Such a place
/// has one connection at a time; it loses it after a silence while others wait: first after one second, then after
/// twice as long each time. So mute peers do not delay the others, and busy peers do not shut out a new one.
///
/// Thread-safety: owned by the client's strand, except `used` and `most`.
class ConnectionBudget : public std::enable_shared_from_this<ConnectionBudget> {
public:
  class Slot;
  /// Called on the strand, never inside `ask`. The holder of a slot that is given back closes its connection.
  using Grant = std::function<void(std::shared_ptr<Slot>)>;
  using Evict = std::function<void()>;

  /// A request for a connection. Releasing it withdraws the request.
  struct Wish {
    Grant grant;
    Evict evict;
  };

  /// `evictIdle` closes an unused connection; false if all are in use.
  ConnectionBudget(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, std::size_t connections,
                   std::function<bool()> evictIdle);

  [[nodiscard]] std::shared_ptr<Wish> ask(const std::string& place, Grant grant, Evict evict);
  /// Records that the place answered a request, or did not.
  void answered(const std::string& place);
  void failed(const std::string& place);
  /// Records that a granted connection is open, or could not be opened.
  void opened(bool isOpen);
  /// Reports that the process is out of descriptors: nothing is granted for a moment, then few connections at a time.
  void shortage();
  /// Grants connections, later, if any can be granted.
  void look();
  void close();

  /// The connections that are granted. From any thread.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  /// The limit of connections. From any thread.
  [[nodiscard]] std::size_t most() const noexcept { return max_; }
  /// The number of remembered places: all that are in use, and some of the others.
  [[nodiscard]] std::size_t placesKnown() const noexcept { return places_.size(); }

private:
  struct Place {
    std::string name;
    std::deque<std::weak_ptr<Wish>> waiting;
    bool isLive = false;
    /// The number of silences since the place answered.
    std::uint32_t silences = 0;
    /// The only slot of a place that is not live.
    Slot* slot = nullptr;
    /// The number of its connections.
    std::size_t slots = 0;
    /// Its key in `turns_`; 0: it is not in `turns_`.
    std::uint64_t turn = 0;
    /// Its key in `unused_`; 0: it is in use.
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
  /// Forgets the oldest unused places beyond the number that is remembered.
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
  // Places without a connection or a wish, by when that began. Their state is kept only to serve them better.
  std::map<std::uint64_t, Place*> unused_;
  std::uint64_t lastUnused_ = 0;
  // Grants to live places since the last grant to another place.
  std::uint32_t liveGrants_ = 0;
  // Slots of places that are not live, by when they may be evicted.
  std::set<std::pair<SteadyTime, Slot*>> unproven_;
  std::uint64_t lastTurn_ = 0;
  std::atomic<std::size_t> used_ = 0;
  // Connections that are granted and not open yet, and their limit.
  std::size_t opening_ = 0;
  std::size_t window_ = std::numeric_limits<std::size_t>::max();
  SteadyTime pausedUntil_{};
  bool isLooking_ = false;
  bool closed_ = false;
};

/// One connection of the budget. Its destructor gives it back.
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
  // Used while the slot is among the unproven.
  SteadyTime evictAt_{};
  bool isUnproven_ = false;
};

}  // namespace ackbox::transport
