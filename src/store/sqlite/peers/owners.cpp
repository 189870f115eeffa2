#include "store/sqlite/peers/owners.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace ackbox::store::sqlite {

Owners::Owners(Context& context, std::shared_ptr<Liveness> liveness)
    : context_(context),
      liveness_(std::move(liveness)),
      insert_(context.prepare("INSERT INTO #owners(pid,opened_at_ms) VALUES(?1,?2)")),
      selectOthers_(context.prepare("SELECT id FROM #owners WHERE id<>?1")),
      // Sets the heads that the ends of its claims would have written; the rows' claim numbers reject late settles.
      selectSessions_(context.prepare(std::string("SELECT o.session_id,min(o.id) FROM ")
                                          .append(kClaimedRows)
                                          .append(" WHERE c.owner_id=?1 AND o.sequence<>0 GROUP BY o.session_id"))),
      selectRows_(
          context.prepare(std::string("SELECT o.id FROM ").append(kClaimedRows).append(" WHERE c.owner_id=?1"))),
      returnRow_(context.prepare("UPDATE #outbox SET attempt=attempt+1 WHERE id=?1")),
      releaseInbox_(
          context.prepare("UPDATE #inbox INDEXED BY #inbox_owned SET owner_id=0 WHERE owner_id=?1 AND owner_id<>0")),
      remove_(context.prepare("DELETE FROM #owners WHERE id=?1")) {}

void Owners::registerSelf() {
  Query(insert_, getpid(), context_.clock.wallNow()).run();
  context_.owner = sqlite3_last_insert_rowid(context_.connection.handle());
  context_.inFlight.claims.setOwner(context_.owner);
  liveness_->hold(context_.owner);
  refresh();
}

void Owners::unregisterSelf() {
  putBack(context_.owner);
}

std::size_t Owners::releaseDead() {
  context_.gathered.flush();
  refresh();
  std::size_t released = 0;
  for (const std::int64_t other : others_) {
    if (!liveness_->alive(other)) {
      putBack(other);
      ++released;
    }
  }
  if (released != 0) {
    refresh();
  }
  return released;
}

bool Owners::anyDead() {
  refresh();
  return std::any_of(others_.begin(), others_.end(), [this](std::int64_t other) { return !liveness_->alive(other); });
}

void Owners::refresh() {
  std::vector<std::int64_t> others;
  Query query(selectOthers_, context_.owner);
  while (query.next()) {
    others.push_back(query.integer(0));
  }
  others_ = std::move(others);
}

void Owners::putBack(std::int64_t owner) {
  context_.inFlight.claims.flush();
  for (Query query(selectSessions_, owner); query.next();) {
    context_.states.change(query.integer(0)).head = query.integer(1);
  }
  // One row per statement: in a single statement, the planner might scan the whole table.
  for (const std::int64_t key : Query(selectRows_, owner).integers()) {
    Query(returnRow_, key).run();
  }
  context_.inFlight.claims.removeAll(owner);
  Query(releaseInbox_, owner).run();
  Query(remove_, owner).run();
}

}  // namespace ackbox::store::sqlite
