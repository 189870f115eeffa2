#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ackbox/clock.hpp"
#include "reception/turn_queue.hpp"
#include "reception/types.hpp"

namespace ackbox::reception {

/// Decides which frame of the inbox is worked on next, within the places of each pool: frames of a queue go one after
/// the other, and senders take turns, as do the queues of a sender. A waiting frame has no place; in a pool on demand,
/// only frames that fit a consumer's wish get one.
///
/// Mailboxes take turns, too. The cost of a turn grows neither with the mailboxes nor with their consumers: a mailbox
/// is looked at when it may have a turn, and otherwise left alone.
///
/// A queue's first frame is in one of three states:
/// - `ready`: it has its turn when its pool has a place for it and, on demand, a wish that it fits has room;
/// - `taken`: it is claimed, looked at or worked on, until `headEnded`, `headWaits` or `headReady`;
/// - `waiting`: it is ready from an instant on.
/// The frames behind it only wait for it.
///
/// Pure: no clock, no store. Thread-safety: none.
class InboxMachine {
public:
  /// A frame belongs to the first pool that has its type; all types must be in one. A frame of a mailbox belongs to the
  /// pool of the mailboxes, of which there is one at most.
  explicit InboxMachine(std::vector<PoolLimits> pools);

  // --- Events.

  /// A frame is in the inbox. A frame of a mailbox is ignored if there is no pool for mailboxes.
  void arrived(const Arrival& frame);
  /// Adds or replaces the wish of this id, which is not 0, in a pool on demand. A wish stays with its mailbox.
  void want(std::size_t pool, const Wish& wish);
  /// No more frames are taken for the wish; those that it has stay taken.
  void unwant(std::size_t pool, std::uint64_t id);
  /// The work on this turn no longer needs its place. Separate from the end of the frame, because work may go on after
  /// it.
  void placeFreed(const Turn& turn);
  /// The first frame has ended: the next one is ready.
  void headEnded(QueueNumber queue);
  /// The first frame, which was taken, waits until `until`.
  void headWaits(QueueNumber queue, SteadyTime until);
  /// The first frame, which was taken, is ready again, behind those already ready.
  void headReady(QueueNumber queue);
  /// These frames, which were not taken, have left the inbox. Frames that are taken by now, or have ended, do not
  /// change. Takes one pass over each queue.
  void gone(std::span<const QueuedFrame> frames);
  /// First frames that wait until `now` or earlier are ready.
  void timePassed(SteadyTime now);
  /// All waiting first frames are ready.
  void endWaits();

  // --- Turns.

  /// Takes up to `limit` frames, one of each pool in turn, so that no pool waits for another that always has more.
  [[nodiscard]] std::vector<Turn> takeTurns(std::size_t limit);
  /// Takes up to `limit` first frames that are not taken, and have expired at `now` or, in a pool on demand, satisfy
  /// `isOld` for the instant of their acceptance. In other pools, a frame that is merely old is worked on at least
  /// once.
  [[nodiscard]] std::vector<Turn> takeOverdue(const std::function<bool(WallTime)>& isOld, WallTime now,
                                              std::size_t limit);
  /// The frames of pools on demand that are not taken: only a check of these finds out that one has left the inbox.
  [[nodiscard]] std::vector<QueuedFrame> untaken() const;
  /// Whether a frame of the pool, which is on demand and not that of the mailboxes, is ready and fits no wish.
  [[nodiscard]] bool hasUnwanted(std::size_t pool);
  /// Up to `limit` types of such frames.
  [[nodiscard]] std::vector<std::string> unwantedTypes(std::size_t pool, std::size_t limit) const;
  /// The instant at which the next waiting frame is ready; the end of time: none waits.
  [[nodiscard]] SteadyTime nextDue() const;

  // --- For figures and tests.

  [[nodiscard]] std::size_t frames() const noexcept { return frames_; }
  /// Of these.
  [[nodiscard]] std::size_t types() const noexcept { return types_.size() + mailTypes_.size(); }
  /// The mailboxes that have frames or consumers.
  [[nodiscard]] std::size_t mailboxes() const { return mailPool_ ? pools_[*mailPool_].sections.size() : 0; }
  /// The frames that wait for this agent, and those of them that are of this sender.
  [[nodiscard]] MailboxFill fillOf(const std::string& mailbox, const std::string& sender) const;
  /// The entries of ready queues, with the old ones that no longer count.
  [[nodiscard]] std::size_t turnsKept() const;
  /// Not counting own places.
  [[nodiscard]] std::size_t placesTaken(std::size_t pool) const { return pools_.at(pool).taken; }

private:
  enum class State : std::uint8_t { ready, taken, waiting };

  struct Type {
    std::size_t pool = 0;
    // The number of frames of the type.
    std::size_t count = 0;
  };
  // Addresses of a node-based map's elements are stable.
  using Types = std::unordered_map<std::string, Type>;
  struct Sender {
    SenderNumber number = 0;
    std::size_t queues = 0;
  };
  using Senders = std::unordered_map<std::string, Sender>;

