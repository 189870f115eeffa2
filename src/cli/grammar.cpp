#include "cli/grammar.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ackbox/version.hpp"
#include "cli/examples.hpp"
#include "cli/grammar_options.hpp"

namespace ackbox::cli {
namespace {

constexpr const char* kFooter = R"(Exit status:
  0  done
  1  no message matches, or the change was refused
  2  the command line is wrong
  3  the file, or the input, cannot be opened, read or written
  4  verify, repair, backup, restore, doctor or export found problems; notes and warnings of doctor do not count
  5  enqueue, resend: some were refused, the others are stored
check ends with 0 ok, 1 warning, 2 critical, 3 unknown, as monitoring systems have it; health with 0 ready, 1 not ready
or no answer, 2 the URL is wrong.

With --json, standard output is one JSON object a line: keys in snake_case, instants as milliseconds since 1970 (_at_ms),
or null; errors go to standard error as {"error":…,"exit_code":…}. Colours are used on a terminal unless
NO_COLOR is set. The tool works beside running agents; but for serve, it never delivers, and makes
no file but the copies of backup and restore.)";

const Measure kCount = parseCount;
const Measure kBytes = parseBytes;
const Measure kMilliseconds = parseMilliseconds;

/// Adds subcommands with the options that every command on a file has.
class Grammar {
public:
  Grammar(CLI::App& app, Arguments& arguments) : app_(app), arguments_(arguments) {}

