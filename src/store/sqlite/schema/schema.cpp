#include "store/sqlite/schema/schema.hpp"

#include <iterator>
#include <string>

#include "sqlite/statement.hpp"
#include "store/sqlite/cache/sender_shares.hpp"

namespace ackbox::store {
namespace {

/// `#` is the table prefix. A published migration never changes; a new version is a new entry.
struct Migration {
  std::int64_t version;
  const char* sql;
};

constexpr const char* kVersion1 = R"sql(
CREATE TABLE #schema(  -- the version; one row
  version INTEGER NOT NULL  -- of these tables; PRAGMA user_version is left to the application
);
CREATE TABLE #meta(  -- the file itself; one row
  id INTEGER PRIMARY KEY CHECK(id = 1),  -- there is one row
  origin TEXT NOT NULL,                  -- UUIDv4 made with the file: this store's identity on the wire
  epoch INTEGER NOT NULL                 -- one more at each open; a smaller one on the wire betrays a restored copy
);
CREATE TABLE #peers(  -- whom frames go to
  id INTEGER PRIMARY KEY,                       -- what sessions name it by
  name TEXT NOT NULL UNIQUE,                    -- what frames address
  url TEXT NOT NULL,                            -- where its inbox is
  agent TEXT NOT NULL,                          -- its agent URI, or empty
  max_requests INTEGER NOT NULL,                -- under way to it at once
  down INTEGER NOT NULL DEFAULT 0,              -- 1 while it is unreachable; for other processes and for people
  failures INTEGER NOT NULL DEFAULT 0,          -- in a row
  down_since_ms INTEGER NOT NULL DEFAULT 0,     -- 0: it is up
  next_probe_at_ms INTEGER NOT NULL DEFAULT 0,  -- while it is down
  last_error TEXT NOT NULL DEFAULT ''           -- why it is down, for people
);
CREATE TABLE #owners(  -- the processes that have the file open
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a process that has the file open; its life is the kernel lock on this byte
  pid INTEGER NOT NULL,                  -- for people
  opened_at_ms INTEGER NOT NULL          -- for people
);
CREATE TABLE #sessions(  -- ordered lanes, each to one peer
  id INTEGER PRIMARY KEY,                        -- what its rows name it by
  peer_id INTEGER NOT NULL,                      -- whom it leads to
  name TEXT NOT NULL,                            -- as enqueues give it
  last_sequence INTEGER NOT NULL,                -- of its newest message, from 1
  previous_sequence INTEGER NOT NULL DEFAULT 0,  -- of the last message stood by: acked or deferred
  owner_id INTEGER NOT NULL DEFAULT 0,           -- the process that has it in flight; 0: nobody
  due_at_ms INTEGER NOT NULL DEFAULT 0,          -- backoff of its head
  UNIQUE(peer_id, name)
);
CREATE INDEX #sessions_owned ON #sessions(owner_id) WHERE owner_id <> 0;
-- No index on session or state: each would halve the rate of inserts, and the order lives in memory.
-- Small columns stand first and data last, so that a scan for states does not follow overflow pages.
CREATE TABLE #outbox(  -- messages on their way out, dead letters, and acknowledged ones while they are kept
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- in commit order, never used twice
  session_id INTEGER NOT NULL,           -- whose it is; with that, whom it goes to
  sequence INTEGER NOT NULL,             -- place in the session, from 1
  state INTEGER NOT NULL,                -- 0 PENDING, 1 SENDING, 2 SENT, 3 ACKED, 4 FAILED; never renumber
  owner_id INTEGER,                      -- the process that is sending it, only while SENDING
  attempt INTEGER NOT NULL,              -- counts claims: a late settle of an earlier claim is refused by it
  retry_count INTEGER NOT NULL,          -- charged attempts
  created_at_ms INTEGER NOT NULL,        -- of its enqueue; never the order key
  due_at_ms INTEGER NOT NULL,            -- PENDING: next attempt; SENT: ACK deadline; ACKED: kept until
  expires_at_ms INTEGER,                 -- not delivered after; NULL: never expires
  message_id TEXT NOT NULL UNIQUE,       -- UUIDv7, or the caller's idempotency key
  type TEXT NOT NULL,                    -- CloudEvents type
  traceparent TEXT,                      -- W3C trace context; NULL: none
  correlation_id TEXT,                   -- what it answers; NULL: nothing
  reason TEXT,                           -- FAILED: short and stable
  last_error TEXT,                       -- for people, at most 1,000 bytes
  data BLOB NOT NULL                     -- JSON text, byte for byte as enqueued
);
-- In-flight rows only, so it stays tiny whatever the backlog.
CREATE INDEX #outbox_owned ON #outbox(owner_id) WHERE owner_id IS NOT NULL;
-- Retained ACKED rows only.
CREATE INDEX #outbox_acked ON #outbox(due_at_ms) WHERE state = 3;
CREATE TABLE #inbound_sessions(  -- what was accepted of each session of others, for ever
  origin TEXT NOT NULL,                -- the sender's store
  session TEXT NOT NULL,               -- the sender's name for it
  accepted_sequence INTEGER NOT NULL,  -- high-water mark: everything up to it is a duplicate, for ever
  epoch INTEGER NOT NULL,              -- highest seen
  gaps INTEGER NOT NULL,               -- numbers that were passed over: the sender's dead letters
  updated_at_ms INTEGER NOT NULL,      -- when its mark last moved; for people
  PRIMARY KEY(origin, session)
) WITHOUT ROWID;
CREATE TABLE #processed_messages(  -- frames outside sessions that were accepted, for a time
  id TEXT NOT NULL,                  -- frames outside any session are deduplicated by (id, source)
  source TEXT NOT NULL,              -- the sender's agent URI
  processed_at_ms INTEGER NOT NULL,  -- for people
  keep_until_ms INTEGER NOT NULL,    -- the later of the retention and the frame's expiry plus skew
  PRIMARY KEY(id, source)
) WITHOUT ROWID;
CREATE INDEX #processed_messages_keep_until ON #processed_messages(keep_until_ms);
CREATE TABLE #counters(  -- gauges and totals of the whole file; one row
  id INTEGER PRIMARY KEY CHECK(id = 1),      -- there is one row
  pending INTEGER NOT NULL DEFAULT 0,        -- gauge: rows now
  sending INTEGER NOT NULL DEFAULT 0,        -- gauge
  sent INTEGER NOT NULL DEFAULT 0,           -- gauge: deferred by the peer
  failed INTEGER NOT NULL DEFAULT 0,         -- gauge: dead letters
  pending_bytes INTEGER NOT NULL DEFAULT 0,  -- gauge: data of live rows
  enqueued INTEGER NOT NULL DEFAULT 0,       -- total since the file was made
  acked INTEGER NOT NULL DEFAULT 0,          -- total
  failed_total INTEGER NOT NULL DEFAULT 0,   -- total: became dead letters
  total_retries INTEGER NOT NULL DEFAULT 0,  -- total: charged attempts that were scheduled again
  stale_settles INTEGER NOT NULL DEFAULT 0,  -- total: settles that came too late and changed nothing
  received INTEGER NOT NULL DEFAULT 0,       -- total: inbound frames that took effect
  duplicates INTEGER NOT NULL DEFAULT 0,     -- total: inbound frames that had taken effect before
  gaps INTEGER NOT NULL DEFAULT 0            -- total: numbers that inbound sessions passed over
);
INSERT INTO #counters(id) VALUES(1);
INSERT INTO #schema(version) VALUES(0);
)sql";

