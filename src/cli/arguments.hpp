#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ackbox::cli {

/// What the command line says. Each command reads those that its grammar offers.
struct Arguments {
  /// The subcommand's name.
  std::string command;
  std::filesystem::path file;
  bool json = false;
  std::string prefix = "ackbox_";
  std::chrono::milliseconds busyTimeout = std::chrono::seconds(5);

  std::vector<std::string> ids;
  std::optional<std::string> state;
  std::optional<std::string> peer;
  std::optional<std::string> session;
  std::optional<std::string> reason;
  std::chrono::milliseconds olderThan{0};
  std::uint64_t limit = 100;
  std::int64_t after = 0;
  bool all = false;
  bool yes = false;

  // enqueue
  std::filesystem::path input = "-";
  std::string type;
  std::uint64_t maxPending = 1'000'000;

  // forget
  std::string source;
  std::string origin;

  // top
  std::chrono::milliseconds interval = std::chrono::seconds(2);
  std::uint64_t count = 0;

  // serve
  std::filesystem::path config;
  std::optional<std::string> listen;
  std::vector<std::string> settings;
  bool checkConfig = false;

  // health
  std::string url = "http://127.0.0.1:7070";

  // completion
  std::string shell;
};

}  // namespace ackbox::cli
