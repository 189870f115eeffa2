#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/progress_line.hpp"
#include "records/text.hpp"

namespace ackbox::cli {
namespace {

// Pages between two progress reports; `vacuum` yields to other writers more often than that.
constexpr std::uint64_t kPages = 256;

}  // namespace

int vacuum(Console& console, const Arguments& arguments) {
  OutboxManager manager = openToEnqueue(console.world(), arguments);
  OutboxOperator outbox(manager);
  const Stats before = manager.getStats();
  std::uint64_t released = 0;
  {
    ProgressLine progress(console);
    std::uint64_t slice = 0;
    do {
      slice = outbox.vacuum(kPages);
      released += slice;
      progress.show(records::countText(released, "page") + " of " + records::bytesText(before.freeBytes) +
                    " given back");
    } while (slice == kPages);
  }
  const Stats after = manager.getStats();
  if (console.json()) {
    console.line(json::Line()
                     .add("released_pages", released)
                     .add("file_bytes_before", before.fileBytes)
                     .add("file_bytes", after.fileBytes)
                     .add("free_bytes", after.freeBytes));
  } else {
    console.say(records::countText(released, "page") + " given back; of " + records::bytesText(before.fileBytes) +
                " are left " + records::bytesText(after.fileBytes) + ", of them " +
                records::bytesText(after.freeBytes) + " free");
    if (released == 0 && before.freeBytes != 0) {
      console.remark(
          "nothing could be given back: the file was made without incremental vacuum, "
          "or its pages are in use again");
    }
  }
  return released == 0 && before.freeBytes != 0 ? kNothing : kDone;
}

}  // namespace ackbox::cli