// From here on `due_at_ms` of a FAILED row is the instant at which it failed; 0 in rows that failed before.
constexpr const char* kVersion2 = R"sql(
-- FAILED rows only: dead letters are listed without a look at the backlog.
CREATE INDEX #outbox_failed ON #outbox(id) WHERE state = 4;
)sql";

// Not released yet: it grows until it is.
constexpr const char* kVersion3 = R"sql(
-- Enqueues. First here, because it makes the sessions' table anew: its constraint takes the lane in.
CREATE TABLE #sessions_of_version_3(  -- ordered lanes, each to one peer
  id INTEGER PRIMARY KEY,               -- what its rows name it by
  peer_id INTEGER NOT NULL,             -- whom it leads to
  name TEXT NOT NULL,                   -- empty in the lanes of unordered messages
  priority INTEGER NOT NULL DEFAULT 4,  -- 0 to 9, of its latest enqueue
  lane INTEGER NOT NULL DEFAULT 0,      -- 0: a session. 1 to 10: all unordered messages of a priority, plus 1, to a
                                        -- peer, of which nothing else but the priority and the gauges are kept
  UNIQUE(peer_id, name, lane)
);
INSERT INTO #sessions_of_version_3(id,peer_id,name) SELECT id,peer_id,name FROM #sessions;
-- Apart from what stays, because it is written for each message.
CREATE TABLE #session_states(  -- what moves of each session
  session_id INTEGER PRIMARY KEY,      -- whose it is
  last_sequence INTEGER NOT NULL,      -- of its newest message, from 1
  previous_sequence INTEGER NOT NULL,  -- of the last message stood by: acked or deferred
  confirmed_sequence INTEGER NOT NULL,  -- highest that the peer is known to have accepted of this file
  due_at_ms INTEGER NOT NULL,          -- backoff of its head
  due_is_firm INTEGER NOT NULL,        -- 1: due_at_ms stands however far ahead
  live INTEGER NOT NULL,               -- gauge: rows that are not settled
  failed INTEGER NOT NULL,             -- gauge: dead letters
  head_id INTEGER NOT NULL             -- its first live row when last seen; a hint
);
INSERT INTO #session_states
  SELECT id,last_sequence,previous_sequence,previous_sequence,due_at_ms,0,0,0,0 FROM #sessions;
