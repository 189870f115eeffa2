/* ackbox for C, and for every language that calls C: an agent in the program's own process, with its outbox and its
 * inbox in one SQLite file. docs/c.md has an example. A program that wants its message in its own SQLite transaction
 * uses the loadable extension instead, or as well (docs/sql.md).
 *
 * Status. Each function that can fail returns an `int`: ACKBOX_OK, or another `ackbox_status`. `ackbox_last_error`
 * gives the cause in a sentence. No C++ exception leaves the library, and the library never calls the program.
 *
 * Structures. The first member of each is `struct_size`: set it to `sizeof` the structure, and all that is not used to
 * 0, as `{.struct_size = sizeof(ackbox_peer)}` does. A later release only adds members at the end. A structure that is
 * smaller than that of the first release is refused, and so is one that is larger than the library's and has a byte
 * there that is not 0: ACKBOX_INVALID_ARGUMENT. Of a structure that the library fills, these bytes become 0.
 *
 * Texts are UTF-8 and end with a NUL. A NULL stands for the default. The library copies what it needs during the call.
 *
 * Threads. Functions of one agent may be called from any thread at once, but for `ackbox_close`: no other call may be
 * under way, and none may follow, as for `fclose`. Nor may the calls before `ackbox_open` overlap.
 *
 * Fork. In a child, an agent of its parent is refused with ACKBOX_OTHER_PROCESS by every function, `ackbox_close` too,
 * which then releases nothing. Fork before `ackbox_new`, or let the child execute a program. The library stays loaded:
 * `dlclose` does not unload it. */
#ifndef ACKBOX_H
#define ACKBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ACKBOX_API __attribute__((visibility("default")))
#else
#define ACKBOX_API
#endif

/* Why a call failed. Values are stable: none is ever given another meaning, and later releases may add some. Those
 * below 100 are `ackbox::Errc`, where include/ackbox/error.hpp gives the remedy of each. */
typedef enum ackbox_status {
  ACKBOX_OK = 0,
  ACKBOX_DATABASE_BUSY = 1,
  ACKBOX_DATABASE_READ_ONLY = 2,
  ACKBOX_SCHEMA_TOO_NEW = 3,
  ACKBOX_NOT_A_DATABASE = 4,
  ACKBOX_DATABASE_CORRUPT = 5,
  ACKBOX_DISK_FULL = 6,
  ACKBOX_IO_ERROR = 7,
  ACKBOX_CANNOT_OPEN = 8,
  ACKBOX_SCHEMA_MISSING = 9,
  ACKBOX_INVALID_OPTION = 10,
  ACKBOX_ALREADY_RUNNING = 11,
  ACKBOX_STOPPED = 12,
  ACKBOX_INVALID_TRANSITION = 13,
  ACKBOX_UNKNOWN_MESSAGE = 14,
  ACKBOX_NO_SENDER = 15,
  ACKBOX_HANDLER_ENDED_TRANSACTION = 16,
  ACKBOX_NOT_DURABLE = 17,
  ACKBOX_NO_TRANSACTION = 18,
  ACKBOX_OUT_OF_MEMORY = 19,
  ACKBOX_DATABASE_ERROR = 20,
  ACKBOX_CANNOT_LISTEN = 21,
  ACKBOX_WOULD_DEADLOCK = 22,
  ACKBOX_UNKNOWN_PEER = 23,
  ACKBOX_DATABASE_REPLACED = 24,
  ACKBOX_OUT_OF_DESCRIPTORS = 25,
  ACKBOX_SECRETS_UNREADABLE = 26,
  ACKBOX_OTHER_PROCESS = 27,
  ACKBOX_SCHEMA_TOO_OLD = 28,
  ACKBOX_SCHEMA_OUTDATED = 29,
  ACKBOX_POOLED_CONNECTION = 30,
  ACKBOX_DATABASE_MOVED = 31,
  ACKBOX_OUTCOME_UNKNOWN = 32,

  /* Refusals of `ackbox_enqueue` and `ackbox_publish`: 100 and the value of `ackbox::EnqueueStatus`. Nothing was stored. */
  ACKBOX_QUEUE_FULL = 102,
  ACKBOX_FRAME_TOO_LARGE = 103,
  ACKBOX_INVALID_FRAME = 104,

  /* An argument is NULL, a structure's size is wrong, or a number has no meaning. Nothing was done. */
  ACKBOX_INVALID_ARGUMENT = 200,
  /* Nothing waits: no frame to claim, no event; nobody has subscribed to what is published. Not a failure. */
  ACKBOX_NOTHING = 201,
  /* The claim is not, or is no longer, this agent's, or its end could not be committed. The frame is given out again. */
  ACKBOX_LATE = 202,
  /* The call does not fit the agent's state: a peer after `ackbox_open`, or an enqueue before it. */
  ACKBOX_WRONG_STATE = 203,
  /* Anything else; the text of `ackbox_last_error` is all that is known. */
  ACKBOX_UNEXPECTED = 204
} ackbox_status;

