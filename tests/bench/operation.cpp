#include "bench/operation.hpp"

#include <array>

namespace ackbox::bench {

std::span<const Operation> operations() {
  static constexpr std::array kOperations{
      Operation{"enqueueSync", "blocking enqueues from 1, 16 and 64 threads; naive: an insert and a commit each",
                enqueueSync},
      Operation{"enqueueAsync", "enqueues with 1,000 outstanding; raw: prepared inserts, 100 per commit", enqueueAsync},
      Operation{"enqueueBatch", "enqueues of 100 frames at a time; raw: prepared inserts, 100 per commit",
                enqueueBatch},
      Operation{"rowLife", "insert, claim and settle in the store, 100 rows at a time; raw: the same three statements",
                rowLife},
      Operation{"endToEnd", "two processes over loopback HTTP, durable on both sides, 1,000 sessions; naive: inserts",
                endToEnd},
      Operation{"loneMessageLatency",
                "enqueue to onAcked on an idle system; floor: insert, POST, insert and reply on blocking sockets",
                loneMessageLatency},
  };
  return kOperations;
}

}  // namespace ackbox::bench