DROP TABLE #sessions;
ALTER TABLE #sessions_of_version_3 RENAME TO #sessions;
-- Claims leave the rows that they are of alone. The outbox is made anew without the columns and the index that carried
-- them, and without AUTOINCREMENT, whose own table was a page more in each commit.
CREATE TABLE #claims(  -- what is in flight, a bit each: SENDING is a PENDING row whose bit is set; -1 may cover more
  block INTEGER NOT NULL,     -- n from 0: of the messages with the ids from 64n; -1-n: of the sessions with those ids
  owner_id INTEGER NOT NULL,  -- the process that has them in flight
  bits INTEGER NOT NULL,      -- the lowest is that of the first id
  PRIMARY KEY(block, owner_id)
) WITHOUT ROWID;
ALTER TABLE #counters ADD COLUMN last_key INTEGER NOT NULL DEFAULT 0;  -- highest id that a row was given, of those that are counted here
ALTER TABLE #counters ADD COLUMN tails_key INTEGER NOT NULL DEFAULT 0;  -- behind it, messages say their sessions' tails
UPDATE #counters SET last_key=coalesce((SELECT seq FROM sqlite_sequence WHERE name='#outbox'),0),
  pending=pending+sending;
UPDATE #counters SET tails_key=last_key;
-- How many of the pending rows are being sent is said by their claims.
ALTER TABLE #counters DROP COLUMN sending;
-- From here on `due_at_ms` of a PENDING row that was never tried is its `not_before_ms` or 0, and `sequence` of an
-- unordered message is 0.
CREATE TABLE #outbox_of_version_3(  -- messages on their way out, dead letters, and acknowledged ones while they are kept
  id INTEGER PRIMARY KEY,          -- in commit order, never used twice: see last_key
  session_id INTEGER NOT NULL,     -- whose it is; with that, whom it goes to
  sequence INTEGER NOT NULL,       -- place in the session, from 1; 0: it is unordered
  state INTEGER NOT NULL,          -- 0 PENDING or, when claimed, SENDING; 2 SENT, 3 ACKED, 4 FAILED; never renumber
  attempt INTEGER NOT NULL,        -- counts claims that are over: a late settle of an earlier one is refused by it
  retry_count INTEGER NOT NULL,    -- charged attempts
  created_at_ms INTEGER NOT NULL,  -- of its enqueue; never the order key
  due_at_ms INTEGER NOT NULL,      -- PENDING: next attempt; SENT: ACK deadline; ACKED: kept until; FAILED: since
  expires_at_ms INTEGER,           -- not delivered after; NULL: never expires
  not_before_ms INTEGER,           -- not sent before; NULL: at once
  message_id TEXT,                 -- unique; NULL: a UUIDv7 made of `id`, `created_at_ms` and `id_rest`
  id_rest INTEGER,                 -- of a message id, what those two do not say; NULL: it is in `message_id`
  type TEXT NOT NULL,              -- CloudEvents type
  traceparent TEXT,                -- W3C trace context; NULL: none
  correlation_id TEXT,             -- what it answers; NULL: nothing
  supersede_key TEXT,              -- a later message with it takes its place; NULL: none does
  reason TEXT,                     -- FAILED: short and stable
  last_error TEXT,                 -- for people, at most 1,000 bytes
  data BLOB NOT NULL               -- JSON text, byte for byte as enqueued
);
INSERT INTO #outbox_of_version_3(id,session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,
  message_id,type,traceparent,correlation_id,reason,last_error,data)
  SELECT id,session_id,sequence,iif(state=1,0,state),attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,
  message_id,type,traceparent,correlation_id,reason,last_error,data FROM #outbox;
