#include "store/postgres/peers/owners.hpp"

#include <unistd.h>

namespace ackbox::store::postgres {

void Owners::registerSelf() {
  context_.owner =
      context_.connection
          .run(
              "INSERT INTO #owners(pid,opened_at_ms,deferred_handlers,applications,agent) VALUES($1,$2,$3,$4,$5) "
              "RETURNING id",
              getpid(), context_.now(), said_.handlers, *said_.applications, context_.options.agent)
          .front()
          .integer(0);
  context_.connection.run(
      "SELECT pg_advisory_lock(c.id,$1::integer),pg_advisory_lock(c.id,$1::integer) FROM "
      "(SELECT '#meta'::regclass::oid::integer AS id) AS c",
      context_.owner);
}

std::string Owners::otherAgent() {
  const Result other = context_.connection.run(
      "SELECT agent FROM #owners WHERE agent<>$1 AND #lives(id) ORDER BY id LIMIT 1", context_.options.agent);
  return other.empty() ? std::string() : other.front().text(0);
}

std::string Owners::whetherHeld() const {
  const std::string lock = "('#meta'::regclass::oid::integer," + std::to_string(context_.owner) + ")";
  return "CASE WHEN pg_catalog.pg_advisory_unlock" + lock + " THEN pg_catalog.pg_try_advisory_lock" + lock +
         " ELSE false END";
}

void Owners::addHandlers(std::int64_t difference) {
  said_.handlers += difference;
  context_.connection.run("UPDATE #owners SET deferred_handlers=$2 WHERE id=$1", context_.owner, said_.handlers);
}

void Owners::noteApplications(std::string_view lines) {
  said_.applications = std::make_shared<const std::string>(lines);
  context_.connection.run("UPDATE #owners SET applications=$2 WHERE id=$1 AND applications<>$2", context_.owner, lines);
}

void Owners::unregisterSelf() {
  putBack(context_.owner);
}

std::size_t Owners::releaseDead() {
  context_.flushRows();
  // Holds what it takes until the end of the transaction: no other process puts the same back.
  const std::vector<std::int64_t> dead =
      context_.connection
          .run(
              "SELECT id FROM #owners WHERE id<>$1 AND "
              "pg_try_advisory_xact_lock('#meta'::regclass::oid::integer,id::integer) ORDER BY id",
              context_.owner)
          .integers();
  for (const std::int64_t owner : dead) {
    putBack(owner);
  }
  isShared_ =
      context_.connection.run("SELECT count(*) FROM #owners WHERE id<>$1", context_.owner).front().integer(0) != 0;
  return dead.size();
}

bool Owners::anyDead() {
  const Result result = context_.connection.run(
      "SELECT count(*),count(*) FILTER (WHERE NOT #lives(id)) FROM #owners WHERE id<>$1", context_.owner);
  isShared_ = result.front().integer(0) != 0;
  return result.front().integer(1) != 0;
}

// The claims' numbers refuse what their owner settles late.
void Owners::putBack(std::int64_t owner) {
  context_.connection.run(
      "UPDATE #outbox SET attempt=attempt+1 WHERE id=ANY(ARRAY(SELECT k.key FROM #claims AS c, unnest(c.keys) AS "
      "k(key) WHERE c.owner_id=$1))",
      owner);
  context_.connection.run("DELETE FROM #claims WHERE owner_id=$1", owner);
  context_.connection.run("UPDATE #inbox SET owner_id=0 WHERE owner_id=$1 AND owner_id<>0", owner);
  context_.connection.run("DELETE FROM #owners WHERE id=$1", owner);
}

}  // namespace ackbox::store::postgres
