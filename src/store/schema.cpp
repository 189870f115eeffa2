#include "store/schema.hpp"

#include <iterator>
#include <string>

#include "store/sql.hpp"

namespace ackbox::store {
namespace {

/// `#` is the table prefix. A published migration never changes; a new version is a new entry.
struct Migration {
  std::int64_t version;
  const char* sql;
};

constexpr const char* kVersion1 = R"sql(
CREATE TABLE #schema(
  version INTEGER NOT NULL  -- of these tables; PRAGMA user_version is left to the application
);
CREATE TABLE #meta(
  id INTEGER PRIMARY KEY CHECK(id = 1),
  origin TEXT NOT NULL,     -- UUIDv4 made with the file: this store's identity on the wire
  epoch INTEGER NOT NULL    -- one more at each open; a smaller one on the wire betrays a restored copy
);
CREATE TABLE #peers(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,      -- what frames address
  url TEXT NOT NULL,
  agent TEXT NOT NULL,            -- its agent URI, or empty
  max_requests INTEGER NOT NULL,
  down INTEGER NOT NULL DEFAULT 0,             -- 1 while it is unreachable; for other processes and for people
  failures INTEGER NOT NULL DEFAULT 0,         -- in a row
  down_since_ms INTEGER NOT NULL DEFAULT 0,
  next_probe_at_ms INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT ''
);
CREATE TABLE #owners(
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a process that has the file open; its life is the kernel lock on this byte
  pid INTEGER NOT NULL,                  -- for people
  opened_at_ms INTEGER NOT NULL
);
CREATE TABLE #sessions(
  id INTEGER PRIMARY KEY,
  peer_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  last_sequence INTEGER NOT NULL,               -- of its newest message, from 1
  previous_sequence INTEGER NOT NULL DEFAULT 0, -- of the last message stood by: acked or deferred
  owner_id INTEGER NOT NULL DEFAULT 0,          -- the process that has it in flight; 0: nobody
  due_at_ms INTEGER NOT NULL DEFAULT 0,         -- backoff of its head
  UNIQUE(peer_id, name)
);
CREATE INDEX #sessions_owned ON #sessions(owner_id) WHERE owner_id <> 0;
-- No index on session or state: each would halve the rate of inserts, and the order lives in memory.
-- Small columns stand first and data last, so that a scan for states does not follow overflow pages.
CREATE TABLE #outbox(
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- in commit order, never used twice
  session_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,             -- place in the session, from 1
  state INTEGER NOT NULL,                -- 0 PENDING, 1 SENDING, 2 SENT, 3 ACKED, 4 FAILED; never renumber
  owner_id INTEGER,                      -- the process that is sending it, only while SENDING
  attempt INTEGER NOT NULL,              -- counts claims: a late settle of an earlier claim is refused by it
  retry_count INTEGER NOT NULL,          -- charged attempts
  created_at_ms INTEGER NOT NULL,
  due_at_ms INTEGER NOT NULL,            -- PENDING: next attempt; SENT: ACK deadline; ACKED: kept until
  expires_at_ms INTEGER,                 -- not delivered after; NULL: never expires
  message_id TEXT NOT NULL UNIQUE,       -- UUIDv7, or the caller's idempotency key
  type TEXT NOT NULL,                    -- CloudEvents type
  traceparent TEXT,
  correlation_id TEXT,
  reason TEXT,                           -- FAILED: short and stable
  last_error TEXT,                       -- for people, at most 1,000 bytes
  data BLOB NOT NULL                     -- JSON text, byte for byte as enqueued
);
-- In-flight rows only, so it stays tiny whatever the backlog.
CREATE INDEX #outbox_owned ON #outbox(owner_id) WHERE owner_id IS NOT NULL;
-- Retained ACKED rows only.
CREATE INDEX #outbox_acked ON #outbox(due_at_ms) WHERE state = 3;
CREATE TABLE #inbound_sessions(
  origin TEXT NOT NULL,                -- the sender's store
  session TEXT NOT NULL,
  accepted_sequence INTEGER NOT NULL,  -- high-water mark: everything up to it is a duplicate, for ever
  epoch INTEGER NOT NULL,              -- highest seen
  gaps INTEGER NOT NULL,               -- numbers that were passed over: the sender's dead letters
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY(origin, session)
) WITHOUT ROWID;
CREATE TABLE #processed_messages(
  id TEXT NOT NULL,                  -- frames outside any session are deduplicated by (id, source)
  source TEXT NOT NULL,
  processed_at_ms INTEGER NOT NULL,
  keep_until_ms INTEGER NOT NULL,    -- the later of the retention and the frame's expiry plus skew
  PRIMARY KEY(id, source)
) WITHOUT ROWID;
CREATE INDEX #processed_messages_keep_until ON #processed_messages(keep_until_ms);
CREATE TABLE #counters(
  id INTEGER PRIMARY KEY CHECK(id = 1),
  pending INTEGER NOT NULL DEFAULT 0,        -- gauges: rows now
  sending INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  pending_bytes INTEGER NOT NULL DEFAULT 0,  -- data of live rows
  enqueued INTEGER NOT NULL DEFAULT 0,       -- totals since the file was made
  acked INTEGER NOT NULL DEFAULT 0,
  failed_total INTEGER NOT NULL DEFAULT 0,
  total_retries INTEGER NOT NULL DEFAULT 0,
  stale_settles INTEGER NOT NULL DEFAULT 0,
  received INTEGER NOT NULL DEFAULT 0,
  duplicates INTEGER NOT NULL DEFAULT 0,
  gaps INTEGER NOT NULL DEFAULT 0
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
CREATE TABLE #sessions_of_version_3(
  id INTEGER PRIMARY KEY,
  peer_id INTEGER NOT NULL,
  name TEXT NOT NULL,                           -- empty in the lanes of unordered messages
  last_sequence INTEGER NOT NULL,               -- of its newest message, from 1
  previous_sequence INTEGER NOT NULL DEFAULT 0, -- of the last message stood by: acked or deferred
  owner_id INTEGER NOT NULL DEFAULT 0,          -- the process that has it in flight; 0: nobody
  due_at_ms INTEGER NOT NULL DEFAULT 0,         -- backoff of its head
  priority INTEGER NOT NULL DEFAULT 4,          -- 0 to 9, of its latest enqueue
  lane INTEGER NOT NULL DEFAULT 0,              -- 0: a session. 1 to 10: all unordered messages of a priority, plus 1,
                                                -- to a peer, of which nothing else but the priority is kept here
  UNIQUE(peer_id, name, lane)
);
INSERT INTO #sessions_of_version_3(id,peer_id,name,last_sequence,previous_sequence,owner_id,due_at_ms)
  SELECT id,peer_id,name,last_sequence,previous_sequence,owner_id,due_at_ms FROM #sessions;