DROP TABLE #outbox;
ALTER TABLE #outbox_of_version_3 RENAME TO #outbox;
-- Only ids that their rows do not say; the others end in the keys of their rows, and are found by them.
CREATE UNIQUE INDEX #outbox_named ON #outbox(message_id) WHERE message_id IS NOT NULL;
-- Retained ACKED rows only.
CREATE INDEX #outbox_acked ON #outbox(due_at_ms) WHERE state = 3;
-- FAILED rows only: dead letters are listed without a look at the backlog.
CREATE INDEX #outbox_failed ON #outbox(id) WHERE state = 4;
-- PENDING rows with such a key only.
CREATE INDEX #outbox_supersedable ON #outbox(session_id, supersede_key) WHERE state = 0 AND supersede_key IS NOT NULL;
CREATE TABLE #idempotency_keys(  -- keys that enqueues were given
  key TEXT PRIMARY KEY,           -- the caller's
  message_id TEXT NOT NULL,       -- of the first message that was enqueued with it
  sequence INTEGER NOT NULL,      -- as that enqueue's receipt told it
  keep_until_ms INTEGER NOT NULL  -- and for as long as the message is in the outbox
) WITHOUT ROWID;
CREATE INDEX #idempotency_keys_keep_until ON #idempotency_keys(keep_until_ms);
ALTER TABLE #counters ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;  -- total: replaced by one with the same key
-- A mark belongs to the agent that it was made for: nobody moves another's by naming its store and session.
ALTER TABLE #inbound_sessions RENAME TO #inbound_sessions_version_2;
CREATE TABLE #inbound_sessions(  -- what was accepted of each session of others, for ever
  id INTEGER PRIMARY KEY,              -- what its mark is moved by; its names are compared once
  source TEXT NOT NULL,                -- the sender's agent URI; empty: from version 2, which did not keep it
  origin TEXT NOT NULL,                -- the sender's store
  session TEXT NOT NULL,               -- the sender's name for it
  accepted_sequence INTEGER NOT NULL,  -- high-water mark: everything up to it is a duplicate, for ever
  epoch INTEGER NOT NULL,              -- highest seen
  gaps INTEGER NOT NULL,               -- numbers that were passed over: the sender's dead letters
  updated_at_ms INTEGER NOT NULL,      -- when its mark last moved; for people
  UNIQUE(source, origin, session)
);
INSERT INTO #inbound_sessions(source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms)
  SELECT '',origin,session,accepted_sequence,epoch,gaps,updated_at_ms FROM #inbound_sessions_version_2;
