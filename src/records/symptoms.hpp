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

/// How much a finding of `doctor` matters.
enum class Weight : std::uint8_t {
  ok,
  /// Good to know.
  note,
  /// Nothing is wrong yet.
  warning,
  problem,
};

/// `ok`, `note`, …
[[nodiscard]] std::string_view nameOf(Weight weight) noexcept;

/// One thing that `doctor` looked at.
struct Symptom {
  /// `file`, `permissions`, `clock`, …
  std::string about;
  Weight weight = Weight::ok;
  std::string text;
  /// What to do; empty: nothing.
  std::string advice;
};

/// What an open outbox says of itself.
struct Contents {
  FileInfo info = {};
  Stats stats = {};
  std::vector<PeerStatus> peers = {};
  WallTime now = {};
};

/// What is wrong, or right, inside the file: tables, peers, SQLite, clock. `file` stands for it in commands.
[[nodiscard]] std::vector<Symptom> symptomsOf(const Contents& contents, const std::string& file);

/// Whether a log of this length is one to worry about.
[[nodiscard]] Symptom logSymptom(std::uint64_t bytes);

}  // namespace ackbox::records
