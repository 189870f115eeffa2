// Figures of the store in PostgreSQL beside plain statements of the same server, in one run:
//   postgres_bench [SECONDS [ROUNDS]]
// Each line is one operation: the median of its rates, the ratio to the plain one, both in turns of SECONDS; and the
// processor time of a message, of this program and of its connections in the server, and the ratio of their sum.

#include <libpq-fe.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/clock.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/writer.hpp"
#include "support/postgres_database.hpp"

namespace {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

constexpr int kThreads = 16;
constexpr std::size_t kTogether = 100;

Frame frameOf(int session) {
  Frame frame;
  frame.session = "s" + std::to_string(session);
  frame.type = "test";
  frame.data = "{\"text\":\"" + std::string(200, 'x') + "\"}";
  return frame;
}

double processorTime(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What an operation takes: of each turn the rate, and in seconds the processor time of all.
struct Figures {
  std::vector<double> rates;
  double done = 0;
  double program = 0;
  double server = 0;

  [[nodiscard]] double rate() const {
    std::vector<double> sorted = rates;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

/// One of two that are measured in turns: `step` is called in so many threads, with the thread's number, and returns
/// how many messages it was; `servers` are its connections' processes.
struct Operation {
  const char* name = "";
  int threads = 1;
  std::function<std::size_t(int)> step;
  std::vector<int> servers;
  Figures figures = {};

  double serverTime() const {
    double sum = 0;
    for (const int process : servers) {
      clockid_t clock{};
      sum += clock_getcpuclockid(process, &clock) == 0 ? processorTime(clock) : 0;
    }
    return sum;
  }

  void turn(std::chrono::milliseconds duration) {
    const std::shared_ptr<Clock> clock = systemClock();
    std::atomic<std::size_t> done = 0;
    std::atomic<bool> isOver = false;
    const double program = processorTime(CLOCK_PROCESS_CPUTIME_ID);
    const double server = serverTime();
    const SteadyTime begin = clock->steadyNow();
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        while (!isOver) {
          done += step(thread);
          isOver = isOver || clock->steadyNow() - begin > duration;
        }
      });
    }
    for (std::thread& thread : running) {
      thread.join();
    }
    const std::chrono::duration<double> took = clock->steadyNow() - begin;
    figures.rates.push_back(static_cast<double>(done) / took.count());
    figures.done += static_cast<double>(done);
    figures.program += processorTime(CLOCK_PROCESS_CPUTIME_ID) - program;
    figures.server += serverTime() - server;
  }

  void tell(const Operation* plain) const {
    const double each = 1e6 / figures.done;
    std::printf("%-52s %8.0f/s", name, figures.rate());
    std::printf(plain == nullptr ? "      " : " %5.2f",
                plain == nullptr ? 0.0 : figures.rate() / plain->figures.rate());
    std::printf("  %6.1f + %6.1f us", each * figures.program, each * figures.server);
    if (plain != nullptr) {
      std::printf(" %5.2f", (plain->figures.program + plain->figures.server) / plain->figures.done * figures.done /
                                (figures.program + figures.server));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
};

struct Pace {
  std::chrono::milliseconds turn;
  int rounds = 3;
};

void measure(const Pace& pace, std::vector<Operation*> operations) {
  for (int round = 0; round < pace.rounds; ++round) {
    for (Operation* const operation : operations) {
      operation->turn(pace.turn);
    }
  }
  for (const Operation* const operation : operations) {
    operation->tell(operation == operations.front() ? nullptr : operations.front());
  }
}

class Plain {
public:
  explicit Plain(const std::string& location) : connection_(PQconnectdb(location.c_str()), PQfinish) {}
  std::size_t run(const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection_.get(), sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return static_cast<std::size_t>(std::atoi(PQcmdTuples(result.get())));
  }
  [[nodiscard]] int process() const { return PQbackendPID(connection_.get()); }

private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

/// One client for each thread, all with the same statement.
Operation clients(const PostgresDatabase& database, const char* name, int threads, const std::string& sql) {
  Operation operation{.name = name, .threads = threads, .step = {}, .servers = {}};
  std::vector<std::shared_ptr<Plain>> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.push_back(std::make_shared<Plain>(database.location()));
    operation.servers.push_back(all.back()->process());
  }
  operation.step = [all, sql](int thread) { return all[static_cast<std::size_t>(thread)]->run(sql); };
  return operation;
}

class EnqueueJob final : public store::Job {
public:
  explicit EnqueueJob(Frame frame) : frame_(std::move(frame)) {
    durable = true;
    awaited = true;
  }
  void run(store::Store& store) override { store.outbox().enqueue(frame_); }
  void announce(std::vector<const Frame*>& frames) const override { frames.push_back(&frame_); }
  void done(const std::error_code& error) noexcept override {
    hasFailed_ = static_cast<bool>(error);
    done_.release();
  }
  [[nodiscard]] std::size_t wait() {
    done_.acquire();
    return hasFailed_ ? 0 : 1;
  }

private:
  const Frame frame_;
  std::binary_semaphore done_{0};
  bool hasFailed_ = false;
};

void enqueues(const PostgresDatabase& database, const Pace& pace) {
  Plain(database.location()).run("CREATE TABLE plain(id bigserial PRIMARY KEY, session text, data text)");
  PostgresStore store(database.location(), {});
  store::Writer writer(store);
  writer.startThread();
  for (const int threads : {1, kThreads}) {
    std::printf("%d clients, or threads of one store\n", threads);
    Operation plain =
        clients(database, "INSERT and commit", threads, "INSERT INTO plain(session,data) VALUES('s',repeat('x',200))");
    Operation sql = clients(database, "SELECT ackbox.enqueue and commit, unordered", threads,
                            "SELECT ackbox.enqueue('" + Frame().peer + "','','test',to_json(repeat('x',200))::text)");
    Operation enqueue{.name = "enqueue",
                      .threads = threads,
                      .step =
                          [&writer](int thread) {
                            EnqueueJob job(frameOf(thread));
                            if (!writer.commitHere(job)) {
                              writer.submit(job);
                            }
                            return job.wait();
                          },
                      .servers = {store.serverProcess()}};
    const store::Writer::Totals before = store::Writer::totals();
    measure(pace, {&plain, &sql, &enqueue});
    const store::Writer::Totals after = store::Writer::totals();
    std::printf("    %.1f a commit\n", enqueue.figures.done / static_cast<double>(after.queued - before.queued +
                                                                                  after.inCallers - before.inCallers));
  }
  writer.close();
}

/// Messages that wait, and one worker that claims and settles them.
class Deliveries {
public:
  Deliveries(PostgresStore& store, int sessions) : store_(store), sessions_(sessions) { fill(); }

  /// As two transactions.
  std::size_t claimAndSettle() {
    store_.begin(false);
    claim();
    store_.commit();
    store_.begin(false);
    const std::size_t count = settle();
    store_.commit();
    return count;
  }
  /// As the manager's run does: a transaction settles what the one before it has claimed, and claims what is next.
  std::size_t step() {
    store_.begin(false);
    const std::size_t count = settle();
    claim();
    store_.commit();
    return count;
  }

private:
  void fill() {
    constexpr int kBlocks = 200;
    // What others have left.
    static_cast<void>(newRows());
    for (int block = 0; block < kBlocks; ++block) {
      store_.begin(false);
      for (std::size_t message = 0; message < 5 * kTogether; ++message) {
        const int session = static_cast<int>(message) % sessions_;
        store_.outbox().enqueue(frameOf(1'000 * sessions_ + session));
      }
      store_.commit();
    }
    for (const delivery::RowSeen& row : newRows()) {
      if (!rows_.contains(row.session)) {
        turns_.push_back(row.session);
      }
      rows_[row.session].push_back(row.key);
    }
  }

  std::vector<delivery::RowSeen> newRows() {
    store_.begin(false);
    store_.commit();
    std::vector<delivery::RowSeen> rows;
    for (store::NewRows fresh = store_.discovery().take(1'000); !fresh.rows.empty();
         fresh = store_.discovery().take(1'000)) {
      rows.insert(rows.end(), fresh.rows.begin(), fresh.rows.end());
    }
    return rows;
  }

  // As many messages of each of the next sessions as make a request.
  void claim() {
    std::vector<delivery::SessionClaim> wanted;
    const auto each = static_cast<std::ptrdiff_t>(kTogether) / std::min<std::ptrdiff_t>(sessions_, kTogether);
    for (std::size_t count = 0; count < kTogether; count += static_cast<std::size_t>(each)) {
      const delivery::SessionKey session = turns_[turn_++ % turns_.size()];
      std::vector<delivery::MessageKey>& keys = rows_[session];
      if (keys.size() < static_cast<std::size_t>(each)) {
        throw std::runtime_error("no messages are left: measure shorter turns");
      }
      wanted.push_back({session, {keys.begin(), keys.begin() + each}});
      keys.erase(keys.begin(), keys.begin() + each);
    }
    claimed_ = store_.claims().claim(wanted);
  }

  std::size_t settle() {
    std::vector<delivery::Settlement> settlements;
    std::vector<delivery::SessionRelease> releases;
    for (const delivery::SessionClaimed& session : claimed_.sessions) {
      for (const delivery::ClaimedRow& row : session.rows) {
        settlements.push_back({.key = row.key,
                               .session = session.session,
                               .attempt = row.attempt,
                               .transition = delivery::Transition::ack});
      }
      releases.push_back({.session = session.session, .previousSequence = session.rows.back().sequence});
    }
    store_.settles().settle(settlements);
    store_.claims().endClaims(releases);
    return settlements.size();
  }

  PostgresStore& store_;
  const int sessions_;
  std::map<delivery::SessionKey, std::vector<delivery::MessageKey>> rows_;
  std::vector<delivery::SessionKey> turns_;
  std::size_t turn_ = 0;
  store::ClaimReply claimed_;
};

void claims(const PostgresDatabase& database, const Pace& pace) {
  Plain client(database.location());
  client.run("CREATE TABLE jobs(id bigserial PRIMARY KEY, data text)");
  client.run("INSERT INTO jobs(data) SELECT repeat('x',200) FROM generate_series(1,500000)");
  client.run("VACUUM ANALYZE jobs");
  Operation plain = clients(database, "claim 100 by SKIP LOCKED and delete them", 1,
                            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs ORDER BY id LIMIT 100 FOR UPDATE SKIP "
                            "LOCKED) RETURNING id,data");
  PostgresStore store(database.location(), {});
  Deliveries ofOne(store, 1);
  Deliveries ofMany(store, kTogether);
  client.run("ANALYZE");
  const auto measured = [&store](const char* name, std::function<std::size_t(int)> step) {
    return Operation{.name = name, .threads = 1, .step = std::move(step), .servers = {store.serverProcess()}};
  };
  Operation apart = measured("claim 100 of a session, and settle them", [&](int) { return ofOne.claimAndSettle(); });
  Operation together = measured("settle 100 of a session and claim the next", [&](int) { return ofOne.step(); });
  Operation many = measured("the same with one each of 100 sessions", [&](int) { return ofMany.step(); });
  std::printf("claims and settles, one thread\n");
  measure(pace, {&plain, &apart, &together, &many});
}

}  // namespace

int main(int count, char** words) {
  const Pace pace{std::chrono::milliseconds(count > 1 ? static_cast<int>(1'000 * std::atof(words[1])) : 1'000),
                  count > 2 ? std::atoi(words[2]) : 3};
  const PostgresDatabase database;
  enqueues(database, pace);
  claims(database, pace);
  return 0;
}
