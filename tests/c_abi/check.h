/* What the C programs of these tests share. A check that fails ends the program. */
#ifndef ACKBOX_TESTS_CHECK_H
#define ACKBOX_TESTS_CHECK_H

#include <ackbox.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, ackbox_last_error()); \
      abort();                                                                        \
    }                                                                                 \
  } while (0)

#define CHECK_OK(call) CHECK((call) == ACKBOX_OK)

/* An agent `name` with the file `folder`/`name`.db that listens on `port`, and has the peer `other` on `other_port`. */
static ackbox_agent *agent_of(const char *folder, const char *name, unsigned port, const char *other,
                              unsigned other_port) {
  char agent_uri[100], other_uri[100], url[100], file[4096];
  ackbox_agent *agent = NULL;
  snprintf(agent_uri, sizeof agent_uri, "urn:agent:%s", name);
  snprintf(other_uri, sizeof other_uri, "urn:agent:%s", other);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/inbox", other_port);
  snprintf(file, sizeof file, "%s/%s.db", folder, name);
  CHECK_OK(ackbox_new(&(ackbox_options){.struct_size = sizeof(ackbox_options), .agent = agent_uri, .events = 1}, &agent));
  CHECK_OK(ackbox_add_peer(agent, &(ackbox_peer){.struct_size = sizeof(ackbox_peer),
                                                 .name = other,
                                                 .url = url,
                                                 .agent = other_uri,
                                                 .secrets = KEY}));
  CHECK_OK(ackbox_open(agent, file));
  CHECK_OK(ackbox_listen(agent, &(ackbox_listen_options){.struct_size = sizeof(ackbox_listen_options), .port = port}));
  CHECK_OK(ackbox_start(agent));
  return agent;
}

/* Waits until the agent's descriptor is readable. */
static void await_readable(ackbox_agent *agent) {
  struct pollfd wait = {.events = POLLIN};
  CHECK_OK(ackbox_fd(agent, &wait.fd));
  CHECK(poll(&wait, 1, 120000) == 1);
}

static ackbox_frame claim_one(ackbox_agent *agent) {
  ackbox_frame frame = {.struct_size = sizeof frame};
  int status = ackbox_claim(agent, &frame);
  while (status == ACKBOX_NOTHING) {
    await_readable(agent);
    status = ackbox_claim(agent, &frame);
  }
  CHECK_OK(status);
  return frame;
}

static int settle(ackbox_agent *agent, const ackbox_frame *frame, unsigned kind) {
  return ackbox_settle(agent, frame->claim,
                       &(ackbox_outcome){.struct_size = sizeof(ackbox_outcome),
                                         .kind = kind,
                                         .result = kind == ACKBOX_ACK ? "{\"done\":true}" : NULL,
                                         .detail = "the test wants it so",
                                         .code = kind == ACKBOX_REJECT ? "unwanted" : NULL});
}

#endif
