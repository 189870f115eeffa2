#!/usr/bin/env bash
# Goal: the extension works in Node, in the SQLite that better-sqlite3 has in it.
# Method: better-sqlite3 from the npm registry, compiled here without optimisation, once in a build folder; then
# node_test.mjs with the package of the TypeScript client. Without a registry that answers, it says so and is left out.
#   node_test.sh PROGRAM EXTENSION SOURCE_DIR WORK_DIR
set -euo pipefail
program=$1 extension=$2 source=$3 work=$4
version=12.11.1
# What is compiled anew, and how.
state="$version $(cksum <"${BASH_SOURCE[0]}")"
mkdir -p "$work"
cd "$work"
if [[ $(cat built 2>/dev/null) != "$state" ]]; then
  rm -rf ./*
  if ! npm pack --loglevel=error --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 \
    "better-sqlite3@$version" >npm.log 2>&1; then
    cat npm.log >&2
    if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT' npm.log; then
      echo "left out: this test needs the npm registry, which does not answer"
      exit 77
    fi
    exit 1
  fi
  sha256sum --check --quiet - <<<"ebf0ed75a7a59dbcb3b24bbd014ef49d9f15bc328e4adcbf516f2a8fadfa2835  better-sqlite3-$version.tgz"
  headers=$(dirname "$(dirname "$(realpath "$(command -v node)")")")/include/node
  if [[ ! -f $headers/node_api.h ]]; then
    echo "left out: this test needs Node's headers in $headers"
    exit 77
  fi
  tar -xzf "better-sqlite3-$version.tgz"
  mapfile -t defines < <(sed -n "s/^ *'\([A-Z_0-9]*\(=-\?[0-9]*\)\?\)',$/-D\1/p" package/deps/defines.gypi)
  "${CC:-cc}" -w -fPIC "${defines[@]}" -c package/deps/sqlite3/sqlite3.c -o sqlite3.o &
  "${CXX:-c++}" -std=c++20 -w -fPIC -DBUILDING_NODE_EXTENSION -I"$headers" -Ipackage/deps/sqlite3 -Ipackage/src \
    -c package/src/better_sqlite3.cpp -o addon.o
  wait $!
  "${CXX:-c++}" -shared -Wl,-Bsymbolic addon.o sqlite3.o -o better_sqlite3.node
  # In the place of the package that looks for what was compiled.
  mkdir -p package/node_modules/bindings
  echo "module.exports = () => require('$work/better_sqlite3.node');" >package/node_modules/bindings/index.js
  echo "$state" >built
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$source/tests/clients/install_typescript" "$source" "$folder"
cp "$source/tests/extension/node_test.mjs" "$folder"
ln -s "$work/package" "$folder/node_modules/better-sqlite3"
sed -n '/^```js$/,/^```$/p' "$source/docs/sql.md" | sed '/^```/d' >"$folder/shown.mjs"
/usr/bin/python3 - "$program" "$extension" "$source" "$folder" <<'END'
import os, sys
sys.path.insert(0, os.path.join(sys.argv[3], "tests", "extension"))
from host import make_outbox
print(make_outbox(sys.argv[4]))
END
cd "$folder"
ACKBOX_EXTENSION=$extension timeout 120 node --test node_test.mjs
