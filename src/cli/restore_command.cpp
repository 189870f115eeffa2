#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_steps.hpp"
#include "cli/file_users.hpp"
#include "cli/open.hpp"
#include "cli/progress_line.hpp"
#include "location/location.hpp"
#include "records/text.hpp"
#include "sqlite/file_names.hpp"

namespace ackbox::cli {
namespace {

namespace fs = std::filesystem;

/// What a restore will do.
struct Plan {
  fs::path backup;
  fs::path file;
  /// The beginning of the name under which the present file is kept.
  fs::path base;
  /// The path under which the present file, or what is left of it, is kept; empty if nothing is there.
  fs::path aside;
  bool hasFile = false;
  bool isSender = false;
  bool isReceiver = false;
  bool makesNewStore = false;
  bool isSameFile = false;
  Stats stats;
  /// How the age of the present file compares with that of the backup, as far as it is known.
  std::string comparison;
};

/// Resolves the links of `named`: they stay, and the file that they lead to is replaced. A link that an interrupted
/// restore left is replaced itself.
fs::path placeOf(const fs::path& named) {
  constexpr int kLinksMax = 40;
  fs::path place = fs::absolute(named);
  std::error_code none;
  for (int count = 0; count < kLinksMax && interruptedRestoreOf(place).empty(); ++count) {
    const fs::path target = fs::read_symlink(place, none);
    if (none) {
      break;
    }
    place = place.parent_path() / target;
  }
  const fs::path folder = fs::weakly_canonical(place.parent_path(), none);
  return none ? place : folder / place.filename();
}

/// Says whether the present file is newer than the backup and, if it is, how to continue with it, as far as known.
std::string compare(const Console& console, const Arguments& arguments, const Plan& plan, const FileInfo& backup) {
  const std::string aside = plan.aside.string();
  FileInfo info;
  try {
    info = openToRead(console.world(), arguments, plan.file).fileInfo();
  } catch (const Error& error) {
    return aside + " cannot be read (" + error.what() +
           "), so whether it is newer is not known; sqlite3 FILE .recover may yield what is in it";
  }
  const auto text = [](const std::optional<WallTime>& at) {
    return at ? records::instantText(*at) : std::string("never");
  };
  const std::string both = " last changed: " + text(info.newestAt) + "; the backup: " + text(backup.newestAt);
  if (info.newestAt <= backup.newestAt) {
    return aside + both + ": it is not newer";
  }
  return aside + both + ": it is newer. If ackbox verify " + aside + " finds nothing, go on with it: ackbox restore " +
         aside + " " + plan.file.string() + (plan.stats.enqueued != 0 ? " --identity keep" : "");
}

std::string stampOf(WallTime instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<std::chrono::milliseconds> time(instant - day);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d%02u%02uT%02d%02d%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

Plan planOf(const Console& console, const Arguments& arguments, const OutboxReader& backup) {
  Plan plan;
  std::error_code absent;
  plan.backup = arguments.file;
  plan.file = placeOf(arguments.to);
  // After an interrupted restore, the name leads to the previous file, which is kept.
  plan.isSameFile = interruptedRestoreOf(plan.file).empty() && fs::equivalent(plan.backup, plan.file, absent);
  plan.stats = backup.getStats();
  plan.isSender = plan.stats.enqueued != 0;
  plan.isReceiver = plan.stats.received + plan.stats.deferred != 0;
  plan.makesNewStore = arguments.identity == "new";
  plan.hasFile = isThere(plan.file);
  plan.base = plan.file.string() + ".before-restore-" + stampOf(console.now());
  plan.aside = interruptedRestoreOf(plan.file);
  const auto isLeft = [&](const char* end) { return isThere(plan.file.string() + end); };
  if (plan.aside.empty() && (plan.hasFile || std::ranges::any_of(sqlite::kCompanionEndings, isLeft))) {
    plan.aside = freeNameFor(plan.base);
  }
  return plan;
}

std::string choiceText(const Plan& plan) {
  return "this outbox sends, so say what its peers are to see:\n"
         "  --identity new   if it was sending after the backup was taken. It becomes another store, as its peers see "
         "it, and\n"
         "                   sends " +
         records::countText(plan.stats.pending + plan.stats.sending, "pending message") +
         " of the backup; those that were delivered since take effect again.\n"
         "  --identity keep  if nothing was enqueued or sent after the backup was taken, as when a file is moved. If "
         "something\n"
         "                   was, its peers hold it, and nothing is lost: ackbox restore " +
         plan.file.string() + " " + plan.file.string() + " --identity new";
}

/// Why the restore cannot be done; empty if it can.
std::string obstacle(const Plan& plan, const Arguments& arguments) {
  if (std::string why = whyNotRegular(arguments.to); !why.empty()) {
    return why + ": name the outbox's file, or delete what is there";
  }
  if (std::string why = whyCompanion(arguments.to); !why.empty()) {
    return why + ": name the outbox's file";
  }
  if (std::string why = whyNotRegularBeside(plan.file); !why.empty()) {
    return why;
  }
  for (const fs::path& file : {plan.file, plan.backup}) {
    std::error_code absent;
    const FileUsers users = usersOf(fs::weakly_canonical(file, absent), sidecarOf(file, arguments.prefix));
    if (users.any()) {
      return file.string() + " is open in " + users.text() + ": stop it first";
    }
  }
  if (plan.isSameFile && !plan.makesNewStore) {
    return "FILE and TO are one file: say --identity new to make it another store";
  }
  return plan.isSender && arguments.identity.empty() ? choiceText(plan) : std::string();
}

std::vector<std::string> stepsOf(const Plan& plan) {
  std::vector<std::string> steps;
  steps.push_back("copy " + plan.backup.string() + ", and verify the copy");
  if (plan.makesNewStore) {
    steps.push_back(
        "make the copy a new store: " + records::countText(plan.stats.pending + plan.stats.sending, "message") +
        " pending, " + records::countText(plan.stats.failed, "dead letter") + "; " +
        records::countText(plan.stats.sent, "message") + " that peers had deferred and " +
        std::to_string(plan.stats.ackedRetained) + " retained left out");
  }
  if (!plan.aside.empty()) {
    steps.push_back((plan.hasFile ? "keep the file that is there, with its log, as "
                                  : "keep the logs that are there without a file beside the name ") +
                    plan.aside.string());
  }
  steps.push_back("put the copy in the place of " + plan.file.string());
  return steps;
}

/// The steps that are left to the operator.
std::vector<std::string> adviceOf(const Plan& plan) {
  std::vector<std::string> advice;
  if (!plan.comparison.empty()) {
    advice.push_back(plan.comparison);
  }
  if (plan.isSender && !plan.makesNewStore) {
    const std::string file = plan.file.string();
    advice.push_back(
        "after the start, ackbox peers " + file +
        ": a peer that is held with stale-epoch knows more than this file; then stop, and ackbox restore " + file +
        " " + file + " --identity new");
  }
  if (plan.makesNewStore) {
    advice.emplace_back(
        "its receivers see a new store, and nothing has to be done there; ackbox forget FILE SOURCE ORIGIN "
        "deletes what they keep of the old one");
  }
  if (plan.isReceiver) {
    advice.emplace_back(
        "the peers that send to it notice, and go on or send again what it forgot, by their "
        "PeerResetPolicy");
  }
  advice.emplace_back("start the agents");
  return advice;
}

void print(Console& console, const Plan& plan, const std::string& origin, bool isDryRun) {
  const std::vector<std::string> steps = stepsOf(plan);
  const std::vector<std::string> advice = adviceOf(plan);
  if (console.json()) {
    console.line(json::Line()
                     .add("done", !isDryRun)
                     .add("file", plan.file.string())
                     .add("kept_as", plan.aside.string())
                     .add("identity", plan.makesNewStore ? "new" : "keep")
                     .add("origin", origin)
                     .add("sender", plan.isSender)
                     .add("receiver", plan.isReceiver)
                     .raw("steps", json::list(steps))
                     .raw("next", json::list(advice)));
    return;
  }
  console.say(isDryRun ? "would:" : "done:");
  for (const std::string& step : steps) {
    console.say("  " + step);
  }
  console.say("next:");
  for (const std::string& sentence : advice) {
    console.say("  " + sentence);
  }
}

}  // namespace

int restore(Console& console, const Arguments& arguments) {
  if (location::isUrl(arguments.file) || location::isUrl(arguments.to)) {
    return restoreDatabase(console, arguments);
  }
  Plan plan;
  FileInfo info;
  {
    const OutboxReader backup = openToRead(console.world(), arguments);
    plan = planOf(console, arguments, backup);
    info = backup.fileInfo();
  }
  std::string origin = info.origin;
  if (const std::string problem = obstacle(plan, arguments); !problem.empty()) {
    return console.failOver(kNothing, problem);
  }
  if (plan.hasFile && !plan.isSameFile) {
    plan.comparison = compare(console, arguments, plan, info);
  }
  if (arguments.dryRun) {
    print(console, plan, origin, true);
    return kDone;
  }
  PartialFile partial(plan.file);
  {
    ProgressLine progress(console);
    const OutboxReader backup = openToRead(console.world(), arguments);
    backup.backUp(partial.path(), [&progress](std::uint64_t done, std::uint64_t of) {
      progress.show(records::bytesText(done) + " of " + records::bytesText(of) + " copied");
    });
  }
  if (plan.makesNewStore) {
    origin = makeNewStore(console.world(), arguments, partial.path()).origin;
  }
  if (const auto findings = openToRead(console.world(), arguments, partial.path()).verify().findings.size();
      findings != 0) {
    return console.fail(kProblems, arguments.file.string() + " breaks " + records::countText(findings, "invariant") +
                                       "; nothing was changed: ackbox verify FILE shows them, ackbox repair FILE "
                                       "mends what can be mended");
  }
  if (std::error_code absent; fs::exists(partial.path().string() + sqlite::kLogEnding, absent)) {
    throw Error(Errc::ioError, partial.path().string() + ": its log could not be folded in; nothing was changed");
  }
  const bool isOwned = makeLike(partial.path(), isThere(plan.file) ? plan.file : plan.backup);
  // Checks again, because an agent may have started during a long copy.
  if (const std::string problem = obstacle(plan, arguments); !problem.empty()) {
    return console.failOver(kNothing, problem);
  }
  const fs::path aside = partial.placeKeeping(plan.base);
  if (aside != plan.aside && !plan.aside.empty() && !plan.comparison.empty()) {
    plan.comparison = "ackbox verify " + aside.string() + " checks what was kept";
  }
  plan.aside = aside;
  print(console, plan, origin, false);
  if (!isOwned) {
    console.remark("note: " + plan.file.string() + " belongs to this user, and did not before: chown it for the agent");
  }
  return kDone;
}

}  // namespace ackbox::cli
