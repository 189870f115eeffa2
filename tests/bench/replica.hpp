#pragma once

#include <string>

#include "ackbox/options.hpp"

namespace ackbox::bench {

/// The body of a process that delivers from an outbox in PostgreSQL: prints a line when it has begun, and ends with its
/// input.
int runReplica(const std::string& database, const std::string& url, PeerProfile profile);

}  // namespace ackbox::bench
