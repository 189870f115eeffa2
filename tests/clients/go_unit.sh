#!/usr/bin/env bash
# Goal: the Go client alone: what it does with each answer, values, signatures, and marks on real SQLite.
# Method: gofmt, go vet and go test; no module is downloaded. Without Go, it says so and is left out.
#   go_unit.sh SOURCE_DIR
set -euo pipefail
if ! command -v go >/dev/null; then
  echo "left out: go 1.19 or newer is not installed"
  exit 77
fi
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GO111MODULE=on
for folder in clients/go tests/clients/go; do
  cd "$1/$folder"
  unformatted=$(gofmt -l .)
  [[ -z $unformatted ]] || { echo "gofmt would change: $unformatted" >&2; exit 1; }
  go vet ./...
  go test -count=1 ./...
done
# A module of the standard library alone has no other.
cd "$1/clients/go"
[[ $(go list -m all) == ackbox ]] || { echo "the client has dependencies" >&2; exit 1; }
