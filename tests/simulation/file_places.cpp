// Worlds whose agents have SQLite files.

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

#include "ackbox/frame_handler.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/agent_files.hpp"
#include "simulation/places.hpp"

namespace ackbox::simulation {
namespace {

class FilePlaces final : public Places {
public:
  explicit FilePlaces(const AgentFiles& files) : files_(files) {}

  void create(const std::string& agent) override { files_.create(agent); }

  [[nodiscard]] OutboxManager open(const std::string& agent, testing::SimulatedProcess& process, OutboxOptions options,
                                   std::function<void()> /*claimsLost*/) override {
    return OutboxManager::open(files_.of(agent), process.options(std::move(options)));
  }

  void write(InboundTransaction& transaction, const Effect& effect) override {
    SQLite::Statement insert(transaction.database(),
                             "INSERT INTO effects(id,origin,session,sequence,reply) VALUES(?,?,?,?,?)");
    insert.bind(1, effect.id);
    insert.bind(2, effect.origin);
    insert.bind(3, effect.session);
    insert.bind(4, static_cast<std::int64_t>(effect.sequence));
    insert.bind(5, effect.reply);
    insert.exec();
  }

  [[nodiscard]] std::vector<Effect> effectsOf(const std::string& agent) override {
    const SQLite::Database database(files_.of(agent).string(), SQLite::OPEN_READONLY);
    SQLite::Statement rows(database, "SELECT id,origin,session,sequence,reply FROM effects ORDER BY at");
    std::vector<Effect> effects;
    while (rows.executeStep()) {
      effects.push_back({.id = rows.getColumn(0).getString(),
                         .origin = rows.getColumn(1).getString(),
                         .session = rows.getColumn(2).getString(),
                         .sequence = static_cast<std::uint64_t>(rows.getColumn(3).getInt64()),
                         .reply = rows.getColumn(4).getString()});
    }
    return effects;
  }

private:
  const AgentFiles& files_;
};

}  // namespace

PlacesKind placesKind() {
  return {.name = "SQLite files", .areFiles = true};
}

std::unique_ptr<Places> makePlaces(const AgentFiles& files) {
  return std::make_unique<FilePlaces>(files);
}

}  // namespace ackbox::simulation
