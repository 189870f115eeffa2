#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/tool.hpp"

namespace ackbox::cli {

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

/// Looks at the file, what lies beside it, the processes that use it, and the machine.
[[nodiscard]] std::vector<Symptom> examine(const World& world, const Arguments& arguments);

}  // namespace ackbox::cli
