#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace crash {

/// A file that several processes append to, a line at a time: what each did, in the order in which it was done. What
/// was appended stays when its process is killed.
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

/// What the lines say, read in their order.
class SharedAccount {
public:
  void read(const std::filesystem::path& file);
  void take(const std::string& line);

  /// Effects, repetitions included.
  std::uint64_t effects = 0;
  /// Effects of a message that had its effect before: a kill between effect and settle leads to them.
  std::uint64_t repeated = 0;
  /// Effects of a message that is not its session's next, unless they begin a killed life's last batch anew.
  std::uint64_t reordered = 0;
  /// Claims of a session that a living process had claimed.
  std::uint64_t overlaps = 0;
  std::uint64_t settled = 0;
  /// Applied settles of a message that was settled before.
  std::uint64_t settledTwice = 0;
  std::uint64_t late = 0;
  /// Workers whose effects are in it.
  std::set<std::string> workers;
  /// Per session, its last message.
  std::map<std::string, std::uint64_t> reached;

private:
  struct Lane {
    // Whoever had it last, and whether that one still has it.
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
