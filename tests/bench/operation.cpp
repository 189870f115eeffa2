#include "bench/operation.hpp"

#include <array>

namespace ackbox::bench {

std::span<const Operation> operations() {
  static constexpr std::array kOperations{
      Operation{"enqueueSync", "blocking enqueues from 1, 16 and 64 threads; naive: an insert and a commit each",
                enqueueSync},
      Operation{"enqueueSyncSlowDisk", "the same from 64 threads, each sync 2 ms slower; naive: the same",
                enqueueSyncSlowDisk},
      Operation{"enqueueAsync", "enqueues with 1,000 outstanding; raw: prepared inserts, 100 per commit", enqueueAsync},
      Operation{"enqueueBatch", "enqueues of 100 frames at a time; raw: prepared inserts, 100 per commit",
                enqueueBatch},
      Operation{"rowLife", "insert, claim and settle in the store, 100 rows at a time; raw: the same three statements",
                rowLife},
      Operation{"rowLifeAtScale", "the same with 1,000,000 rows waiting in other sessions; small: none",
                rowLifeAtScale},
      Operation{"endToEnd",
                "two processes, loopback HTTP, both durable, 1,000 sessions; naive: inserts; relay: by hand", endToEnd},
      Operation{"endToEndSlowDisk", "the same, each sync 2 ms slower in both processes; relay: by hand, as slow",
                endToEndSlowDisk},
      Operation{"batchSize", "endToEnd with at most 1 to 256 frames a request; relay: by hand, one", batchSize},
      Operation{"load", "enqueue to ACK with messages coming at 5 to 95 % of what is delivered at most", load},
      Operation{"signing", "endToEnd with signed requests and answers, in batches and one by one; plain: without",
                signing},
      Operation{"tls", "endToEnd over TLS, in batches and one by one; plain: without", tls},
      Operation{"logSink", "processor time of endToEnd with a log sink at info, in turns with none; plain: without",
                logSink},
      Operation{"loneMessageLatency",
                "enqueue to onAcked on an idle system; floor: insert, POST, insert and reply by blocking calls",
                loneMessageLatency},
      Operation{"idle", "processor time while nothing is said, and the wake for another process's commit; pipe: a wake",
                idle},
      Operation{
          "startUp",
          "open and start until the first request, 1,000,000 rows in 10,000 sessions, 90 % in backoff; small: 1,000",
          startUp},
      Operation{"claim100", "a claim of 100, large and small backlog as above, and all due", claim100},
      Operation{"settle100", "a settle of 100, large and small backlog as above, and all due", settle100},
      Operation{"enqueueOne", "a blocking enqueue, large and small backlog as above", enqueueOne},
      Operation{"getStats", "the counters, large and small backlog as above", getStats},
      Operation{"explain", "why the last message waits, large and small backlog as above", explain},
      Operation{"memory", "the most memory of a process that knows the whole backlog, large and small", memory},
      Operation{"deferred",
                "frames that a handler defers, in process and without HTTP; at once: the same frames, not deferred",
                deferred},
      Operation{"serveEnqueue", "enqueues through the daemon's socket, one by one and in arrays; in process: by calls",
                serveEnqueue},
      Operation{"servePush", "frames that the daemon posts to an application; in process: a deferred handler",
                servePush},
      Operation{"servePull", "frames from a stream of the daemon's, settled in arrays; in process: a deferred handler",
                servePull},
      Operation{"serveHandOver",
                "from a stream's end to its 64 frames in another; beside: from their enqueue to a stream",
                serveHandOver},
      Operation{"serveMemory", "the most memory of a daemon with 1,000,000 rows, after each view; small: 1,000",
                serveMemory},
      Operation{"serveViews", "each view of the daemon with 1,000,000 messages and as many dead letters; small: 1,000",
                serveViews},
#ifdef ACKBOX_BENCH_POSTGRES
      Operation{"postgresEndToEnd", "endToEnd with the sender's outbox in PostgreSQL; file: in a file",
                postgresEndToEnd},
      Operation{"postgresSessions", "four processes, killed one after the other, and 10,000 sessions, to one receiver",
                postgresSessions},
      Operation{
          "postgresReplicas",
          "processes that deliver from one database: from an enqueue, and from SIGKILL of one, to the arrival; four "
          "beside one",
          postgresReplicas},
#endif
  };
  return kOperations;
}

}  // namespace ackbox::bench