DROP TABLE #inbound_sessions_version_2;
-- Inbound frames that were accepted and wait for their handler; a row goes with its handler's completion.
CREATE TABLE #inbox(  -- inbound frames that were accepted and wait for their handler
  id INTEGER PRIMARY KEY AUTOINCREMENT,    -- in the order of acceptance, never used twice
  origin TEXT NOT NULL,                    -- the sender's store; empty outside any session
  session TEXT NOT NULL,                   -- the sender's name for it; empty outside any
  sequence INTEGER NOT NULL,               -- 0: outside any session
  frame_id TEXT NOT NULL,                  -- the frame's id, unique to its source
  source TEXT NOT NULL,                    -- the sender's agent URI, whom the ACK event goes to
  epoch INTEGER NOT NULL,                  -- of the sender's store, as the frame named it
  previous_sequence INTEGER NOT NULL,      -- the predecessor that the frame named
  deferred INTEGER NOT NULL,               -- 1: its handler deferred it; 0: it waits behind one that was deferred
  owner_id INTEGER NOT NULL DEFAULT 0,     -- the process that runs it; 0: nobody
  starts INTEGER NOT NULL DEFAULT 0,       -- counts claims: a completion of an earlier one is refused by it
  retry_count INTEGER NOT NULL DEFAULT 0,  -- charged runs
  due_at_ms INTEGER NOT NULL DEFAULT 0,    -- not run before
  accepted_at_ms INTEGER NOT NULL,         -- when it was answered with `defer`
  type TEXT NOT NULL,                      -- CloudEvents type
  audience TEXT,                           -- whom the frame named as its recipient; NULL: nobody
  time_ms INTEGER,                         -- when the sender enqueued it
  expires_at_ms INTEGER,                   -- not run after; NULL: never expires
  traceparent TEXT,                        -- W3C trace context; NULL: none
  correlation_id TEXT,                     -- what it answers; NULL: nothing
  last_error TEXT,                         -- for people, at most 1,000 bytes
  data BLOB NOT NULL,                      -- JSON text, byte for byte as received
  data_content_type TEXT,                  -- of what stands in `data` as base64; NULL: `data` is the JSON itself
  UNIQUE(source, origin, session, sequence, frame_id)
);
CREATE INDEX #inbox_owned ON #inbox(owner_id) WHERE owner_id <> 0;
-- The last word on frames that were deferred, for senders that ask again: only words that say more than `ack`.
CREATE TABLE #inbox_results(  -- last words on deferred frames, where they say more than `ack`
  frame_id TEXT NOT NULL,          -- these five name the frame as in the inbox
  source TEXT NOT NULL,            -- the sender's agent URI
  origin TEXT NOT NULL,            -- the sender's store; empty outside any session
  session TEXT NOT NULL,           -- the sender's name for it; empty outside any
  sequence INTEGER NOT NULL,       -- 0: outside any session
  outcome INTEGER NOT NULL,        -- 0 ack, 3 term; never renumber
  code TEXT,                       -- of a refusal; short and stable
  detail TEXT,                     -- of a refusal, for people
  result TEXT,                     -- JSON text for the sender's onAcked
  keep_until_ms INTEGER NOT NULL,  -- as a mark against duplicates is kept
  PRIMARY KEY(frame_id, source, origin, session, sequence)
) WITHOUT ROWID;
CREATE INDEX #inbox_results_keep_until ON #inbox_results(keep_until_ms);
ALTER TABLE #counters ADD COLUMN inbox INTEGER NOT NULL DEFAULT 0;        -- gauge: rows of the inbox
ALTER TABLE #counters ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;     -- total: frames put into the inbox
ALTER TABLE #counters ADD COLUMN refused_acks INTEGER NOT NULL DEFAULT 0; -- total: ACK events from the wrong peer
-- Figures. What is added here is counted once, from the rows that are there; latencies begin with this version.
ALTER TABLE #counters ADD COLUMN retained INTEGER NOT NULL DEFAULT 0;       -- gauge: ACKED rows that are kept
ALTER TABLE #counters ADD COLUMN ack_latency_ms INTEGER NOT NULL DEFAULT 0; -- total, from enqueue to ACK
ALTER TABLE #counters ADD COLUMN last_acked_at_ms INTEGER NOT NULL DEFAULT 0;  -- 0: none was
ALTER TABLE #counters ADD COLUMN oldest_key INTEGER NOT NULL DEFAULT 0;     -- no live row has a smaller id
ALTER TABLE #counters ADD COLUMN latencies BLOB;                            -- see latency_histogram.hpp
-- The counters of each peer. Empty while the file knows one peer, whose counters are the totals.
CREATE TABLE #peer_counters(  -- gauges and totals of each peer
  peer_id INTEGER PRIMARY KEY,               -- whose they are; each as in the counters
  pending INTEGER NOT NULL DEFAULT 0,        -- gauge
  sent INTEGER NOT NULL DEFAULT 0,           -- gauge
  failed INTEGER NOT NULL DEFAULT 0,         -- gauge
  pending_bytes INTEGER NOT NULL DEFAULT 0,  -- gauge
  enqueued INTEGER NOT NULL DEFAULT 0,       -- total
  acked INTEGER NOT NULL DEFAULT 0,          -- total
  failed_total INTEGER NOT NULL DEFAULT 0,   -- total
  total_retries INTEGER NOT NULL DEFAULT 0   -- total
);
UPDATE #counters SET retained=(SELECT count(*) FROM #outbox WHERE state=3),
  oldest_key=coalesce((SELECT id FROM #outbox WHERE state<3 ORDER BY id LIMIT 1),0);
UPDATE #session_states SET live=rows.live, failed=rows.failed FROM (SELECT session_id, count(*) FILTER (WHERE state<3)
  AS live, count(*) FILTER (WHERE state=4) AS failed FROM #outbox GROUP BY session_id) AS rows
  WHERE rows.session_id=#session_states.session_id;
INSERT INTO #peer_counters(peer_id,pending,sent,failed,pending_bytes) SELECT peer_id,
  count(*) FILTER (WHERE state=0),count(*) FILTER (WHERE state=2),
  count(*) FILTER (WHERE state=4),coalesce(sum(length(data)) FILTER (WHERE state<3),0)
  FROM #outbox AS o CROSS JOIN #sessions AS s ON s.id=o.session_id WHERE (SELECT count(*) FROM #peers)>1
  GROUP BY peer_id;
-- Policies: what people have ordered, and what a dead letter stopped.
ALTER TABLE #meta ADD COLUMN orders INTEGER NOT NULL DEFAULT 0;          -- grows with each order, so that others notice
ALTER TABLE #peers ADD COLUMN hold INTEGER NOT NULL DEFAULT 0;           -- 0 none, 1 refuses us, 2 gone; never renumber
ALTER TABLE #peers ADD COLUMN changed_at_ms INTEGER NOT NULL DEFAULT 0;  -- when it last went up or down
ALTER TABLE #peers ADD COLUMN paused_at_ms INTEGER NOT NULL DEFAULT 0;   -- 0: not paused
ALTER TABLE #peers ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;        -- grows with each resume: probe at once
ALTER TABLE #sessions ADD COLUMN paused_at_ms INTEGER NOT NULL DEFAULT 0;   -- 0: not paused
ALTER TABLE #sessions ADD COLUMN blocked_by INTEGER NOT NULL DEFAULT 0;     -- id of the dead letter; 0: not blocked
ALTER TABLE #sessions ADD COLUMN blocked_at_ms INTEGER NOT NULL DEFAULT 0;  -- 0: not blocked
-- Halted sessions only: nothing that moves touches them.
CREATE INDEX #sessions_paused ON #sessions(id) WHERE paused_at_ms<>0;
CREATE INDEX #sessions_blocked ON #sessions(blocked_by) WHERE blocked_by<>0;
ALTER TABLE #counters ADD COLUMN refused_unauthenticated INTEGER NOT NULL DEFAULT 0;  -- total: requests that proved nobody
ALTER TABLE #counters ADD COLUMN refused_forbidden INTEGER NOT NULL DEFAULT 0;        -- total: requests without the right
-- Amnesia: what tells that a peer, or this file, has gone back. What a peer said of itself:
ALTER TABLE #peers ADD COLUMN store TEXT NOT NULL DEFAULT '';                -- identity of its store; empty: not told
ALTER TABLE #peers ADD COLUMN store_epoch INTEGER NOT NULL DEFAULT 0;        -- how often that store was opened
ALTER TABLE #peers ADD COLUMN resent_store_epoch INTEGER NOT NULL DEFAULT 0; -- store_epoch when all that is kept was last sent again
ALTER TABLE #peers ADD COLUMN resets INTEGER NOT NULL DEFAULT 0;             -- total: how often it had forgotten
ALTER TABLE #peers ADD COLUMN reset_at_ms INTEGER NOT NULL DEFAULT 0;        -- when it last had; 0: never
ALTER TABLE #peers ADD COLUMN resent INTEGER NOT NULL DEFAULT 0;             -- total: messages sent again for that
ALTER TABLE #sessions ADD COLUMN recall INTEGER NOT NULL DEFAULT 0;  -- the recalls at which its rows were put back
ALTER TABLE #meta ADD COLUMN recalls INTEGER NOT NULL DEFAULT 0;     -- how often old rows were put back, by anyone
CREATE TABLE #vacated_numbers(  -- above confirmed_sequence, left by their messages after they may have been sent
  session_id INTEGER NOT NULL,  -- whose they are
  sequence INTEGER NOT NULL,    -- the number
  message_id TEXT NOT NULL,     -- of the message that had it
  PRIMARY KEY(session_id, sequence)
) WITHOUT ROWID;
-- What an inbound session's newest frame was, and what is known of a sender's store whatever the session.
ALTER TABLE #inbound_sessions ADD COLUMN accepted_id TEXT NOT NULL DEFAULT ''; -- empty: from before version 3
ALTER TABLE #inbound_sessions ADD COLUMN accepted_digest INTEGER;              -- of its type and data, see digest.hpp
ALTER TABLE #processed_messages ADD COLUMN digest INTEGER;                     -- the same; NULL: from before version 3
CREATE TABLE #inbound_origins(  -- stores of others that frames of sessions came from
  source TEXT NOT NULL,           -- the sender's agent URI
  origin TEXT NOT NULL,           -- the sender's store
  epoch INTEGER NOT NULL,         -- highest seen: a lower one betrays a restored copy
  state INTEGER NOT NULL,         -- 0 open, 1 closed and its sessions are being taken away, 2 closed; never renumber
  began_at_ms INTEGER NOT NULL,   -- when its first frame was accepted
  seen_at_ms INTEGER NOT NULL,    -- when its newest was, to a day
  PRIMARY KEY(source, origin)
) WITHOUT ROWID;
-- For whoever closes stores that were silent for long after others took their place.
CREATE INDEX #inbound_origins_seen ON #inbound_origins(source, seen_at_ms) WHERE state = 0;
CREATE INDEX #inbound_origins_began ON #inbound_origins(source, began_at_ms);
CREATE INDEX #inbound_origins_closing ON #inbound_origins(source) WHERE state = 1;
INSERT INTO #inbound_origins SELECT source, origin, max(epoch), 0, 0, max(updated_at_ms) FROM #inbound_sessions
  WHERE source<>'' GROUP BY source, origin;
