/* Goal: a program in C has an agent of its own: it sends, claims and settles, and every misuse is a status with a text.
 * Method: two agents in this process over loopback; then wrong arguments of every kind, and a fork. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

/* Programs of other languages write these sizes down: a member that is added changes one, at its end. None has padding
 * that a later member could fill. */
#define HAS_LAYOUT(type, size, last)                            \
  _Static_assert(sizeof(void *) != 8 || sizeof(type) == (size), #type); \
  _Static_assert(sizeof(void *) != 8 || offsetof(type, last) + sizeof(((type *)0)->last) == (size), #type)
HAS_LAYOUT(ackbox_options, 32, events);
HAS_LAYOUT(ackbox_peer, 56, allow_plain_http);
HAS_LAYOUT(ackbox_listen_options, 72, allow_plain_http);
HAS_LAYOUT(ackbox_message, 112, priority);
HAS_LAYOUT(ackbox_receipt, 296, superseded_id);
HAS_LAYOUT(ackbox_frame, 136, resent_of);
HAS_LAYOUT(ackbox_outcome, 48, reserved);

#define MESSAGE(...) \
  (&(ackbox_message) { .struct_size = sizeof(ackbox_message), .type = "order.placed", __VA_ARGS__ })

/* A port of loopback that stays bound, without listening, until the process ends: no other program gets it. */
static unsigned reserved_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int one = 1;
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(descriptor >= 0);
  CHECK(setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
  CHECK(bind(descriptor, (struct sockaddr *)&address, size) == 0);
  CHECK(getsockname(descriptor, (struct sockaddr *)&address, &size) == 0);
  return ntohs(address.sin_port);
}

/* The next event, which the caller frees. */
static char *event_of(ackbox_agent *agent) {
  char *json = NULL;
  int status = ackbox_next_event(agent, &json);
  while (status == ACKBOX_NOTHING) {
    await_readable(agent);
    status = ackbox_next_event(agent, &json);
  }
  CHECK_OK(status);
  return json;
}

static void check_refused(int status, int expected, const char *text) {
  if (status != expected || strstr(ackbox_last_error(), text) == NULL) {
    fprintf(stderr, "%s (%d) \"%s\", not %s \"%s\"\n", ackbox_status_name(status), status, ackbox_last_error(),
            ackbox_status_name(expected), text);
    abort();
  }
}

static void check_event(ackbox_agent *agent, const char *kind, const char *session, const char *part) {
  char *json = event_of(agent);
  char expected_kind[64], expected_session[64];
  snprintf(expected_kind, sizeof expected_kind, "\"event\":\"%s\"", kind);
  snprintf(expected_session, sizeof expected_session, "\"session\":\"%s\"", session);
  if (!strstr(json, expected_kind) || !strstr(json, expected_session) || !strstr(json, part)) {
    fprintf(stderr, "event %s, expected %s in %s with %s\n", json, kind, session, part);
    abort();
  }
  ackbox_free(json);
}

static void check_exchange(ackbox_agent *alice, ackbox_agent *bob) {
  ackbox_receipt receipt = {.struct_size = sizeof receipt};
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "orders", .data = "{\"n\":1}", .id = "first"), &receipt));
  CHECK(receipt.sequence == 1 && receipt.duplicate == 0 && strcmp(receipt.message_id, "first") == 0);
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "orders", .id = "first"), &receipt));
  CHECK(receipt.duplicate == 1 && receipt.sequence == 1);
  /* Only `data_size` bytes of the data count. */
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "orders", .data = "[2]]", .data_size = 3), NULL));

  ackbox_frame frame = claim_one(bob);
  CHECK(strcmp(frame.id, "first") == 0 && strcmp(frame.source, "urn:agent:alice") == 0);
  CHECK(strcmp(frame.session, "orders") == 0 && frame.sequence == 1 && frame.previous_sequence == 0);
  CHECK(strcmp(frame.data, "{\"n\":1}") == 0 && frame.data_size == 7 && frame.time_ms > 0);
  CHECK(strcmp(frame.type, "order.placed") == 0 && frame.origin[0] != '\0' && frame.traceparent[0] == '\0');
  CHECK(frame.run == 1 && frame.retries == 0);
  /* The second of its session waits until the first has ended. */
  struct pollfd wait = {.events = POLLIN};
  CHECK_OK(ackbox_fd(bob, &wait.fd));
  CHECK(poll(&wait, 1, 0) == 0);
  ackbox_frame none = {.struct_size = sizeof none};
  check_refused(ackbox_claim(bob, &none), ACKBOX_NOTHING, "no frame");
  CHECK(none.claim == 0 && none.id == NULL);
  CHECK_OK(settle(bob, &frame, ACKBOX_ACK));
  check_refused(settle(bob, &frame, ACKBOX_ACK), ACKBOX_LATE, "the claim has ended");
  check_event(alice, "acked", "orders", "\"result\":{\"done\":true}");

  frame = claim_one(bob);
  CHECK(frame.sequence == 2 && strcmp(frame.data, "[2]") == 0);
  CHECK_OK(settle(bob, &frame, ACKBOX_RELEASE));
  frame = claim_one(bob);
  CHECK(frame.sequence == 2 && frame.run == 2 && frame.retries == 0);
  CHECK_OK(settle(bob, &frame, ACKBOX_REJECT));
  check_event(alice, "failed", "orders", "\"reason\":\"unwanted\"");

  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "", .has_priority = 1, .priority = 9), &receipt));
  CHECK(receipt.sequence == 0 && strlen(receipt.message_id) == 36);
  frame = claim_one(bob);
  CHECK(strcmp(frame.id, receipt.message_id) == 0 && strcmp(frame.data, "null") == 0 && frame.sequence == 0);
  CHECK_OK(settle(bob, &frame, ACKBOX_RETRY));
  frame = claim_one(bob);
  CHECK(frame.run == 2 && frame.retries == 1);
  /* The other way, while a claim is open. */
  CHECK_OK(ackbox_enqueue(bob, MESSAGE(.peer = "alice", .correlation_id = frame.id), NULL));
  ackbox_frame reply = claim_one(alice);
  CHECK(strcmp(reply.correlation_id, frame.id) == 0 && strcmp(reply.session, "default") == 0);
  CHECK_OK(settle(alice, &reply, ACKBOX_ACK));
  CHECK_OK(settle(bob, &frame, ACKBOX_ACK));
  check_event(alice, "acked", "", "\"duplicate\":false");
}

