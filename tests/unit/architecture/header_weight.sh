#!/usr/bin/env bash
# Goal: who includes a public header pays for std and, at most, for Asio's small type-erased executor and handler;
# never for Asio's I/O, Beast, SQLite, SQLiteCpp, simdjson, nlohmann's full header or OpenSSL.
# Method: ask the compiler which files each public header pulls in, and how many lines outbox_manager.hpp becomes.
#
#   header_weight.sh COMPILER INCLUDE_DIR [-IDIR...]
set -uo pipefail

compiler=$1
include=$2
flags=(-w -std=c++20 "-I$include" "${@:3}")
readonly lines_max=110000
readonly never='/boost/beast|/boost/asio\.hpp|/boost/asio/(io_context|basic_|ip/|ssl/|steady_timer)|/SQLiteCpp/|/sqlite3\.h|/simdjson|/nlohmann/json\.hpp|/openssl/'
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
done

lines=$("$compiler" "${flags[@]}" -E -x c++ "$include/ackbox/outbox_manager.hpp" 2>/dev/null | wc -l)
echo "ackbox/outbox_manager.hpp preprocesses to $lines lines; the limit is $lines_max"
if [[ $lines -eq 0 || $lines -ge $lines_max ]]; then
  complain ackbox/outbox_manager.hpp "is too heavy" "find the culprit with: $compiler -std=c++20 -I$include -H -E"
fi
exit $status
