// Goal: neither a command line nor a line of `enqueue`'s input crashes the tool's parsers, and what a line that is JSON
// carries is taken as it stands there; what is none is refused, at the latest by the enqueue. Method: the input is a
// frame line, a duration, and, split at newlines, a command line that is parsed and not run.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "check.hpp"
#include "cli/grammar.hpp"
#include "json/fault.hpp"
#include "json/reader.hpp"
#include "protocol/wire.hpp"
#include "records/frame_line.hpp"

namespace {

constexpr std::size_t kDepthMax = 1024;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ackbox;
  const std::string_view text = fuzz::textOf(bytes, size);
  const records::FrameLine line = records::parseFrameLine(text, Frame());
  if (line.problem.empty()) {
    const bool isJson = json::findFault(text, kDepthMax) == json::Fault::none;
    const auto members = isJson ? json::Members::read(json::trim(text)) : std::nullopt;
    if (members) {
      const auto data = members->find("data");
      fuzz::require(!data || *data == line.frame.data, "a frame line's data is taken otherwise than it stands there");
    }
    fuzz::require(line.frame.data.empty() || json::isValid(line.frame.data, kDepthMax) ||
                      protocol::frameProblem(line.frame, kDepthMax),
                  "a frame line's data is not JSON, and would be stored");
  }
  if (const auto duration = parseDuration(text)) {
    fuzz::require(duration->count() >= 0, "a duration is negative");
  }
  std::vector<std::string> words;
  for (std::string_view rest = text.substr(0, 4096); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // CLI11 takes them from the back.
  std::reverse(words.begin(), words.end());
  cli::Arguments arguments;
  const auto grammar = cli::makeGrammar(arguments);
  try {
    grammar->parse(std::move(words));
  } catch (const CLI::Error&) {
    // How it says that the command line is wrong, or that help was asked for.
  }
  return 0;
}