static void check_reads(ackbox_agent *alice) {
  char *json = NULL;
  CHECK_OK(ackbox_stats_json(alice, &json));
  CHECK(strstr(json, "\"failed\":1") != NULL);
  ackbox_free(json);
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .id = "later", .not_before_ms = ((int64_t)time(NULL) + 3600) * 1000), NULL));
  CHECK_OK(ackbox_explain_json(alice, "later", &json));
  CHECK(strstr(json, "\"message_id\":\"later\"") != NULL && strstr(json, "\"sentence\":") != NULL);
  ackbox_free(json);
  check_refused(ackbox_explain_json(alice, "nobody's", &json), ACKBOX_UNKNOWN_MESSAGE, "no message");
  CHECK(json == NULL);
  CHECK_OK(ackbox_url(alice, &json));
  CHECK(strncmp(json, "http://127.0.0.1:", 17) == 0);
  ackbox_free(json);
  ackbox_free(NULL);
}

/* Who subscribes is said on the same file by the tool. */
static void check_publish(const char *folder, const char *tool, ackbox_agent *alice, ackbox_agent *bob) {
  char *json = (char *)folder;
  check_refused(ackbox_publish(alice, MESSAGE(.idempotency_key = "unheard"), &json), ACKBOX_NOTHING, "no subscription");
  CHECK(json == NULL);
  char command[8192];
  snprintf(command, sizeof command, "'%s' subscribe '%s/alice.db' all bob", tool, folder);
  CHECK(system(command) == 0);
  CHECK_OK(ackbox_publish(alice, MESSAGE(.session = "news", .data = "1", .idempotency_key = "once"), &json));
  CHECK(strstr(json, "{\"status\":\"stored\",\"messages\":[{\"peer\":\"bob\",\"message_id\":\"") == json);
  CHECK(strstr(json, "\"sequence\":1}]}") != NULL);
  ackbox_free(json);
  CHECK_OK(ackbox_publish(alice, MESSAGE(.peer = "*", .session = "news", .idempotency_key = "once"), &json));
  CHECK(strstr(json, "{\"status\":\"duplicate\",\"messages\":[{\"peer\":\"bob\",") == json);
  ackbox_free(json);
  CHECK_OK(ackbox_publish(alice, MESSAGE(.session = "news", .idempotency_key = "unheard"), &json));
  CHECK(strcmp(json, "{\"status\":\"duplicate\",\"messages\":[]}") == 0);
  ackbox_free(json);
  CHECK_OK(ackbox_publish(alice, MESSAGE(.session = "news", .data = "2"), NULL));
  for (int count = 1; count <= 2; ++count) {
    const ackbox_frame frame = claim_one(bob);
    CHECK(frame.sequence == (uint64_t)count && frame.data[0] == '0' + count && strcmp(frame.session, "news") == 0);
    CHECK_OK(settle(bob, &frame, ACKBOX_ACK));
  }
  json = (char *)folder;
  check_refused(ackbox_publish(alice, MESSAGE(.peer = "bob"), &json), ACKBOX_INVALID_FRAME, "message.peer");
  CHECK(json == NULL);
  check_refused(ackbox_publish(alice, MESSAGE(.id = "mine"), NULL), ACKBOX_INVALID_FRAME, "id");
  check_refused(ackbox_publish(alice, MESSAGE(.data = "{no"), NULL), ACKBOX_INVALID_FRAME, "");
  check_refused(ackbox_publish(alice, NULL, NULL), ACKBOX_INVALID_ARGUMENT, "message is NULL");
  json = (char *)folder;
  check_refused(ackbox_publish(NULL, MESSAGE(), &json), ACKBOX_INVALID_ARGUMENT, "agent is NULL");
  CHECK(json == NULL);
  json = (char *)folder;
  check_refused(ackbox_stats_json(NULL, &json), ACKBOX_INVALID_ARGUMENT, "agent is NULL");
  CHECK(json == NULL);
  check_refused(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .data = "1", .data_size = SIZE_MAX), NULL), ACKBOX_FRAME_TOO_LARGE, "262144");
}

