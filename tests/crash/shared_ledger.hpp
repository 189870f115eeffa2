#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace crash {

/// A file to which several processes append lines: the actions of each, in their order. Appended lines remain when
/// their process is killed.
///
///   B LIFE SESSION SEQUENCE   the message is claimed; its effect begins
///   E LIFE SESSION SEQUENCE   the effect ends; the settle comes after it
///   S LIFE MESSAGE            the settle was applied
///   L LIFE MESSAGE            the settle came too late
///   K LIFE                    the life is about to be killed
///
/// Thread-safety: lines may be appended from any thread.
class SharedLedger {
public:
  explicit SharedLedger(const std::filesystem::path& file);
  ~SharedLedger();
  SharedLedger(const SharedLedger&) = delete;
  SharedLedger& operator=(const SharedLedger&) = delete;

  void begin(std::string_view life, std::string_view session, std::uint64_t sequence) const;
  void end(std::string_view life, std::string_view session, std::uint64_t sequence) const;
  void settled(std::string_view life, std::string_view message) const;
  void late(std::string_view life, std::string_view message) const;
  void killing(std::string_view life) const;

private:
  void append(const std::string& line) const;

  int file_;
};

/// The content of the lines, read in their order.
class SharedAccount {
public:
  void read(const std::filesystem::path& file);
  void take(const std::string& line);

  /// Effects, including repetitions.
  std::uint64_t effects = 0;
  /// Effects of a message that already had its effect: a kill between effect and settle leads to them.
  std::uint64_t repeated = 0;
  /// Effects of a message that is not its session's next, unless they repeat the last batch of a killed life.
  std::uint64_t reordered = 0;
  /// Claims of a session that a living process had claimed.
  std::uint64_t overlaps = 0;
  std::uint64_t settled = 0;
  /// Applied settles of a message that was settled before.
  std::uint64_t settledTwice = 0;
  std::uint64_t late = 0;
  /// Workers that have effects in the ledger.
  std::set<std::string> workers;
  /// The last message of each session.
  std::map<std::string, std::uint64_t> reached;

private:
  struct Lane {
    // The life that had the session last, and whether it still has it.
    std::string holder;
    bool held = false;
    // The first and the latest message of its batch.
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  void begin(const std::string& life, const std::string& session, std::uint64_t sequence);

  std::map<std::string, Lane> lanes_;
  std::set<std::string> killed_;
  std::set<std::string> settledMessages_;
};

}  // namespace crash
