// The subscriptions of peers to what is published: `subscribe`, `unsubscribe`, `subscriptions`.

#include <string>
#include <vector>

#include "ackbox/outbox_reader.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/open.hpp"
#include "cli/record_table.hpp"
#include "records/subscription.hpp"

namespace ackbox::cli {

int subscribe(Console& console, const Arguments& arguments) {
  PeerSubscription wanted;
  wanted.name = arguments.subscription;
  wanted.peer = *arguments.peer;
  wanted.type = arguments.typeWanted.value_or(wanted.type);
  wanted.session = arguments.session.value_or(std::string());
  bool isNew = false;
  try {
    isNew = openToChange(console.world(), arguments).subscribe(wanted);
  } catch (const OptionError& error) {
    const std::string allowed = error.allowed().empty() ? std::string() : ", allowed: " + error.allowed();
    return console.fail(kUsage, error.field() + ": " + error.problem() + allowed);
  } catch (const Error& error) {
    if (error.code() != Errc::unknownPeer) {
      throw;
    }
    return console.fail(kNothing, "the outbox has no peer by the name of " + wanted.peer);
  }
  if (console.json()) {
    console.line(json::Line().add("name", wanted.name).add("added", isNew));
  } else {
    console.say(wanted.name + (isNew ? ": subscribed" : ": changed"));
  }
  return kDone;
}

int unsubscribe(Console& console, const Arguments& arguments) {
  const std::string& name = arguments.subscription;
  if (!openToChange(console.world(), arguments).unsubscribe(name)) {
    return console.fail(kNothing, "no subscription has the name " + name);
  }
  if (console.json()) {
    console.line(json::Line().add("name", name).add("removed", true));
  } else {
    console.say(name + ": unsubscribed");
  }
  return kDone;
}

int subscriptions(Console& console, const Arguments& arguments) {
  const std::vector<PeerSubscription> all = openToRead(console.world(), arguments).subscriptions();
  print(console, all);
  if (all.empty() && !console.json()) {
    console.say("no peer has subscribed");
  }
  return all.empty() ? kNothing : kDone;
}

}  // namespace ackbox::cli
