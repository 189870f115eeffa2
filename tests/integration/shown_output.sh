#!/usr/bin/env bash
# Goal: a document shows what an example prints.
# Method: run it in an empty directory, and compare what it prints from the first line that is shown on; numbers, ids and
# lone commits are not compared, because they change with each change of timing.
#   shown_output.sh PROGRAM DOCUMENT EXAMPLE
set -euo pipefail
program=$1
document=$2
example=$3
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
steady() {
  sed -E '/ commits$/d; s/replay = "[^"]*"/replay = "WORLD"/; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/ID/g
    s/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'
}
shown=$(sed -n "/^<!-- output of $example -->\$/,/^\`\`\`\$/p" "$document" | sed '1,2d; $d')
timeout 240 "$program" >all
output=$(grep -A 100000 -xF "${shown%%$'\n'*}" all || true)
if ! diff <(steady <<<"$shown") <(steady <<<"$output") >&2; then
  printf '%s shows something else than:\n%s\n' "$document" "$output" >&2
  exit 1
fi
