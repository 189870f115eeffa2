// Workers that fetch messages themselves: `PullConsumer` claims and settles, without a sender and without a run. The
// first worker is killed in the middle of its work; the second goes on at once, because a dead process's claims are
// put back when the file is opened.

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <sys/wait.h>

#include <ackbox/outbox_manager.hpp>
#include <ackbox/pull.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ackbox;

constexpr int kPictures = 6;

/// One piece of work. It may be done twice, as a worker may die between its effect and the settle: the message's id
/// makes the second time do nothing.
void shrink(SQLite::Database& results, const OutboundFrame& frame) {
  SQLite::Statement insert(results, "INSERT INTO thumbnails(id, picture) VALUES (?, ?) ON CONFLICT DO NOTHING");
  SQLite::bind(insert, frame.messageId, frame.data);
  std::cout << "shrunk " << frame.data << (insert.exec() == 1 ? "" : " again") << std::endl;
}

/// Works until nothing is due. SIGKILL strikes in the middle of piece `killAt`; 0: never.
void work(int killAt) {
  auto manager = OutboxManager::open("agent.db");
  PullConsumer consumer(manager);
  SQLite::Database results("results.db", SQLite::OPEN_READWRITE, 5000);
  int piece = 0;
  // A worker that goes on waits for its own timer here: nothing announces messages.
  for (std::vector<Claim> claims = consumer.claim(2); !claims.empty(); claims = consumer.claim(2)) {
    for (const Claim& claim : claims) {
      FrameResult result;
      try {
        shrink(results, claim.frame);
        result.outcome = Outcome::ack;
      } catch (const std::exception& error) {
        result.outcome = Outcome::nack;  // Charged, and tried again later; `term` would give it up.
        result.detail = error.what();
      }
      if (++piece == killAt) {
        std::raise(SIGKILL);
      }
      consumer.settle(claim, result);
    }
    consumer.recoverStuck(std::chrono::minutes(10));  // What another thread of this process claimed and forgot.
  }
}

/// This program as a worker, in a process of its own; returns the signal that ended it, or 0.
int runWorker(const std::string& program, int killAt) {
  const int status = std::system(("exec '" + program + "' worker " + std::to_string(killAt)).c_str());
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

int main(int argumentCount, char** argumentValues) {
  if (argumentCount > 2) {
    work(std::stoi(argumentValues[2]));
    return 0;
  }
  SQLite::Database results("results.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000);
  results.exec("DROP TABLE IF EXISTS thumbnails; CREATE TABLE thumbnails(id TEXT PRIMARY KEY, picture TEXT)");
  auto manager = OutboxManager::open("agent.db");
  for (int picture = 1; picture <= kPictures; ++picture) {
    // No session: the pictures have no order, so that several can be claimed at once.
    manager.enqueue({.session = "", .type = "picture.added", .data = std::to_string(picture)});
  }

  const int first = runWorker(argumentValues[0], 3);
  std::cout << "the first worker: " << (first == SIGKILL ? "killed" : "ended") << std::endl;
  const int second = runWorker(argumentValues[0], 0);
  std::cout << "the second worker: " << (second == 0 ? "ended" : "killed") << std::endl;

  const int made = results.execAndGet("SELECT count(*) FROM thumbnails");
  const Stats stats = manager.getStats();
  std::cout << made << " thumbnails, " << stats.acked << " messages done, " << stats.totalRetries << " charged"
            << std::endl;
  return made == kPictures && stats.acked == kPictures && stats.totalRetries == 0 ? 0 : 1;
}
