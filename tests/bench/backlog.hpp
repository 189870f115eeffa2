#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// How many of the sessions may go.
enum class Due : std::uint8_t {
  all,
  /// The others are in backoff for as long as anyone measures.
  oneInTen,
};

inline constexpr const char* kIdOfLast = "the-last-one";

/// An outbox with messages that wait, in turn over its sessions.
struct Backlog {
  std::uint64_t rows = 0;
  std::uint64_t sessions = 0;
  Due due = Due::oneInTen;

  /// As most callers do, it leaves its id to the store; the last one of the backlog has `kIdOfLast`.
  [[nodiscard]] Frame frame(std::uint64_t number) const;
  [[nodiscard]] bool isDue(std::uint64_t number) const { return due == Due::all || number % sessions % 10 == 0; }
};

/// The two that are held side by side: 1,000 rows in 1,000 sessions, of which at least a hundred are due, and 1,000,000
/// in 10,000. With a set count of messages, as in a smoke run, the large one has 2,000.
[[nodiscard]] Backlog smallBacklog(Due due = Due::oneInTen);
[[nodiscard]] Backlog largeBacklog(const Settings& settings, Due due = Due::oneInTen);

/// The backlog's file in the settings' folder, made when it is not there.
[[nodiscard]] std::filesystem::path backlogFile(const Settings& settings, const Backlog& backlog);

/// Holds back the other sessions too, and puts one message that may go behind all that may not; `letDueGo` undoes the
/// first.
void holdBackDue(const std::filesystem::path& file, const Backlog& backlog);
void letDueGo(const std::filesystem::path& file, const Backlog& backlog);

[[nodiscard]] OutboxOptions backlogOptions();

/// The far side of `memory`: opens `file`, reads the whole backlog, and prints the most memory that the process had,
/// in KiB. Returns the exit code.
int runBacklogReader(const std::filesystem::path& file);

}  // namespace ackbox::bench
