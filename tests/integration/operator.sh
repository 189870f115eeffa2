#!/usr/bin/env bash
# Goal: the operator's day of examples/13_operator prints what its output.txt shows.
# Method: run the script in an empty directory, and compare; instants, ages and durations are not compared.
#   operator.sh TOOL PROGRAM EXAMPLE_DIRECTORY
set -euo pipefail
tool=$(dirname "$1")
program=$2
example=$3
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
steady() {
  sed -E '/^note: .*SQLite /d; s/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+( UTC|Z)/INSTANT/g; s/\bnow\b|\b[0-9]+ m?s ago\b/AGO/g; s/\b[0-9]+ m?s\b/DURATION/g; s/[0-9]+ pages/PAGES/; s/ +/ /g'
}
output=$(PATH=$tool:$PATH timeout 240 "$example/operator.sh" "$program" 2>&1)
if ! diff <(steady <"$example/output.txt") <(steady <<<"$output") >&2; then
  printf 'examples/13_operator/output.txt differs from:\n%s\n' "$output" >&2
  exit 1
fi