/* An agent: its peers, its file, its sender and its listener. */
typedef struct ackbox_agent ackbox_agent;

/* What an enqueued message survives once `ackbox_enqueue` has returned. */
enum { ACKBOX_POWER_CUT = 0, ACKBOX_PROCESS_CRASH = 1 };

typedef struct ackbox_options {
  size_t struct_size;
  /* This agent's URI, such as "urn:agent:alice". Not NULL. */
  const char *agent;
  /* The authorities (PEM) that are trusted for https://. Default: the system's. */
  const char *authority_file;
  /* ACKBOX_POWER_CUT (default): each commit is synced. ACKBOX_PROCESS_CRASH: a power cut may undo the last commits. */
  uint32_t durability;
  /* 1: settled and failed messages are kept in memory for `ackbox_next_event`. Default 0. */
  uint32_t events;
} ackbox_options;

/* The protocol of a peer: `ackbox::PeerProfile`. */
enum { ACKBOX_NATIVE = 0, ACKBOX_WEBHOOK = 1, ACKBOX_CLOUDEVENTS = 2, ACKBOX_CLOUDEVENTS_BINARY = 3 };

/* Another agent: where its frames go, and how those that come from it are recognised. */
typedef struct ackbox_peer {
  size_t struct_size;
  /* The name that messages address. Not NULL. */
  const char *name;
  /* Its inbox, such as "http://127.0.0.1:7071/inbox". NULL: it only sends to this agent. */
  const char *url;
  /* Its agent URI. Frames and ACK events that come from it are accepted only with it, and with secrets. */
  const char *agent;
  /* The keys shared with it: their text ("whsec_..."), several divided by blanks; or a file of them, which is read again
   * when it changes. Not both. Neither: nothing is signed. */
  const char *secrets;
  const char *secrets_file;
  /* ACKBOX_NATIVE (default), or a receiver of another kind. */
  uint32_t profile;
  /* 1: `url` may be http:// to another machine, readable on the way. */
  uint32_t allow_plain_http;
} ackbox_peer;

typedef struct ackbox_listen_options {
  size_t struct_size;
  /* A numeric address, or "unix:PATH". Default 127.0.0.1. */
  const char *address;
  /* The path of the inbox. Default "/inbox". */
  const char *path;
  /* TLS: certificate and key (PEM). Default: none. */
  const char *certificate_file;
  const char *key_file;
  /* The types that the program claims: each a type, or a prefix and `*`. Frames of other types stay with their senders.
   * `type_count` 0: all types. */
  const char *const *types;
  size_t type_count;
  /* 0: any free port, see `ackbox_url`. */
  uint32_t port;
  /* Frames that are taken from the file ahead of the program's claims, with those that it has not settled: 1 to 256,
   * each of another session. Default 16. */
  uint32_t window;
  /* 1: unsigned requests are accepted, too, as `ackbox::InboundOptions::allowAnonymous`. */
  uint32_t allow_anonymous;
  /* 1: without TLS the address may be another than loopback. */
  uint32_t allow_plain_http;
} ackbox_listen_options;

/* What the program sends; `ackbox::Frame` says more of each member. */
typedef struct ackbox_message {
  size_t struct_size;
  /* The peer's name. Default "default". */
  const char *peer;
  /* Messages of one peer and session take effect in order. Default "default"; "": outside any session. */
  const char *session;
  /* CloudEvents `type`. Not NULL. */
  const char *type;
  /* JSON text, of `data_size` bytes; with a `data_size` of 0 it ends at its NUL. NULL: JSON's null. */
  const char *data;
  size_t data_size;
  /* Default: a fresh one. */
  const char *id;
  const char *idempotency_key;
  const char *supersede_key;
  const char *correlation_id;
  const char *traceparent;
  /* Milliseconds since 1970. 0: not set. */
  int64_t not_before_ms;
  int64_t expires_at_ms;
  /* 1: `priority` counts, 0 (last) to 9 (first); 0: the default, 4. */
  uint32_t has_priority;
  uint32_t priority;
} ackbox_message;

