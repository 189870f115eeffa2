#include "store/postgres/schema/tables.hpp"

namespace ackbox::store::postgres {

// What needs several statements with a snapshot each, and one way to the server. A statement of a function that is
// VOLATILE sees what was committed before it, where the transaction is READ COMMITTED.
const char* const kFunctionsSql = R"sql(
-- Whether the process lives: nobody else can share the lock that it holds.
CREATE OR REPLACE FUNCTION #lives(owner bigint) RETURNS boolean LANGUAGE sql AS $body$
  SELECT NOT pg_try_advisory_xact_lock_shared('#meta'::regclass::oid::integer, owner::integer)
$body$;
-- The gate of an enqueue: finds or makes the session, keeps all other enqueues to it out until the end of the
-- transaction, and then reads its last number. Queues of unordered messages have no gate, because they have no order.
CREATE OR REPLACE FUNCTION #gate(of_peer bigint, named text, of_lane integer, new_priority integer, OUT session bigint,
                                 OUT last bigint, OUT current_priority integer, OUT next_key bigint,
                                 OUT has_old_snapshot boolean)
LANGUAGE plpgsql AS $body$
BEGIN
  FOR look IN 1..2 LOOP
    IF of_lane = 0 THEN
      SELECT s.id,s.priority INTO session,current_priority FROM #sessions AS s WHERE s.peer_id=of_peer AND
        s.name=named AND s.lane=0 FOR NO KEY UPDATE;
    ELSE
      SELECT s.id,s.priority INTO session,current_priority FROM #sessions AS s WHERE s.peer_id=of_peer AND
        s.name=named AND s.lane=of_lane;
    END IF;
    EXIT WHEN session IS NOT NULL;
    INSERT INTO #sessions(peer_id,name,lane,priority) VALUES(of_peer,named,of_lane,new_priority) ON CONFLICT DO NOTHING
      RETURNING id,priority INTO session,current_priority;
    IF session IS NOT NULL THEN
      INSERT INTO #session_states(session_id) VALUES(session);
      EXIT;
    END IF;
  END LOOP;
  IF session IS NULL THEN
    RAISE EXCEPTION 'another transaction has just made the session' USING ERRCODE = 'serialization_failure';
  END IF;
  IF of_lane = 0 THEN
    -- From the newest row on, and not through those that have gone: max() would read all of the session, if the planner
    -- takes the table for small.
    SELECT coalesce((SELECT o.sequence FROM #outbox AS o WHERE o.session_id=session AND o.sequence>0 AND
                       o.sequence>m.last_sequence ORDER BY o.sequence DESC LIMIT 1),m.last_sequence)
           INTO STRICT last FROM #session_states AS m WHERE m.session_id=session;
  ELSE
    last := 0;
  END IF;
  next_key := nextval('#outbox_id');
  has_old_snapshot := of_lane=0 AND current_setting('transaction_isolation')<>'read committed';
END
$body$;
-- Called after the message was stored. In a transaction with one snapshot, the number may be one that was given since:
-- if its message is there, the index has refused it. If it has gone, the session's row was changed, and the gate was
-- closed, or its state was, and this fails. The lock is given back at once, because deliveries would wait for it.
CREATE OR REPLACE FUNCTION #confirm(session bigint) RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM 1 FROM #session_states AS m WHERE m.session_id=session FOR NO KEY UPDATE;
  RAISE EXCEPTION USING ERRCODE = 'AB000';
EXCEPTION WHEN SQLSTATE 'AB000' THEN
  NULL;
END
$body$;
-- The rows that were not visible in a snapshot, and those of a transaction. The planner takes a part of all rows for new,
-- and would read the whole table for them.
CREATE OR REPLACE FUNCTION #fresh_outbox(seen pg_snapshot, own xid8) RETURNS SETOF bigint LANGUAGE sql STABLE
SET enable_seqscan = off AS $body$
  SELECT id FROM #outbox WHERE xid>=pg_snapshot_xmax(seen)
  UNION SELECT id FROM #outbox WHERE xid=ANY(ARRAY(SELECT pg_snapshot_xip(seen)))
  UNION SELECT id FROM #outbox WHERE xid=own
$body$;
CREATE OR REPLACE FUNCTION #fresh_inbox(seen pg_snapshot, own xid8) RETURNS SETOF bigint LANGUAGE sql STABLE
SET enable_seqscan = off AS $body$
  SELECT id FROM #inbox WHERE xid>=pg_snapshot_xmax(seen)
  UNION SELECT id FROM #inbox WHERE xid=ANY(ARRAY(SELECT pg_snapshot_xip(seen)))
  UNION SELECT id FROM #inbox WHERE xid=own
