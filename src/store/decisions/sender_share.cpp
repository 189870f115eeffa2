#include "store/decisions/sender_share.hpp"

namespace ackbox::store {
namespace {

std::int64_t twice(std::size_t bytes) {
  return static_cast<std::int64_t>(2 * bytes);
}

}  // namespace

SenderShare& SenderShare::operator+=(const SenderShare& other) noexcept {
  sessions += other.sessions;
  origins += other.origins;
  marks += other.marks;
  bytes += other.bytes;
  inbox += other.inbox;
  inboxBytes += other.inboxBytes;
  return *this;
}

SenderShare SenderShare::operator-() const noexcept {
  return {-sessions, -origins, -marks, -bytes, -inbox, -inboxBytes};
}

SenderShare shareOfSession(std::string_view source, std::string_view origin, std::string_view session) {
  return {.sessions = 1, .bytes = kSessionBytes + twice(source.size() + origin.size() + session.size())};
}

SenderShare shareOfOrigin(std::string_view source, std::string_view origin) {
  return {.origins = 1, .bytes = kOriginBytes + twice(source.size() + origin.size())};
}

SenderShare shareOfMark(std::string_view source, std::string_view id) {
  return {.marks = 1, .bytes = kMarkBytes + twice(source.size() + id.size())};
}

SenderShare shareOfResult(std::string_view source, std::string_view origin, std::string_view session,
                          std::string_view frameId, std::size_t texts) {
  return {.marks = 1,
          .bytes = kResultBytes + twice(source.size() + origin.size() + session.size() + frameId.size()) +
                   static_cast<std::int64_t>(texts)};
}

SenderShare shareOfWaiting(std::size_t dataBytes) {
  return {.inbox = 1, .inboxBytes = static_cast<std::int64_t>(dataBytes)};
}

}  // namespace ackbox::store
