#include <memory>
#include <string>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "manager/facade/core.hpp"
#include "manager/log/log.hpp"
#include "postgres/connection.hpp"
#include "store/decisions/uuid.hpp"
#include "store/place.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store/postgres/signs.hpp"

// The members of the facades that open an outbox in PostgreSQL.

namespace ackbox {
namespace {

class Database final : public store::Place {
public:
  explicit Database(const PostgresLocation& location)
      : location_(location.text), name_(postgres::nameOf(location.text)), token_(store::randomUuid(*systemRandom())) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::unique_ptr<store::Store> open(const OutboxOptions& options) const override {
    const auto warn = [sink = options.log, least = options.logLevel, clock = options.clock, name = name_](
                          const char* event, const std::string& why, manager::Log::Fields fields) {
      manager::Log(sink, least, clock).writeUnasked(LogLevel::warning, event, name, why, fields);
    };
    const auto warnOfServer = [warn, name = name_](const std::string& former, const std::string& present) {
      warn("server-changed",
           "another server has the database, such as a standby that was promoted: if it was asynchronous, commits that "
           "the former one acknowledged may be missing; peers that know of such messages are held",
           {{"file", name}, {"former", former}, {"present", present}});
    };
    auto store = std::make_unique<store::postgres::PostgresStore>(location_, options, token_, warnOfServer);
    if (const std::string& why = store->whyUnsafe(); !why.empty()) {
      warn("not-durable", why, {{"file", name_}});
    }
    return store;
  }
  [[nodiscard]] std::unique_ptr<const store::Reader> read(const OutboxOptions& options,
                                                          store::PeerLookup peers) const override {
    return std::make_unique<const store::postgres::PostgresReader>(location_, options, std::move(peers));
  }
  [[nodiscard]] std::unique_ptr<store::Signs> signs() const override {
    return std::make_unique<store::postgres::NotifiedSigns>(location_, token_);
  }
  // A reader looks for the tables itself.
  void require(const OutboxOptions& /*options*/) const override {}

private:
  const std::string location_;
  const std::string name_;
  // Names what this place has opened among all that have the database open.
  const std::string token_;
};

}  // namespace

OutboxManager OutboxManager::open(const PostgresLocation& location, OutboxOptions options) {
  return OutboxManager(manager::makeCore(
      postgres::nameOf(location.text), [&location] { return std::make_unique<const Database>(location); },
      std::move(options)));
}

OutboxReader OutboxReader::open(const PostgresLocation& location, OutboxOptions options) {
  return at([&location] { return std::make_unique<const Database>(location); }, std::move(options));
}

}  // namespace ackbox