-- What a sender makes this file keep. Its rows are counted once, when the tables come to this version.
CREATE TABLE #inbound_senders(  -- what each sender's marks and waiting frames take up
  source TEXT PRIMARY KEY,       -- the sender's agent URI
  sessions INTEGER NOT NULL,     -- gauge: its rows of the inbound sessions
  origins INTEGER NOT NULL,      -- gauge: its rows of the inbound origins
  marks INTEGER NOT NULL,        -- gauge: its processed messages and last words
  bytes INTEGER NOT NULL,        -- gauge: what these rows take, reckoned from the lengths of their texts
  inbox INTEGER NOT NULL,        -- gauge: its rows of the inbox
  inbox_bytes INTEGER NOT NULL   -- gauge: their data
) WITHOUT ROWID;
ALTER TABLE #counters ADD COLUMN refused_limits INTEGER NOT NULL DEFAULT 0;  -- total: inbound frames beyond their sender's limits
ALTER TABLE #counters ADD COLUMN inbound_bytes INTEGER NOT NULL DEFAULT 0;   -- gauge: bytes of all senders' rows
ALTER TABLE #counters ADD COLUMN inbox_bytes INTEGER NOT NULL DEFAULT 0;     -- gauge: data of the inbox
ALTER TABLE #counters ADD COLUMN recounts INTEGER NOT NULL DEFAULT 0;        -- total: how often gauges were counted anew
ALTER TABLE #counters ADD COLUMN stale_epochs INTEGER NOT NULL DEFAULT 0;  -- total: inbound frames of stores that went back
ALTER TABLE #counters ADD COLUMN id_conflicts INTEGER NOT NULL DEFAULT 0;  -- total: inbound frames under a used id
)sql";

