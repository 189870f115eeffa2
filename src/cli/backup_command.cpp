#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_steps.hpp"
#include "cli/file_users.hpp"
#include "cli/open.hpp"
#include "cli/progress_line.hpp"
#include "records/text.hpp"
#include "sqlite/file_names.hpp"

namespace ackbox::cli {
namespace {

/// Why the copy cannot be named `to`; empty if it can.
std::string obstacle(const std::filesystem::path& to, const Arguments& arguments) {
  if (!interruptedRestoreOf(arguments.to).empty()) {
    return arguments.to.string() + ": a restore was interrupted there; end it first, by ackbox restore";
  }
  if (const std::string why = whyNotRegular(to); !why.empty()) {
    return why + ": choose another name, or delete what is there";
  }
  if (const std::string why = whyCompanion(to); !why.empty()) {
    return why + ": choose another name";
  }
  const FileUsers users = usersOf(to, sidecarOf(to, arguments.prefix));
  if (users.any()) {
    return to.string() + ": is open in " + users.text() + "; choose another name";
  }
  for (const char* ending : sqlite::kLogEndings) {
    const std::string log = to.string() + ending;
    if (isThere(log)) {
      return log + ": is there, and would be taken for the copy's log; choose another name, or delete what is there";
    }
  }
  return {};
}

}  // namespace

int backup(Console& console, const Arguments& arguments) {
  std::error_code absent;
  // Like cp: keeps a link, and replaces the file that it points to.
  const std::filesystem::path real = std::filesystem::is_symlink(arguments.to, absent)
                                         ? std::filesystem::canonical(arguments.to, absent)
                                         : arguments.to;
  const std::filesystem::path to = real.empty() ? arguments.to : real;
  if (std::filesystem::equivalent(arguments.file, to, absent)) {
    return console.fail(kUsage, to.string() + ": the backup must be another file");
  }
  if (!arguments.overwrite && std::filesystem::exists(std::filesystem::symlink_status(to, absent))) {
    return console.fail(kNothing, to.string() + ": is there; choose another name, or say --overwrite to replace it");
  }
  if (const std::string problem = obstacle(to, arguments); !problem.empty()) {
    return console.fail(kNothing, problem);
  }
  const std::filesystem::path folder = std::filesystem::absolute(to).parent_path();
  if (!std::filesystem::is_directory(folder, absent)) {
    return console.fail(kCannot, folder.string() + ": there is no such folder");
  }
  PartialFile partial(to);
  {
    ProgressLine progress(console);
    const OutboxReader reader = openToRead(console.world(), arguments);
    reader.backUp(partial.path(), [&progress](std::uint64_t done, std::uint64_t of) {
      progress.show(records::bytesText(done) + " of " + records::bytesText(of) + " copied");
    });
    progress.show("checking the copy");
  }
  const OutboxReader copy = openToRead(console.world(), arguments, partial.path());
  const std::size_t findings = arguments.noVerify ? 0 : copy.verify().findings.size();
  if (findings != 0) {
    return console.fail(kProblems, "the copy breaks " + records::countText(findings, "invariant") + ", as " +
                                       arguments.file.string() +
                                       " does, and was deleted: ackbox verify FILE shows them; --no-verify keeps it");
  }
  const Stats stats = copy.getStats();
  partial.place(arguments.overwrite);
  if (console.json()) {
    console.line(json::Line()
                     .add("to", to.string())
                     .add("bytes", stats.fileBytes)
                     .add("verified", !arguments.noVerify)
                     .add("pending", stats.pending + stats.sending)
                     .add("sent", stats.sent)
                     .add("failed", stats.failed)
                     .add("at_ms", std::optional(console.now())));
  } else {
    console.say(to.string() + ": " + records::bytesText(stats.fileBytes) +
                (arguments.noVerify ? ", not verified" : ", verified") + "; " +
                std::to_string(stats.pending + stats.sending) + " pending, " + std::to_string(stats.sent) + " sent, " +
                records::countText(stats.failed, "dead letter"));
  }
  return kDone;
}

}  // namespace ackbox::cli
