#!/usr/bin/env bash
# Goal: each public header compiles alone, and included twice; and who includes it pays for std and, at most, for Asio's
# small type-erased executor and handler; never for Asio's I/O, Beast, SQLite, SQLiteCpp, simdjson, nlohmann's full
# header or OpenSSL.
# Method: the compiler reads all headers, twice each, generates no code, and tells which files it read; then it reads each
# header alone, twice; how many lines outbox_manager.hpp becomes. In the short form (ACKBOX_TEST_SCALE below 1) it reads
# an eighth of them alone, which each commit draws anew.
#
#   header_weight.sh COMPILER INCLUDE_DIR [FLAG...]
set -uo pipefail

compiler=$1
include=$2
flags=(-std=c++20 "-I$include" "${@:3}")
readonly lines_max=110000
readonly never='/boost/beast|/boost/asio\.hpp|/boost/asio/(io_context|basic_|ip/|ssl/|steady_timer)|/SQLiteCpp/|/sqlite3\.h|/simdjson|/nlohmann/json\.hpp|/openssl/'
read_files=$(mktemp)
trap 'rm -f "$read_files"' EXIT
status=0

# complain HEADER TEXT FILES
complain() {
  printf '%s %s:\n%s\n' "$1" "$2" "$3" | head -n 12
  status=1
}

# read_twice HEADER...: by the compiler, which tells what it read.
read_twice() {
  message=$(printf '#include "%s"\n' "$@" "$@" |
    "$compiler" "${flags[@]}" -fsyntax-only -MD -MF "$read_files" -x c++ - 2>&1)
}

# heavy: those of the files read that must stop in src/.
heavy() { tr -s ' \\' '\n\n' <"$read_files" | grep -E "$never"; }

mapfile -t headers < <(cd "$include" && printf '%s\n' ackbox/*.hpp)
read_twice "${headers[@]}" || complain "all headers" "do not compile together" "$message"
heavy=$(heavy)
is_heavy=${heavy:+yes}
each=1 first=0
if [[ ${ACKBOX_TEST_SCALE:-1} == 0* && -z $is_heavy ]]; then
  each=8
  commit=$(git -C "$include" rev-parse --short=6 HEAD 2>/dev/null) && first=$((16#$commit % each))
fi
for ((index = first; index < ${#headers[@]}; index += each)); do
  name=${headers[index]}
  if ! read_twice "$name"; then
    complain "$name" "does not compile by itself" "$message"
    continue
  fi
  heavy=$(heavy)
  [[ -z $heavy ]] || complain "$name" "pulls in headers that must stop in src/" "$heavy"
done
[[ -z $is_heavy || $status -ne 0 ]] || complain "a header" "pulls in headers that must stop in src/" "only with others"

lines=$("$compiler" "${flags[@]}" -E -x c++ "$include/ackbox/outbox_manager.hpp" 2>/dev/null | wc -l)
echo "ackbox/outbox_manager.hpp preprocesses to $lines lines; the limit is $lines_max"
if [[ $lines -eq 0 || $lines -ge $lines_max ]]; then
  complain ackbox/outbox_manager.hpp "is too heavy" "find the culprit with: $compiler -std=c++20 -I$include -H -E"
fi
exit $status
