#include "ackbox/error.hpp"
#include "ackbox/postgres.hpp"
#include "manager/inbound/inbound_scope.hpp"
#include "store/postgres/postgres_store.hpp"

namespace ackbox {

pg_conn* connectionOf(InboundTransaction& transaction) {
  auto* const ours = dynamic_cast<manager::StoreTransaction*>(&transaction);
  auto* const store = ours == nullptr ? nullptr : dynamic_cast<store::postgres::PostgresStore*>(&ours->store());
  if (store == nullptr) {
    throw Error(Errc::databaseError, "the transaction is not of a store in PostgreSQL");
  }
  return store->handlersConnection();
}

}  // namespace ackbox