  CLI::App& command(const std::string& name, const std::string& help) {
    CLI::App& added = *app_.add_subcommand(name, help);
    addPath(added, "FILE", arguments_.file, "The outbox's file")->required()->type_name("");
    added.add_flag("--json", arguments_.json, "Print JSON, one object a line");
    added.add_option("--prefix", arguments_.prefix, "The prefix of the outbox's tables (default ackbox_)")
        ->type_name("TEXT");
    addDuration(added, "--busy-timeout", arguments_.busyTimeout,
                "How long to wait for another process's write (default 5s)");
    return added;
  }
  /// Like `command`, for commands that open the file to change it; only these have a log.
  CLI::App& change(const std::string& name, const std::string& help) {
    CLI::App& added = command(name, help);
    added
        .add_option("--log", arguments_.log,
                    "Print the log from this level on to standard error, as key=value, with --json as JSON lines")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
    return added;
  }
  void addPeerAndSession(CLI::App& command, const std::string& what) {
    command.add_option("--peer", arguments_.peer, what + " of this peer")->type_name("NAME");
    command.add_option("--session", arguments_.session, what + " of this session")->type_name("NAME");
  }
  void addType(CLI::App& command, const std::string& what) {
    command.add_option("--type", arguments_.typeWanted, what + " of this type")->type_name("TYPE");
  }
  void addState(CLI::App& command) {
    command.add_option("--state", arguments_.state, "Only those in this state")
        ->type_name("STATE")
        ->check(CLI::IsMember({"pending", "sending", "sent", "acked", "failed"}));
  }
  void addSpan(CLI::App& command) {
    addInstant(command, "--since", arguments_.since, "Messages enqueued at this time or later: 2h ago, or an instant");
    addInstant(command, "--before", arguments_.before, "Messages enqueued before this time");
  }
  void addMaxPending(CLI::App& command, const std::string& what) {
    command
        .add_option("--max-pending", arguments_.maxPending,
                    "Refuse " + what + " while this many messages are pending; 0: never (default 1000000)")
        ->type_name("COUNT");
  }
  void addPage(CLI::App& command) {
    command.add_option("--limit", arguments_.limit, "At most this many; 0: all (default 100)")->type_name("COUNT");
    command.add_option("--after", arguments_.after, "Continue after this row")->type_name("ROW");
  }
  void addIds(CLI::App& command) { command.add_option("ID", arguments_.ids, "Messages, by their ids")->type_name(""); }
  void addId(CLI::App& command) {
    command.add_option("ID", arguments_.ids, "The message's id")->required()->expected(1)->type_name("");
  }
  void addPeer(CLI::App& command) {
    command.add_option("PEER", arguments_.peer, "The peer's name")->required()->type_name("");
  }
  void addOneSession(CLI::App& command) {
    addPeer(command);
    command.add_option("--session", arguments_.session, "Only this session of the peer")->type_name("NAME");
  }
  void addFrame(CLI::App& command) {
    command.add_option("ID", arguments_.ids, "The frame's id, as its sender names the message")
        ->required()
        ->expected(1)
        ->type_name("");
    command.add_option("--source", arguments_.source, "Its sender, by its agent URI, where several use the id")
        ->type_name("URI");
  }
  void addFrameIds(CLI::App& command) {
    command.add_option("ID", arguments_.ids, "Frames, by their ids")->type_name("");
  }
  void addFrames(CLI::App& command) {
    command.add_option("--source", arguments_.source, "Frames of this sender, by its agent URI")->type_name("URI");
    command.add_option("--session", arguments_.session, "Frames of this session")->type_name("NAME");
    command.add_option("--mailbox", arguments_.mailbox, "Frames in the mailbox of this agent")->type_name("URI");
    command.add_option("--state", arguments_.state, "Only those in this state")
        ->type_name("STATE")
        ->check(CLI::IsMember({"waiting", "unattended", "behind", "running", "backoff", "ended"}));
  }
  void addCause(CLI::App& command) {
    command.add_option("--reason", arguments_.reason, "Dead letters with exactly this reason")->type_name("TEXT");
    command.add_option("--error", arguments_.error, "Dead letters whose last error contains this")->type_name("TEXT");
  }
  void addDeadLetters(CLI::App& command) {
    addIds(command);
    addPeerAndSession(command, "Dead letters");
    addType(command, "Dead letters");
    addCause(command);
    addDuration(command, "--older-than", arguments_.olderThan, "Dead letters that failed at least so long ago");
    command.add_flag("--all", arguments_.all, "All dead letters");
    command.add_flag("--dry-run", arguments_.dryRun, "Only say how many the filter chooses");
  }

private:
  CLI::App& app_;
  Arguments& arguments_;
};

void addReading(Grammar& grammar, Arguments& arguments) {
  grammar.command("stats", "Show gauges and totals");
  CLI::App& top = grammar.command("top", "Show figures, rates, peers and sessions, again and again");
  addDuration(top, "--interval", arguments.interval, "The time between two looks (default 2s)");
  top.add_option("--count", arguments.count, "End after this many looks; 0: never (default; 1 without a terminal)")
      ->type_name("COUNT");
  grammar.command("peers", "List the peers: whether each is up, down, held, disabled or paused, since when, and why");
  CLI::App& sessions = grammar.command("sessions", "List sessions with work, and where each stands");
  sessions.add_option("--peer", arguments.peer, "Sessions of this peer")->type_name("NAME");
  sessions.add_flag("--all", arguments.all, "Also sessions without live messages and dead letters");
  grammar.addPage(sessions);
  CLI::App& blocked = grammar.command("blocked", "List sessions that a dead letter stopped, and what waits behind it");
  blocked.add_option("--limit", arguments.limit, "At most this many; 0: the most possible, 10000 (default 100)")
      ->type_name("COUNT")
      ->check(CLI::Range(0, 10'000));
  CLI::App& list = grammar.command("list", "List messages, in the order of their enqueues, or the newest first");
  grammar.addState(list);
  grammar.addPeerAndSession(list, "Messages");
  grammar.addType(list, "Messages");
  grammar.addCause(list);
  grammar.addSpan(list);
  list.add_flag("--newest", arguments.newest, "The newest messages first");
  grammar.addPage(list);
  grammar.addId(grammar.command("show", "Show a message with its data"));
  grammar.addId(grammar.command("explain", "Say why a message is not moving"));
  grammar.command("verify", "Check every invariant of the outbox");
  CLI::App& senders = grammar.command(
      "senders", "List the senders of received frames and the records kept for each, or the stores of one sender");
  senders.add_option("SOURCE", arguments.source, "List the stores of this sender, by its agent URI")->type_name("");
  senders.add_option("--limit", arguments.limit, "At most this many; 0: the most possible, 10000 (default 100)")
      ->type_name("COUNT");
  CLI::App& inbox = grammar.command(
      "inbox",
      "List deferred frames: those received, stored and not done yet, such as all that serve gives to applications");
  grammar.addFrames(inbox);
  grammar.addPage(inbox);
  grammar.addFrame(grammar.command("inbox-show", "Show a deferred frame with its data and its last error"));
  grammar.addFrame(grammar.command("inbox-explain", "Say why a deferred frame is not done"));
  CLI::App& exporting =
      grammar.command("export", "Write messages as JSON lines (proto/export.md), which enqueue reads back");
  grammar.addState(exporting);
  grammar.addPeerAndSession(exporting, "Messages");
  grammar.addType(exporting, "Messages");
  grammar.addSpan(exporting);
}

void addChanging(Grammar& grammar, Arguments& arguments) {
  CLI::App& enqueue = grammar.change("enqueue",
                                     "Store frames from JSON lines: {\"peer\",\"session\",\"type\",\"data\",\"id\",…}; "
                                     "a line that is refused does not hinder the others");
  enqueue.add_option("--input", arguments.input, "The lines of messages (default -, standard input)")
      ->type_name("PATH");
  enqueue
      .add_option("--peer", arguments.peer,
                  "The peer of lines that name none, or * for all subscribers (default \"default\")")
      ->type_name("NAME");
  enqueue.add_option("--session", arguments.session, "The session of lines that name none (default \"default\")")
      ->type_name("NAME");
  enqueue.add_option("--type", arguments.type, "The type of lines that name none")->type_name("TYPE");
  grammar.addMaxPending(enqueue, "frames");
  grammar.addDeadLetters(grammar.change(
      "retry", "Send dead letters again: at the tails of their sessions, with new numbers and no charged attempts"));
  CLI::App& resend = grammar.change(
      "resend",
      "Send acknowledged messages once more that the outbox has kept (acked_retention), at the ends of their sessions: "
      "under their ids, as to a receiver that has lost them, or as new messages. The receiver sees it");
  grammar.addIds(resend);
  grammar.addPeerAndSession(resend, "Messages");
  grammar.addType(resend, "Messages");
  grammar.addSpan(resend);
  resend.add_option("--to", arguments.receiver, "Store all that the outbox has for --peer for this peer, too")
      ->type_name("PEER");
  resend.add_flag("--new-ids", arguments.newIds,
                  "As new messages, which take effect again at a receiver that remembers the ids; each once");
  grammar.addMaxPending(resend, "new messages");
  resend.add_flag("--all", arguments.all, "All acknowledged messages that were kept");
  resend.add_flag("--dry-run", arguments.dryRun, "Only say how many the filter chooses");
  resend.add_flag("--yes", arguments.yes, "Really send all that the filter chooses");
  CLI::App& discard = grammar.change("discard", "Delete dead letters, for good");
  grammar.addDeadLetters(discard);
  discard.add_flag("--yes", arguments.yes, "Really discard all that the filter chooses");
}

void addEnding(Grammar& grammar, Arguments& arguments) {
  CLI::App& inboxRetry =
      grammar.change("inbox-retry", "Run deferred frames again now, and set their charged runs back to 0");
  grammar.addFrameIds(inboxRetry);
  grammar.addFrames(inboxRetry);
  inboxRetry.add_flag("--all", arguments.all, "All deferred frames");
  CLI::App& inboxDiscard = grammar.change(
      "inbox-discard",
      "Discard deferred frames, for good: their senders get a dead letter. Refused for a frame that is running");
  grammar.addFrameIds(inboxDiscard);
  grammar.addFrames(inboxDiscard);
  inboxDiscard.add_flag("--all", arguments.all, "All deferred frames");
  inboxDiscard
      .add_option("--reason", arguments.reason, "The reason that the sender gets, short and stable (default discarded)")
      ->type_name("TEXT");
  inboxDiscard.add_flag("--yes", arguments.yes, "Really discard all that the filter chooses");
  CLI::App& markFailed = grammar.change("mark-failed", "Make pending or sent messages dead letters");
  grammar.addIds(markFailed);
  grammar.addPeerAndSession(markFailed, "Messages");
  grammar.addType(markFailed, "Messages");
  markFailed.add_option("--state", arguments.state, "Only those in this state")
      ->type_name("STATE")
      ->check(CLI::IsMember({"pending", "sent"}));
  grammar.addSpan(markFailed);
  markFailed.add_flag("--all", arguments.all, "All messages that wait");
  markFailed.add_flag("--dry-run", arguments.dryRun, "Only say how many the filter chooses");
  markFailed.add_flag("--yes", arguments.yes, "Really make dead letters of all that the filter chooses");
  markFailed.add_option("--reason", arguments.reason, "Why, short and stable (default marked-failed)")
      ->type_name("TEXT");
}

void addSteering(Grammar& grammar, Arguments& arguments) {
  grammar.addOneSession(grammar.change("pause", "Stop sending to a peer, or one session of it, until resume"));
  grammar.addOneSession(
      grammar.change("resume", "Go on sending to a peer or a session; a peer that is away is asked at once"));
  CLI::App& unblock = grammar.change("unblock", "Let a session go on past the dead letter that stopped it");
  grammar.addPeer(unblock);
  unblock.add_option("SESSION", arguments.session, "The session's name")->required()->type_name("");
  CLI::App& addPeer =
      grammar.change("add-peer", "Add a peer to the outbox, or change one that was added, for running agents too");
  grammar.addPeer(addPeer);
  addPeer
      .add_option("DEFINITION", arguments.definition,
                  "JSON as in peers of the configuration, without a name, such as {\"url\":\"https://…\"}; -: from "
                  "standard input")
      ->required()
      ->type_name("");
  CLI::App& removePeer =
      grammar.change("remove-peer", "Remove a peer that was added; refused while messages to it are not settled");
  grammar.addPeer(removePeer);
  removePeer.add_flag("--fail-messages", arguments.failMessages, "Make these messages dead letters");
  grammar.change("vacuum", "Give the file's free pages back to the file system, beside running agents");
  CLI::App& forget = grammar.change("forget",
                                    "Delete the deduplication records of a sender, or of one of its stores. If it "
                                    "sends a message again, that message "
                                    "is applied again");
  forget.add_option("SOURCE", arguments.source, "The sender's agent URI")->required()->type_name("");
  forget.add_option("ORIGIN", arguments.origin, "Only this store of it, see senders FILE SOURCE")->type_name("");
  forget.add_flag("--yes", arguments.yes, "Really forget it");
  grammar
      .change("repair",
              "Recount all figures and repair rows that were changed by SQL; then list what verify finds still. Of a "
              "database, only figures are mended")
      .add_flag("--dry-run", arguments.dryRun, "Only say what would be mended");
}

void addSubscribing(Grammar& grammar, Arguments& arguments) {
  CLI::App& subscribe = grammar.change(
      "subscribe", "Let a peer get what is published, or change such a subscription, for running agents too");
  subscribe.add_option("SUBSCRIPTION", arguments.subscription, "What it is called")->required()->type_name("");
  grammar.addPeer(subscribe);
  grammar.addType(subscribe, "Only frames");
  subscribe.add_option("--session", arguments.session, "Only frames of this session; * at the end stands for any end")
      ->type_name("NAME");
  grammar.change("unsubscribe", "End a subscription; messages that are stored stay")
      .add_option("SUBSCRIPTION", arguments.subscription, "What it is called")
      ->required()
      ->type_name("");
  grammar.command("subscriptions", "List the subscriptions of peers to what is published");
}

void addKeeping(Grammar& grammar, Arguments& arguments) {
  CLI::App& backup = grammar.command("backup", "Copy the file as it is at one instant, beside running agents");
  addPath(backup, "TO", arguments.to, "The copy; must not be there")->required()->type_name("");
  backup.add_flag("--overwrite", arguments.overwrite,
                  "Replace TO, in one step, when the copy is complete; a link stays, and what it leads to is replaced");
  backup.add_flag("--no-verify", arguments.noVerify, "Leave out the check of the copy's invariants");
  CLI::App& restore = grammar.command(
      "restore",
      "Put a backup in the place of TO, keep what is there beside it, and say what to do next. Refused while a process "
      "has either open. A database is restored by the server's own tools; with its URL as FILE and as TO, and "
      "--identity new, its outbox then becomes a new store");
  restore.get_option("FILE")->description("The backup");
  addPath(restore, "TO", arguments.to, "The outbox's file; the same as FILE to renumber it where it is")
      ->required()
      ->type_name("");
  restore
      .add_option("--identity", arguments.identity,
                  "Of an outbox that sends: new if it was sending after the backup was taken, keep if nothing was "
                  "enqueued or sent since")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"new", "keep"}));
  restore.add_flag("--dry-run", arguments.dryRun, "Only say what would be done");
  CLI::App& check = grammar.command(
      "check",
      "Say in one line whether the outbox is well, with performance data, for Nagios, Icinga and the like. A threshold "
      "is reached at its value; off, or a CRITICAL that is left out, is never reached");
  addThreshold(check, "--oldest-age", arguments.oldestAge, kMilliseconds,
               "Age of the oldest pending message (default 10m,1h)");
  addThreshold(check, "--pending", arguments.pendingCount, kCount, "Undelivered messages (default 100000,500000)");
  addThreshold(check, "--pending-bytes", arguments.pendingBytes, kBytes, "Their data (default 1GiB,3GiB)");
  addThreshold(check, "--failed", arguments.deadLetters, kCount, "Dead letters (default 1,off)");
  addThreshold(check, "--peers-away", arguments.peersAway, kCount,
               "Peers that are down, held or disabled (default 1,off)");
  addThreshold(check, "--peers-stopped", arguments.peersStopped, kCount,
               "Those of them that are held or disabled, and wait for a person (default off,1)");
  addThreshold(check, "--unserved", arguments.unservedCount, kCount,
               "Undelivered messages while no process has the outbox open (default 1,off)");
  addThreshold(check, "--inbox", arguments.inboxCount, kCount,
               "Deferred frames that wait or run (default 10000,50000)");
  addThreshold(check, "--inbox-age", arguments.inboxAge, kMilliseconds, "Age of the oldest of them (default 1h,1d)");
  addThreshold(check, "--unattended-age", arguments.unattendedAge, kMilliseconds,
               "For how long deferred frames, here or at a peer, have had no application (default 1m,1h)");
  addThreshold(
      check, "--silent-age", arguments.silentAge, kMilliseconds,
      "For how long an application has had deferred frames in hand and settled none, from 5m on (default 5m,off)");
  addThreshold(check, "--free-disk", arguments.freeDisk, kBytes,
               "Room on the file's disk, wrong when it is less (default 1GiB,200MiB)", true);
  addThreshold(check, "--log-size", arguments.logBytes, kBytes, "Size of the write-ahead log (default 256MiB,1GiB)");
  CLI::App& doctor = grammar.command(
      "doctor", "Look at the file, its log, permissions, owners, SQLite, clock and certificates, and say what to do");
  addPath(doctor, "--certificate", arguments.certificates, "Also say when this certificate (PEM) ends")
      ->type_name("PATH");
}

