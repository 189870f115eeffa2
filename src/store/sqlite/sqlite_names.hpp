#pragma once

namespace ackbox::sqlite {}

namespace ackbox::store::sqlite {

// Statements, queries and transactions are what all of this folder is written in. From outside, `sqlite` alone would
// mean this namespace.
using namespace ackbox::sqlite;

}  // namespace ackbox::store::sqlite
