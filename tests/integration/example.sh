#!/usr/bin/env bash
# Goal: an example works: it ends well and prints what it claims.
# Method: run it in an empty directory and compare its output.
#   example.sh PROGRAM LINE...
set -euo pipefail
program=$1
shift
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
output=$(timeout 240 "$program")
expected=$(printf '%s\n' "$@")
if [[ "$output" != "$expected" ]]; then
  printf 'unexpected output:\n%s\n' "$output" >&2
  exit 1
fi