void addMoving(Grammar& grammar, Arguments& arguments) {
  grammar
      .change("migrate",
              "Bring the tables to this release's version, after a copy of the file; no process may have it open. Of a "
              "database, no copy is made: pg_dump makes one; processes may have it open")
      .add_flag("--dry-run", arguments.dryRun, "Only say what would be changed");
  grammar
      .command("move",
               "Move the outbox to a PostgreSQL database that has none; no process may have the file open. Its peers "
               "notice nothing. The file stays, and is refused from then on. After an interruption, the same command "
               "goes on")
      .add_option("URL", arguments.to, "The database: postgres://user@host/database")
      ->required()
      ->type_name("");
}

void addDaemon(CLI::App& app, Arguments& arguments) {
  CLI::App& init = *app.add_subcommand(
      "init",
      "Make a configuration, tokens and keys for agents on this machine, and print the commands that start them");
  init.add_option("NAME", arguments.names, "The agents, each a peer of the others")->required()->type_name("");
  addPath(init, "--folder", arguments.folder, "Where the files are made (default: the current folder)")
      ->type_name("PATH");
  init.add_option("--port", arguments.port, "The first agent's port; its inbox has this port plus 10 (default 7070)")
      ->type_name("PORT");
  init.add_flag("--json", arguments.json, "Print the files, one JSON object a line");
  CLI::App& serve = *app.add_subcommand(
      "serve", "Deliver the outbox's messages, and serve it over HTTP to programs of any language, until SIGTERM");
  addPath(serve, "FILE", arguments.file, "The outbox's file; it is made if it does not exist")->type_name("");
  addPath(serve, "--config", arguments.config, "A configuration file; --fields lists what may be in it")
      ->type_name("PATH");
  serve.add_option("--listen", arguments.listen, "unix:PATH, or an address and a port (default 127.0.0.1:7070)")
      ->type_name("ADDRESS");
  serve.add_option("--set", arguments.settings, "Any field of the configuration: outbox.max_pending=5000")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  serve.add_flag("--check-config", arguments.checkConfig,
                 "Only check the configuration, and say what is wrong with it");
  serve.add_flag("--fields", arguments.fields,
                 "Only list the fields of a configuration, with type, default, range and meaning");
  CLI::App& health = *app.add_subcommand(
      "health", "Ask a running serve whether it is ready: exit status 0 if it is, 1 if it is not or does not answer");
  health.add_option("--url", arguments.url, "http://address:port or unix:PATH (default http://127.0.0.1:7070)")
      ->type_name("URL");
  health.add_flag("--json", arguments.json, "Print JSON, one object a line");
  addDuration(health, "--timeout", arguments.timeout, "For the whole answer, the connection included (default 3s)");
}

