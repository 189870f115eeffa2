#pragma once

namespace ackbox::postgres {}

namespace ackbox::store::postgres {

// All code of this folder uses the connections and results of `ackbox::postgres`. From outside, `postgres` alone would
// mean this namespace.
using namespace ackbox::postgres;

}  // namespace ackbox::store::postgres
