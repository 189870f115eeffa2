#include "location/location.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/outbox_operator.hpp"

namespace ackbox::location {
namespace {

constexpr std::string_view kEndOfScheme = "://";

#ifndef ACKBOX_HAS_POSTGRES
[[noreturn]] void refuse() {
  throw Error(Errc::cannotOpen, "this program was built without PostgreSQL (ACKBOX_BUILD_POSTGRES)");
}
#endif

template <typename Facade>
Facade openAt(const std::filesystem::path& place, OutboxOptions options) {
  if (!isUrl(place)) {
    return Facade::open(place, std::move(options));
  }
#ifdef ACKBOX_HAS_POSTGRES
  return Facade::open(PostgresLocation{place.native()}, std::move(options));
#else
  refuse();
#endif
}

}  // namespace

// What is meant as a database's, and cannot be read, must not become a file that has a password for its name.
bool isUrl(const std::filesystem::path& place) {
  std::string text = place.native();
  std::ranges::transform(text, text.begin(),
                         [](char one) { return one >= 'A' && one <= 'Z' ? one + ('a' - 'A') : one; });
  const std::string_view words = std::string_view(text).substr(0, text.find('/'));
  return text.starts_with("postgres:") || text.starts_with("postgresql:") ||
         std::ranges::any_of(std::initializer_list<std::string_view>{"dbname=", "password=", "host="},
                             [&](std::string_view key) { return words.find(key) != std::string_view::npos; });
}

std::string shown(const std::filesystem::path& place) {
  std::string text = place.native();
  if (!isUrl(place)) {
    return text;
  }
  if (!text.starts_with("postgres://") && !text.starts_with("postgresql://")) {
    return "postgres://...";
  }
  // As libpq reads it: a question mark before the @ belongs to the password.
  const std::size_t host = text.find(kEndOfScheme) + kEndOfScheme.size();
  const std::size_t user = text.rfind('@', text.find('/', host));
  if (user != std::string::npos && user >= host) {
    text.erase(host, user + 1 - host);
  }
  text.resize(std::min(text.find('?'), text.size()));
  // A password with a slash that is not written as %2F: what stands where a port should is a part of it.
  const std::size_t port = text.find(':', host);
  const bool isPort =
      port == std::string::npos || text.find_first_not_of("0123456789", port + 1) == text.find('/', port);
  return isPort && text.find('@', host) == std::string::npos ? text : text.substr(0, host) + "...";
}

OutboxManager openManager(const std::filesystem::path& place, OutboxOptions options) {
  return openAt<OutboxManager>(place, std::move(options));
}

OutboxReader openReader(const std::filesystem::path& place, OutboxOptions options) {
  return openAt<OutboxReader>(place, std::move(options));
}

MigrationReport migrate(const std::filesystem::path& place, OutboxOptions options,
                        const std::function<void(const MigrationReport&)>& announce) {
  if (!isUrl(place)) {
    return OutboxOperator::migrateFile(place, std::move(options), announce);
  }
#ifdef ACKBOX_HAS_POSTGRES
  return migrateDatabase(PostgresLocation{place.native()}, std::move(options), announce);
#else
  refuse();
#endif
}

MigrationReport previewMigration(const std::filesystem::path& place, OutboxOptions options) {
  if (!isUrl(place)) {
    return OutboxOperator::previewMigration(place, std::move(options));
  }
#ifdef ACKBOX_HAS_POSTGRES
  return ackbox::previewMigration(PostgresLocation{place.native()}, std::move(options));
#else
  refuse();
#endif
}

NewStoreReport makeNewStore(const std::filesystem::path& place, OutboxOptions options) {
  if (!isUrl(place)) {
    return OutboxOperator::makeNewStore(place, std::move(options));
  }
#ifdef ACKBOX_HAS_POSTGRES
  return ackbox::makeNewStore(PostgresLocation{place.native()}, std::move(options));
#else
  refuse();
#endif
}

#ifdef ACKBOX_HAS_POSTGRES
MoveReport moveOutbox(const std::filesystem::path& file, const std::filesystem::path& database, OutboxOptions options,
                      const MoveProgress& progress) {
  return ackbox::moveOutbox(file, PostgresLocation{database.native()}, std::move(options), progress);
}
#else
MoveReport moveOutbox(const std::filesystem::path& /*file*/, const std::filesystem::path& /*database*/,
                      OutboxOptions /*options*/,  // NOLINT(performance-unnecessary-value-param): as with PostgreSQL
                      const MoveProgress& /*progress*/) {
  refuse();
}
#endif

}  // namespace ackbox::location
