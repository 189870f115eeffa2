#!/usr/bin/env bash
# An operator's day, with the tool: the same as main.cpp. output.txt is what it prints.
#
#   operator.sh PROGRAM     PROGRAM is main.cpp's, which stands for the agent; `ackbox` is found in PATH
set -euo pipefail
program=$1

agent() {
  "$program" "$@"
}

# run COMMAND...: shows the command, then runs it.
run() {
  printf '$ %s\n' "$*"
  "$@"
}

agent agent.db fail # The night.

run ackbox list agent.db --state failed
run ackbox explain agent.db page-1
run ackbox show agent.db cake-1
run ackbox export agent.db --state failed
# Keep them before some are thrown away: `ackbox enqueue` reads this back.
ackbox export agent.db --state failed >dead.jsonl
run ackbox retry agent.db --reason retry-budget
# Without --yes it only says what it would do, and ends with 1.
run ackbox discard agent.db --all || true
run ackbox discard agent.db cake-1 cake-2
run agent agent.db deliver # The agent goes on.
run ackbox list agent.db || true
run ackbox verify agent.db
