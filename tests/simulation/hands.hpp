#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/log.hpp"
#include "simulation/ledger.hpp"
#include "simulation/reach.hpp"

namespace ackbox::simulation {

struct Place;

/// The frames that a process gives out within one limit.
enum class Pool : std::uint8_t { pulled, pushed, mailed };

/// An application, or one connection of it, that gets frames from a process.
struct Consumer {
  /// See `Hands::nextConsumer`.
  std::uint64_t number = 0;
  Pool pool = Pool::pulled;
  /// The number of frames that it may have in hand, that all consumers of its pool may have, and more for each
  /// consumer.
  std::size_t window = 0;
  std::size_t places = 0;
  std::size_t ownPlaces = 0;
};

/// Which application has which frame in hand, and what it has done with it. Reports forbidden states: a frame in two
/// hands (P7), a session's frames out of order or two of them at once (P4), a frame given out after its end (P5), and
/// more frames in hand than there are places (P12).
class Hands {
public:
  enum class State : std::uint8_t {
    given,
    /// Its application has acknowledged it, so it takes effect unless it is given out again.
    acknowledged,
    /// The acknowledgement is also committed.
    committed,
  };
  /// The receiver, the sender's store, the session, the id and the number.
  using Delivery = std::tuple<std::string, std::string, std::string, std::string, std::uint64_t>;

  /// `timeout`: the time limit of a run.
  Hands(Ledger& ledger, Reach& reach, std::chrono::nanoseconds timeout)
      : ledger_(ledger), reach_(reach), timeout_(timeout) {}

  [[nodiscard]] std::uint64_t nextConsumer() { return ++lastConsumer_; }

  void given(const Place& place, const Clock& clock, const Consumer& consumer, const InboundFrame& frame);
  /// The application of this agent has ended its work on the frame, in any way; called before the answer to that.
  void ended(const std::string& agent, const InboundFrame& frame);
  void acknowledged(const std::string& agent, const InboundFrame& frame);
  void committed(const std::string& agent, const InboundFrame& frame);
  /// The application has gone, and the frames that it had in hand are returned. Returns their number.
  std::size_t gone(std::uint64_t consumer);
  /// The process died, or has lost its claims, with all frames that its applications had in hand.
  void died(const std::string& process);
  /// A record of the process's log; some records report that a run's deadline has passed.
  void logged(const Place& place, const LogRecord& record);
  /// The agent's own handler works on a frame.
  void worked(const std::string& agent, const InboundFrame& frame);

  [[nodiscard]] const std::map<Delivery, State>& deliveries() const noexcept { return deliveries_; }

private:
  // The receiver, the sender and the id.
  using Name = std::tuple<std::string, std::string, std::string>;
  // The receiver, the sender's store and the session.
  using Lane = std::tuple<std::string, std::string, std::string>;
  struct Hand {
    std::string process;
    std::uint64_t consumer = 0;
    Pool pool = Pool::pulled;
    InboundFrame frame;
    // The clock of its process.
    const Clock* clock = nullptr;
    // The deadline of its run, if its process reports no progress.
    SteadyTime deadline;
  };
  using HandsByName = std::map<Name, Hand>;

  void judgeName(const Place& place, const InboundFrame& frame);
  void judgeLane(const Place& place, const InboundFrame& frame);
  void judgeDelivery(const std::string& agent, const InboundFrame& frame);
  void judgePlaces(const Place& place, const Consumer& consumer, const InboundFrame& frame);
  void dropOverdue();
  HandsByName::iterator release(HandsByName::iterator hand);

  Ledger& ledger_;
  Reach& reach_;
  const std::chrono::nanoseconds timeout_;
  std::uint64_t lastConsumer_ = 0;
  HandsByName hands_;
  // For each session, the latest frame that was given out, and the number of frames in hand.
  struct Given {
    std::uint64_t sequence = 0;
    std::size_t inHand = 0;
  };
  std::map<Lane, Given> lanes_;
  std::map<Delivery, State> deliveries_;
  // Frames that were in hand when their application went.
  std::set<Name> returned_;
};

}  // namespace ackbox::simulation
