#!/usr/bin/env bash
# Goal: software that knows nothing of ackbox takes what it says, and is understood by it.
# Method: Node programs on standardwebhooks, svix, cloudevents and Ajv, both directions over loopback, signed.
#
#   run.sh INTEROP_AGENT SOURCE_DIR WORK_DIR COUNT
set -euo pipefail
agent=$1 source=$2 work=$3 count=$4
mkdir -p "$work/interop"
# Beside the schemas, as in the source tree; the modules stay out of it.
cp "$source"/{package.json,package-lock.json,peer.mjs,receive.mjs,send.mjs} "$work/interop/"
mkdir -p "$work/proto"
cp -r "$source/../../proto/schemas" "$work/proto/"
sed -i "s|'../../proto'|'../proto'|" "$work/interop/peer.mjs"
cd "$work/interop"
if [[ ! -d node_modules ]]; then
  npm ci --no-audit --no-fund --loglevel=error
fi

# Made up for this run; they are in no file.
secret() { printf 'whsec_%s' "$(head -c 32 /dev/urandom | base64 -w0)"; }
current=$(secret) old=$(secret)
export ACKBOX_INTEROP_SECRET=$current ACKBOX_INTEROP_OLD_SECRET=$old
problems=0
expect() { # TITLE ACTUAL WANTED
  if [[ $2 == "$3" ]]; then
    printf 'ok: %s: %s\n' "$1" "$2"
  else
    printf 'FAILED: %s: %s instead of %s\n' "$1" "$2" "$3"
    problems=$((problems + 1))
  fi
}
field() { node -e 'console.log(JSON.parse(process.argv[1])[process.argv[2]])' "$1" "$2"; }

receive() { # BATCH COUNT
  coproc receiver { ACKBOX_INTEROP_BATCH=$([[ $1 -gt 1 ]] && echo 1) node receive.mjs "$2"; }
  local line port sent report
  read -r line <&"${receiver[0]}"
  port=$(field "$line" port)
  # Signs with both; the receiver knows the current one only.
  sent=$(ACKBOX_INTEROP_SECRETS="$current $old" "$agent" send "$port" "$2" "$1")
  read -r report <&"${receiver[0]}"
  wait "$receiver_PID" || true
  expect "frames that the receiver accepted, $1 a request" "$(field "$report" frames)" "$2"
  expect "requests that it refused" "$(field "$report" refused)" 0
  expect "frames out of order" "$(field "$report" outOfOrder)" 0
  expect "ACKs that were taken" "$(field "$sent" acked)" "$2"
  [[ $(field "$report" refused) == 0 ]] || printf '%s\n' "$report"
}

receive 1 "$count"
receive 100 "$count"

coproc server { ACKBOX_INTEROP_SECRETS="$current $old" "$agent" serve; }
read -r line <&"${server[0]}"
report=$(node send.mjs "$(field "$line" port)" "$count")
exec {server[1]}>&-
read -r counted <&"${server[0]}"
expect "frames of the sender that were accepted" "$(field "$report" accepted)" "$count"
expect "requests of it that were refused" "$(field "$report" refused)" 0
expect "frames that took effect" "$(field "$counted" received)" "$count"
expect "tampered requests that both refused" "$(field "$report" tamperedRefused)" "$(field "$report" tampered)"
[[ $problems -eq 0 ]] || printf '%s\n' "$report"
[[ $(field "$report" tampered) -ge 25 ]] || { echo "FAILED: fewer than 25 variants"; problems=$((problems + 1)); }
[[ $problems -eq 0 ]]
