#!/usr/bin/env bash
# Goal: the program as a service runs it: it names what is wrong with its configuration, listens, takes new tokens on
# SIGHUP, and ends cleanly on SIGTERM.
# Method: run it on a socket file in a folder of its own; `ackbox health` asks it.
#   program.sh PROGRAM
set -uo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0

# expect WHAT ACTUAL EXPECTED
expect() {
  [[ $2 == "$3" ]] && return
  printf '%s: got:\n%s\nexpected:\n%s\n' "$1" "$2" "$3" >&2
  status=1
}

printf '{\n  "listen": "unix:%s/s.sock",\n  "tokens_file": "%s/tokens",\n  "outbx": {}\n}\n' "$folder" "$folder" \
  >"$folder/serve.json"
message=$("$program" serve "$folder/a.db" --config "$folder/serve.json" --check-config 2>&1)
expect "exit code of a wrong configuration" $? 2
expect "a file that is not there, and a wrong field" "$message" \
  "ackbox: $folder/serve.json:3: tokens_file: $folder/tokens: cannot be read: No such file or directory
ackbox: $folder/serve.json:4: outbx: there is no such field; did you mean 'outbox'?"
message=$("$program" serve "$folder/a.db" --config "$folder/serve.json" 2>&1)
expect "exit code of a start with it" $? 2
[[ $message == *":4: outbx: "* ]] || expect "what the start says" "$message" "…:4: outbx: …"
mkfifo "$folder/pipe"
for wrong in "$folder/pipe" /dev/zero "$folder"; do
  message=$("$program" serve "$folder/a.db" --config "$wrong" --check-config 2>&1)
  expect "exit code of $wrong as a configuration" $? 2
  [[ $message == "ackbox: $wrong: is "* ]] || expect "$wrong as a configuration" "$message" "ackbox: $wrong: is …"
done
message=$("$program" serve "$folder/a.db" --set outbox.max_pendin=1 --check-config 2>&1)
expect "a mistake of the command line" "$message" "ackbox: --set: outbox.max_pendin: there is no such field; did you mean 'max_pending'?"
# Readable only by its owner from its first byte on.
(umask 077 && printf 'ops operate,read 0123456789abcdef01234567\n' >"$folder/tokens")
sed -i 's/"outbx"/"outbox"/' "$folder/serve.json"
expect "a right one" "$("$program" serve "$folder/a.db" --config "$folder/serve.json" --check-config)" \
  "the configuration is valid"
message=$("$program" serve "$folder/a.db" --listen 0.0.0.0:1 2>&1)
expect "exit code of an unsafe address" $? 2
[[ $message == *"only with TLS"* ]] || expect "an unsafe address" "$message" "…only with TLS…"
[[ -e $folder/a.db ]] && expect "a file that was made for nothing" "made" "not made"

"$program" health --url "unix:$folder/s.sock" >/dev/null 2>&1
expect "exit code of health without a server" $? 1
message=$("$program" --json health --url "unix:$folder/s.sock" --timeout 5s)
expect "exit code of it in JSON" $? 1
expect "health without a server in JSON" "$message" \
  "{\"url\":\"unix:$folder/s.sock\",\"ready\":false,\"text\":\"No such file or directory\"}"
"$program" health --url 127.0.0.1:7070 >/dev/null 2>&1
expect "exit code of health with a wrong URL" $? 2

message=$(ulimit -n 63 && "$program" serve "$folder/a.db" --config "$folder/serve.json" 2>&1)
expect "exit code with too few descriptors" $? 3
[[ $message == *"may open 63 files and needs 64: raise its limit"* ]] ||
  expect "too few descriptors" "$message" "…may open 63 files and needs 64: raise its limit…"

mkfifo "$folder/out"
"$program" serve "$folder/a.db" --config "$folder/serve.json" >"$folder/out" 2>"$folder/log" &
server=$!
# It says where it listens once it does.
read -r line <"$folder/out"
expect "where it listens" "$line" "listening on unix:$folder/s.sock"
expect "health" "$("$program" health --url "unix:$folder/s.sock")" "ready"
expect "health in JSON" "$("$program" health --json --url "unix:$folder/s.sock")" \
  "{\"url\":\"unix:$folder/s.sock\",\"ready\":true,\"text\":\"ready\"}"
message=$("$program" serve "$folder/b.db" --listen "unix:$folder/s.sock" 2>&1 >/dev/null)
expect "exit code where the address is taken" $? 3
[[ $message == *"ackbox: unix:$folder/s.sock: "* ]] ||
  expect "an address that is taken" "$message" "…ackbox: unix:$folder/s.sock: …"

kill -HUP "$server"
expect "health after SIGHUP" "$("$program" health --url "unix:$folder/s.sock")" "ready"
kill -TERM "$server"
wait "$server"
expect "exit code after SIGTERM" $? 0
grep -q ' info configuration-reloaded changed=nothing ' "$folder/log" || expect "the log" "$(cat "$folder/log")" "… reloaded …"
[[ -e $folder/s.sock ]] && expect "the socket file" "left" "removed"
grep -q ' info stopped ' "$folder/log" || expect "the log" "$(cat "$folder/log")" "… info stopped …"
grep -q 0123456789abcdef01234567 "$folder/log" && expect "the log" "has a token" "has none"

exit $status
