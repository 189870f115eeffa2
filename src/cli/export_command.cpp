#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

/// Thrown to end an export when the output can no longer be written.
struct OutputEnded {};

}  // namespace

int exportMessages(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const MessageFilter filter = messageFilterOf(console.world(), arguments);
  std::uint64_t damaged = 0;
  const auto write = [&console, &damaged](std::string_view line) {
    damaged += line.starts_with(R"({"damaged":true,)") ? 1U : 0U;
    line.remove_suffix(1);
    console.line(json::oneLine(line));
    if (!console.world().out.good()) {
      throw OutputEnded();
    }
  };
  try {
    // Dead letters are found without reading the backlog.
    const std::uint64_t written =
        filter.state == MessageState::failed && !filter.since && !filter.before
            ? reader.exportDeadLetters({.peer = filter.peer, .session = filter.session, .type = filter.type}, write)
            : reader.exportMessages(filter, write);
    if (damaged != 0) {
      console.remark(records::countText(damaged, "message") +
                     " damaged on the disk: the lines say \"damaged\", and enqueue refuses them; "
                     "ackbox verify FILE names the rows");
      return kProblems;
    }
    return written == 0 ? kNothing : kDone;
  } catch (const OutputEnded&) {
    return kDone;
  }
}

}  // namespace ackbox::cli
