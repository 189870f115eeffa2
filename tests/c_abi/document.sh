#!/usr/bin/env bash
# Goal: the program of docs/c.md is one that works. Method: compile its block of C as it stands, and run it.
#
#   document.sh SOURCE LIBRARY SANITIZERS COMPILER OPTION...    the options select C; SANITIZERS may be empty
set -euo pipefail
source=$1 library=$2 sanitizers=${3:+-fsanitize=$3} compiler=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$source/docs/c.md" >"$folder/example.c"
"${@:4}" ${sanitizers:+"$sanitizers"} -I"$source/include" -c "$folder/example.c" -o "$folder/example.o"
"$compiler" ${sanitizers:+"$sanitizers"} "$folder/example.o" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$folder/example"
cd "$folder"
output=$(timeout 120 ./example)
if [[ $output != 'done: {"invoice":7}' ]]; then
  echo "the example printed: $output" >&2
  exit 1
fi