static void check_sizes(ackbox_agent *alice) {
  ackbox_message message = {.struct_size = sizeof message - 1, .peer = "bob", .type = "t"};
  check_refused(ackbox_enqueue(alice, &message, NULL), ACKBOX_INVALID_ARGUMENT, "message: struct_size");
  message.struct_size = 0;
  check_refused(ackbox_enqueue(alice, &message, NULL), ACKBOX_INVALID_ARGUMENT, "message: struct_size");
  message.struct_size = (size_t)1 << 40;
  check_refused(ackbox_enqueue(alice, &message, NULL), ACKBOX_INVALID_ARGUMENT, "message: struct_size");
  /* As a program that was built for a later release has it. */
  struct {
    ackbox_message known;
    uint64_t later;
  } newer = {.known = {.struct_size = sizeof newer, .peer = "bob", .type = "t"}};
  CHECK_OK(ackbox_enqueue(alice, &newer.known, NULL));
  newer.later = 1;
  check_refused(ackbox_enqueue(alice, &newer.known, NULL), ACKBOX_INVALID_ARGUMENT, "does not know");
  struct {
    ackbox_receipt known;
    uint64_t later, behind;
  } larger = {.known = {.struct_size = sizeof larger - sizeof larger.behind}, .later = 7, .behind = 7};
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob"), &larger.known));
  CHECK(larger.known.sequence == 3 && larger.later == 0 && larger.behind == 7);
  larger.known.struct_size = sizeof larger.known - 8;
  check_refused(ackbox_enqueue(alice, MESSAGE(.peer = "bob"), &larger.known), ACKBOX_INVALID_ARGUMENT, "receipt: struct_size");
  ackbox_frame frame = {.struct_size = 8};
  check_refused(ackbox_claim(alice, &frame), ACKBOX_INVALID_ARGUMENT, "frame: struct_size");
}

