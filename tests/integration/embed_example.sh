#!/usr/bin/env bash
# Goal: the program that the README quotes works: the frame arrives, and the outbox keeps nothing.
# Method: run it in an empty directory.
#   embed_example.sh PROGRAM
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
output=$(timeout 60 "$1")
if [[ "$output" != 'bob got {"order": 7}' ]]; then
  printf 'unexpected output:\n%s\n' "$output" >&2
  exit 1
fi