DROP TABLE #sessions;
ALTER TABLE #sessions_of_version_3 RENAME TO #sessions;
CREATE INDEX #sessions_owned ON #sessions(owner_id) WHERE owner_id <> 0;
-- From here on `due_at_ms` of a PENDING row that was never tried is its `not_before_ms` or 0, and `sequence` of an
-- unordered message is 0.
ALTER TABLE #outbox ADD COLUMN not_before_ms INTEGER;  -- not sent before; NULL: at once
ALTER TABLE #outbox ADD COLUMN supersede_key TEXT;     -- a later message with it takes this one's place; NULL: none does
-- PENDING rows with such a key only.
CREATE INDEX #outbox_supersedable ON #outbox(session_id, supersede_key) WHERE state = 0 AND supersede_key IS NOT NULL;
CREATE TABLE #idempotency_keys(
  key TEXT PRIMARY KEY,
  message_id TEXT NOT NULL,        -- of the first message that was enqueued with it
  sequence INTEGER NOT NULL,       -- as that enqueue's receipt told it
  keep_until_ms INTEGER NOT NULL   -- and for as long as the message is in the outbox
) WITHOUT ROWID;
CREATE INDEX #idempotency_keys_keep_until ON #idempotency_keys(keep_until_ms);
ALTER TABLE #counters ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
-- A mark belongs to the agent that it was made for: nobody moves another's by naming its store and session.
ALTER TABLE #inbound_sessions RENAME TO #inbound_sessions_version_2;
CREATE TABLE #inbound_sessions(
  source TEXT NOT NULL,                -- the sender's agent URI; empty: from version 2, which did not keep it
  origin TEXT NOT NULL,                -- the sender's store
  session TEXT NOT NULL,
  accepted_sequence INTEGER NOT NULL,  -- high-water mark: everything up to it is a duplicate, for ever
  epoch INTEGER NOT NULL,              -- highest seen
  gaps INTEGER NOT NULL,               -- numbers that were passed over: the sender's dead letters
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY(source, origin, session)
) WITHOUT ROWID;
INSERT INTO #inbound_sessions SELECT '', * FROM #inbound_sessions_version_2;
DROP TABLE #inbound_sessions_version_2;
-- Inbound frames that were accepted and wait for their handler; a row goes with its handler's completion.
CREATE TABLE #inbox(
  id INTEGER PRIMARY KEY AUTOINCREMENT,   -- in the order of acceptance, never used twice
  origin TEXT NOT NULL,                   -- the sender's store; empty outside any session
  session TEXT NOT NULL,
  sequence INTEGER NOT NULL,              -- 0: outside any session
  frame_id TEXT NOT NULL,
  source TEXT NOT NULL,                   -- the sender's agent URI, whom the ACK event goes to
  epoch INTEGER NOT NULL,
  previous_sequence INTEGER NOT NULL,
  deferred INTEGER NOT NULL,              -- 1: its handler deferred it; 0: it waits behind one that was deferred
  owner_id INTEGER NOT NULL DEFAULT 0,    -- the process that runs it; 0: nobody
  starts INTEGER NOT NULL DEFAULT 0,      -- counts claims: a completion of an earlier one is refused by it
  retry_count INTEGER NOT NULL DEFAULT 0, -- charged runs
  due_at_ms INTEGER NOT NULL DEFAULT 0,   -- not run before
  accepted_at_ms INTEGER NOT NULL,
  type TEXT NOT NULL,
  audience TEXT,
  time_ms INTEGER,                        -- when the sender enqueued it
  expires_at_ms INTEGER,
  traceparent TEXT,
  correlation_id TEXT,
  last_error TEXT,                        -- for people, at most 1,000 bytes
  data BLOB NOT NULL,                     -- JSON text, byte for byte as received
  UNIQUE(source, origin, session, sequence, frame_id)
);
CREATE INDEX #inbox_owned ON #inbox(owner_id) WHERE owner_id <> 0;
-- The last word on frames that were deferred, for senders that ask again: only words that say more than `ack`.
CREATE TABLE #inbox_results(
  frame_id TEXT NOT NULL,
  source TEXT NOT NULL,
  origin TEXT NOT NULL,
  session TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  outcome INTEGER NOT NULL,               -- 0 ack, 3 term; never renumber
  code TEXT,
  detail TEXT,
  result TEXT,                            -- JSON text for the sender's onAcked
  keep_until_ms INTEGER NOT NULL,
  PRIMARY KEY(frame_id, source, origin, session, sequence)
) WITHOUT ROWID;
CREATE INDEX #inbox_results_keep_until ON #inbox_results(keep_until_ms);
ALTER TABLE #counters ADD COLUMN inbox INTEGER NOT NULL DEFAULT 0;        -- gauge: rows of the inbox
ALTER TABLE #counters ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;     -- total: frames put into the inbox
ALTER TABLE #counters ADD COLUMN refused_acks INTEGER NOT NULL DEFAULT 0; -- total: ACK events from the wrong peer
-- Figures. What is added here is counted once, from the rows that are there; latencies begin with this version.
ALTER TABLE #counters ADD COLUMN retained INTEGER NOT NULL DEFAULT 0;       -- gauge: ACKED rows that are kept
ALTER TABLE #counters ADD COLUMN ack_latency_ms INTEGER NOT NULL DEFAULT 0; -- total, from enqueue to ACK
ALTER TABLE #counters ADD COLUMN last_acked_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE #counters ADD COLUMN oldest_key INTEGER NOT NULL DEFAULT 0;     -- no live row has a smaller id
ALTER TABLE #counters ADD COLUMN latencies BLOB;                            -- see latency_histogram.hpp
ALTER TABLE #sessions ADD COLUMN live INTEGER NOT NULL DEFAULT 0;           -- gauge: rows that are not settled
ALTER TABLE #sessions ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;         -- gauge: dead letters
ALTER TABLE #sessions ADD COLUMN head_id INTEGER NOT NULL DEFAULT 0;        -- its first live row when last seen; a hint
-- The counters of each peer. Empty while the file knows one peer, whose counters are the totals.
CREATE TABLE #peer_counters(
  peer_id INTEGER PRIMARY KEY,
  pending INTEGER NOT NULL DEFAULT 0,
  sending INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  pending_bytes INTEGER NOT NULL DEFAULT 0,
  enqueued INTEGER NOT NULL DEFAULT 0,
  acked INTEGER NOT NULL DEFAULT 0,
  failed_total INTEGER NOT NULL DEFAULT 0,
  total_retries INTEGER NOT NULL DEFAULT 0
);
UPDATE #counters SET retained=(SELECT count(*) FROM #outbox WHERE state=3),
  oldest_key=coalesce((SELECT id FROM #outbox WHERE state<3 ORDER BY id LIMIT 1),0);
UPDATE #sessions SET live=rows.live, failed=rows.failed FROM (SELECT session_id, count(*) FILTER (WHERE state<3) AS
  live, count(*) FILTER (WHERE state=4) AS failed FROM #outbox GROUP BY session_id) AS rows
  WHERE rows.session_id=#sessions.id;
INSERT INTO #peer_counters(peer_id,pending,sending,sent,failed,pending_bytes) SELECT peer_id,
  count(*) FILTER (WHERE state=0),count(*) FILTER (WHERE state=1),count(*) FILTER (WHERE state=2),
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
ALTER TABLE #sessions ADD COLUMN blocked_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE #sessions ADD COLUMN due_is_firm INTEGER NOT NULL DEFAULT 0;    -- 1: due_at_ms stands however far ahead
-- Halted sessions only: nothing that moves touches them.
CREATE INDEX #sessions_paused ON #sessions(id) WHERE paused_at_ms<>0;
CREATE INDEX #sessions_blocked ON #sessions(blocked_by) WHERE blocked_by<>0;
ALTER TABLE #counters ADD COLUMN refused_unauthenticated INTEGER NOT NULL DEFAULT 0;  -- totals: requests that proved
ALTER TABLE #counters ADD COLUMN refused_forbidden INTEGER NOT NULL DEFAULT 0;        -- nobody; without the right
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
    {"idempotency_keys", 3},
    {"inbox", 3},
    {"inbox_results", 3},
    {"peer_counters", 3},
};

bool hasTable(sqlite3* connection, const std::string& name) {
  Statement statement(connection, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1", {});
  return Query(statement, name).next();
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
  Statement statement(connection, "UPDATE #schema SET version=?1", prefix);
  Query(statement, currentSchemaVersion()).run();
}

}  // namespace ackbox::store
