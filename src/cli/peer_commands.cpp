// Peers that are added at run time: `add-peer`, `remove-peer`. Agents on the file notice within their poll interval.

#include <iterator>
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "records/text.hpp"

namespace ackbox::cli {

int addPeer(Console& console, const Arguments& arguments) {
  const std::string& name = *arguments.peer;
  const auto& read = console.world().readPeer;
  if (!read) {
    return console.fail(kUsage, "this program has no daemon");
  }
  std::string definition = arguments.definition;
  if (definition == "-") {
    definition.assign(std::istreambuf_iterator<char>(console.world().in), {});
  }
  bool isNew = false;
  try {
    const PeerOptions peer = read(name, definition);
    isNew = openToChange(console.world(), arguments).addPeer(peer, definition);
  } catch (const OptionError& error) {
    return console.fail(kUsage, (error.field().empty() ? "" : error.field() + ": ") + error.problem());
  }
  if (console.json()) {
    console.line(json::Line().add("peer", name).add("added", isNew));
  } else {
    console.say(name + (isNew ? ": added" : ": changed"));
  }
  return kDone;
}

int removePeer(Console& console, const Arguments& arguments) {
  const std::string& name = *arguments.peer;
  OutboxOperator outbox = openToChange(console.world(), arguments);
  PeerRemoval removal;
  try {
    removal = outbox.removePeer(name, arguments.failMessages ? WaitingMessages::fail : WaitingMessages::refuse);
  } catch (const Error& error) {
    if (error.code() == Errc::unknownPeer) {
      return console.fail(kNothing, "no peer by the name of " + name + " was added to the outbox");
    }
    throw;
  }
  if (console.json()) {
    console.line(json::Line()
                     .add("peer", name)
                     .add("removed", removal.isRemoved)
                     .add("failed", removal.failed)
                     .add("left", removal.left)
                     .add("subscriptions", removal.subscriptions));
  } else if (!removal.isRemoved) {
    console.remark(name + " is not removed: " + records::countText(removal.left, "message") +
                   " to it wait; --fail-messages makes them dead letters");
  } else {
    console.say(
        name + ": removed" +
        (removal.failed == 0 ? "" : "; " + records::countText(removal.failed, "message") + " became dead letters") +
        (removal.subscriptions == 0 ? ""
                                    : "; " + records::countText(removal.subscriptions, "subscription") + " with it"));
    if (removal.left != 0) {
      console.remark(records::countText(removal.left, "message") +
                     " are in flight, or wait behind one: repeat the command with --fail-messages");
    }
  }
  return removal.isRemoved && removal.left == 0 ? kDone : kNothing;
}

}  // namespace ackbox::cli