constexpr Migration kMigrations[] = {{1, kVersion1}, {2, kVersion2}, {3, kVersion3}};

struct Table {
  const char* name = nullptr;
  std::int64_t sinceVersion = 1;
};

constexpr Table kTables[] = {
    {"meta"},
    {"peers"},
    {"owners"},
    {"sessions"},
    {"outbox"},
    {"inbound_sessions"},
    {"processed_messages"},
    {"counters"},
    {"session_states", 3},
    {"claims", 3},
    {"idempotency_keys", 3},
    {"inbox", 3},
    {"inbox_results", 3},
    {"peer_counters", 3},
    {"inbound_origins", 3},
    {"vacated_numbers", 3},
    {"inbound_senders", 3},
};

bool hasTable(sqlite3* connection, const std::string& name) {
  // A virtual table would be another's code.
  Statement statement(
      connection,
      "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1 COLLATE NOCASE AND sql LIKE 'CREATE TABLE %'", {});
  return Query(statement, name).next();
}

// Nothing of ours has triggers. One would run in every statement, also those of a tool that only opens the file.
void refuseTriggers(sqlite3* connection, std::string_view prefix) {
  Statement statement(connection, "SELECT name FROM sqlite_master WHERE type='trigger' AND tbl_name=?1 COLLATE NOCASE",
                      {});
  for (const Table& table : kTables) {
    const std::string name = std::string(prefix) + table.name;
    if (Query query(statement, name); query.next()) {
      throw Error(Errc::databaseError, "trigger " + query.text(0) + " on table " + name +
                                           " is not ackbox's: drop it (DROP TRIGGER), or open another file");
    }
  }
}

}  // namespace

