// Keeps a full-text index in step with a table: each observation is saved with its outbox row in one transaction, and
// a `Sender` of our own relays the rows into an SQLite FTS5 index in another file. Kill it anywhere and start it again.
//
//   relay [--twice] [--kill-after STEPS]     for the tests: every request twice; SIGKILL itself after so many steps

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_writer.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <iostream>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace ackbox;
using SQLite::TransactionBehavior;

constexpr std::array<const char*, 8> kNotes = {"the river rose by a hand",
                                               "two herons at the bend",
                                               "the lower meadow is under water",
                                               "a heron fishes there",
                                               "the river fell again",
                                               "swallows over the river",
                                               "the mill runs",
                                               "one heron left"};

/// The end of each step is a point at which the tests may kill the program.
void passStep(int killAfter) {
  static std::atomic<int> steps = 0;
  if (++steps == killAfter) {
    std::raise(SIGKILL);
  }
}

/// The index as a peer. What it has applied is remembered in the transaction of its rows: a session's frames come in
/// order, so that one number per session is enough to know every repetition.
class Index final : public Sender {
public:
  Index(bool twice, int killAfter) : twice_(twice), killAfter_(killAfter) {
    database_.exec(
        "CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5(id UNINDEXED, note);"
        "CREATE TABLE IF NOT EXISTS applied(origin, session, sequence, PRIMARY KEY(origin, session))");
  }
  ~Index() override { pool_.join(); }

  // On a thread of its own, because it must not block.
  void asyncSend(SendRequest request, SendHandler handler) override {
    boost::asio::post(pool_, [this, sent = std::move(request), done = std::move(handler)] {
      SendReport report;  // Without an answer the index is away, which costs no frame an attempt.
      try {
        report = apply(sent);
        if (twice_) {
          report = apply(sent);
        }
      } catch (const SQLite::Exception& exception) {
        report.error = exception.what();
      }
      done(std::move(report));
    });
  }

private:
  SendReport apply(const SendRequest& request) {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    SQLite::Transaction transaction(database_, TransactionBehavior::IMMEDIATE);
    for (const OutboundFrame& frame : request.frames) {
      SQLite::Statement advance(database_,
                                "INSERT INTO applied VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
                                " SET sequence = excluded.sequence WHERE excluded.sequence > sequence");
      SQLite::bind(advance, request.origin, frame.session, static_cast<std::int64_t>(frame.sequence));
      const bool isNew = advance.exec() == 1;
      if (isNew) {
        SQLite::Statement add(database_, "INSERT INTO notes SELECT ?1 ->> 'id', ?1 ->> 'note'");
        SQLite::bind(add, frame.data);
        add.exec();
        passStep(killAfter_);
      }
      FrameResult& result = report.results.emplace_back();
      result.outcome = Outcome::ack;
      result.duplicate = !isNew;
    }
    transaction.commit();
    passStep(killAfter_);  // In the index, and its outbox does not know.
    return report;
  }

  const bool twice_;
  const int killAfter_;
  // Used by the pool's thread only.
  SQLite::Database database_{"index.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000};
  boost::asio::thread_pool pool_{1};
};

/// Saves the observations that an earlier run did not.
void save(OutboxManager& manager, SQLite::Database& database, int killAfter) {
  OutboxWriter writer(manager, database);
  database.exec("CREATE TABLE IF NOT EXISTS observations(id INTEGER PRIMARY KEY, note TEXT)");
  const int saved = database.execAndGet("SELECT count(*) FROM observations");
  for (std::size_t index = static_cast<std::size_t>(saved); index < kNotes.size(); ++index) {
    SQLite::Transaction transaction(database, TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(database,
                             "INSERT INTO observations(note) VALUES (?) RETURNING json_object('id', id, 'note', note)");
    SQLite::bind(insert, kNotes.at(index));
    insert.executeStep();
    const Frame frame = {
        .session = index % 2 == 0 ? "field" : "birds", .type = "observation.saved", .data = insert.getColumn(0)};
    insert.reset();
    if (!writer.enqueue(frame).isNew()) {
      throw std::runtime_error("the outbox refused an observation");
    }
    passStep(killAfter);
    transaction.commit();
    passStep(killAfter);
  }
}

}  // namespace

int main(int argumentCount, char** argumentValues) {
  const std::vector<std::string> arguments(argumentValues + 1, argumentValues + argumentCount);
  const auto killAt = std::ranges::find(arguments, "--kill-after");
  const int killAfter = arguments.end() - killAt < 2 ? 0 : std::stoi(killAt[1]);

  auto manager = OutboxManager::open("agent.db");
  manager.setSender(std::make_shared<Index>(std::ranges::count(arguments, "--twice") > 0, killAfter));
  std::counting_semaphore<> settled(0);
  const Subscription acked = manager.onAcked([&](const AckedEvent&) { settled.release(); });
  const Subscription failed = manager.onFailed([&](const FailedEvent&) { settled.release(); });
  manager.start();
  SQLite::Database database("agent.db", SQLite::OPEN_READWRITE, 5000);
  save(manager, database, killAfter);
  for (Stats stats = manager.getStats(); stats.pending + stats.sending > 0; stats = manager.getStats()) {
    settled.acquire();
  }
  manager.stop();

  SQLite::Database index("index.db");
  SQLite::Statement search(index, "SELECT id, note FROM notes WHERE notes MATCH 'heron*' ORDER BY id");
  while (search.executeStep()) {
    std::cout << search.getColumn(0).getInt() << " " << search.getColumn(1).getText() << std::endl;
  }
  const int saved = database.execAndGet("SELECT count(*) FROM observations");
  const int indexed = index.execAndGet("SELECT count(*) FROM notes");
  const int different = index.execAndGet("SELECT count(DISTINCT id) FROM notes");
  const auto relayed = static_cast<int>(manager.getStats().acked);
  std::cout << saved << " saved, " << relayed << " relayed, " << indexed << " in the index" << std::endl;
  return saved == relayed && saved == indexed && saved == different ? 0 : 1;
}
