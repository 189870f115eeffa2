#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"

namespace ackbox::cli {

int migrate(Console& console, const Arguments& arguments) {
  // Opening the file refuses tables of a newer version, and names the release that made them.
  const FileInfo info = openToRead(console.world(), arguments).fileInfo();
  if (console.json()) {
    console.line(
        json::Line().add("version", info.schemaVersion).add("written_by", info.writtenBy).add("migrated", false));
  } else {
    console.say(arguments.file.string() + ": the tables have version " + std::to_string(info.schemaVersion) +
                ", made by ackbox " + info.writtenBy + "; this tool writes the same: nothing to do");
  }
  return kDone;
}

}  // namespace ackbox::cli
