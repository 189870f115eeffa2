// Figures of the store in PostgreSQL beside plain statements of the same server, in one run:
//   postgres_bench [SECONDS]
// Each line is one operation, its rate, and its ratio to the plain one before it.

#include <libpq-fe.h>

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

/// How often `step` ends in a second, in so many threads; each is made by `make`, with the thread's number.
double rateOf(int threads, std::chrono::milliseconds duration,
              const std::function<std::function<std::size_t()>(int)>& make) {
  const std::shared_ptr<Clock> clock = systemClock();
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> isOver = false;
  std::vector<std::function<std::size_t()>> steps;
  for (int thread = 0; thread < threads; ++thread) {
    steps.push_back(make(thread));
  }
  const SteadyTime begin = clock->steadyNow();
  std::vector<std::thread> running;
  for (const auto& step : steps) {
    running.emplace_back([&] {
      while (!isOver) {
        done += step();
        isOver = isOver || clock->steadyNow() - begin > duration;
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  const std::chrono::duration<double> took = clock->steadyNow() - begin;
  return static_cast<double>(done) / took.count();
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

private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

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

double tell(const char* what, double rate, double plain) {
  std::printf("%-58s %9.0f/s", what, rate);
  std::printf(plain == 0 ? "\n" : "  %.2f\n", rate / plain);
  std::fflush(stdout);
  return rate;
}

void enqueues(const PostgresDatabase& database, std::chrono::milliseconds duration) {
  Plain(database.location()).run("CREATE TABLE plain(id bigserial PRIMARY KEY, session text, data text)");
  const double plain = tell("INSERT and commit, 16 clients",
                            rateOf(kThreads, duration,
                                   [&](int) {
                                     return [client = std::make_shared<Plain>(database.location())] {
                                       return client->run(
                                           "INSERT INTO plain(session,data) "
                                           "VALUES('s',repeat('x',200))");
                                     };
                                   }),
                            0);
  PostgresStore store(database.location(), {});
  store::Writer writer(store);
  writer.startThread();
  tell("enqueue, 16 threads of one store",
       rateOf(kThreads, duration,
              [&](int thread) {
                return [&writer, thread] {
                  EnqueueJob job(frameOf(thread));
                  writer.submit(job);
                  return job.wait();
                };
              }),
       plain);
  writer.close();
  const store::Writer::Totals totals = store::Writer::totals();
  std::printf("    in %llu commits, %llu of them shared\n", static_cast<unsigned long long>(totals.queued),
              static_cast<unsigned long long>(totals.shared));
}

void claims(const PostgresDatabase& database, std::chrono::milliseconds duration) {
  Plain client(database.location());
  client.run("CREATE TABLE jobs(id bigserial PRIMARY KEY, data text)");
  client.run("INSERT INTO jobs(data) SELECT repeat('x',200) FROM generate_series(1,300000)");
  client.run("VACUUM ANALYZE jobs");
  const double plain = tell("claim 100 by SKIP LOCKED and delete them",
                            rateOf(1, duration,
                                   [&](int) {
                                     return [&client] {
                                       return client.run(
                                           "DELETE FROM jobs WHERE id IN (SELECT id FROM "
                                           "jobs ORDER BY id LIMIT 100 FOR UPDATE SKIP "
                                           "LOCKED) RETURNING id,data");
                                     };
                                   }),
                            0);
  PostgresStore store(database.location(), {});
  for (int block = 0; block < 100; ++block) {
    store.begin(false);
    for (std::size_t message = 0; message < 5 * kTogether; ++message) {
      store.outbox().enqueue(frameOf(static_cast<int>(message / kTogether)));
    }
    store.commit();
  }
  client.run("ANALYZE");
  std::map<delivery::SessionKey, std::vector<delivery::MessageKey>> rows;
  for (store::NewRows fresh = store.discovery().take(1'000); !fresh.rows.empty();
       fresh = store.discovery().take(1'000)) {
    for (const delivery::RowSeen& row : fresh.rows) {
      rows[row.session].push_back(row.key);
    }
  }
  std::size_t turn = 0;
  tell("claim 100 of a session and settle them",
       rateOf(1, duration,
              [&](int) {
                return [&] {
                  auto place = std::next(rows.begin(), static_cast<long>(turn++ % rows.size()));
                  while (place->second.empty()) {
                    place = std::next(rows.begin(), static_cast<long>(turn++ % rows.size()));
                  }
                  auto& keys = place->second;
                  const std::size_t count = std::min(kTogether, keys.size());
                  const delivery::SessionClaim wanted{place->first,
                                                      {keys.begin(), keys.begin() + static_cast<long>(count)}};
                  store.begin(false);
                  const auto reply = store.claims().claim({&wanted, 1});
                  store.commit();
                  std::vector<delivery::Settlement> settlements;
                  for (const auto& row : reply.sessions[0].rows) {
                    settlements.push_back({.key = row.key,
                                           .session = place->first,
                                           .attempt = row.attempt,
                                           .transition = delivery::Transition::ack});
                  }
                  const delivery::SessionRelease release{.session = place->first,
                                                         .previousSequence = reply.sessions[0].rows.back().sequence};
                  store.begin(false);
                  store.settles().settle(settlements);
                  store.claims().endClaims({&release, 1});
                  store.commit();
                  keys.erase(keys.begin(), keys.begin() + static_cast<long>(count));
                  return count;
                };
              }),
       plain);
}

}  // namespace

int main(int count, char** words) {
  const std::chrono::milliseconds duration(1'000 * (count > 1 ? std::atoi(words[1]) : 5));
  const PostgresDatabase database;
  enqueues(database, duration);
  claims(database, duration);
  return 0;
}
