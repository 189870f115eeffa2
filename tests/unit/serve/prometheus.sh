#!/usr/bin/env bash
# Goal: Prometheus reads what the daemon answers, in both formats, and the rules that ship do what they say.
# Method: promtool checks the text and runs the rules' own tests; then a Prometheus scrapes a daemon, and its API is
# asked. Without Debian's package `prometheus` the test is skipped, and says so.
#   prometheus.sh PROGRAM RULES_FOLDER
set -uo pipefail
program=$1
rules=$2
if ! command -v promtool >/dev/null || ! command -v prometheus >/dev/null; then
  echo "SKIPPED: prometheus and promtool are not installed: apt-get install --no-install-recommends prometheus" >&2
  exit 77
fi
folder=$(mktemp -d)
pids=()
trap '((${#pids[@]})) && kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT
status=0

fail() {
  printf '%s\n' "$@" >&2
  status=1
}

promtool check rules "$rules/alerts.yml" || fail "alerts.yml is not valid"
(cd "$rules" && promtool test rules alerts_test.yml) || fail "the rules' tests fail"

printf '{"listen":"127.0.0.1:0","open_metrics":true,"peers":[{"name":"a \\"b\\\\c","url":"http://127.0.0.1:1/"}]}\n' \
  >"$folder/serve.json"
mkfifo "$folder/out"
"$program" serve "$folder/a.db" --config "$folder/serve.json" >"$folder/out" 2>"$folder/log" &
pids+=($!)
read -r line <"$folder/out"
url=${line#listening on }
url=${url%/}
curl -sS -X POST "$url/v1/messages" -H 'Content-Type: application/json' \
  -d '{"peer":"a \"b\\c","type":"t","data":1}' >/dev/null || fail "no message was enqueued"

curl -sS "$url/metrics" >"$folder/metrics"
checked=$(promtool check metrics <"$folder/metrics" 2>&1) || fail "promtool:" "$checked"
[[ -z $checked ]] || fail "promtool:" "$checked"

cat >"$folder/prometheus.yml" <<CONFIG
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$rules/alerts.yml]
scrape_configs:
  - job_name: ackbox
    static_configs: [{targets: ["${url#http://}"]}]
CONFIG
mkfifo "$folder/prometheus_log"
prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/tsdb" \
  --web.listen-address=127.0.0.1:0 >"$folder/prometheus_log" 2>&1 &
pids+=($!)
exec {log}<"$folder/prometheus_log"
api=
while read -r -t 60 line <&"$log"; do
  if [[ $line =~ msg=\"Listening\ on\"\ address=([0-9.:]+) ]]; then
    api=http://${BASH_REMATCH[1]}/api/v1
    break
  fi
done
cat <&"$log" >"$folder/prometheus_rest" &
pids+=($!)
[[ -n $api ]] || { fail "prometheus did not start"; exit "$status"; }

# query EXPRESSION: the values, one a line
query() {
  curl -sS -G "$api/query" --data-urlencode "query=$1" | grep -o '"value":\[[^]]*\]' | sed 's/.*,"\(.*\)"\]/\1/'
}

deadline=$((SECONDS + 60))
while [[ $(query 'up{job="ackbox"}') != 1 ]]; do
  if ((SECONDS > deadline)); then
    fail "prometheus did not scrape the daemon:" "$(curl -sS "$api/targets")"
    exit "$status"
  fi
done
pending='sum(ackbox_messages{peer="a \"b\\c",state=~"pending|sending"})'
[[ $(query "$pending") == 1 ]] || fail "messages: $(query "$pending")"
[[ $(query 'ackbox_enqueued_messages_total') == 1 ]] || fail "enqueued: $(query ackbox_enqueued_messages_total)"
[[ $(query 'ackbox_build_info') == 1 ]] || fail "build: $(query ackbox_build_info)"
[[ $(query 'count(ackbox_peer_state)') == 5 ]] || fail "states: $(query 'count(ackbox_peer_state)')"
# The scrape asks for OpenMetrics first, whose types Prometheus remembers without the series' ending.
metadata=$(curl -sS "$api/targets/metadata?metric=ackbox_enqueued_messages")
[[ $metadata == *'"type":"counter"'* ]] || fail "it was not scraped as OpenMetrics: $metadata"
bad=$(curl -sS "$api/rules" | grep -o '"health":"err"[^}]*')
[[ -z $bad ]] || fail "rules that cannot be evaluated: $bad"
exit "$status"
