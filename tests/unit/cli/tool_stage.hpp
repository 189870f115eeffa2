#pragma once

#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "cli/tool.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// What one run of the tool did.
struct ToolResult {
  int code = 0;
  std::string out;
  std::string err;
};

/// How it is run besides its arguments.
struct ToolSetting {
  std::string in = {};
  bool isTerminal = false;
  bool noColor = false;
  std::string serviceUser = {};
};

/// A file with messages in several states, a clock that a `top` moves on by waiting, and the tool.
class ToolStage {
public:
  ToolStage();

  ToolResult run(std::vector<std::string> arguments, const ToolSetting& setting = {}) const;
  /// Runs the tool on the stage's file, and appends command and outcome to the transcript. `@` stands for the file,
  /// `@/NAME` for one beside it.
  ToolResult play(const std::vector<std::string>& arguments, const ToolSetting& setting = {});
  /// Compares the transcript with golden/NAME, or writes it there when ACKBOX_REGENERATE is set.
  void checkGolden(const std::string& name) const;

  /// An agent on the file, for its peers `bob` and `carol`.
  [[nodiscard]] OutboxManager agent(OutboxOptions options = {}) const;
  [[nodiscard]] std::string file() const { return dir_.file("agent.db").string(); }
  [[nodiscard]] std::string path(const std::string& name) const { return dir_.file(name).string(); }
  [[nodiscard]] ManualClock& clock() const { return *clock_; }
  /// Delivers what is pending to `bob`, and keeps it for an hour.
  void deliverAndKeep() const;
  /// The disk that the tool finds.
  void setDisk(const cli::Disk& disk) { disk_ = disk; }

private:
  TempDir dir_;
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  cli::Disk disk_{8ULL << 30, 0};
  std::string transcript_;
};

/// Compares `text` with golden/NAME, or writes it there when ACKBOX_REGENERATE is set.
void checkGolden(const std::string& name, const std::string& text);

}  // namespace ackbox::testing
