-- A file of schema version 1, of a process that was killed: see schema_golden_test.cpp.
CREATE TABLE ackbox_schema(  -- the version; one row
  version INTEGER NOT NULL,  -- of these tables; PRAGMA user_version is left to the application
  written_by TEXT NOT NULL   -- the release of ackbox that made tables of this version; for people
);
CREATE TABLE ackbox_meta(  -- the file itself; one row
  id INTEGER PRIMARY KEY CHECK(id = 1),    -- there is one row
  origin TEXT NOT NULL,                    -- UUIDv4 made with the file: this store's identity on the wire
  epoch INTEGER NOT NULL,                  -- one more at each open; a smaller one on the wire betrays a restored copy
  orders INTEGER NOT NULL DEFAULT 0,       -- grows with each pause, resume and change of peers or
                                           -- subscriptions, so that other processes notice
  recalls INTEGER NOT NULL DEFAULT 0,      -- how often old rows were put back, by any process
  inbox_orders INTEGER NOT NULL DEFAULT 0  -- grows with each change of the inbox by hand, for other processes to notice
);
CREATE TABLE ackbox_owners(  -- the processes that have the file open
  id INTEGER PRIMARY KEY AUTOINCREMENT,          -- the process; its life is the kernel lock on this byte
  pid INTEGER NOT NULL,                          -- for people
  opened_at_ms INTEGER NOT NULL,                 -- for people
  deferred_handlers INTEGER NOT NULL DEFAULT 0,  -- how many it has for the inbox; for people
  applications TEXT NOT NULL DEFAULT ''          -- that these give frames to, a line each: mailbox or nothing, types,
                                                 -- when it went away or 0, why, and what settles nothing, apart by
                                                 -- tabs; for people
);
CREATE TABLE ackbox_peers(  -- where frames go
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
CREATE TABLE ackbox_sessions(  -- ordered sessions and queues of unordered messages, each to one peer
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
CREATE INDEX ackbox_sessions_paused ON ackbox_sessions(id) WHERE paused_at_ms<>0;
CREATE INDEX ackbox_sessions_blocked ON ackbox_sessions(blocked_by) WHERE blocked_by<>0;
CREATE TABLE ackbox_session_states(  -- what moves of each session
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
CREATE TABLE ackbox_claims(  -- what is in flight, a bit each: SENDING is a PENDING row whose bit is set
  block INTEGER NOT NULL,     -- n from 0: of the messages with the ids from 64n; -1-n: of the sessions with those ids
  owner_id INTEGER NOT NULL,  -- the process that has them in flight
  bits INTEGER NOT NULL,      -- the lowest is that of the first id
  PRIMARY KEY(block, owner_id)
) WITHOUT ROWID;
CREATE TABLE ackbox_outbox(  -- messages on their way out, dead letters, and acknowledged ones while they are kept
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
CREATE UNIQUE INDEX ackbox_outbox_named ON ackbox_outbox(message_id) WHERE message_id IS NOT NULL;
CREATE INDEX ackbox_outbox_acked ON ackbox_outbox(due_at_ms) WHERE state = 3;
CREATE INDEX ackbox_outbox_failed ON ackbox_outbox(id) WHERE state = 4;
CREATE INDEX ackbox_outbox_supersedable ON ackbox_outbox(session_id, supersede_key) WHERE state = 0 AND supersede_key IS NOT NULL;
CREATE INDEX ackbox_outbox_deferred ON ackbox_outbox(session_id) WHERE state = 2;
CREATE TABLE ackbox_idempotency_keys(  -- keys that enqueues and publishes were given
  key TEXT NOT NULL,              -- the caller's
  peer_id INTEGER NOT NULL,       -- the peer of the enqueue, to which alone the key belongs; 0: of a publish
  message_id TEXT NOT NULL,       -- of the first message that was enqueued with it; empty: of a publish to nobody
  sequence INTEGER NOT NULL,      -- as in that enqueue's receipt
  keep_until_ms INTEGER NOT NULL, -- and for as long as the message is in the outbox
  digest INTEGER NOT NULL,        -- of the session, type and data that it was given for
  PRIMARY KEY(key, peer_id)
) WITHOUT ROWID;
CREATE INDEX ackbox_idempotency_keys_keep_until ON ackbox_idempotency_keys(keep_until_ms);
CREATE TABLE ackbox_publications(  -- messages of publishes with an idempotency key; none if nobody had subscribed
  key TEXT NOT NULL,          -- the idempotency key, and kept as long as that
  position INTEGER NOT NULL,  -- in the receipt, from 0
  peer_id INTEGER NOT NULL,   -- the subscriber
  message_id TEXT NOT NULL,   -- its message
  sequence INTEGER NOT NULL,  -- as in the receipt
  PRIMARY KEY(key, position)
) WITHOUT ROWID;
CREATE TABLE ackbox_subscriptions(  -- which peers get what is published
  name TEXT PRIMARY KEY,      -- what an operator names it by
  peer_id INTEGER NOT NULL,   -- the peer, which is not removed
  type TEXT NOT NULL,         -- the types of frames; a * at the end stands for any end
  session TEXT NOT NULL,      -- the same of their sessions; empty: any, and none
  since_at_ms INTEGER NOT NULL  -- when it was made or changed; for people
) WITHOUT ROWID;
CREATE TABLE ackbox_vacated_numbers(  -- above confirmed_sequence, left by their messages after they may have been sent
  session_id INTEGER NOT NULL,  -- their session
  sequence INTEGER NOT NULL,    -- the number
  message_id TEXT NOT NULL,     -- of the message that had it
  PRIMARY KEY(session_id, sequence)
) WITHOUT ROWID;
CREATE TABLE ackbox_inbound_sessions(  -- what was accepted of each session of others, for ever
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
CREATE TABLE ackbox_inbound_origins(  -- stores of others that frames of sessions came from
  source TEXT NOT NULL,          -- the sender's agent URI
  origin TEXT NOT NULL,          -- the sender's store
  epoch INTEGER NOT NULL,        -- highest seen: a lower one betrays a restored copy
  state INTEGER NOT NULL,        -- 0 open, 1 closed and its sessions are being taken away, 2 closed; never renumber
  began_at_ms INTEGER NOT NULL,  -- when its first frame was accepted
  seen_at_ms INTEGER NOT NULL,   -- when its newest was, to a day
  PRIMARY KEY(source, origin)
) WITHOUT ROWID;
CREATE INDEX ackbox_inbound_origins_seen ON ackbox_inbound_origins(source, seen_at_ms) WHERE state = 0;
CREATE INDEX ackbox_inbound_origins_began ON ackbox_inbound_origins(source, began_at_ms);
CREATE INDEX ackbox_inbound_origins_closing ON ackbox_inbound_origins(source) WHERE state = 1;
CREATE TABLE ackbox_processed_messages(  -- frames outside sessions that were accepted, for a time
  id TEXT NOT NULL,                  -- frames outside any session are deduplicated by (id, source)
  source TEXT NOT NULL,              -- the sender's agent URI
  processed_at_ms INTEGER NOT NULL,  -- for people
  keep_until_ms INTEGER NOT NULL,    -- the later of the retention and the frame's expiry plus skew
  digest INTEGER NOT NULL,           -- of its type and data, see digest.hpp
  PRIMARY KEY(id, source)
) WITHOUT ROWID;
CREATE INDEX ackbox_processed_messages_keep_until ON ackbox_processed_messages(keep_until_ms);
CREATE TABLE ackbox_inbox(  -- inbound frames that were accepted and wait for their handler
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
CREATE INDEX ackbox_inbox_owned ON ackbox_inbox(owner_id) WHERE owner_id <> 0;
CREATE TABLE ackbox_inbox_results(  -- final outcomes of deferred frames, where they say more than `ack`
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
CREATE INDEX ackbox_inbox_results_keep_until ON ackbox_inbox_results(keep_until_ms);
CREATE INDEX ackbox_inbox_results_refused ON ackbox_inbox_results(keep_until_ms) WHERE outcome <> 0;
CREATE TABLE ackbox_inbound_senders(  -- what each sender's marks and waiting frames take up
  source TEXT PRIMARY KEY,      -- the sender's agent URI
  sessions INTEGER NOT NULL,    -- gauge: its rows of the inbound sessions
  origins INTEGER NOT NULL,     -- gauge: its rows of the inbound origins
  marks INTEGER NOT NULL,       -- gauge: its processed messages and last words
  bytes INTEGER NOT NULL,       -- gauge: what these rows take, reckoned from the lengths of their texts
  inbox INTEGER NOT NULL,       -- gauge: its rows of the inbox
  inbox_bytes INTEGER NOT NULL  -- gauge: their data
) WITHOUT ROWID;
CREATE TABLE ackbox_counters(  -- gauges and totals of the whole file; one row
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
CREATE TABLE ackbox_peer_counters(  -- gauges and totals of each peer
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
CREATE TABLE ackbox_notes(event TEXT NOT NULL PRIMARY KEY,at_ms INTEGER NOT NULL,times INTEGER NOT NULL,text TEXT NOT NULL) WITHOUT ROWID;
CREATE VIEW ackbox_messages AS SELECT coalesce(o.message_id,printf('%08x-%04x-7%03x-%04x-%02x%010d',o.created_at_ms+(o.id_rest>>34)>>16,o.created_at_ms+(o.id_rest>>34)&65535,o.id_rest>>22&4095,32768|(o.id_rest>>8&16383),o.id_rest&255,o.id)) AS message_id,o.id AS row_id,p.name AS peer,nullif(s.name,'') AS session,nullif(o.sequence,0) AS sequence,o.type AS type,s.priority AS priority,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,o.created_at_ms))/1000.0,'unixepoch') AS enqueued_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,o.not_before_ms))/1000.0,'unixepoch') AS not_before,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,o.expires_at_ms))/1000.0,'unixepoch') AS expires_at,o.retry_count AS retry_count,o.attempt AS attempts,o.reason AS reason,o.last_error AS last_error,o.attempt_log AS attempt_log,o.correlation_id AS correlation_id,o.resent_of AS resent_of,o.traceparent AS traceparent,CAST(o.data AS TEXT) AS data,CASE iif(o.state=0 AND EXISTS(SELECT 1 FROM ackbox_claims WHERE block=o.id>>6 AND bits>>(o.id&63)&1),1,o.state) WHEN 0 THEN 'PENDING' WHEN 1 THEN 'SENDING' WHEN 2 THEN 'SENT' WHEN 3 THEN 'ACKED' WHEN 4 THEN 'FAILED' END AS state,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(max(o.due_at_ms,(o.state=0)*(SELECT m.due_at_ms FROM ackbox_session_states AS m WHERE m.session_id=s.id)),0)))/1000.0,'unixepoch') AS due_at,(SELECT pid FROM ackbox_owners WHERE id=(SELECT owner_id FROM ackbox_claims WHERE o.state=0 AND block=o.id>>6 AND bits>>(o.id&63)&1)) AS process_id,o.supersede_key AS supersede_key FROM ackbox_outbox AS o CROSS JOIN ackbox_sessions AS s ON s.id=o.session_id CROSS JOIN ackbox_peers AS p ON p.id=s.peer_id;
CREATE VIEW ackbox_dead_letters AS SELECT coalesce(o.message_id,printf('%08x-%04x-7%03x-%04x-%02x%010d',o.created_at_ms+(o.id_rest>>34)>>16,o.created_at_ms+(o.id_rest>>34)&65535,o.id_rest>>22&4095,32768|(o.id_rest>>8&16383),o.id_rest&255,o.id)) AS message_id,o.id AS row_id,p.name AS peer,nullif(s.name,'') AS session,nullif(o.sequence,0) AS sequence,o.type AS type,s.priority AS priority,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,o.created_at_ms))/1000.0,'unixepoch') AS enqueued_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,o.not_before_ms))/1000.0,'unixepoch') AS not_before,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,o.expires_at_ms))/1000.0,'unixepoch') AS expires_at,o.retry_count AS retry_count,o.attempt AS attempts,o.reason AS reason,o.last_error AS last_error,o.attempt_log AS attempt_log,o.correlation_id AS correlation_id,o.resent_of AS resent_of,o.traceparent AS traceparent,CAST(o.data AS TEXT) AS data,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(o.due_at_ms,0)))/1000.0,'unixepoch') AS failed_at,CASE o.reason WHEN 'retry-budget' THEN 'all retries of its policy failed' WHEN 'horizon' THEN 'it was older than the horizon of its policy' WHEN 'expired' THEN 'its own expiry passed' WHEN 'retry-policy' THEN 'the application''s retry function gave it up' WHEN 'dead-letter-by-policy' THEN 'the application gave it up' WHEN 'marked-failed' THEN 'an operator gave it up' WHEN 'peer-removed' THEN 'an operator removed its peer' WHEN 'rejected' THEN 'the peer refused it for good' WHEN 'damaged' THEN 'the file does not hold it as it was enqueued, so it was not sent' WHEN 'rejected-request' THEN 'the peer could not read a request with this message alone' WHEN 'peer-killer' THEN 'the peer lost the connection each time that it was sent alone' ELSE 'the peer or the application gave this reason' END AS meaning,s.blocked_by=o.id AS blocks_session FROM ackbox_outbox AS o INDEXED BY ackbox_outbox_failed CROSS JOIN ackbox_sessions AS s ON s.id=o.session_id CROSS JOIN ackbox_peers AS p ON p.id=s.peer_id WHERE o.state=4;
CREATE VIEW ackbox_sessions_view AS SELECT p.name AS peer,s.name AS session,s.priority AS priority,max(0,(m.live+coalesce(t.live,0))) AS live,m.failed AS failed,max(m.last_sequence,coalesce(t.last_sequence,0)) AS last_sequence,m.previous_sequence AS accepted_sequence,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(m.due_at_ms,0)))/1000.0,'unixepoch') AS due_at,(SELECT pid FROM ackbox_owners WHERE id=(SELECT owner_id FROM ackbox_claims WHERE block=~(s.id>>6) AND bits>>(s.id&63)&1)) AS process_id,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(s.paused_at_ms,0)))/1000.0,'unixepoch') AS paused_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(s.blocked_at_ms,0)))/1000.0,'unixepoch') AS blocked_at,(SELECT coalesce(o.message_id,printf('%08x-%04x-7%03x-%04x-%02x%010d',o.created_at_ms+(o.id_rest>>34)>>16,o.created_at_ms+(o.id_rest>>34)&65535,o.id_rest>>22&4095,32768|(o.id_rest>>8&16383),o.id_rest&255,o.id)) FROM ackbox_outbox AS o WHERE o.id=s.blocked_by) AS blocked_by FROM ackbox_sessions AS s CROSS JOIN ackbox_session_states AS m ON m.session_id=s.id CROSS JOIN ackbox_peers AS p ON p.id=s.peer_id LEFT JOIN (SELECT o.session_id AS session_id, max(o.sequence) AS last_sequence, min(o.id) FILTER (WHERE o.state<3) AS first_id, count(*) FILTER (WHERE o.state<3) AS live FROM ackbox_outbox AS o CROSS JOIN ackbox_session_states AS w ON w.session_id=o.session_id WHERE o.id>(SELECT tails_key FROM ackbox_counters) AND o.sequence>w.last_sequence GROUP BY o.session_id) AS t ON t.session_id=s.id WHERE s.lane=0;
CREATE VIEW ackbox_peers_view AS SELECT name AS peer,url,nullif(agent,'') AS agent,CASE WHEN removed_at_ms<>0 THEN 'removed' WHEN paused_at_ms<>0 THEN 'paused' WHEN down=0 THEN 'up' WHEN hold=1 THEN 'held' WHEN hold=2 THEN 'disabled' ELSE 'down' END AS state,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(iif(paused_at_ms<>0,paused_at_ms,changed_at_ms),0)))/1000.0,'unixepoch') AS since,failures,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(iif(down=0,0,next_probe_at_ms),0)))/1000.0,'unixepoch') AS next_probe_at,nullif(last_error,'') AS last_error,nullif(store,'') AS store,resets,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(reset_at_ms,0)))/1000.0,'unixepoch') AS last_reset_at,resent,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(removed_at_ms,0)))/1000.0,'unixepoch') AS removed_at FROM ackbox_peers;
CREATE VIEW ackbox_processed_messages_view AS SELECT substr(id,instr(id,char(10))+1) AS message_id,source,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,processed_at_ms))/1000.0,'unixepoch') AS processed_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,keep_until_ms))/1000.0,'unixepoch') AS keep_until FROM ackbox_processed_messages;
CREATE VIEW ackbox_inbox_messages AS WITH RECURSIVE lines(owner,place,line,rest) AS (SELECT id,0,'',applications FROM ackbox_owners WHERE applications<>'' UNION ALL SELECT owner,place+1,substr(rest,1,instr(rest,char(10))-1),substr(rest,instr(rest,char(10))+1) FROM lines WHERE instr(rest,char(10))>0),parts(owner,place,mailbox,line) AS (SELECT owner,place,substr(line,1,instr(line,char(9))-1),substr(line,instr(line,char(9))+1) FROM lines WHERE place>0),applications(owner,place,mailbox,pattern,away) AS (SELECT owner,place,mailbox,substr(line,1,instr(line,char(9))-1),CAST(substr(line,instr(line,char(9))+1) AS INTEGER) FROM parts) SELECT frame_id AS message_id,id AS row_id,source,nullif(origin,'') AS origin,nullif(substr(i.session,1,instr(i.session,char(31))-1),'') AS mailbox,nullif(substr(session,instr(session,char(31))+1),'') AS session,nullif(sequence,0) AS sequence,type,CASE WHEN owner_id=0 AND due_at_ms>1000*CAST(strftime('%s','now') AS INTEGER) THEN 'BACKOFF' WHEN owner_id=0 AND sequence>0 AND EXISTS(SELECT 1 FROM ackbox_inbox AS b WHERE b.source=i.source AND b.origin=i.origin AND b.session=i.session AND b.sequence>0 AND b.sequence<i.sequence) THEN 'BEHIND' WHEN (SELECT away FROM applications WHERE (mailbox=substr(i.session,1,instr(i.session,char(31))-1) OR (mailbox='*' AND substr(i.session,1,instr(i.session,char(31))-1)<>'')) AND (i.type=pattern OR (substr(pattern,-1)='*' AND substr(i.type,1,length(pattern)-1)=substr(pattern,1,length(pattern)-1))) ORDER BY mailbox='*',owner,place LIMIT 1)<>0 THEN 'UNATTENDED' WHEN owner_id<>0 THEN 'RUNNING' ELSE 'WAITING' END AS state,deferred AS was_deferred,(SELECT pid FROM ackbox_owners WHERE id=owner_id) AS process_id,retry_count,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,nullif(due_at_ms,0)))/1000.0,'unixepoch') AS due_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,accepted_at_ms))/1000.0,'unixepoch') AS accepted_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,time_ms))/1000.0,'unixepoch') AS enqueued_at,strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,expires_at_ms))/1000.0,'unixepoch') AS expires_at,audience,correlation_id,resent_of,traceparent,last_error,CAST(data AS TEXT) AS data,data_content_type FROM ackbox_inbox AS i;
INSERT INTO ackbox_schema VALUES(1,'0.1.0');
INSERT INTO ackbox_meta VALUES(1,'b3f2af6d-0fc7-40c5-853b-559647364cea',1,7,0,0);
INSERT INTO ackbox_owners VALUES(1,4711,1700000000000,1,'	unwanted	0	
');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('ackbox_owners',1);
INSERT INTO sqlite_sequence VALUES('ackbox_inbox',8);
INSERT INTO ackbox_peers VALUES(1,'bob','','urn:agent:bob',8,0,0,0,0,'',0,0,0,0,'00000000000000000000000000000001',1,0,0,0,0,1715728100000,'test.event','',0);
INSERT INTO ackbox_peers VALUES(2,'away','','urn:agent:away',8,1,1,1715728400000,1715728455476,'connection refused',0,1715728400000,0,0,'',0,0,0,0,0,0,'','',0);
INSERT INTO ackbox_peers VALUES(3,'refusing','','urn:agent:refusing',8,1,1,1715728400000,1715728430567,'HTTP 401',1,1715728400000,0,0,'',0,0,0,0,0,0,'','',0);
INSERT INTO ackbox_peers VALUES(4,'gone','','urn:agent:gone',8,1,1,1715728400000,0,'HTTP 410',2,1715728400000,0,0,'',0,0,0,0,0,0,'','',0);
INSERT INTO ackbox_peers VALUES(5,'paused','','urn:agent:paused',8,0,0,0,0,'',0,0,1715728400000,0,'',0,0,0,0,0,0,'','',0);
INSERT INTO ackbox_peers VALUES(6,'added','','urn:agent:added',8,0,0,0,1715728400000,'',0,0,0,1,'',0,0,0,0,0,0,'','{}',0);
INSERT INTO ackbox_peers VALUES(7,'removed','','urn:agent:removed',8,0,0,0,1715728400000,'',0,0,0,1,'',0,0,0,0,0,0,'','',1715728400000);
INSERT INTO ackbox_sessions VALUES(1,1,'ackbox.ack.v1',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(2,1,'orders',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(3,2,'away',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(4,3,'refusing',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(5,4,'gone',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(6,1,'retried',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(7,1,'',4,5,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(8,1,'blocked',4,0,0,11,1715728400000,0);
INSERT INTO ackbox_sessions VALUES(9,1,'left',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(10,1,'halted',4,0,1715728400000,0,0,0);
INSERT INTO ackbox_sessions VALUES(11,5,'paused',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(12,1,'states',4,0,0,0,0,0);
INSERT INTO ackbox_sessions VALUES(13,5,'published',4,0,0,0,0,0);
INSERT INTO ackbox_session_states VALUES(1,2,2,2,0,0,0,0,1);
INSERT INTO ackbox_session_states VALUES(2,3,3,3,0,0,1,0,3);
INSERT INTO ackbox_session_states VALUES(3,2,0,0,0,0,2,0,6);
INSERT INTO ackbox_session_states VALUES(4,2,0,0,0,0,2,0,7);
INSERT INTO ackbox_session_states VALUES(5,2,0,0,0,0,2,0,8);
INSERT INTO ackbox_session_states VALUES(6,2,0,0,1715728401000,0,2,0,9);
INSERT INTO ackbox_session_states VALUES(7,0,0,0,0,0,2,1,0);
INSERT INTO ackbox_session_states VALUES(8,2,0,0,0,0,1,1,17);
INSERT INTO ackbox_session_states VALUES(9,1,0,0,0,0,0,0,12);
INSERT INTO ackbox_session_states VALUES(10,0,0,0,0,0,0,0,0);
INSERT INTO ackbox_session_states VALUES(11,0,0,0,0,0,0,0,0);
INSERT INTO ackbox_session_states VALUES(12,2,0,0,0,0,1,0,22);
INSERT INTO ackbox_session_states VALUES(13,0,0,0,0,0,0,0,0);
INSERT INTO ackbox_claims VALUES(-1,1,24);
INSERT INTO ackbox_claims VALUES(0,1,192);
INSERT INTO ackbox_outbox VALUES(1,1,1,3,1,0,1715728400000,4869328400000,NULL,NULL,NULL,5453838487,1075795881,'ackbox.ack.v1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"results":[{"id":"booked-1","sessionseq":"1","outcome":"ack","result":{"booked":true}}]}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(2,1,2,3,1,0,1715728400000,4869328400000,NULL,NULL,NULL,5459160604,1022512192,'ackbox.ack.v1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"results":[{"id":"refused-1","sessionseq":"1","outcome":"term","code":"unknown-order","detail":"no such order"}]}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(3,2,1,3,1,0,1715728400000,4869328400000,NULL,NULL,'acked-1',NULL,1368908435,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"acked-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(4,2,2,3,1,0,1715728400000,4869328400000,NULL,NULL,'acked-2',NULL,562998847,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"acked-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(5,2,3,2,1,0,1715728400000,1715728460000,NULL,NULL,'deferred-3',NULL,592924495,'test.event',NULL,NULL,NULL,NULL,NULL,'because of deferred-3',NULL,CAST('{"id":"deferred-3"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(6,3,1,0,1,0,1715728400000,0,NULL,NULL,'away-1',NULL,851416782,'test.event',NULL,NULL,NULL,NULL,NULL,'connection refused','[{"first_at_ms":1715728400000,"at_ms":1715728400000,"count":1,"took_ms":0,"outcome":"release","status":null,"error":"connection refused"}]',CAST('{"id":"away-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(7,4,1,0,1,0,1715728400000,0,NULL,NULL,'refusing-1',NULL,624636692,'test.event',NULL,NULL,NULL,NULL,NULL,'HTTP 401','[{"first_at_ms":1715728400000,"at_ms":1715728400000,"count":1,"took_ms":0,"outcome":"release","status":null,"error":"HTTP 401"}]',CAST('{"id":"refusing-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(8,5,1,0,1,0,1715728400000,0,NULL,NULL,'gone-1',NULL,61425252,'test.event',NULL,NULL,NULL,NULL,NULL,'HTTP 410','[{"first_at_ms":1715728400000,"at_ms":1715728400000,"count":1,"took_ms":0,"outcome":"release","status":null,"error":"HTTP 410"}]',CAST('{"id":"gone-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(9,6,1,0,1,1,1715728400000,1715728401000,NULL,NULL,'retried-1',NULL,591602799,'test.event',NULL,NULL,NULL,NULL,NULL,'because of retried-1','[{"first_at_ms":1715728400000,"at_ms":1715728400000,"count":1,"took_ms":0,"outcome":"retry","status":null,"error":"because of retried-1"}]',CAST('{"id":"retried-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(10,7,0,4,1,0,1715728400000,1715728400000,NULL,NULL,'dead-unordered',NULL,1431051289,'test.event',NULL,NULL,NULL,NULL,'rejected','because of dead-unordered','[{"first_at_ms":1715728400000,"at_ms":1715728400000,"count":1,"took_ms":0,"outcome":"fail","status":null,"error":"because of dead-unordered"}]',CAST('{"id":"dead-unordered"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(11,8,1,4,1,0,1715728400000,1715728400000,NULL,NULL,'dead-blocking',NULL,1446593654,'test.event',NULL,NULL,NULL,NULL,'rejected','because of dead-blocking','[{"first_at_ms":1715728400000,"at_ms":1715728400000,"count":1,"took_ms":0,"outcome":"fail","status":null,"error":"because of dead-blocking"}]',CAST('{"id":"dead-blocking"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(13,3,2,0,0,0,1715728400000,0,NULL,NULL,'away-2',NULL,1060198034,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"away-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(14,4,2,0,0,0,1715728400000,0,NULL,NULL,'refusing-2',NULL,512278770,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"refusing-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(15,5,2,0,0,0,1715728400000,0,NULL,NULL,'gone-2',NULL,1868232535,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"gone-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(16,6,2,0,0,0,1715728400000,0,NULL,NULL,'retried-2',NULL,361397790,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"retried-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(17,8,2,0,0,0,1715728400000,0,NULL,NULL,'blocked-2',NULL,2020946012,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"blocked-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(18,11,1,0,0,0,1715728400000,0,NULL,NULL,'paused-1',NULL,135949169,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"paused-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(19,10,1,0,0,0,1715728400000,0,NULL,NULL,'halted-1',NULL,185477898,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"halted-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(20,9,2,0,0,0,1715728400000,0,NULL,NULL,'left-2',NULL,696436352,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"left-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(21,2,4,0,0,0,1715728400000,0,4869328400000,NULL,'full-4',NULL,1287593667,'test.event','00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01','order-4','acked-1',NULL,NULL,NULL,NULL,CAST('{"id":"full-4"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(23,12,2,0,0,0,1715728400000,0,NULL,NULL,'state-2',NULL,230491488,'test.event',NULL,NULL,NULL,'k',NULL,NULL,NULL,CAST('{"id":"state-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(24,2,5,0,0,0,1715728400000,0,NULL,NULL,NULL,5462949300,1942420432,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('"of an id that ackbox made"' AS BLOB));
INSERT INTO ackbox_outbox VALUES(25,7,0,0,0,0,1715728400000,0,NULL,NULL,'unordered-1',NULL,2098443454,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"unordered-1"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(26,7,0,0,0,0,1715728400000,0,NULL,NULL,'unordered-2',NULL,911243618,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":"unordered-2"}' AS BLOB));
INSERT INTO ackbox_outbox VALUES(27,13,1,0,0,0,1715728400000,0,NULL,NULL,NULL,5466045659,545218412,'test.event',NULL,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{"id":""}' AS BLOB));
INSERT INTO ackbox_idempotency_keys VALUES('key-4',1,'full-4',4,1716333200000,882837453);
INSERT INTO ackbox_idempotency_keys VALUES('key-of-all',0,'018f7961-be80-7517-8d3c-db0000000027',1,1716333200000,2134279592);
INSERT INTO ackbox_publications VALUES('key-of-all',0,5,'018f7961-be80-7517-8d3c-db0000000027',1);
INSERT INTO ackbox_subscriptions VALUES('all',5,'*','',1715728400000);
INSERT INTO ackbox_vacated_numbers VALUES(9,1,'dead-discarded');
INSERT INTO ackbox_inbound_sessions VALUES(2,'urn:agent:bob','00000000000000000000000000000002','waiting',2,1,0,1700000000000,'waiting-2',8300831075821337036);
INSERT INTO ackbox_inbound_sessions VALUES(3,'urn:agent:bob','00000000000000000000000000000003','quick',3,1,0,1715728400000,'quick-3',8992320403631177261);
INSERT INTO ackbox_inbound_sessions VALUES(4,'urn:agent:bob','00000000000000000000000000000003','booked',1,1,0,1715728400000,'booked-1',-4615312093781427392);
INSERT INTO ackbox_inbound_sessions VALUES(5,'urn:agent:bob','00000000000000000000000000000003','refused',1,1,0,1715728400000,'refused-1',-3421815909489979166);
INSERT INTO ackbox_inbound_sessions VALUES(6,'urn:agent:bob','00000000000000000000000000000003','failing',2,1,0,1715728400000,'failing-2',-2288797929503451806);
INSERT INTO ackbox_inbound_sessions VALUES(7,'urn:agent:bob','00000000000000000000000000000003','held',2,1,0,1715728400000,'held-2',1382526090309832821);
INSERT INTO ackbox_inbound_origins VALUES('urn:agent:bob','00000000000000000000000000000001',1,2,1700000000000,1700000000000);
INSERT INTO ackbox_inbound_origins VALUES('urn:agent:bob','00000000000000000000000000000002',1,1,1700000000000,1700000000000);
INSERT INTO ackbox_inbound_origins VALUES('urn:agent:bob','00000000000000000000000000000003',1,0,1715638400000,1715728400000);
INSERT INTO ackbox_processed_messages VALUES('-1','urn:agent:bob',1715728400000,1716333200000,8992320403631177261);
INSERT INTO ackbox_inbox VALUES(1,'00000000000000000000000000000002','waiting',1,'waiting-1','urn:agent:bob',1,0,1,0,0,0,0,0,1700000000000,'unwanted',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{}' AS BLOB),NULL,1410890079);
INSERT INTO ackbox_inbox VALUES(2,'00000000000000000000000000000002','waiting',2,'waiting-2','urn:agent:bob',1,1,0,0,0,0,0,0,1700000000000,'unwanted',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{}' AS BLOB),NULL,2110549400);
INSERT INTO ackbox_inbox VALUES(5,'00000000000000000000000000000003','failing',1,'failing-1','urn:agent:bob',1,0,1,0,1,1,1715732000000,1715728400000,1715728400000,'failing',NULL,0,NULL,NULL,NULL,'first',1715728400000,'the warehouse is closed',CAST('{}' AS BLOB),NULL,194408960);
INSERT INTO ackbox_inbox VALUES(6,'00000000000000000000000000000003','failing',2,'failing-2','urn:agent:bob',1,1,0,0,0,0,0,0,1715728400000,'failing',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{}' AS BLOB),NULL,1740112908);
INSERT INTO ackbox_inbox VALUES(7,'00000000000000000000000000000003','held',1,'held-1','urn:agent:bob',1,0,1,1,1,0,0,1715728400000,1715728400000,'held',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{}' AS BLOB),NULL,1995808560);
INSERT INTO ackbox_inbox VALUES(8,'00000000000000000000000000000003','held',2,'held-2','urn:agent:bob',1,1,0,0,0,0,0,0,1715728400000,'held',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,CAST('{}' AS BLOB),NULL,1995127803);
INSERT INTO ackbox_inbox_results VALUES('booked-1','urn:agent:bob','00000000000000000000000000000003','booked',1,0,NULL,NULL,'{"booked":true}',1716333200000,'booked',1,1715728400000);
INSERT INTO ackbox_inbox_results VALUES('refused-1','urn:agent:bob','00000000000000000000000000000003','refused',1,3,'unknown-order','no such order',NULL,1716333200000,'refused',1,1715728400000);
INSERT INTO ackbox_inbound_senders VALUES('urn:agent:bob',6,3,3,2998,6,12);
INSERT INTO ackbox_counters VALUES(1,14,1,2,251,23,4,3,1,0,6,0,0,23,17,1,6,8,0,4,0,1715728400000,5,0,0,0,2998,12,0,0,0);
INSERT INTO ackbox_peer_counters VALUES(1,7,1,2,136,16,4,3,1);
INSERT INTO ackbox_peer_counters VALUES(2,2,0,0,30,2,0,0,0);
INSERT INTO ackbox_peer_counters VALUES(3,2,0,0,38,2,0,0,0);
INSERT INTO ackbox_peer_counters VALUES(4,2,0,0,30,2,0,0,0);
INSERT INTO ackbox_peer_counters VALUES(5,1,0,0,17,1,0,0,0);
INSERT INTO ackbox_peer_counters VALUES(6,0,0,0,0,0,0,0,0);
INSERT INTO ackbox_peer_counters VALUES(7,0,0,0,0,0,0,0,0);
INSERT INTO ackbox_notes VALUES('file-made-anew',1700000000000,1,'the outbox file or its log was missing although its owners file exists: a new outbox was made; if nobody deleted it on purpose, look for the file, or restore a backup (docs/restore.md)');
