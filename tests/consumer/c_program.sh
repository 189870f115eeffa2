#!/usr/bin/env bash
# Goal: the program of docs/c.md is one that works, with what is installed. Method: compile its first block of C as it stands,
# with the flags of pkg-config, and run it.
#
#   c_program.sh SOURCE PREFIX SANITIZERS COMPILER OPTION...    the options select C; SANITIZERS may be empty
set -euo pipefail
source=$1 prefix=$2 sanitizers=${3:+-fsanitize=$3} compiler=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ackbox-c.pc)")
export PKG_CONFIG_PATH
read -ra cflags < <(pkg-config --cflags ackbox-c)
read -ra libs < <(pkg-config --libs ackbox-c)
awk '/^```c$/ {on = 1; next} on && /^```$/ {exit} on' "$source/docs/c.md" >"$folder/example.c"
"${@:4}" ${sanitizers:+"$sanitizers"} "${cflags[@]}" -c "$folder/example.c" -o "$folder/example.o"
"$compiler" ${sanitizers:+"$sanitizers"} "$folder/example.o" "${libs[@]}" -o "$folder/example"
cd "$folder"
output=$(LD_LIBRARY_PATH=$(pkg-config --variable=libdir ackbox-c) timeout 120 ./example)
if [[ $output != 'done: {"invoice":7}' ]]; then
  echo "the example printed: $output" >&2
  exit 1
fi
