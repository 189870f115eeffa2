#pragma once

#include <string>

namespace ackbox::bench {

/// The body of a process that delivers from an outbox in PostgreSQL to a webhook: prints a line when it has begun, and
/// ends with its input.
int runReplica(const std::string& database, const std::string& url);

}  // namespace ackbox::bench
