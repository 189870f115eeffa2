// Stopping and resuming by an operator: `pause`, `resume`, `unblock`. Agents on the file apply an order within their
// poll interval.

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"

namespace ackbox::cli {
namespace {

/// The wording of an order's outcome. `done` and `already` follow the peer's or session's name in the sentence.
struct Words {
  const char* done;
  const char* already;
};

/// Gives the order. `order` returns whether it changed anything; `unchanged` is the exit code if it did not.
template <typename Order>
int give(Console& console, const Arguments& arguments, const Words& words, int unchanged, Order order) {
  const std::string& peer = *arguments.peer;
  if (arguments.session && arguments.session->empty()) {
    return console.fail(kUsage, "a session has a name; unordered messages are paused with their peer");
  }
  OutboxOperator outbox = openToChange(console.world(), arguments);
  bool changed = false;
  try {
    changed = order(outbox);
  } catch (const Error& error) {
    if (error.code() == Errc::unknownPeer) {
      return console.fail(kNothing, "the outbox knows no peer by the name of " + peer);
    }
    throw;
  }
  if (console.json()) {
    json::Line line;
    line.add("peer", peer);
    if (arguments.session) {
      line.add("session", *arguments.session);
    }
    console.line(line.add("changed", changed));
  } else {
    const std::string subject = arguments.session ? "session " + *arguments.session + " of " + peer : peer;
    const std::string sentence = subject + ": " + (changed ? words.done : words.already);
    if (changed || unchanged == kDone) {
      console.say(sentence);
    } else {
      console.remark(sentence);
    }
  }
  return changed ? kDone : unchanged;
}

}  // namespace

int pause(Console& console, const Arguments& arguments) {
  const bool isNew =
      arguments.session && !openToRead(console.world(), arguments).sessionStats(*arguments.peer, *arguments.session);
  const int code = give(console, arguments, {"paused", "was paused already"}, kDone, [&](OutboxOperator& outbox) {
    return arguments.session ? outbox.pause(*arguments.peer, *arguments.session) : outbox.pause(*arguments.peer);
  });
  if (code == kDone && isNew && !console.json()) {
    console.remark(unknownSession(*arguments.peer, *arguments.session));
  }
  return code;
}

int resume(Console& console, const Arguments& arguments) {
  const char* already =
      arguments.session ? "was not paused" : "was not paused; if it is down, held or disabled, it is asked at once";
  return give(console, arguments, {"resumed", already}, kDone, [&](OutboxOperator& outbox) {
    return arguments.session ? outbox.resume(*arguments.peer, *arguments.session) : outbox.resume(*arguments.peer);
  });
}

int unblock(Console& console, const Arguments& arguments) {
  return give(console, arguments, {"continues; the dead letter remains", "is not blocked"}, kNothing,
              [&](OutboxOperator& outbox) { return outbox.unblock(*arguments.peer, *arguments.session); });
}

}  // namespace ackbox::cli