$body$;
-- Pending messages of the key that are in nobody's hand; they stay locked. One that a process has claimed does not: its
-- settle would wait.
CREATE OR REPLACE FUNCTION #supersedable(of_session bigint, named text)
RETURNS TABLE(id bigint, message_id text, sequence bigint, bytes integer, was_tried boolean)
LANGUAGE plpgsql AS $body$
DECLARE
  keys bigint[];
BEGIN
  keys := ARRAY(SELECT o.id FROM #outbox AS o WHERE o.session_id=of_session AND o.supersede_key=named AND o.state=0
                AND NOT EXISTS(SELECT 1 FROM #claims AS c WHERE c.id=-of_session AND o.id=ANY(c.keys))
                FOR UPDATE OF o SKIP LOCKED);
  -- One may have been claimed since that statement began.
  RETURN QUERY SELECT o.id,o.message_id::text,o.sequence,octet_length(o.data),o.attempt>0 FROM #outbox AS o
    WHERE o.id=ANY(keys) AND NOT EXISTS(SELECT 1 FROM #claims AS c WHERE c.id=-of_session AND o.id=ANY(c.keys))
    ORDER BY o.id;
END
$body$;
-- A message's log with one more attempt, the newest first; one that failed as the last one did is counted there.
CREATE OR REPLACE FUNCTION #logged(log jsonb, error text, outcome text, now_ms bigint, took_ms bigint, status integer)
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE
    WHEN error IS NULL THEN log
    WHEN log->0->>'error'=error AND log->0->>'outcome'=outcome AND
         (log->0->>'status')::integer IS NOT DISTINCT FROM status
      THEN jsonb_set(log,'{0}',(log->0)||jsonb_build_object('count',(log->0->>'count')::bigint+1,'at_ms',now_ms,
                                                            'took_ms',took_ms))
    ELSE (SELECT jsonb_agg(e.entry ORDER BY e.place) FROM (
            SELECT 0 AS place, jsonb_build_object('first_at_ms',now_ms,'at_ms',now_ms,'count',1,'took_ms',took_ms,
                                                  'outcome',outcome,'status',status,'error',error) AS entry
            UNION ALL SELECT o.ordinality,o.value FROM jsonb_array_elements(coalesce(log,'[]')) WITH ORDINALITY AS o
            WHERE o.ordinality<8) AS e)
  END
$body$;
-- Makes one row of the differences of each peer, and of each sender, of those that nobody else is folding.
CREATE OR REPLACE FUNCTION #fold() RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
  WITH old AS (DELETE FROM #counts WHERE ctid=ANY(ARRAY(SELECT ctid FROM #counts FOR UPDATE SKIP LOCKED)) RETURNING *)
  INSERT INTO #counts SELECT peer_id,sum(pending),sum(sent),sum(failed),sum(pending_bytes),sum(enqueued),sum(acked),
    sum(failed_total),sum(total_retries),sum(stale_settles),sum(received),sum(duplicates),sum(gaps),sum(superseded),
    sum(inbox),sum(inbox_bytes),sum(deferred),sum(refused_acks),sum(retained),sum(ack_latency_ms),
    sum(refused_unauthenticated),sum(refused_forbidden),sum(refused_limits),sum(inbound_bytes),sum(recounts),
    sum(stale_epochs),sum(id_conflicts),max(last_acked_at_ms) FROM old GROUP BY peer_id;
  WITH old AS (DELETE FROM #sender_shares WHERE ctid=ANY(ARRAY(SELECT ctid FROM #sender_shares FOR UPDATE SKIP LOCKED))
               RETURNING *)
  INSERT INTO #sender_shares SELECT source,sum(sessions),sum(origins),sum(marks),sum(bytes),sum(inbox),sum(inbox_bytes)
    FROM old GROUP BY source HAVING sum(sessions)<>0 OR sum(origins)<>0 OR sum(marks)<>0 OR sum(bytes)<>0 OR
    sum(inbox)<>0 OR sum(inbox_bytes)<>0;
END
$body$;
-- A UUIDv7. One expression, so that the caller's plan takes it in.
CREATE OR REPLACE FUNCTION #new_id(now_ms bigint) RETURNS text LANGUAGE sql AS $body$
  SELECT overlay(gen_random_uuid()::text PLACING overlay(lpad(to_hex(now_ms),12,'0') PLACING '-' FROM 9 FOR 0) || '-7'
                 FROM 1 FOR 15)
$body$;
-- What an idempotency key was given for. Neither a session nor a type has a zero byte.
CREATE OR REPLACE FUNCTION #digest(session text, type text, data bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $body$
  SELECT sha256(convert_to(session,'UTF8') || decode('00','hex') || convert_to(type,'UTF8') || decode('00','hex') || data)
$body$;
-- UTF-8 without control characters, at most so many bytes.
CREATE OR REPLACE FUNCTION #is_plain(one text, bytes_max integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
  SELECT octet_length(one)<=bytes_max AND one !~ '[\u0001-\u001f\u007f-\u009f]'
$body$;
-- Visible ASCII without spaces.
CREATE OR REPLACE FUNCTION #is_visible(one text, bytes_max integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
  SELECT octet_length(one)<=bytes_max AND one !~ '[^\u0021-\u007e]'
$body$;
-- Whether objects and lists of the JSON text are nested at most so deep. Only a text with many of them is read.
CREATE OR REPLACE FUNCTION #is_shallow(data text, depth_max integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
AS $body$
DECLARE
  brackets text;
BEGIN
  IF octet_length(data)-octet_length(translate(data,'[{',''))<=depth_max THEN
    RETURN true;
  END IF;
  brackets := translate(regexp_replace(regexp_replace(data,'"([^"\\]|\\.)*"','','g'),'[^][{}]+','','g'),'{}','[]');
  FOR depth IN 1..depth_max LOOP
    EXIT WHEN brackets='';
    brackets := replace(brackets,'[]','');
  END LOOP;
  RETURN brackets='';
END
$body$;
-- What `protocol::frameProblem` refuses, except text that is no JSON, with the names of the arguments; NULL: nothing.
CREATE OR REPLACE FUNCTION #frame_problem(session text, type text, data text, id text, idempotency_key text,
                                          priority integer, not_before_ms bigint, expires_at_ms bigint,
                                          traceparent text, correlation_id text, resent_of text)
RETURNS text LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE
    WHEN num_nulls($1,$2,$3,$6)>0 THEN 'session, type, data and priority must not be NULL'
    WHEN NOT #is_plain($1,256) THEN 'session must be at most 256 bytes without control characters'
    WHEN $2='' OR NOT #is_plain($2,256) THEN 'type must be 1 to 256 bytes without control characters'
    WHEN NOT #is_visible($4,128) THEN 'id must be at most 128 visible ASCII characters without spaces'
    WHEN NOT #is_visible($9,256) THEN 'traceparent must be at most 256 visible ASCII characters'
    WHEN NOT #is_plain($10,128) THEN 'correlation_id must be at most 128 bytes without control characters'
    WHEN NOT #is_visible($11,128) THEN 'resent_of must be at most 128 visible ASCII characters without spaces'
    WHEN $6 NOT BETWEEN 0 AND 9 THEN 'priority must be 0 to 9'
    WHEN NOT #is_plain($5,256) THEN 'idempotency_key must be at most 256 bytes without control characters'
    WHEN $7>=$8 THEN 'not_before_ms must lie before expires_at_ms, or the frame could never be sent'
    WHEN octet_length($3)>67108864 THEN 'data must be at most 64 MiB, the most that a process may allow'
    WHEN NOT #is_shallow($3,62) THEN 'data must be nested at most 62 levels deep'
  END
$body$;
-- An enqueue in the caller's transaction, from any client and under any isolation; `status` is as in a receipt. The
-- limits of a process's options do not count here. Of two transactions that use a new key, the second waits for the
-- first.
CREATE OR REPLACE FUNCTION #enqueue(peer text, session text, type text, data text, id text DEFAULT '',
                                    idempotency_key text DEFAULT '', priority integer DEFAULT 4,
                                    not_before_ms bigint DEFAULT NULL, expires_at_ms bigint DEFAULT NULL,
                                    traceparent text DEFAULT NULL, correlation_id text DEFAULT NULL,
                                    resent_of text DEFAULT NULL,
                                    OUT status text, OUT message_id text, OUT sequence bigint,
                                    OUT is_conflict boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $body$
DECLARE
  now_ms bigint := floor(extract(epoch FROM clock_timestamp())*1000);
  retention_ms constant bigint := 7*24*3600*1000::bigint;
  to_peer bigint;
  lane integer := CASE WHEN enqueue.session='' THEN enqueue.priority+1 ELSE 0 END;
  delay_ms bigint := CASE WHEN enqueue.not_before_ms>now_ms THEN enqueue.not_before_ms END;
  given bytea := CASE WHEN enqueue.idempotency_key<>'' THEN #digest(enqueue.session,enqueue.type,
    convert_to(enqueue.data,'UTF8')) END;
  place record;
  problem text;
  least integer;
BEGIN
  PERFORM enqueue.data::json;
  problem := #frame_problem(enqueue.session,enqueue.type,enqueue.data,enqueue.id,enqueue.idempotency_key,
    enqueue.priority,enqueue.not_before_ms,enqueue.expires_at_ms,enqueue.traceparent,enqueue.correlation_id,
    enqueue.resent_of);
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION USING MESSAGE = problem, ERRCODE = 'invalid_parameter_value';
  END IF;
  is_conflict := false;
  IF current_setting('synchronous_commit')='off' THEN
    PERFORM set_config('synchronous_commit','on',true);
  END IF;
  SELECT s.least,p.id INTO least,to_peer FROM #schema AS s LEFT JOIN #peers AS p ON p.name=enqueue.peer AND
    p.removed_at_ms=0;
  -- A migration was waited for, or is later than the transaction's snapshot: this function may be of the old tables.
  IF coalesce(least,@version+1)>@version THEN
    RAISE EXCEPTION 'the tables were migrated since the transaction began: repeat it' USING ERRCODE =
      'serialization_failure';
  END IF;
  IF to_peer IS NULL THEN
    RAISE EXCEPTION 'unknownPeer: the database has no peer %; known: %',quote_literal(enqueue.peer),coalesce((SELECT
      string_agg(k.name,', ' ORDER BY k.name) FROM (SELECT p.name FROM #peers AS p WHERE p.removed_at_ms=0 ORDER BY
      p.name LIMIT 10) AS k),'none') USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF enqueue.idempotency_key<>'' THEN
    DELETE FROM #idempotency_keys AS k WHERE k.key=enqueue.idempotency_key AND k.peer_id=to_peer AND
      k.keep_until_ms<=now_ms AND NOT EXISTS(SELECT 1 FROM #outbox AS o WHERE o.message_id=k.message_id);
    INSERT INTO #idempotency_keys AS k (key,peer_id,message_id,sequence,keep_until_ms,digest) VALUES(
      enqueue.idempotency_key,to_peer,'',0,now_ms+retention_ms,given) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT 'duplicate',k.message_id,k.sequence,k.digest<>'' AND k.digest<>given INTO status,message_id,sequence,is_conflict FROM
        #idempotency_keys AS k WHERE k.key=enqueue.idempotency_key AND k.peer_id=to_peer;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'another transaction has just removed the key' USING ERRCODE = 'serialization_failure';
      END IF;
      RETURN;
    END IF;
  END IF;
  IF enqueue.id<>'' THEN
    SELECT 'duplicate',o.message_id,o.sequence INTO status,message_id,sequence FROM #outbox AS o WHERE
      o.message_id=enqueue.id;
    IF FOUND THEN
      DELETE FROM #idempotency_keys AS k WHERE k.key=enqueue.idempotency_key AND k.peer_id=to_peer;
      RETURN;
    END IF;
  END IF;
  place := #gate(to_peer,enqueue.session,lane,enqueue.priority);
  status := 'stored';
  message_id := coalesce(nullif(enqueue.id,''),#new_id(now_ms));
  sequence := CASE WHEN lane=0 THEN place.last+1 ELSE 0 END;
  IF place.current_priority<>enqueue.priority THEN
    UPDATE #sessions AS s SET priority=enqueue.priority WHERE s.id=place.session;
  END IF;
  INSERT INTO #outbox(id,session_id,sequence,created_at_ms,due_at_ms,expires_at_ms,not_before_ms,message_id,type,
    traceparent,correlation_id,resent_of,data) VALUES(place.next_key,place.session,enqueue.sequence,now_ms,coalesce(delay_ms,0),
    enqueue.expires_at_ms,delay_ms,enqueue.message_id,enqueue.type,enqueue.traceparent,enqueue.correlation_id,
    enqueue.resent_of,
    convert_to(enqueue.data,'UTF8'));
  IF place.has_old_snapshot THEN
    PERFORM #confirm(place.session);
  END IF;
  INSERT INTO #counts(peer_id,pending,pending_bytes,enqueued) VALUES(to_peer,1,octet_length(enqueue.data),1);
  IF enqueue.idempotency_key<>'' THEN
    UPDATE #idempotency_keys AS k SET message_id=enqueue.message_id,sequence=enqueue.sequence WHERE
      k.key=enqueue.idempotency_key AND k.peer_id=to_peer;
  END IF;
END
$body$;
)sql";

}  // namespace ackbox::store::postgres