struct Group {
  const char* title;
  std::vector<const char*> commands;
};

/// In the order in which the help shows them.
const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"Begin", {"init", "serve", "health", "enqueue"}},
      {"Look at an outbox",
       {"stats", "top", "peers", "subscriptions", "sessions", "blocked", "list", "show", "explain"}},
      {"Change what is sent",
       {"retry", "resend", "discard", "mark-failed", "pause", "resume", "unblock", "add-peer", "remove-peer",
        "subscribe", "unsubscribe"}},
      {"Received frames",
       {"inbox", "inbox-show", "inbox-explain", "inbox-retry", "inbox-discard", "senders", "forget"}},
      {"Watch", {"check", "doctor"}},
      {"Keep the file", {"backup", "restore", "export", "verify", "repair", "vacuum", "migrate", "move"}},
      {"For the shell", {"completion", "man"}},
  };
  return all;
}

}  // namespace

std::string overview() {
  std::string text = "Usage: ackbox COMMAND FILE\n\n";
  for (const Group& group : groups()) {
    std::string line = group.title;
    line.resize(21, ' ');
    for (const char* const command : group.commands) {
      line += std::string(" ") + command;
    }
    text += line + "\n";
  }
  return text + "\nackbox --help says what each is for, and ackbox COMMAND --help how it is used.\n";
}

