#pragma once

#include "cli/arguments.hpp"
#include "cli/console.hpp"

namespace ackbox::cli {

// Each function runs one subcommand and returns an `ExitCode`. Each may throw `ackbox::Error`.

int init(Console& console, const Arguments& arguments);
int stats(Console& console, const Arguments& arguments);
int peers(Console& console, const Arguments& arguments);
int sessions(Console& console, const Arguments& arguments);
int top(Console& console, const Arguments& arguments);
int blocked(Console& console, const Arguments& arguments);
int list(Console& console, const Arguments& arguments);
int show(Console& console, const Arguments& arguments);
int explain(Console& console, const Arguments& arguments);
int verify(Console& console, const Arguments& arguments);
int exportMessages(Console& console, const Arguments& arguments);
int retry(Console& console, const Arguments& arguments);
int resend(Console& console, const Arguments& arguments);
int discard(Console& console, const Arguments& arguments);
int markFailed(Console& console, const Arguments& arguments);
int pause(Console& console, const Arguments& arguments);
int resume(Console& console, const Arguments& arguments);
int unblock(Console& console, const Arguments& arguments);
int addPeer(Console& console, const Arguments& arguments);
int removePeer(Console& console, const Arguments& arguments);
int subscribe(Console& console, const Arguments& arguments);
int unsubscribe(Console& console, const Arguments& arguments);
int subscriptions(Console& console, const Arguments& arguments);
int vacuum(Console& console, const Arguments& arguments);
int senders(Console& console, const Arguments& arguments);
int inbox(Console& console, const Arguments& arguments);
int inboxShow(Console& console, const Arguments& arguments);
int inboxExplain(Console& console, const Arguments& arguments);
int inboxRetry(Console& console, const Arguments& arguments);
int inboxDiscard(Console& console, const Arguments& arguments);
int forget(Console& console, const Arguments& arguments);
int repair(Console& console, const Arguments& arguments);
int backup(Console& console, const Arguments& arguments);
int restore(Console& console, const Arguments& arguments);
/// The part of `restore` for an outbox in a database, which can be made a new store.
int restoreDatabase(Console& console, const Arguments& arguments);
int check(Console& console, const Arguments& arguments);
int doctor(Console& console, const Arguments& arguments);
int migrate(Console& console, const Arguments& arguments);
int move(Console& console, const Arguments& arguments);
int enqueue(Console& console, const Arguments& arguments);

}  // namespace ackbox::cli
