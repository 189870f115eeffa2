#!/usr/bin/env bash
# Goal: software that knows nothing of ackbox takes what it says, and is understood by it.
# Method: Node programs on standardwebhooks, svix, cloudevents, agenium and Ajv, both directions over loopback, signed.
#
#   run.sh INTEROP_AGENT SOURCE_DIR WORK_DIR COUNT
set -euo pipefail
agent=$1 source=$2 work=$3 count=$4
mkdir -p "$work/interop"
# Beside the schemas, as in the source tree; the modules stay out of it.
cp "$source"/{package.json,package-lock.json,peer.mjs,tamper.mjs,receive.mjs,send.mjs,agenium.mjs,vectors.mjs,sdk_peer.mjs,sdk_kills.mjs} "$work/interop/"
mkdir -p "$work/proto"
cp -r "$source"/../../proto/{schemas,vectors} "$work/proto/"
sed -i "s|'../../proto'|'../proto'|" "$work/interop/peer.mjs"
cd "$work/interop"
if ! cmp -s package-lock.json node_modules/.of; then
  # Without scripts: agenium's database is a native module, and what is used of it needs none.
  if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 2>npm.log; then
    cat npm.log >&2
    if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT' npm.log; then
      echo "left out: this test needs the npm registry, which does not answer"
      exit 77
    fi
    exit 1
  fi
  cp package-lock.json node_modules/.of
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

receive() { # BATCH COUNT [webhook|tamper]
  local mode=${3:-}
  coproc receiver {
    ACKBOX_INTEROP_BATCH=$([[ $1 -gt 1 ]] && echo 1) ACKBOX_INTEROP_WEBHOOK=$([[ $mode == webhook ]] && echo 1) \
      ACKBOX_INTEROP_TAMPER=$([[ $mode == tamper ]] && echo 1) node receive.mjs "$2"
  }
  local line port sent report extra=() what="$1 a request${mode:+, $mode}" since=$SECONDS
  read -r line <&"${receiver[0]}"
  port=$(field "$line" port)
  [[ $mode == webhook ]] && extra=(webhook)
  # Signs with both; the receiver knows the current one only.
  sent=$(ACKBOX_INTEROP_SECRETS="$current $old" "$agent" send "$port" "$2" "$1" ${extra[@]+"${extra[@]}"})
  read -r report <&"${receiver[0]}"
  wait "$receiver_PID" || true
  expect "frames that the receiver accepted, $what" "$(field "$report" frames)" "$2"
  expect "requests that it refused" "$(field "$report" refused)" 0
  expect "frames out of order" "$(field "$report" outOfOrder)" 0
  expect "ACKs that were taken" "$(field "$sent" acked)" "$2"
  expect "tampered copies of a request that the libraries refused" "$(field "$report" tamperedRefused)" "$variants"
  if [[ $mode == tamper ]]; then
    # Each was asked again, so none was taken for an ACK.
    expect "tampered answers that the libraries refused" "$(field "$report" tamperedAnswers)" "$variants"
    expect "tampered answers that ackbox refused" "$(($(field "$report" requests) - $2))" "$variants"
  fi
  printf 'took %s s\n' "$((SECONDS - since))"
  [[ $(field "$report" refused) == 0 ]] || printf '%s\n' "$report"
}

variants=$(node -e 'import("./tamper.mjs").then((m) => console.log(m.tamperings(process.env.ACKBOX_INTEROP_SECRET).length))')
[[ $variants -ge 25 ]] || { echo "FAILED: fewer than 25 variants"; problems=$((problems + 1)); }

report=$(node vectors.mjs)
expect "golden messages that the schemas and the libraries agree with" "$(field "$report" agreed)" "$(field "$report" messages)"
[[ $(field "$report" agreed) == "$(field "$report" messages)" ]] || printf '%s\n' "$report"

receive 1 "$count"
receive 100 "$count"
receive 1 "$count" webhook
receive 1 100 tamper

# Receivers that are nothing but an official package, as peers, while either side is killed.
since=$SECONDS
peers=0
while read -r report; do
  peers=$((peers + 1))
  what="$(field "$report" peer) by profile $(field "$report" profile)"
  expect "ids that took effect once in order under kills, $what" \
    "$(field "$report" ids)/$(field "$report" effects)/$(field "$report" outOfOrder)" "$((count / 5))/$((count / 5))/0"
  expect "requests that the package refused" "$(field "$report" refused)" 0
done < <(ACKBOX_INTEROP_SECRETS="$current $old" node sdk_kills.mjs "$agent" $((count / 5)) 4)
expect "packages and profiles" "$peers" 4
printf 'took %s s\n' "$((SECONDS - since))"

coproc server { ACKBOX_INTEROP_SECRETS="$current $old" "$agent" serve 20; }
read -r line <&"${server[0]}"
port=$(field "$line" port)
since=$SECONDS
report=$(node send.mjs "$port" "$count")
binaries=$((count / 10))
expect "frames of the sender that were accepted" "$(field "$report" accepted)" $((count + binaries))
expect "requests of it that were refused" "$(field "$report" refused)" 0
expect "tampered requests that both refused" "$(field "$report" tamperedRefused)" "$variants"
printf 'took %s s\n' "$((SECONDS - since))"
[[ $problems -eq 0 ]] || printf '%s\n' "$report"

agenium=0
if [[ $(node -p 'Number(process.versions.node.split(".")[0])') -ge 20 ]]; then
  since=$SECONDS
  agenium=$count
  # shellcheck disable=SC2046  # the ids are words
  report=$(node agenium.mjs "$port" "$count" $(field "$line" owed))
  expect "messages of AGENIUM's outbox that were taken" "$(field "$report" sent)" "$count"
  expect "messages of it that failed" "$(field "$report" failed)" 0
  expect "repetitions that were told to be duplicates" "$(field "$report" duplicates)" 20
  expect "ACK events of it that were understood, one of them on an unknown id" "$(field "$report" acks)" 21
  expect "unsigned frames of it that were refused" "$(field "$report" unsignedRefused)" 1
  printf 'took %s s\n' "$((SECONDS - since))"
  [[ $problems -eq 0 ]] || printf '%s\n' "$report"
else
  echo "not tried: AGENIUM's package needs Node 20"
fi

exec {server[1]}>&-
read -r counted <&"${server[0]}"
expect "frames that took effect" "$(field "$counted" received)" $((count + binaries + agenium))
[[ $agenium -eq 0 ]] || expect "messages that AGENIUM's ACK events retired" "$(field "$counted" acked)" 20
[[ $problems -eq 0 ]]
