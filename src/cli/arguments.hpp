#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/threshold.hpp"

namespace ackbox::cli {

/// The parsed command line. Each command reads the fields that its grammar offers.
struct Arguments {
  /// The subcommand's name.
  std::string command;
  std::filesystem::path file;
  bool json = false;
  std::string prefix = "ackbox_";
  std::chrono::milliseconds busyTimeout = std::chrono::seconds(5);

  // init
  std::vector<std::string> names;
  std::filesystem::path folder = ".";
  std::uint64_t port = 7070;

  // commands that change the file
  std::optional<std::string> log;

  std::vector<std::string> ids;
  std::optional<std::string> state;
  std::optional<std::string> peer;
  std::optional<std::string> session;
  std::optional<std::string> mailbox;
  std::optional<std::string> reason;
  std::optional<std::string> error;
  std::chrono::milliseconds olderThan{0};
  /// Instants, or durations before now.
  std::optional<std::string> since;
  std::optional<std::string> before;
  bool newest = false;
  std::uint64_t limit = 100;
  std::int64_t after = 0;
  bool all = false;
  bool yes = false;

  // resend
  std::optional<std::string> receiver;
  bool newIds = false;

  // enqueue
  std::filesystem::path input = "-";
  std::string type;
  /// A filter by type; an empty type matches no dead letter.
  std::optional<std::string> typeWanted;
  std::uint64_t maxPending = 1'000'000;

  // add-peer, remove-peer
  std::string definition;
  bool failMessages = false;

  // subscribe, unsubscribe
  std::string subscription;

  // forget
  std::string source;
  std::string origin;

  // backup, restore, move
  std::filesystem::path to;
  bool overwrite = false;
  bool noVerify = false;
  std::string identity;

  // restore, repair, migrate
  bool dryRun = false;

  // check
  Threshold oldestAge{std::chrono::milliseconds(std::chrono::minutes(10)).count(),
                      std::chrono::milliseconds(std::chrono::hours(1)).count()};
  Threshold pendingCount{100'000, 500'000};
  Threshold pendingBytes{1ULL << 30, 3ULL << 30};
  Threshold deadLetters{1, std::nullopt};
  Threshold peersAway{1, std::nullopt};
  Threshold peersStopped{std::nullopt, 1};
  Threshold unservedCount{1, std::nullopt};
  Threshold inboxCount{10'000, 50'000};
  Threshold inboxAge{std::chrono::milliseconds(std::chrono::hours(1)).count(),
                     std::chrono::milliseconds(std::chrono::hours(24)).count()};
  Threshold unattendedAge{std::chrono::milliseconds(std::chrono::minutes(1)).count(),
                          std::chrono::milliseconds(std::chrono::hours(1)).count()};
  // A consumer counts as silent after five minutes.
  Threshold silentAge{std::chrono::milliseconds(std::chrono::minutes(5)).count(), std::nullopt};
  Threshold freeDisk{1ULL << 30, 200ULL << 20};
  Threshold logBytes{256ULL << 20, 1ULL << 30};

  // doctor
  std::vector<std::filesystem::path> certificates;

  // top
  std::chrono::milliseconds interval = std::chrono::seconds(2);
  std::uint64_t count = 0;

  // serve
  std::filesystem::path config;
  std::optional<std::string> listen;
  std::vector<std::string> settings;
  bool checkConfig = false;
  bool fields = false;

  // health
  std::string url = "http://127.0.0.1:7070";
  std::chrono::milliseconds timeout = std::chrono::seconds(3);

  // completion
  std::string shell;
};

}  // namespace ackbox::cli