  struct Frame {
    FrameKey key = 0;
    Types::value_type* type = nullptr;
    WallTime acceptedAt;
    WallTime expiresAt;
  };
  struct Queue {
    std::string name;
    std::string session;
    std::string mailbox;
    Senders::value_type* sender = nullptr;
    // Only those from index `first` on count.
    std::vector<Frame> frames;
    std::size_t first = 0;
    State state = State::ready;
    // The ticket of its latest entry in a `TurnQueue` or in `waits_`; earlier entries no longer count.
    std::uint64_t ticket = 0;

    [[nodiscard]] const Frame& head() const { return frames[first]; }
  };
  struct Standing {
    Wish wish;
    std::size_t inHand = 0;
    // Of these.
    std::size_t own = 0;
  };
  /// The ids of the wishes that a frame fits, in order.
  using Fitting = std::vector<std::uint64_t>;
  /// The ready queues of a pool, and the wishes for them; in the pool of the mailboxes, those of one mailbox.
  struct Section {
    std::map<std::uint64_t, Standing> wishes;
    // The ready queues, by the wishes that their first frames fit, including those that fit none.
    std::map<Fitting, TurnQueue> ready;
    // The groups up to this one in the order of `ready` have had their turn.
    Fitting lastServed;
    // All queues, and their frames, also by sender; counted for mailboxes only.
    std::size_t queues = 0;
    std::size_t frames = 0;
    std::unordered_map<const Senders::value_type*, std::size_t> bySender;
    // In `Pool::listed`, and in `Pool::starved`.
    bool isListed = false;
    bool isStarved = false;
  };
  // Addresses of a node-based map's elements are stable.
  using Sections = std::unordered_map<std::string, Section>;
  struct Pool {
    PoolLimits limits;
    // Not counting frames in own places.
    std::size_t taken = 0;
    // By mailbox. Other pools have one, with the empty name.
    Sections sections;
    // Those that may have a turn, in the order of their turns; and those that only lack a place of the pool.
    std::deque<Sections::value_type*> listed;
    std::deque<Sections::value_type*> starved;
    std::unordered_map<std::uint64_t, Sections::value_type*> byWish;
  };

  [[nodiscard]] std::size_t poolOf(std::string_view type) const;
  [[nodiscard]] Types::value_type& typeOf(const Arrival& frame);
  [[nodiscard]] Types& typesOf(const Type& type) { return type.pool == mailPool_ ? mailTypes_ : types_; }
  [[nodiscard]] static Sections::value_type& sectionOf(Pool& pool, const std::string& mailbox);
  static void list(Pool& pool, Sections::value_type& section);
  /// Removes the section that has the next turn from its list; null: none may have one.
  [[nodiscard]] static Sections::value_type* nextSection(Pool& pool);
  /// Erases the section if nothing needs it.
  static void dropIfUnused(Pool& pool, Sections::value_type& section);
  [[nodiscard]] Queue& queueOf(const Arrival& frame);
  void makeReady(QueueNumber number, Queue& queue);
  [[nodiscard]] static bool fits(const Wish& wish, const Queue& queue);
  [[nodiscard]] static Fitting fittingOf(const Section& section, const Queue& queue);
  [[nodiscard]] std::optional<Turn> takeTurn(std::size_t pool);
  [[nodiscard]] std::optional<Turn> takeFrom(std::size_t pool, Section& section);
  [[nodiscard]] std::optional<Turn> takeOf(std::size_t pool, TurnQueue& ready, Standing& standing);
  /// Whether a wish of the section has room for one of its queues, but the pool has no place.
  [[nodiscard]] static bool lacksPlace(const Pool& pool, const Section& section);
  [[nodiscard]] static bool hasPlace(const Pool& pool, const Standing& standing);
  /// Of these wishes, the one with the fewest frames among those with room; null: none has room.
  [[nodiscard]] static Standing* leastServed(const Pool& pool, Section& section, const Fitting& fitting);
  [[nodiscard]] bool isCurrent(const TurnQueue::Entry& entry) const;
  [[nodiscard]] std::optional<TurnQueue::Entry> popCurrent(TurnQueue& turns) const;
  /// Regroups the ready queues after a change of this wish, which may be gone. A group moves as a whole, unless the
  /// wish is for some types or sessions: then each queue is compared with it, and with no other wish.
  void sortAnew(Section& section, std::uint64_t id);
  void addGroup(Section& section, const Fitting& fitting, TurnQueue&& turns);
  void forget(const Queue& queue, const Frame& frame);
  /// `keys`: in order.
  void dropGone(QueueNumber number, const std::vector<FrameKey>& keys);
  void erase(std::unordered_map<QueueNumber, Queue>::iterator place);

  // Never resized: sections are referred to by their addresses.
  std::vector<Pool> pools_;
  std::optional<std::size_t> mailPool_;
  // The pool that has the next turn.
  std::size_t nextPool_ = 0;
  Types types_;
  // Of the frames of mailboxes.
  Types mailTypes_;
  Senders senders_;
  std::unordered_map<std::string, QueueNumber> numbers_;
  std::unordered_map<QueueNumber, Queue> queues_;
  std::multimap<SteadyTime, TurnQueue::Entry> waits_;
  QueueNumber lastQueue_ = 0;
  SenderNumber lastSender_ = 0;
  std::uint64_t lastTicket_ = 0;
  std::size_t frames_ = 0;
};

}  // namespace ackbox::reception
