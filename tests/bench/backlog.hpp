#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// An outbox in which most of what waits cannot go: messages in turn over the sessions, nine sessions in ten in
/// backoff for as long as anyone measures.
struct Backlog {
  std::uint64_t rows = 0;
  std::uint64_t sessions = 0;

  [[nodiscard]] Frame frame(std::uint64_t number) const;
  [[nodiscard]] std::string idOf(std::uint64_t number) const;
  [[nodiscard]] bool isDue(std::uint64_t number) const { return number % sessions % kDueEvery == 0; }

  static constexpr std::uint64_t kDueEvery = 10;
};

/// The two that are held side by side: 1,000 rows in 1,000 sessions, so that a hundred are due, and 1,000,000 in
/// 10,000. With a set count of messages, as in a smoke run, the large one has 2,000.
[[nodiscard]] Backlog smallBacklog();
[[nodiscard]] Backlog largeBacklog(const Settings& settings);

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
