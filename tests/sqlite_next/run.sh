#!/usr/bin/env bash
# Goal: what holds with the SQLite of the system holds with a newer one.
# Method: SQLite's amalgamation as an npm package ships it is built as libsqlite3.so.0, which the dynamic linker is told to
# take; then the existing test programs run, in short form.
#
#   run.sh BUILD_DIR WORK_DIR [SECONDS]
set -euo pipefail
build=$1 work=$2 seconds=${3:-3}
package=better-sqlite3 version=13.2.0 sqlite=3.54.1
# Of the amalgamation itself: sqlite3.c and sqlite3.h.
sums="75a4760a7b9727a4c4c877aec92eacf39e52a8f2921ce00bd33be6d3a8e8e254  sqlite3.c
d6c84557261893439b341d2e6c35187ae3ea24fbfd843ad94616f72d89242b8c  sqlite3.h"
mkdir -p "$work"
cd "$work"

if [[ $(cat built 2>/dev/null) != "$version" ]]; then
  if ! npm pack --loglevel=error --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 "$package@$version" \
    >npm.log 2>&1; then
    cat npm.log >&2
    if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT' npm.log; then
      echo "left out: this test needs the npm registry, which does not answer"
      exit 77
    fi
    exit 1
  fi
  tar -xzf "$package-$version.tgz" --strip-components=3 package/deps/sqlite3/sqlite3.c package/deps/sqlite3/sqlite3.h
  sha256sum --check --quiet - <<<"$sums"
  # What Debian's has and is used: the columns' names, and URIs.
  "${CC:-cc}" -O1 -w -fPIC -shared -Wl,-soname,libsqlite3.so.0 -DSQLITE_THREADSAFE=1 -DSQLITE_USE_URI=1 \
    -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_DBSTAT_VTAB \
    -DSQLITE_DEFAULT_SYNCHRONOUS=2 sqlite3.c -o libsqlite3.so.0 -lm -ldl -lpthread
  echo "$version" >built
fi

export LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export ACKBOX_EXPECT_SQLITE=$sqlite
problems=0
attempt() { # PROGRAM ARGUMENT...
  local since=$SECONDS
  if ! [[ $(ldd "$1") == *"$work/libsqlite3.so.0"* ]]; then
    echo "FAILED: $(basename "$1") does not take the newer SQLite"
    problems=$((problems + 1))
  elif ! "$@" >output 2>&1; then
    cat output
    echo "FAILED: $(basename "$1") with SQLite $sqlite"
    problems=$((problems + 1))
  else
    grep -E 'crash images opened|^faults: |worlds' output | tail -n 1 || true
    printf 'ok: %s, %d s\n' "$(basename "$1")" "$((SECONDS - since))"
  fi
}

attempt "$build/tests/unit/store/unit_store" --source-file='*log*_test.cpp,*durability_test.cpp'
[[ -z ${ACKBOX_TEST_SCALE:-} ]] || attempt "$build/tests/fault/fault_calls"
export ACKBOX_TEST_SCALE=${ACKBOX_TEST_SCALE:-0.2}
attempt "$build/tests/fault/fault_power_cut"
attempt "$build/tests/simulation/ackbox_simulation" --seconds "$seconds" --base "SQLite $sqlite"
[[ $problems -eq 0 ]]
