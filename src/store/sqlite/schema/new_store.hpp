#pragma once

#include <sqlite3.h>

#include <string_view>

#include "ackbox/file_info.hpp"
#include "ackbox/random.hpp"

namespace ackbox::store::sqlite {

/// Gives the file's store another identity, see `OutboxOperator::makeNewStore`. In the caller's transaction; the caller
/// has flushed its caches, and drops them afterwards.
NewStoreReport makeNewStore(sqlite3* connection, std::string_view prefix, Random& random);

}  // namespace ackbox::store::sqlite
