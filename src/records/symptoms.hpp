#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/file_info.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/stats.hpp"

namespace ackbox::records {

/// The severity of a finding of `doctor`.
enum class Weight : std::uint8_t {
  ok,
  /// Information only.
  note,
  /// Nothing is wrong yet.
  warning,
  problem,
};

/// `ok`, `note`, …
[[nodiscard]] std::string_view nameOf(Weight weight) noexcept;

/// One finding of `doctor`.
struct Symptom {
  /// `file`, `permissions`, `clock`, …
  std::string about;
  Weight weight = Weight::ok;
  std::string text;
  /// What to do; empty if nothing is to be done.
  std::string advice;
};

/// The data of an open outbox that `symptomsOf` examines.
struct Contents {
  FileInfo info = {};
  Stats stats = {};
  std::vector<PeerStatus> peers = {};
  WallTime now = {};
};

/// The findings inside the file: tables, peers, SQLite or the server, clock. `file` is its name in the commands of the
/// advice.
[[nodiscard]] std::vector<Symptom> symptomsOf(const Contents& contents, const std::string& file);

/// Judges whether a log of this length is too long.
[[nodiscard]] Symptom logSymptom(std::uint64_t bytes);

}  // namespace ackbox::records
