#include "store/postgres/schema/tables.hpp"

namespace ackbox::store::postgres {

// As in SQLite's tables, where not said otherwise: see src/store/sqlite/schema/tables.cpp. Texts are compared by their
// bytes, whatever the database's collation. `xid` of a row is the transaction that made it, by which who looks for new
// rows finds those that were committed late (`SnapshotView`).
const char* const kTablesSql = R"sql(
CREATE SCHEMA IF NOT EXISTS ackbox;
CREATE TABLE #schema(  -- the version; one row, which each transaction reads first
  version integer NOT NULL,
  least integer NOT NULL,        -- programs that know this version, or a later one, may work with these tables
  written_by text NOT NULL       -- the release of ackbox that made tables of this version; for people
);
CREATE TABLE #meta(  -- the store itself; one row
  id integer PRIMARY KEY CHECK(id = 1),
  origin text NOT NULL,
  epoch bigint NOT NULL,
  orders bigint NOT NULL DEFAULT 0,
  recalls bigint NOT NULL DEFAULT 0,
  inbox_orders bigint NOT NULL DEFAULT 0,
  server text NOT NULL DEFAULT ''  -- the identity and the timeline of the server that had it open last
);
CREATE TABLE #owners(  -- the processes that have the store open; each holds an advisory lock of its number while it lives
  id bigint GENERATED ALWAYS AS IDENTITY(MAXVALUE 2147483647) PRIMARY KEY,
  pid bigint NOT NULL,
  opened_at_ms bigint NOT NULL,
  deferred_handlers bigint NOT NULL DEFAULT 0,
  applications text NOT NULL DEFAULT '',
  agent text NOT NULL
);
CREATE TABLE #peers(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  url text NOT NULL,
  agent text COLLATE "C" NOT NULL,
  max_requests bigint NOT NULL,
  down boolean NOT NULL DEFAULT false,
  failures bigint NOT NULL DEFAULT 0,
  down_since_ms bigint NOT NULL DEFAULT 0,
  next_probe_at_ms bigint NOT NULL DEFAULT 0,
  last_error text NOT NULL DEFAULT '',
  hold integer NOT NULL DEFAULT 0,
  changed_at_ms bigint NOT NULL DEFAULT 0,
  paused_at_ms bigint NOT NULL DEFAULT 0,
  resumes bigint NOT NULL DEFAULT 0,
  store text NOT NULL DEFAULT '',
  store_epoch bigint NOT NULL DEFAULT 0,
  resent_store_epoch bigint NOT NULL DEFAULT 0,
  resets bigint NOT NULL DEFAULT 0,
  reset_at_ms bigint NOT NULL DEFAULT 0,
  resent bigint NOT NULL DEFAULT 0,
  unattended_since_ms bigint NOT NULL DEFAULT 0,
  unattended_type text NOT NULL DEFAULT '',
  definition text NOT NULL DEFAULT '',
  removed_at_ms bigint NOT NULL DEFAULT 0
);
-- An enqueue holds a lock on the row of its session until its transaction ends, and nothing that delivers waits for that:
-- what an enqueue changes of a session is here, and what a delivery changes is in `session_states`.
CREATE TABLE #sessions(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  peer_id bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  lane integer NOT NULL DEFAULT 0,
  priority integer NOT NULL,
  version bigint NOT NULL DEFAULT 0,  -- rises where a number goes and `session_states` does not change
  UNIQUE(peer_id, name, lane)
);
CREATE TABLE #session_states(
  session_id bigint PRIMARY KEY,
  last_sequence bigint NOT NULL DEFAULT 0,  -- highest number of the messages that have gone
  previous_sequence bigint NOT NULL DEFAULT 0,
  confirmed_sequence bigint NOT NULL DEFAULT 0,
  due_at_ms bigint NOT NULL DEFAULT 0,
  due_is_firm boolean NOT NULL DEFAULT false,
  recall bigint NOT NULL DEFAULT 0,
  paused_at_ms bigint NOT NULL DEFAULT 0,
  blocked_by bigint NOT NULL DEFAULT 0,
  blocked_at_ms bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX session_states_paused ON #session_states(session_id) WHERE paused_at_ms<>0;
