#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// Faults of requests on their way. Each probability, from 0 to 1, is drawn for every request independently.
struct NetworkFaults {
  /// The connection is refused: nothing arrives.
  double refused = 0;
  /// The request is lost; its sender waits until its timeout.
  double requestLost = 0;
  /// The connection breaks before the receiver has seen the request.
  double cutBefore = 0;
  /// The receiver handles the request, then the connection breaks before the answer is through.
  double cutAfter = 0;
  /// The receiver handles the request, its answer is lost, its sender waits until its timeout.
  double answerLost = 0;
  /// A second copy arrives later.
  double duplicated = 0;
  /// An intermediary answers 503.
  double overloaded = 0;
  /// An intermediary answers 200 with a page of its own.
  double captured = 0;
  /// An intermediary answers 404, as a wrong route does.
  double misdirected = 0;
  /// An intermediary answers 413 to each request with a longer body. Unit: bytes. 0: no such answers. A single message
  /// that is longer is given up.
  std::size_t bodyBytesMax = 0;
  /// Each direction takes a time drawn from this range, so that requests overtake each other. Defaults: 1 to 20 ms.
  std::chrono::milliseconds delayMin{1};
  std::chrono::milliseconds delayMax{20};
};

/// The network between the processes of a `Simulation`.
///
/// Thread-safety: none. Lifetime: the simulation's.
class SimulatedNetwork {
public:
  virtual ~SimulatedNetwork() = default;

  /// Sets the faults of requests from now on.
  virtual void setFaults(const NetworkFaults& faults) = 0;
  /// From now on nothing from process `from` reaches process `to`, neither requests nor answers. One way; a partition
  /// takes two calls.
  virtual void block(std::string_view from, std::string_view to) = 0;
  /// Removes all blocks and faults.
  virtual void heal() = 0;

  /// How many requests were sent so far, for bounds in tests.
  [[nodiscard]] virtual std::uint64_t requests() const = 0;
};

}  // namespace ackbox::testing
