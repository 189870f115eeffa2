#include "store/sqlite/schema/tables.hpp"

namespace ackbox::store::sqlite {

const char* const kTablesSql = R"sql(
CREATE TABLE #schema(  -- the version; one row
  version INTEGER NOT NULL,  -- of these tables; PRAGMA user_version is left to the application
  written_by TEXT NOT NULL   -- the release of ackbox that made tables of this version; for people
);
CREATE TABLE #meta(  -- the file itself; one row
  id INTEGER PRIMARY KEY CHECK(id = 1),    -- there is one row
  origin TEXT NOT NULL,                    -- UUIDv4 made with the file: this store's identity on the wire
  epoch INTEGER NOT NULL,                  -- one more at each open; a smaller one on the wire betrays a restored copy
  orders INTEGER NOT NULL DEFAULT 0,       -- grows with each pause, resume and change of peers or
                                           -- subscriptions, so that other processes notice
  recalls INTEGER NOT NULL DEFAULT 0,      -- how often old rows were put back, by any process
  inbox_orders INTEGER NOT NULL DEFAULT 0  -- grows with each change of the inbox by hand, for other processes to notice
);
CREATE TABLE #owners(  -- the processes that have the file open
  id INTEGER PRIMARY KEY AUTOINCREMENT,          -- the process; its life is the kernel lock on this byte
  pid INTEGER NOT NULL,                          -- for people
  opened_at_ms INTEGER NOT NULL,                 -- for people
  deferred_handlers INTEGER NOT NULL DEFAULT 0,  -- how many it has for the inbox; for people
  applications TEXT NOT NULL DEFAULT ''          -- that these give frames to, a line each: mailbox or nothing, types,
                                                 -- when it went away or 0, why, and what settles nothing, apart by
                                                 -- tabs; for people
);
CREATE TABLE #peers(  -- where frames go
  id INTEGER PRIMARY KEY,                          -- what sessions name it by
  name TEXT NOT NULL UNIQUE,                       -- what frames address
  url TEXT NOT NULL,                               -- where its inbox is
  agent TEXT NOT NULL,                             -- its agent URI, or empty
  max_requests INTEGER NOT NULL,                   -- under way to it at once
  down INTEGER NOT NULL DEFAULT 0,                 -- 1 while it is unreachable; for other processes and for people
  failures INTEGER NOT NULL DEFAULT 0,             -- in a row
  down_since_ms INTEGER NOT NULL DEFAULT 0,        -- 0: it is up
  next_probe_at_ms INTEGER NOT NULL DEFAULT 0,     -- while it is down
  last_error TEXT NOT NULL DEFAULT '',             -- why it is down, for people
  hold INTEGER NOT NULL DEFAULT 0,                 -- 0 none, 1 refuses us, 2 gone; never renumber
  changed_at_ms INTEGER NOT NULL DEFAULT 0,        -- when it last went up or down
  paused_at_ms INTEGER NOT NULL DEFAULT 0,         -- 0: not paused
  resumes INTEGER NOT NULL DEFAULT 0,              -- grows with each resume: probe at once
  store TEXT NOT NULL DEFAULT '',                  -- identity of its store; empty: not known
  store_epoch INTEGER NOT NULL DEFAULT 0,          -- how often that store was opened
  resent_store_epoch INTEGER NOT NULL DEFAULT 0,   -- store_epoch when all that is kept was last sent again
  resets INTEGER NOT NULL DEFAULT 0,               -- total: how often it had forgotten
  reset_at_ms INTEGER NOT NULL DEFAULT 0,          -- when it last had; 0: never
  resent INTEGER NOT NULL DEFAULT 0,               -- total: messages sent again for that
  unattended_since_ms INTEGER NOT NULL DEFAULT 0,  -- since when it has no application for some that it deferred; 0: it
                                                   -- has
  unattended_type TEXT NOT NULL DEFAULT '',        -- their type; empty: it has
  definition TEXT NOT NULL DEFAULT '',             -- of a peer that was added at run time, for the program that uses
                                                   -- it; empty: a program's configuration has it
  removed_at_ms INTEGER NOT NULL DEFAULT 0         -- 0: not removed. Enqueues to it are refused, nothing is sent to it
);
CREATE TABLE #sessions(  -- ordered sessions and queues of unordered messages, each to one peer
  id INTEGER PRIMARY KEY,                    -- what its rows name it by
  peer_id INTEGER NOT NULL,                  -- the peer that it leads to
  name TEXT NOT NULL,                        -- as enqueues give it; empty in the queues of unordered messages
  priority INTEGER NOT NULL DEFAULT 4,       -- 0 to 9, of its latest enqueue
  lane INTEGER NOT NULL DEFAULT 0,           -- 0: a session. 1 to 10: all unordered messages of a priority, plus 1,
                                             -- to a peer, of which nothing else but the priority and the gauges are
                                             -- kept
  paused_at_ms INTEGER NOT NULL DEFAULT 0,   -- 0: not paused
  blocked_by INTEGER NOT NULL DEFAULT 0,     -- id of the dead letter; 0: not blocked
  blocked_at_ms INTEGER NOT NULL DEFAULT 0,  -- 0: not blocked
  recall INTEGER NOT NULL DEFAULT 0,         -- the recalls at which its rows were put back
  UNIQUE(peer_id, name, lane)
);
-- Halted sessions only: nothing that moves touches them.
CREATE INDEX #sessions_paused ON #sessions(id) WHERE paused_at_ms<>0;
CREATE INDEX #sessions_blocked ON #sessions(blocked_by) WHERE blocked_by<>0;
-- Apart from what stays, because it is written for each message.
CREATE TABLE #session_states(  -- what moves of each session
  session_id INTEGER PRIMARY KEY,       -- its session
  last_sequence INTEGER NOT NULL,       -- of its newest message, from 1
  previous_sequence INTEGER NOT NULL,   -- of the last message stood by: acked or deferred
  confirmed_sequence INTEGER NOT NULL,  -- highest that the peer is known to have accepted of this file
  due_at_ms INTEGER NOT NULL,           -- backoff of its head
  due_is_firm INTEGER NOT NULL,         -- 1: due_at_ms stands however far ahead
  live INTEGER NOT NULL,                -- gauge: rows that are not settled
  failed INTEGER NOT NULL,              -- gauge: dead letters
  head_id INTEGER NOT NULL              -- its first live row when last seen; a hint
);
-- Claims leave the rows that they are of alone.
CREATE TABLE #claims(  -- what is in flight, a bit each: SENDING is a PENDING row whose bit is set
  block INTEGER NOT NULL,     -- n from 0: of the messages with the ids from 64n; -1-n: of the sessions with those ids
  owner_id INTEGER NOT NULL,  -- the process that has them in flight
  bits INTEGER NOT NULL,      -- the lowest is that of the first id
  PRIMARY KEY(block, owner_id)
) WITHOUT ROWID;
-- No index on session or state: each would halve the rate of inserts, and the order lives in memory.
-- Small columns stand first and data last, so that a scan for states does not follow overflow pages.
-- No AUTOINCREMENT, whose own table would be one more page in each commit.
CREATE TABLE #outbox(  -- messages on their way out, dead letters, and acknowledged ones while they are kept
  id INTEGER PRIMARY KEY,          -- in commit order, never used twice: see last_key
  session_id INTEGER NOT NULL,     -- its session; with that, its peer
  sequence INTEGER NOT NULL,       -- place in the session, from 1; 0: it is unordered
  state INTEGER NOT NULL,          -- 0 PENDING or, when claimed, SENDING; 2 SENT, 3 ACKED, 4 FAILED; never renumber
  attempt INTEGER NOT NULL,        -- counts claims that are over: a late settle of an earlier one is refused by it
  retry_count INTEGER NOT NULL,    -- charged attempts
  created_at_ms INTEGER NOT NULL,  -- of its enqueue, or of its redrive; never the order key
  due_at_ms INTEGER NOT NULL,      -- PENDING: next attempt; SENT: ACK deadline; ACKED: kept until; FAILED: since
  expires_at_ms INTEGER,           -- not delivered after; NULL: never expires
  not_before_ms INTEGER,           -- not sent before; NULL: at once
  message_id TEXT,                 -- unique; NULL: a UUIDv7 made of `id`, `created_at_ms` and `id_rest`
  id_rest INTEGER,                 -- of a message id, what those two do not say; NULL: it is in `message_id`
  checksum INTEGER NOT NULL,       -- of its place, ids, type and data, see row_checksum.hpp
  type TEXT NOT NULL,              -- CloudEvents type
  traceparent TEXT,                -- W3C trace context; NULL: none
  correlation_id TEXT,             -- what it answers; NULL: nothing
  resent_of TEXT,                  -- id of the message that it sends again, perhaps its own; NULL: none
  supersede_key TEXT,              -- a later message with it takes its place; NULL: none does
  reason TEXT,                     -- FAILED: short and stable
  last_error TEXT,                 -- for people, at most 1,000 bytes
  attempt_log TEXT,                -- JSON array, the newest of its attempts without success first; NULL: none failed
  data BLOB NOT NULL               -- JSON text, byte for byte as enqueued
);
-- Only ids that their rows do not say; the others end in the keys of their rows, and are found by them.
CREATE UNIQUE INDEX #outbox_named ON #outbox(message_id) WHERE message_id IS NOT NULL;
-- Retained ACKED rows only.
CREATE INDEX #outbox_acked ON #outbox(due_at_ms) WHERE state = 3;
-- FAILED rows only: dead letters are listed without a look at the backlog.
CREATE INDEX #outbox_failed ON #outbox(id) WHERE state = 4;
-- PENDING rows with such a key only.
CREATE INDEX #outbox_supersedable ON #outbox(session_id, supersede_key) WHERE state = 0 AND supersede_key IS NOT NULL;
-- What peers have deferred, to be put back when one forgets it.
CREATE INDEX #outbox_deferred ON #outbox(session_id) WHERE state = 2;
CREATE TABLE #idempotency_keys(  -- keys that enqueues and publishes were given
  key TEXT NOT NULL,              -- the caller's
  peer_id INTEGER NOT NULL,       -- the peer of the enqueue, to which alone the key belongs; 0: of a publish
  message_id TEXT NOT NULL,       -- of the first message that was enqueued with it; empty: of a publish to nobody
  sequence INTEGER NOT NULL,      -- as in that enqueue's receipt
  keep_until_ms INTEGER NOT NULL, -- and for as long as the message is in the outbox
  digest INTEGER NOT NULL,        -- of the session, type and data that it was given for
  PRIMARY KEY(key, peer_id)
) WITHOUT ROWID;
CREATE INDEX #idempotency_keys_keep_until ON #idempotency_keys(keep_until_ms);
CREATE TABLE #publications(  -- messages of publishes with an idempotency key; none if nobody had subscribed
  key TEXT NOT NULL,          -- the idempotency key, and kept as long as that
  position INTEGER NOT NULL,  -- in the receipt, from 0
  peer_id INTEGER NOT NULL,   -- the subscriber
  message_id TEXT NOT NULL,   -- its message
  sequence INTEGER NOT NULL,  -- as in the receipt
  PRIMARY KEY(key, position)
) WITHOUT ROWID;
CREATE TABLE #subscriptions(  -- which peers get what is published
  name TEXT PRIMARY KEY,      -- what an operator names it by
  peer_id INTEGER NOT NULL,   -- the peer, which is not removed
  type TEXT NOT NULL,         -- the types of frames; a * at the end stands for any end
  session TEXT NOT NULL,      -- the same of their sessions; empty: any, and none
  since_at_ms INTEGER NOT NULL  -- when it was made or changed; for people
) WITHOUT ROWID;
CREATE TABLE #vacated_numbers(  -- above confirmed_sequence, left by their messages after they may have been sent
  session_id INTEGER NOT NULL,  -- their session
  sequence INTEGER NOT NULL,    -- the number
  message_id TEXT NOT NULL,     -- of the message that had it
  PRIMARY KEY(session_id, sequence)
) WITHOUT ROWID;
-- A mark belongs to the agent that it was made for: no agent moves another's by naming its store and session.
CREATE TABLE #inbound_sessions(  -- what was accepted of each session of others, for ever
  id INTEGER PRIMARY KEY,              -- what its mark is moved by; its names are compared once
  source TEXT NOT NULL,                -- the sender's agent URI
  origin TEXT NOT NULL,                -- the sender's store
  session TEXT NOT NULL,               -- the sender's name for it, behind the mailbox and char(31) if it is in one
  accepted_sequence INTEGER NOT NULL,  -- high-water mark: everything up to it is a duplicate, for ever
  epoch INTEGER NOT NULL,              -- highest seen
  gaps INTEGER NOT NULL,               -- numbers that were passed over: the sender's dead letters
  updated_at_ms INTEGER NOT NULL,      -- when its mark last moved; for people
  accepted_id TEXT NOT NULL,           -- of the frame that moved the mark last
  accepted_digest INTEGER NOT NULL,    -- of its type and data, see digest.hpp
  UNIQUE(source, origin, session)
);
CREATE TABLE #inbound_origins(  -- stores of others that frames of sessions came from
  source TEXT NOT NULL,          -- the sender's agent URI
  origin TEXT NOT NULL,          -- the sender's store
  epoch INTEGER NOT NULL,        -- highest seen: a lower one betrays a restored copy
  state INTEGER NOT NULL,        -- 0 open, 1 closed and its sessions are being taken away, 2 closed; never renumber
  began_at_ms INTEGER NOT NULL,  -- when its first frame was accepted
  seen_at_ms INTEGER NOT NULL,   -- when its newest was, to a day
  PRIMARY KEY(source, origin)
) WITHOUT ROWID;
-- To close stores that were silent for long after others took their place.
CREATE INDEX #inbound_origins_seen ON #inbound_origins(source, seen_at_ms) WHERE state = 0;
CREATE INDEX #inbound_origins_began ON #inbound_origins(source, began_at_ms);
CREATE INDEX #inbound_origins_closing ON #inbound_origins(source) WHERE state = 1;
CREATE TABLE #processed_messages(  -- frames outside sessions that were accepted, for a time
  id TEXT NOT NULL,                  -- frames outside any session are deduplicated by (id, source)
  source TEXT NOT NULL,              -- the sender's agent URI
  processed_at_ms INTEGER NOT NULL,  -- for people
  keep_until_ms INTEGER NOT NULL,    -- the later of the retention and the frame's expiry plus skew
  digest INTEGER NOT NULL,           -- of its type and data, see digest.hpp
  PRIMARY KEY(id, source)
) WITHOUT ROWID;
CREATE INDEX #processed_messages_keep_until ON #processed_messages(keep_until_ms);
CREATE TABLE #inbox(  -- inbound frames that were accepted and wait for their handler
  id INTEGER PRIMARY KEY AUTOINCREMENT,      -- in the order of acceptance, never used twice
  origin TEXT NOT NULL,                      -- the sender's store; empty outside any session
  session TEXT NOT NULL,                     -- the same; empty outside any
  sequence INTEGER NOT NULL,                 -- 0: outside any session
  frame_id TEXT NOT NULL,                    -- the frame's id, unique to its source
  source TEXT NOT NULL,                      -- the sender's agent URI, which the ACK event goes to
  epoch INTEGER NOT NULL,                    -- of the sender's store, as the frame named it
  previous_sequence INTEGER NOT NULL,        -- the predecessor that the frame named
  deferred INTEGER NOT NULL,                 -- 1: its handler deferred it; 0: it waits behind one that was deferred
  owner_id INTEGER NOT NULL DEFAULT 0,       -- the process that runs it; 0: nobody
  starts INTEGER NOT NULL DEFAULT 0,         -- counts claims: a completion of an earlier one is refused by it
  retry_count INTEGER NOT NULL DEFAULT 0,    -- charged runs
  due_at_ms INTEGER NOT NULL DEFAULT 0,      -- not run before
  started_at_ms INTEGER NOT NULL DEFAULT 0,  -- when it was last claimed; for people
  accepted_at_ms INTEGER NOT NULL,           -- when it was answered with `defer`
  type TEXT NOT NULL,                        -- CloudEvents type
  audience TEXT,                             -- the recipient that the frame named; NULL: none
  time_ms INTEGER,                           -- when the sender enqueued it
  expires_at_ms INTEGER,                     -- not accepted after; its handler may look; NULL: never
  traceparent TEXT,                          -- W3C trace context; NULL: none
  correlation_id TEXT,                       -- what it answers; NULL: nothing
  resent_of TEXT,                            -- id of the message that its sender sends again; NULL: none
  failed_at_ms INTEGER,                      -- when its last failed run ended; NULL: none failed
  last_error TEXT,                           -- why that run failed, for people, at most 1,000 bytes; NULL: none failed
  data BLOB NOT NULL,                        -- JSON text, byte for byte as received
  data_content_type TEXT,                    -- of what stands in `data` as base64; NULL: `data` is the JSON itself
  checksum INTEGER NOT NULL,                 -- of what its handler is given, see row_checksum.hpp
  UNIQUE(source, origin, session, sequence, frame_id)
);
CREATE INDEX #inbox_owned ON #inbox(owner_id) WHERE owner_id <> 0;
CREATE TABLE #inbox_results(  -- final outcomes of deferred frames, where they say more than `ack`
  frame_id TEXT NOT NULL,          -- these five name the frame as in the inbox
  source TEXT NOT NULL,            -- the sender's agent URI
  origin TEXT NOT NULL,            -- the sender's store; empty outside any session
  session TEXT NOT NULL,           -- the same; empty outside any
  sequence INTEGER NOT NULL,       -- outside any session 0, or of a refused one the instant of its enqueue: one that is
                                   -- redriven has a later one
  outcome INTEGER NOT NULL,        -- 0 ack, 3 term; never renumber
  code TEXT,                       -- of a refusal; short and stable
  detail TEXT,                     -- of a refusal, for people
  result TEXT,                     -- JSON text for the sender's onAcked
  keep_until_ms INTEGER NOT NULL,  -- as a mark against duplicates is kept
  type TEXT NOT NULL DEFAULT '',           -- CloudEvents type; for people, as the rest
  starts INTEGER NOT NULL DEFAULT 0,       -- how often it was begun
  ended_at_ms INTEGER NOT NULL DEFAULT 0,  -- when it ended
  PRIMARY KEY(frame_id, source, origin, session, sequence)
) WITHOUT ROWID;
CREATE INDEX #inbox_results_keep_until ON #inbox_results(keep_until_ms);
-- Refusals only, however many other results there are.
CREATE INDEX #inbox_results_refused ON #inbox_results(keep_until_ms) WHERE outcome <> 0;
CREATE TABLE #inbound_senders(  -- what each sender's marks and waiting frames take up
  source TEXT PRIMARY KEY,      -- the sender's agent URI
  sessions INTEGER NOT NULL,    -- gauge: its rows of the inbound sessions
  origins INTEGER NOT NULL,     -- gauge: its rows of the inbound origins
  marks INTEGER NOT NULL,       -- gauge: its processed messages and last words
  bytes INTEGER NOT NULL,       -- gauge: what these rows take, reckoned from the lengths of their texts
  inbox INTEGER NOT NULL,       -- gauge: its rows of the inbox
  inbox_bytes INTEGER NOT NULL  -- gauge: their data
) WITHOUT ROWID;
CREATE TABLE #counters(  -- gauges and totals of the whole file; one row
  id INTEGER PRIMARY KEY CHECK(id = 1),                -- there is one row
  pending INTEGER NOT NULL DEFAULT 0,                  -- gauge: rows now
  sent INTEGER NOT NULL DEFAULT 0,                     -- gauge: deferred by the peer
  failed INTEGER NOT NULL DEFAULT 0,                   -- gauge: dead letters
  pending_bytes INTEGER NOT NULL DEFAULT 0,            -- gauge: data of live rows
  enqueued INTEGER NOT NULL DEFAULT 0,                 -- total since the file was made
  acked INTEGER NOT NULL DEFAULT 0,                    -- total
  failed_total INTEGER NOT NULL DEFAULT 0,             -- total: became dead letters
  total_retries INTEGER NOT NULL DEFAULT 0,            -- total: charged attempts that were scheduled again
  stale_settles INTEGER NOT NULL DEFAULT 0,            -- total: settles that came too late and changed nothing
  received INTEGER NOT NULL DEFAULT 0,                 -- total: inbound frames that took effect
  duplicates INTEGER NOT NULL DEFAULT 0,               -- total: inbound frames that had taken effect before
  gaps INTEGER NOT NULL DEFAULT 0,                     -- total: numbers that inbound sessions passed over
  last_key INTEGER NOT NULL DEFAULT 0,                 -- highest id that a row was given, of those that are counted
                                                       -- here
  tails_key INTEGER NOT NULL DEFAULT 0,                -- behind it, messages say their sessions' tails
  superseded INTEGER NOT NULL DEFAULT 0,               -- total: replaced by one with the same key
  inbox INTEGER NOT NULL DEFAULT 0,                    -- gauge: rows of the inbox
  deferred INTEGER NOT NULL DEFAULT 0,                 -- total: frames put into the inbox
  refused_acks INTEGER NOT NULL DEFAULT 0,             -- total: ACK events from the wrong peer
  retained INTEGER NOT NULL DEFAULT 0,                 -- gauge: ACKED rows that are kept
  ack_latency_ms INTEGER NOT NULL DEFAULT 0,           -- total, from enqueue to ACK
  last_acked_at_ms INTEGER NOT NULL DEFAULT 0,         -- 0: none was
  oldest_key INTEGER NOT NULL DEFAULT 0,               -- no live row has a smaller id
  refused_unauthenticated INTEGER NOT NULL DEFAULT 0,  -- total: requests that proved no identity
  refused_forbidden INTEGER NOT NULL DEFAULT 0,        -- total: requests without the right
  refused_limits INTEGER NOT NULL DEFAULT 0,           -- total: inbound frames beyond their sender's limits
  inbound_bytes INTEGER NOT NULL DEFAULT 0,            -- gauge: bytes of all senders' rows
  inbox_bytes INTEGER NOT NULL DEFAULT 0,              -- gauge: data of the inbox
  recounts INTEGER NOT NULL DEFAULT 0,                 -- total: how often gauges were counted anew
  stale_epochs INTEGER NOT NULL DEFAULT 0,             -- total: inbound frames of stores that went back
  id_conflicts INTEGER NOT NULL DEFAULT 0              -- total: inbound frames under a used id
);
-- Empty while the file knows one peer, whose counters are the totals.
CREATE TABLE #peer_counters(  -- gauges and totals of each peer
  peer_id INTEGER PRIMARY KEY,               -- their peer; each as in the counters
  pending INTEGER NOT NULL DEFAULT 0,        -- gauge
  sent INTEGER NOT NULL DEFAULT 0,           -- gauge
  failed INTEGER NOT NULL DEFAULT 0,         -- gauge
  pending_bytes INTEGER NOT NULL DEFAULT 0,  -- gauge
  enqueued INTEGER NOT NULL DEFAULT 0,       -- total
  acked INTEGER NOT NULL DEFAULT 0,          -- total
  failed_total INTEGER NOT NULL DEFAULT 0,   -- total
  total_retries INTEGER NOT NULL DEFAULT 0   -- total
);
INSERT INTO #counters(id) VALUES(1);
)sql";

}  // namespace ackbox::store::sqlite