enum { ACKBOX_ID_SIZE = 136 };

/* What became of an enqueue. */
typedef struct ackbox_receipt {
  size_t struct_size;
  /* The message's number in its session, from 1; of a duplicate, the first message's. 0: outside any session. */
  uint64_t sequence;
  /* 1: a message with this id or idempotency key was enqueued before, and nothing was stored. */
  uint32_t duplicate;
  uint32_t reserved;
  char message_id[ACKBOX_ID_SIZE];
  /* The pending message that this one replaced by its `supersede_key`; "": none. */
  char superseded_id[ACKBOX_ID_SIZE];
} ackbox_receipt;

/* A frame that the program has claimed. Its texts live until the claim is settled or the agent is closed. A text that
 * the sender did not give is "". */
typedef struct ackbox_frame {
  size_t struct_size;
  /* Names the claim in this process, for `ackbox_settle`. Never 0. */
  uint64_t claim;
  const char *id;
  const char *source;
  const char *type;
  const char *session;
  /* The sender's store. A program that must take effect once, in a file of its own, remembers the highest `sequence` of
   * each (source, origin, session), or the `id` of a frame outside sessions, in the transaction of the effect. */
  const char *origin;
  uint64_t sequence;
  uint64_t previous_sequence;
  /* JSON text, as sent; `data_size` bytes and a NUL. */
  const char *data;
  size_t data_size;
  /* The media type of data that is not JSON; `data` is then base64, as a JSON string. */
  const char *data_content_type;
  const char *correlation_id;
  const char *traceparent;
  /* When the sender enqueued it, by its clock; 0: it did not say. */
  int64_t time_ms;
  /* Runs begun so far, with this one; more than `retries` + 1: some ended with their process. */
  uint32_t run;
  /* Runs that failed. */
  uint32_t retries;
  /* An operator of the sender sends a message again, whose id this is: `id`, or that of the message of which this is a
   * copy. It may have taken effect before. "": no operator does. */
  const char *resent_of;
} ackbox_frame;

enum {
  /* Applied: the sender's message is done. */
  ACKBOX_ACK = 1,
  /* Failed for now: charged, and given out again after `retry_after_ms` and a growing pause. */
  ACKBOX_RETRY = 2,
  /* Never: a dead letter at the sender. */
  ACKBOX_REJECT = 3,
  /* Not worked on: not charged, and given out again after `retry_after_ms`, here or in another process. */
  ACKBOX_RELEASE = 4
};

/* How a claim ends. */
typedef struct ackbox_outcome {
  size_t struct_size;
  /* For the sender, at ACKBOX_ACK: JSON text. */
  const char *result;
  /* For people, at the other three. */
  const char *detail;
  /* The dead letter's reason, at ACKBOX_REJECT: short and stable. Default "rejected". */
  const char *code;
  int64_t retry_after_ms;
  /* ACKBOX_ACK to ACKBOX_RELEASE. */
  uint32_t kind;
  uint32_t reserved;
} ackbox_outcome;

/* The release, such as "0.1.0". Never freed. */
ACKBOX_API const char *ackbox_version(void);

/* The status's name, such as "database busy"; of an unknown one "unknown". Never freed. */
ACKBOX_API const char *ackbox_status_name(int status);

/* The cause of this thread's last call that did not return ACKBOX_OK, in a sentence; "" before the first. Valid until
 * the thread's next call. */
ACKBOX_API const char *ackbox_last_error(void);

/* Frees a text that the library has returned. NULL, which a failing call leaves in the place of a text, does nothing. */
ACKBOX_API void ackbox_free(void *text);

/* Makes an agent, without a file. On a failure `*agent` is NULL. */
ACKBOX_API int ackbox_new(const ackbox_options *options, ackbox_agent **agent);

