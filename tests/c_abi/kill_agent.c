/* An agent that is killed; see kill_test.py.
 *
 *   write FOLDER PORT OTHER SEED START   alice enqueues until it is killed, and prints each receipt; START 1: it delivers
 *   receive FOLDER PORT OTHER EFFECTS    bob claims, writes each frame to the file EFFECTS, and settles
 *   drain FOLDER PORT OTHER              alice delivers until nothing is left
 *   check FOLDER                         prints which ids of standard input alice's file does not have */
#define _GNU_SOURCE
#include <fcntl.h>

#include "check.h"

static void put(int descriptor, const char *line) {
  CHECK(write(descriptor, line, strlen(line)) == (ssize_t)strlen(line));
}

static unsigned number(const char *text) {
  return (unsigned)strtoul(text, NULL, 10);
}

/* Alice, who does nothing by itself; `other` 0: without a peer. */
static ackbox_agent *open_alice(const char *folder, unsigned other) {
  char file[4096], url[100];
  ackbox_agent *alice = NULL;
  CHECK_OK(ackbox_new(&(ackbox_options){.struct_size = sizeof(ackbox_options), .agent = "urn:agent:alice"}, &alice));
  snprintf(url, sizeof url, "http://127.0.0.1:%u/inbox", other);
  if (other != 0) {
    CHECK_OK(ackbox_add_peer(alice, &(ackbox_peer){.struct_size = sizeof(ackbox_peer),
                                                   .name = "bob",
                                                   .url = url,
                                                   .agent = "urn:agent:bob",
                                                   .secrets = KEY}));
  }
  snprintf(file, sizeof file, "%s/alice.db", folder);
  CHECK_OK(ackbox_open(alice, file));
  return alice;
}

static void write_messages(char **arguments) {
  const unsigned port = number(arguments[1]), other = number(arguments[2]);
  unsigned chance = number(arguments[3]);
  ackbox_agent *const alice =
      number(arguments[4]) ? agent_of(arguments[0], "alice", port, "bob", other) : open_alice(arguments[0], other);
  put(STDOUT_FILENO, "begun\n");
  for (;;) {
    char session[16], line[300];
    ackbox_receipt receipt = {.struct_size = sizeof receipt};
    snprintf(session, sizeof session, "s%d", rand_r(&chance) % 4);
    CHECK_OK(ackbox_enqueue(alice, &(ackbox_message){.struct_size = sizeof(ackbox_message),
                                                     .peer = "bob",
                                                     .session = session,
                                                     .type = "t",
                                                     .data = "{\"n\":1}"},
                            &receipt));
    snprintf(line, sizeof line, "%s %llu %s\n", session, (unsigned long long)receipt.sequence, receipt.message_id);
    put(STDOUT_FILENO, line);
  }
}

static void receive(char **arguments) {
  const int effects = open(arguments[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  CHECK(effects >= 0);
  ackbox_agent *const bob = agent_of(arguments[0], "bob", number(arguments[1]), "alice", number(arguments[2]));
  put(STDOUT_FILENO, "begun\n");
  for (;;) {
    char line[300];
    const ackbox_frame frame = claim_one(bob);
    snprintf(line, sizeof line, "%s %llu %s\n", frame.session, (unsigned long long)frame.sequence, frame.id);
    put(effects, line);
    CHECK_OK(settle(bob, &frame, ACKBOX_ACK));
  }
}

static void drain(char **arguments) {
  ackbox_agent *const alice =
      agent_of(arguments[0], "alice", number(arguments[1]), "bob", number(arguments[2]));
  struct pollfd wait = {.events = POLLIN};
  CHECK_OK(ackbox_fd(alice, &wait.fd));
  for (int is_left = 1; is_left;) {
    char *json = NULL;
    CHECK(poll(&wait, 1, 100) >= 0);
    while (ackbox_next_event(alice, &json) == ACKBOX_OK) {
      ackbox_free(json);
    }
    CHECK_OK(ackbox_stats_json(alice, &json));
    is_left = !strstr(json, "\"pending\":0,") || !strstr(json, "\"sending\":0,") || !strstr(json, "\"sent\":0,");
    ackbox_free(json);
  }
  CHECK_OK(ackbox_close(alice));
}

static void check_ids(const char *folder) {
  ackbox_agent *const alice = open_alice(folder, 0);
  char id[200];
  while (scanf("%199s", id) == 1) {
    char *json = NULL;
    if (ackbox_explain_json(alice, id, &json) != ACKBOX_OK) {
      printf("%s: %s\n", id, ackbox_last_error());
    }
    ackbox_free(json);
  }
  CHECK_OK(ackbox_close(alice));
}

int main(int count, char **arguments) {
  if (count == 7 && strcmp(arguments[1], "write") == 0) {
    write_messages(arguments + 2);
  } else if (count == 6 && strcmp(arguments[1], "receive") == 0) {
    receive(arguments + 2);
  } else if (count == 5 && strcmp(arguments[1], "drain") == 0) {
    drain(arguments + 2);
  } else if (count == 3 && strcmp(arguments[1], "check") == 0) {
    check_ids(arguments[2]);
  } else {
    return 2;
  }
  return 0;
}
