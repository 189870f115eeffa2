#!/usr/bin/env bash
# Goal: a program that was linked with one release runs with each later one of the same soname.
# Method: what the shared library exports is what symbols.txt lists, name and version.
#
#   symbols.sh LIBRARY LIST
set -euo pipefail
if ! diff -u "$2" <(nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | LC_ALL=C sort); then
  cat >&2 <<'END'
The library (+) exports other symbols than tests/c_abi/symbols.txt (-) lists.
- A symbol that is missing ends programs that use it: put it back. Only a new soname (SOVERSION in src/c_abi/CMakeLists.txt,
  and the package libackbox0) may leave one out.
- A symbol that is new: has ackbox.h a description of it, and exports.map a node of this release? Then add it to the list.
END
  exit 1
fi
soname=$(readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
if [[ $soname != libackbox.so.0 ]]; then
  echo "the soname is $soname, not libackbox.so.0: a program of an earlier release does not find it" >&2
  exit 1
fi
# A second SQLite in a process drops the first one's locks.
if ! readelf -d "$1" | grep -q 'NEEDED.*libsqlite3\.so\.0'; then
  echo "the library has an SQLite of its own" >&2
  exit 1
fi