std::shared_ptr<CLI::App> makeGrammar(Arguments& arguments) {
  auto app = std::make_shared<CLI::App>("Shows and repairs an ackbox outbox", "ackbox");
  app->set_version_flag("--version", "ackbox " + std::string(kVersion), "Print the version");
  app->set_help_flag("-h,--help", "Print this help");
  app->footer(kFooter);
  app->require_subcommand(1);
  app->add_flag("--json", arguments.json, "Print JSON, one object a line; before the command or after it");
  Grammar grammar(*app, arguments);
  addDaemon(*app, arguments);
  addReading(grammar, arguments);
  addChanging(grammar, arguments);
  addEnding(grammar, arguments);
  addSteering(grammar, arguments);
  addSubscribing(grammar, arguments);
  addKeeping(grammar, arguments);
  addMoving(grammar, arguments);
  for (CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    command->footer("Example:\n  " + std::string(exampleOf(command->get_name())));
  }
  CLI::App& completion = *app->add_subcommand("completion", "Print a completion script for a shell");
  completion.add_option("SHELL", arguments.shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app->add_subcommand("man", "Print the manual page, for man -l -");
  for (const Group& group : groups()) {
    for (const char* const command : group.commands) {
      app->get_subcommand(command)->group(group.title);
    }
  }
  return app;
}

}  // namespace ackbox::cli
