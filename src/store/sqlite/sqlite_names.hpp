#pragma once

namespace ackbox::sqlite {}

namespace ackbox::store::sqlite {

// All code of this folder uses the statements, queries and transactions of `ackbox::sqlite`. From outside, `sqlite`
// alone would mean this namespace.
using namespace ackbox::sqlite;

}  // namespace ackbox::store::sqlite
