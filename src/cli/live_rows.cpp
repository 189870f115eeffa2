#include "cli/live_rows.hpp"

#include "ackbox/error.hpp"
#include "ackbox/message_page.hpp"
#include "cli/open.hpp"
#include "location/location.hpp"

namespace ackbox::cli {

std::string damageAdvice(const std::filesystem::path& place) {
  const std::string file = location::shown(place);
  if (location::isUrl(place)) {
    return "ackbox verify " + file + " names what is damaged; a backup of the database has the rest";
  }
  return "keep a copy of the file with its log; ackbox verify " + file + " names what is damaged, ackbox repair " +
         file + " mends what can be made of the rest, and ackbox restore BACKUP " + file +
         " goes back to a backup (docs/restore.md)";
}

std::string rowDamage(const OutboxReader& reader) {
  try {
    std::int64_t after = 0;
    std::size_t pages = kRowsLooked / kPage;
    do {
      after = reader.messages({}, kPage, after).next;
      --pages;
    } while (after != 0 && pages != 0);
  } catch (const Error& error) {
    if (error.code() == Errc::databaseCorrupt || error.code() == Errc::ioError) {
      return error.what();
    }
    throw;
  }
  return {};
}

}  // namespace ackbox::cli
