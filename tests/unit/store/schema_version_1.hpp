#pragma once

namespace ackbox::testing {

/// The tables as version 1 made them, with the default prefix. Compatibility-sensitive: files like this exist, so it
/// never changes.
inline constexpr const char* kSchemaVersion1 = R"sql(
CREATE TABLE ackbox_schema(
  version INTEGER NOT NULL
);
CREATE TABLE ackbox_meta(
  id INTEGER PRIMARY KEY CHECK(id = 1),
  origin TEXT NOT NULL,
  epoch INTEGER NOT NULL
);
CREATE TABLE ackbox_peers(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  agent TEXT NOT NULL,
  max_requests INTEGER NOT NULL,
  down INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  down_since_ms INTEGER NOT NULL DEFAULT 0,
  next_probe_at_ms INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT ''
);
CREATE TABLE ackbox_owners(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  opened_at_ms INTEGER NOT NULL
);
CREATE TABLE ackbox_sessions(
  id INTEGER PRIMARY KEY,
  peer_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  last_sequence INTEGER NOT NULL,
  previous_sequence INTEGER NOT NULL DEFAULT 0,
  owner_id INTEGER NOT NULL DEFAULT 0,
  due_at_ms INTEGER NOT NULL DEFAULT 0,
  UNIQUE(peer_id, name)
);
CREATE INDEX ackbox_sessions_owned ON ackbox_sessions(owner_id) WHERE owner_id <> 0;
CREATE TABLE ackbox_outbox(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  state INTEGER NOT NULL,
  owner_id INTEGER,
  attempt INTEGER NOT NULL,
  retry_count INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  due_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  message_id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  traceparent TEXT,
  correlation_id TEXT,
  reason TEXT,
  last_error TEXT,
  data BLOB NOT NULL
);
CREATE INDEX ackbox_outbox_owned ON ackbox_outbox(owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX ackbox_outbox_acked ON ackbox_outbox(due_at_ms) WHERE state = 3;
CREATE TABLE ackbox_inbound_sessions(
  origin TEXT NOT NULL,
  session TEXT NOT NULL,
  accepted_sequence INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  gaps INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY(origin, session)
) WITHOUT ROWID;
CREATE TABLE ackbox_processed_messages(
  id TEXT NOT NULL,
  source TEXT NOT NULL,
  processed_at_ms INTEGER NOT NULL,
  keep_until_ms INTEGER NOT NULL,
  PRIMARY KEY(id, source)
) WITHOUT ROWID;
CREATE INDEX ackbox_processed_messages_keep_until ON ackbox_processed_messages(keep_until_ms);
CREATE TABLE ackbox_counters(
  id INTEGER PRIMARY KEY CHECK(id = 1),
  pending INTEGER NOT NULL DEFAULT 0,
  sending INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  pending_bytes INTEGER NOT NULL DEFAULT 0,
  enqueued INTEGER NOT NULL DEFAULT 0,
  acked INTEGER NOT NULL DEFAULT 0,
  failed_total INTEGER NOT NULL DEFAULT 0,
  total_retries INTEGER NOT NULL DEFAULT 0,
  stale_settles INTEGER NOT NULL DEFAULT 0,
  received INTEGER NOT NULL DEFAULT 0,
  duplicates INTEGER NOT NULL DEFAULT 0,
  gaps INTEGER NOT NULL DEFAULT 0
);
INSERT INTO ackbox_counters(id) VALUES(1);
INSERT INTO ackbox_schema(version) VALUES(0);
UPDATE ackbox_schema SET version=1;
INSERT INTO ackbox_meta(id,origin,epoch) VALUES(1,'0e7f3c52-6f0b-4c55-9d6c-1f2f6c1c9a10',1);
)sql";

}  // namespace ackbox::testing