static void check_values(ackbox_agent *alice) {
  check_refused(ackbox_enqueue(NULL, MESSAGE(), NULL), ACKBOX_INVALID_ARGUMENT, "agent is NULL");
  check_refused(ackbox_enqueue(alice, NULL, NULL), ACKBOX_INVALID_ARGUMENT, "message is NULL");
  ackbox_message message = {.struct_size = sizeof message, .peer = "bob"};
  check_refused(ackbox_enqueue(alice, &message, NULL), ACKBOX_INVALID_ARGUMENT, "message.type is NULL");
  message.type = "";
  check_refused(ackbox_enqueue(alice, &message, NULL), ACKBOX_INVALID_FRAME, "type");
  check_refused(ackbox_enqueue(alice, MESSAGE(.data_size = 3), NULL), ACKBOX_INVALID_ARGUMENT, "message.data is NULL");
  check_refused(ackbox_enqueue(alice, MESSAGE(.has_priority = 2), NULL), ACKBOX_INVALID_ARGUMENT, "has_priority");
  check_refused(ackbox_enqueue(alice, MESSAGE(.has_priority = 1, .priority = 10), NULL), ACKBOX_INVALID_FRAME, "priority");
  check_refused(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .data = "{no"), NULL), ACKBOX_INVALID_FRAME, "");
  check_refused(ackbox_enqueue(alice, MESSAGE(.peer = "carol"), NULL), ACKBOX_UNKNOWN_PEER, "'carol'");
  check_refused(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "\xff"), NULL), ACKBOX_INVALID_FRAME, "session");
  check_refused(ackbox_claim(alice, NULL), ACKBOX_INVALID_ARGUMENT, "frame is NULL");
  check_refused(ackbox_fd(alice, NULL), ACKBOX_INVALID_ARGUMENT, "is NULL");
  check_refused(ackbox_stats_json(alice, NULL), ACKBOX_INVALID_ARGUMENT, "is NULL");
  char *json = NULL;
  check_refused(ackbox_explain_json(alice, NULL, &json), ACKBOX_INVALID_ARGUMENT, "message_id is NULL");
  ackbox_outcome outcome = {.struct_size = sizeof outcome};
  check_refused(ackbox_settle(alice, 1, &outcome), ACKBOX_INVALID_ARGUMENT, "outcome.kind");
  outcome.kind = ACKBOX_ACK;
  check_refused(ackbox_settle(alice, 1000, &outcome), ACKBOX_LATE, "claim");
  outcome.reserved = 1;
  check_refused(ackbox_settle(alice, 1000, &outcome), ACKBOX_INVALID_ARGUMENT, "reserved");
  CHECK(strcmp(ackbox_status_name(ACKBOX_SCHEMA_OUTDATED), "schema outdated") == 0);
  CHECK(strcmp(ackbox_status_name(ACKBOX_POOLED_CONNECTION), "pooled connection") == 0);
  CHECK(strcmp(ackbox_status_name(ACKBOX_DATABASE_MOVED), "database moved") == 0);
  CHECK(strcmp(ackbox_status_name(ACKBOX_OUTCOME_UNKNOWN), "outcome unknown") == 0);
  CHECK(strcmp(ackbox_status_name(ACKBOX_INVALID_FRAME), "invalid frame") == 0);
  CHECK(strcmp(ackbox_status_name(ACKBOX_UNEXPECTED), "unexpected") == 0);
  CHECK(strcmp(ackbox_status_name(99), "unknown") == 0 && strcmp(ackbox_status_name(-1), "unknown") == 0);
}

static void check_states(const char *folder) {
  char text[4096];
  ackbox_agent *agent = (ackbox_agent *)text;
  ackbox_options options = {.struct_size = sizeof options};
  check_refused(ackbox_new(&options, NULL), ACKBOX_INVALID_ARGUMENT, "is NULL");
  check_refused(ackbox_new(&options, &agent), ACKBOX_INVALID_ARGUMENT, "options.agent is NULL");
  CHECK(agent == NULL);
  options.agent = "";
  check_refused(ackbox_new(&options, &agent), ACKBOX_INVALID_OPTION, "agent");
  options.agent = "urn:agent:carol";
  options.durability = 2;
  check_refused(ackbox_new(&options, &agent), ACKBOX_INVALID_ARGUMENT, "durability");
  options.durability = ACKBOX_PROCESS_CRASH;
  CHECK_OK(ackbox_new(&options, &agent));

  ackbox_peer peer = {.struct_size = sizeof peer};
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_ARGUMENT, "peer.name");
  peer.name = "dave";
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_ARGUMENT, "neither get nor send");
  peer.url = "gopher://127.0.0.1";
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_OPTION, "url");
  peer.url = "http://127.0.0.1:1/inbox";
  peer.agent = "urn:agent:dave";
  peer.secrets = "no key";
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_OPTION, "secret");
  peer.secrets_file = "/nonexistent";
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_ARGUMENT, "not both");
  peer.secrets = NULL;
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_SECRETS_UNREADABLE, "/nonexistent");
  peer.secrets_file = NULL;
  peer.profile = 9;
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_ARGUMENT, "profile");
  peer.profile = ACKBOX_NATIVE;
  /* Two keys, as while they are changed. */
  peer.secrets = "\n" KEY "\n  whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA= ";
  CHECK_OK(ackbox_add_peer(agent, &peer));
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_INVALID_OPTION, "");

  ackbox_listen_options listen = {.struct_size = sizeof listen};
  check_refused(ackbox_start(agent), ACKBOX_WRONG_STATE, "ackbox_open");
  check_refused(ackbox_enqueue(agent, MESSAGE(), NULL), ACKBOX_WRONG_STATE, "ackbox_open");
  check_refused(ackbox_listen(agent, &listen), ACKBOX_WRONG_STATE, "ackbox_open");
  check_refused(ackbox_open(agent, "/nonexistent/carol.db"), ACKBOX_CANNOT_OPEN, "/nonexistent");
  snprintf(text, sizeof text, "%s/carol.db", folder);
  CHECK_OK(ackbox_open(agent, text));
  check_refused(ackbox_open(agent, text), ACKBOX_WRONG_STATE, "opened");
  check_refused(ackbox_add_peer(agent, &peer), ACKBOX_WRONG_STATE, "opened");
  char *url = NULL;
  check_refused(ackbox_url(agent, &url), ACKBOX_WRONG_STATE, "ackbox_listen");
  listen.port = 65536;
  check_refused(ackbox_listen(agent, &listen), ACKBOX_INVALID_ARGUMENT, "port");
  listen.port = 0;
  listen.window = 257;
  check_refused(ackbox_listen(agent, &listen), ACKBOX_INVALID_ARGUMENT, "window");
  listen.window = 0;
  listen.type_count = 1;
  check_refused(ackbox_listen(agent, &listen), ACKBOX_INVALID_ARGUMENT, "types");
  listen.types = (const char *const[]){"a*b"};
  check_refused(ackbox_listen(agent, &listen), ACKBOX_INVALID_ARGUMENT, "types");
  listen.types = (const char *const[]){"a.*"};
  listen.address = "192.0.2.1";
  listen.allow_plain_http = 1;
  check_refused(ackbox_listen(agent, &listen), ACKBOX_CANNOT_LISTEN, "");
  listen.address = NULL;
  CHECK_OK(ackbox_listen(agent, &listen));
  check_refused(ackbox_listen(agent, &listen), ACKBOX_WRONG_STATE, "listens");
  CHECK_OK(ackbox_start(agent));
  CHECK_OK(ackbox_start(agent));
  CHECK_OK(ackbox_stop(agent));
  CHECK_OK(ackbox_stop(agent));
  CHECK_OK(ackbox_start(agent));
  CHECK_OK(ackbox_close(agent));
  CHECK_OK(ackbox_close(NULL));
}

