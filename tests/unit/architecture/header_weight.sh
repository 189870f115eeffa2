#!/usr/bin/env bash
# Goal: who includes a public header pays for std and, in async.hpp alone, for a few small Asio headers; never for
# Beast, SQLite, SQLiteCpp, simdjson, nlohmann's full header, OpenSSL or the whole of Asio (style rule 8).
# Method: ask the compiler which files each public header pulls in, and how many lines outbox_manager.hpp becomes.
#
#   header_weight.sh COMPILER INCLUDE_DIR [-IDIR...]
set -uo pipefail

compiler=$1
include=$2
flags=(-std=c++20 "-I$include" "${@:3}")
readonly lines_max=110000
readonly never='/boost/beast|/boost/asio\.hpp|/SQLiteCpp/|/sqlite3\.h|/simdjson|/nlohmann/json\.hpp|/openssl/'
status=0

# complain HEADER TEXT FILES
complain() {
  printf '%s %s:\n%s\n' "$1" "$2" "$3" | head -n 12
  status=1
}

for header in "$include"/ackbox/*.hpp; do
  name=ackbox/$(basename "$header")
  if ! files=$("$compiler" "${flags[@]}" -M -x c++ "$header" | tr -s ' \\' '\n\n'); then
    complain "$name" "cannot be preprocessed" "see the compiler's message above"
    continue
  fi
  heavy=$(grep -E "$never" <<<"$files")
  [[ -z $heavy ]] || complain "$name" "pulls in headers that must stop in src/" "$heavy"
  asio=$(grep '/boost/asio/' <<<"$files")
  [[ -z $asio || $name == ackbox/async.hpp ]] || complain "$name" "pulls in Asio, which only async.hpp may" "$asio"
done

lines=$("$compiler" "${flags[@]}" -E -x c++ "$include/ackbox/outbox_manager.hpp" | wc -l)
echo "ackbox/outbox_manager.hpp preprocesses to $lines lines; the limit is $lines_max"
if [[ $lines -eq 0 || $lines -ge $lines_max ]]; then
  complain ackbox/outbox_manager.hpp "is too heavy" "find the culprit with: $compiler -std=c++20 -I$include -H -E"
fi
exit $status
