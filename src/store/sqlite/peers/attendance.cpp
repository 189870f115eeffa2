#include "store/sqlite/peers/attendance.hpp"

namespace ackbox::store::sqlite {
namespace {

// The peer reports a duration, so instants from answers of one moment differ by their time under way.
constexpr std::int64_t kApartMs = 5'000;

}  // namespace

Attendance::Attendance(Context& context)
    : none_(context.prepare(
          "UPDATE #peers SET unattended_since_ms=?3,unattended_type=m.type FROM (SELECT type FROM #outbox WHERE id=?1) "
          "AS m WHERE #peers.id=(SELECT peer_id FROM #sessions WHERE id=?2) AND (unattended_since_ms=0 OR "
          "unattended_type<>m.type OR abs(unattended_since_ms-?3)>?4)")),
      some_(context.prepare(
          "UPDATE #peers SET unattended_since_ms=0,unattended_type='' WHERE id=(SELECT peer_id FROM #sessions WHERE "
          "id=?2) AND unattended_since_ms<>0 AND unattended_type=(SELECT type FROM #outbox WHERE id=?1)")) {}

void Attendance::noteNone(delivery::MessageKey key, delivery::SessionKey session, WallTime since) {
  Query(none_, key, session, since, kApartMs).run();
}

void Attendance::noteSome(delivery::MessageKey key, delivery::SessionKey session) {
  Query(some_, key, session).run();
}

}  // namespace ackbox::store::sqlite