std::int64_t currentSchemaVersion() noexcept {
  return std::rbegin(kMigrations)->version;
}

std::int64_t schemaVersion(sqlite3* connection, std::string_view prefix) {
  const std::string start(prefix);
  if (!hasTable(connection, start + "schema")) {
    return 0;
  }
  Statement statement(connection, "SELECT version FROM #schema", prefix);
  Query query(statement);
  if (!query.next()) {
    throw Error(Errc::databaseCorrupt, "table " + start + "schema is empty");
  }
  const std::int64_t version = query.integer(0);
  refuseTriggers(connection, prefix);
  for (const Table& table : kTables) {
    // A newer version may have other tables; the caller refuses it for being newer.
    if (version >= table.sinceVersion && version <= currentSchemaVersion() &&
        !hasTable(connection, start + table.name)) {
      throw Error(Errc::databaseCorrupt, "table " + start + table.name + " is missing");
    }
  }
  return version;
}

void requireUsable(std::int64_t version, bool createSchema) {
  if (version > currentSchemaVersion()) {
    throw Error(Errc::schemaTooNew, "the file has version " + std::to_string(version) + ", this program knows " +
                                        std::to_string(currentSchemaVersion()));
  }
  if (version < currentSchemaVersion() && !createSchema) {
    throw Error(Errc::schemaMissing, version == 0 ? "no tables" : "tables of an older version");
  }
}

void migrate(sqlite3* connection, std::string_view prefix, std::int64_t version) {
  if (version >= currentSchemaVersion()) {
    return;
  }
  for (const Migration& migration : kMigrations) {
    if (migration.version > version) {
      execute(connection, expand(migration.sql, prefix));
    }
  }
  recountSenders(connection, prefix);
  Statement statement(connection, "UPDATE #schema SET version=?1", prefix);
  Query(statement, currentSchemaVersion()).run();
}

}  // namespace ackbox::store
