#pragma once

#include <chrono>

#include "ackbox/file_info.hpp"
#include "ackbox/random.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"
#include "store/postgres/schema/versions.hpp"

namespace ackbox::store::postgres {

/// Gives the database's store another identity, see `makeNewStore` of `ackbox/postgres.hpp`, in one transaction. Waits
/// up to `patience` for each of the transactions that use the tables.
NewStoreReport makeNewStore(Connection& connection, const Schema& schema, Random& random,
                            std::chrono::milliseconds patience);

}  // namespace ackbox::store::postgres
