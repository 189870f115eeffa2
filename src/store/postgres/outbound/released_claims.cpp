#include "store/postgres/outbound/released_claims.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace ackbox::store::postgres {

ReleasedClaims::Session ReleasedClaims::take(delivery::SessionKey session) {
  Session taken;
  if (const auto found = sessions_.find(session); found != sessions_.end() && found->second.isOwn) {
    taken = std::move(found->second);
    sessions_.erase(found);
  }
  return taken;
}

// A claim that is left without messages ends with `endClaims`.
void ReleasedClaims::flush() {
  ArrayText claims;
  ArrayText keys;
  ArrayText columns[3];
  bool isAnyReleased = false;
  bool isAnyChanged = false;
  for (const auto& [session, one] : sessions_) {
    if (!one.keys.empty()) {
      claims.add(-session);
      keys.add(std::string_view(arrayOf(one.keys)));
      isAnyReleased = true;
    }
    if (one.last != 0 || one.confirmed != 0) {
      columns[0].add(session);
      columns[1].add(static_cast<std::int64_t>(one.last));
      columns[2].add(static_cast<std::int64_t>(one.confirmed));
      isAnyChanged = true;
    }
  }
  sessions_.clear();
  if (isAnyReleased) {
    connection_.post(
        "UPDATE #claims AS c SET keys=ARRAY(SELECT unnest(c.keys) EXCEPT SELECT unnest(u.keys::bigint[])) FROM "
        "unnest($1::bigint[],$2::text[]) AS u(id,keys) WHERE c.id=u.id",
        claims.text(), keys.text());
  }
  if (isAnyChanged) {
    connection_.post(
        "UPDATE #session_states AS m SET last_sequence=greatest(m.last_sequence,u.last), "
        "confirmed_sequence=greatest(m.confirmed_sequence,u.confirmed) FROM unnest($1::bigint[],$2::bigint[],"
        "$3::bigint[]) AS u(session,last,confirmed) WHERE m.session_id=u.session",
        columns[0].text(), columns[1].text(), columns[2].text());
  }
}

}  // namespace ackbox::store::postgres