static void check_fork(ackbox_agent *alice) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    check_refused(ackbox_enqueue(alice, MESSAGE(.peer = "bob"), NULL), ACKBOX_OTHER_PROCESS, "");
    ackbox_frame frame = {.struct_size = sizeof frame};
    check_refused(ackbox_claim(alice, &frame), ACKBOX_OTHER_PROCESS, "");
    check_refused(ackbox_stop(alice), ACKBOX_OTHER_PROCESS, "");
    check_refused(ackbox_close(alice), ACKBOX_OTHER_PROCESS, "");
    _exit(7);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* A frame that is claimed, and one that waits, when an agent closes: both are given out again, uncharged. */
static void check_claims_survive(const char *folder, ackbox_agent *alice, ackbox_agent **bob, unsigned port,
                                 unsigned other_port) {
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "one", .data = "1"), NULL));
  CHECK_OK(ackbox_enqueue(alice, MESSAGE(.peer = "bob", .session = "two", .data = "2"), NULL));
  claim_one(*bob);
  await_readable(*bob);
  CHECK_OK(ackbox_close(*bob));
  *bob = agent_of(folder, "bob", port, "alice", other_port);
  for (int count = 0; count < 2; ++count) {
    const ackbox_frame frame = claim_one(*bob);
    CHECK(frame.retries == 0);
    CHECK_OK(settle(*bob, &frame, ACKBOX_ACK));
  }
}

int main(int count, char **arguments) {
  CHECK(count == 4);
  const char *const folder = arguments[1];
  CHECK(strcmp(ackbox_version(), arguments[2]) == 0);
  CHECK(strcmp(ackbox_last_error(), "") == 0);
  check_states(folder);
  const unsigned alice_port = reserved_port();
  const unsigned bob_port = reserved_port();
  ackbox_agent *alice = agent_of(folder, "alice", alice_port, "bob", bob_port);
  ackbox_agent *bob = agent_of(folder, "bob", bob_port, "alice", alice_port);
  check_exchange(alice, bob);
  check_reads(alice);
  check_claims_survive(folder, alice, &bob, bob_port, alice_port);
  check_publish(folder, arguments[3], alice, bob);
  check_values(alice);
  check_sizes(alice);
  check_fork(alice);
  CHECK_OK(ackbox_stop(alice));
  CHECK_OK(ackbox_close(bob));
  CHECK_OK(ackbox_close(alice));
  return 0;
}
