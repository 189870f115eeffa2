#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/message_view.hpp"
#include "cli/open.hpp"

namespace ackbox::cli {
namespace {

constexpr std::size_t kPage = 256;

}  // namespace

// Page by page and frame by frame, so that a file of any size goes through little memory.
int exportMessages(Console& console, const Arguments& arguments) {
  const OutboxReader reader = openToRead(console.world(), arguments);
  const MessageFilter filter = messageFilterOf(arguments);
  std::uint64_t written = 0;
  std::int64_t after = 0;
  do {
    const MessagePage page = reader.messages(filter, kPage, after);
    after = page.next;
    for (const MessageInfo& message : page.messages) {
      // Gone since the page was read: delivered.
      const std::optional<Frame> frame = reader.frame(message.messageId);
      if (frame) {
        JsonLine line = messageLine(message);
        addFrame(line, *frame);
        console.line(line);
        ++written;
      }
    }
  } while (after != 0 && console.world().out.good());
  return written == 0 ? kNothing : kDone;
}

}  // namespace ackbox::cli