/* Adds a peer. Before `ackbox_open`. A peer that is refused is not added. */
ACKBOX_API int ackbox_add_peer(ackbox_agent *agent, const ackbox_peer *peer);

/* Opens or creates the file. Nothing is sent yet. After a failure it may be called again. */
ACKBOX_API int ackbox_open(ackbox_agent *agent, const char *file);

/* Begins to listen. Frames are stored, answered "later", and wait in the file until they are claimed and settled: once
 * for each agent, after `ackbox_open`. Also lets peers report the end of messages that they took with "later"; without
 * it this agent asks them after 60 s. */
ACKBOX_API int ackbox_listen(ackbox_agent *agent, const ackbox_listen_options *options);

/* The URL of the inbox, with its port; to be freed. */
ACKBOX_API int ackbox_url(ackbox_agent *agent, char **url);

/* Begins to deliver: enqueued messages, and the outcomes of claimed frames. Idempotent. */
ACKBOX_API int ackbox_start(ackbox_agent *agent);

/* Ends what `ackbox_start` began: waits up to 5 s for requests under way. Idempotent. The listener goes on. */
ACKBOX_API int ackbox_stop(ackbox_agent *agent);

/* Ends everything and frees the agent. Frames that are claimed and not settled are put back without a charge. NULL:
 * does nothing. */
ACKBOX_API int ackbox_close(ackbox_agent *agent);

/* Stores a message. ACKBOX_OK: it survives what `ackbox_options.durability` names, and is delivered or ends as a dead
 * letter with a reason. Anything else: nothing was stored. `receipt` may be NULL. */
ACKBOX_API int ackbox_enqueue(ackbox_agent *agent, const ackbox_message *message, ackbox_receipt *receipt);

/* Stores a message for each peer that has subscribed to it (`ackbox subscribe`, or the daemon's API, on the same file):
 * all or none. `message->peer` is NULL or "*", and `message->id` is NULL. ACKBOX_OK: `*json` says which, as
 * {"status":"stored","messages":[{"peer":...,"message_id":...,"sequence":...}]}, with the status "duplicate" for a used
 * `idempotency_key`; to be freed. ACKBOX_NOTHING: nobody has subscribed, and nothing was stored but the key. Anything
 * else: nothing was stored. Unless ACKBOX_OK, `*json` is NULL. `json` may be NULL. */
ACKBOX_API int ackbox_publish(ackbox_agent *agent, const ackbox_message *message, char **json);

/* A descriptor for `poll` that is readable while a frame waits to be claimed or an event to be read. It is the agent's:
 * neither read it nor close it. */
ACKBOX_API int ackbox_fd(ackbox_agent *agent, int *descriptor);

/* Claims the next frame; ACKBOX_NOTHING: none waits. Does not wait. The claim has no timeout: it ends by
 * `ackbox_settle`, by `ackbox_close`, or with the process. Frames of one session are given out one after the other. */
ACKBOX_API int ackbox_claim(ackbox_agent *agent, ackbox_frame *frame);

/* Ends a claim, and returns when its end is durable. ACKBOX_LATE: the claim is gone, and the frame is given out again.
 * After ACKBOX_INVALID_ARGUMENT the claim stays. */
ACKBOX_API int ackbox_settle(ackbox_agent *agent, uint64_t claim, const ackbox_outcome *outcome);

/* The oldest event as a JSON object, to be freed; ACKBOX_NOTHING: none waits. `event` is "acked" (with `duplicate` and
 * `result`) or "failed" (with `reason` and `error`); all have `message_id`, `peer`, `session` and `sequence`. Events are
 * kept in memory, at most 10,000 of 16 MiB: of more, the oldest are dropped, and the next event counts them in
 * `missed`. For what must not be missed, ask `ackbox_explain_json`. */
ACKBOX_API int ackbox_next_event(ackbox_agent *agent, char **json);

/* The figures of the file, as `ackbox stats FILE --json` prints them; to be freed. */
ACKBOX_API int ackbox_stats_json(ackbox_agent *agent, char **json);

/* Why a message is in its state, as `ackbox explain FILE ID --json` prints it; to be freed. ACKBOX_UNKNOWN_MESSAGE: the
 * file does not have it, or has no longer. */
ACKBOX_API int ackbox_explain_json(ackbox_agent *agent, const char *message_id, char **json);

#ifdef __cplusplus
}
#endif

#endif
