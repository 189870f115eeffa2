#pragma once

#include <cstdint>
#include <iosfwd>

#include "ledger.hpp"

namespace main_job {

/// Everything that a run has to say at its end.
struct Report {
  std::uint64_t seed = 0;
  std::uint64_t killsOfAlice = 0;
  std::uint64_t killsOfBob = 0;
  std::uint64_t malformedLines = 0;
  double seconds = 0;
  /// Alice's frames to bob.
  Flow frames;
  /// Bob's replies to alice.
  Flow replies;

  [[nodiscard]] bool balances() const noexcept { return frames.balances() && replies.balances(); }
};

/// The ledger as an aligned table, for people; coloured when told to.
void printTable(std::ostream& output, const Report& report, bool coloured);

/// The same as one JSON object, for programs.
void printJson(std::ostream& output, const Report& report);

}  // namespace main_job