CREATE INDEX session_states_blocked ON #session_states(blocked_by) WHERE blocked_by<>0;
-- Not logged: after a crash of the server no process holds its lock, so nothing is in flight. Found by id alone: an index
-- of owners would have an entry for each claim of the past until it is vacuumed.
CREATE UNLOGGED TABLE #claims(  -- what is in flight
  id bigint PRIMARY KEY,     -- of a message without a session; of a session: its id below 0
  owner_id bigint NOT NULL,
  keys bigint[] NOT NULL     -- the messages, which are PENDING in their own table
);
-- Not logged: after a crash of the server, and at a standby in its place, it is empty.
CREATE UNLOGGED TABLE #server_run(  -- the server's run, in which each transaction has a number of its own
  id integer PRIMARY KEY CHECK(id = 1),
  name text NOT NULL
);
CREATE SEQUENCE #outbox_id;
CREATE TABLE #outbox(
  id bigint PRIMARY KEY DEFAULT nextval('#outbox_id'),  -- rises in each session
  session_id bigint NOT NULL,
  sequence bigint NOT NULL,
  state integer NOT NULL DEFAULT 0,  -- 0 PENDING or, when claimed, SENDING; 2 SENT, 3 ACKED, 4 FAILED; never renumber
  attempt bigint NOT NULL DEFAULT 0,
  retry_count bigint NOT NULL DEFAULT 0,
  created_at_ms bigint NOT NULL,
  due_at_ms bigint NOT NULL DEFAULT 0,
  expires_at_ms bigint,
  not_before_ms bigint,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  message_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  traceparent text,
  correlation_id text,
  resent_of text COLLATE "C",
  supersede_key text COLLATE "C",
  reason text COLLATE "C",
  last_error text COLLATE "C",
  attempt_log jsonb,
  data bytea NOT NULL
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX outbox_message ON #outbox(message_id);
-- The order of a session; and a number that an old snapshot gave is refused.
CREATE UNIQUE INDEX outbox_session ON #outbox(session_id, sequence) WHERE sequence>0;
CREATE INDEX outbox_new ON #outbox(xid);
-- The oldest live message, before which dead letters and retained ones stand.
CREATE INDEX outbox_live ON #outbox(id) WHERE state IN (0,2);
CREATE INDEX outbox_acked ON #outbox(due_at_ms) WHERE state=3;
CREATE INDEX outbox_failed ON #outbox(id) WHERE state=4;
CREATE INDEX outbox_supersedable ON #outbox(session_id, supersede_key) WHERE state=0 AND supersede_key IS NOT NULL;
CREATE INDEX outbox_deferred ON #outbox(session_id) WHERE state=2;
CREATE TABLE #idempotency_keys(
  key text COLLATE "C" NOT NULL,
  -- 0: of a publish.
  peer_id bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  keep_until_ms bigint NOT NULL,
  -- Of the session, type and data that it was given for: #digest; empty: not known, in an outbox that was moved here.
  digest bytea NOT NULL,
  PRIMARY KEY(key, peer_id)
);
CREATE INDEX idempotency_keys_keep_until ON #idempotency_keys(keep_until_ms);
CREATE TABLE #publications(
  key text COLLATE "C" NOT NULL,
  position integer NOT NULL,
  peer_id bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY(key, position)
);
CREATE TABLE #subscriptions(
  name text COLLATE "C" PRIMARY KEY,
  peer_id bigint NOT NULL,
  type text NOT NULL,
  session text NOT NULL,
  since_at_ms bigint NOT NULL
);
CREATE TABLE #vacated_numbers(
  session_id bigint NOT NULL,
  sequence bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  PRIMARY KEY(session_id, sequence)
);
CREATE TABLE #inbound_sessions(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  accepted_sequence bigint NOT NULL,
  epoch bigint NOT NULL,
  gaps bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  accepted_id text COLLATE "C" NOT NULL,
  accepted_digest bigint NOT NULL,
  UNIQUE(source, origin, session)
) WITH (fillfactor = 70);
CREATE TABLE #inbound_origins(
  source text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  state integer NOT NULL,
  began_at_ms bigint NOT NULL,
  seen_at_ms bigint NOT NULL,
  PRIMARY KEY(source, origin)
);
CREATE INDEX inbound_origins_seen ON #inbound_origins(source, seen_at_ms) WHERE state=0;
CREATE INDEX inbound_origins_began ON #inbound_origins(source, began_at_ms);
CREATE INDEX inbound_origins_closing ON #inbound_origins(source) WHERE state=1;
CREATE TABLE #processed_messages(
  id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  processed_at_ms bigint NOT NULL,
  keep_until_ms bigint NOT NULL,
  digest bigint NOT NULL,
  PRIMARY KEY(id, source)
);
CREATE INDEX processed_messages_keep_until ON #processed_messages(keep_until_ms);
CREATE TABLE #inbox(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- rises in each session
  origin text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  frame_id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  previous_sequence bigint NOT NULL,
  deferred boolean NOT NULL,
  owner_id bigint NOT NULL DEFAULT 0,
  starts bigint NOT NULL DEFAULT 0,
  retry_count bigint NOT NULL DEFAULT 0,
  due_at_ms bigint NOT NULL DEFAULT 0,
  started_at_ms bigint NOT NULL DEFAULT 0,
  accepted_at_ms bigint NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  type text COLLATE "C" NOT NULL,
  audience text,
  time_ms bigint,
  expires_at_ms bigint,
  traceparent text,
  correlation_id text,
  resent_of text COLLATE "C",
  failed_at_ms bigint,
  last_error text COLLATE "C",
  data bytea NOT NULL,
  data_content_type text,
  UNIQUE(source, origin, session, sequence, frame_id)
);
CREATE INDEX inbox_owned ON #inbox(owner_id) WHERE owner_id<>0;
CREATE INDEX inbox_new ON #inbox(xid);
CREATE INDEX inbox_frame ON #inbox(source, frame_id);
CREATE TABLE #inbox_results(
  frame_id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  outcome integer NOT NULL,
  code text,
  detail text,
  result text,
  keep_until_ms bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  starts bigint NOT NULL,
  ended_at_ms bigint NOT NULL,
  PRIMARY KEY(frame_id, source, origin, session, sequence)
);
CREATE INDEX inbox_results_keep_until ON #inbox_results(keep_until_ms);
-- Refusals only, however many other results there are.
CREATE INDEX inbox_results_refused ON #inbox_results(keep_until_ms) WHERE outcome<>0;
-- Differences, of which the sum counts: no transaction waits for another to count. Rows are folded now and then.
CREATE TABLE #sender_shares(
  source text COLLATE "C" NOT NULL,
  sessions bigint NOT NULL,
  origins bigint NOT NULL,
  marks bigint NOT NULL,
  bytes bigint NOT NULL,
  inbox bigint NOT NULL,
  inbox_bytes bigint NOT NULL
);
CREATE INDEX sender_shares_source ON #sender_shares(source);
CREATE TABLE #counts(  -- the same of gauges and totals; the peer is 0 where it is of no peer
  peer_id bigint NOT NULL,
  pending bigint NOT NULL DEFAULT 0,
  sent bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  pending_bytes bigint NOT NULL DEFAULT 0,
  enqueued bigint NOT NULL DEFAULT 0,
  acked bigint NOT NULL DEFAULT 0,
  failed_total bigint NOT NULL DEFAULT 0,
  total_retries bigint NOT NULL DEFAULT 0,
  stale_settles bigint NOT NULL DEFAULT 0,
  received bigint NOT NULL DEFAULT 0,
  duplicates bigint NOT NULL DEFAULT 0,
  gaps bigint NOT NULL DEFAULT 0,
  superseded bigint NOT NULL DEFAULT 0,
  inbox bigint NOT NULL DEFAULT 0,
  inbox_bytes bigint NOT NULL DEFAULT 0,
  deferred bigint NOT NULL DEFAULT 0,
  refused_acks bigint NOT NULL DEFAULT 0,
  retained bigint NOT NULL DEFAULT 0,
  ack_latency_ms bigint NOT NULL DEFAULT 0,
  refused_unauthenticated bigint NOT NULL DEFAULT 0,
  refused_forbidden bigint NOT NULL DEFAULT 0,
  refused_limits bigint NOT NULL DEFAULT 0,
  inbound_bytes bigint NOT NULL DEFAULT 0,
  recounts bigint NOT NULL DEFAULT 0,
  stale_epochs bigint NOT NULL DEFAULT 0,
  id_conflicts bigint NOT NULL DEFAULT 0,
  last_acked_at_ms bigint NOT NULL DEFAULT 0  -- the latest counts
);
-- A server that publishes all its tables refuses changes of rows that it cannot name; these have no key.
ALTER TABLE #schema REPLICA IDENTITY FULL;
ALTER TABLE #sender_shares REPLICA IDENTITY FULL;
ALTER TABLE #counts REPLICA IDENTITY FULL;
)sql";

}  // namespace ackbox::store::postgres
