#!/usr/bin/env bash
# Goal: what a mutex guards is used with its lock held (src/base/mutex.hpp).
# Method: Clang's thread safety analysis of all sources of the library, several at a time as a unity build compiles them.
# Whatever it finds is an error. That it finds what it should is seen on a file that misuses locks: each line of it that
# ends in `// refused` must be reported, and no other.
#
#   thread_safety.sh [--refused] OPTION... -- SOURCE...
#
# OPTION is the compiler's. Exit status 77: there is no clang++.
set -uo pipefail

refused=false
if [[ ${1:-} == --refused ]]; then
  refused=true
  shift
fi
options=(-std=c++20 -fsyntax-only -Wno-everything -Wthread-safety -Wthread-safety-beta -Werror)
while [[ $1 != -- ]]; do
  options+=("$1")
  shift
done
shift
sources=("$@")

# Debian's clang-tidy brings a compiler whose name has its version.
clang=$(compgen -c clang++ | grep -E '^clang\+\+(-[0-9]+)?$' | sort -V | head -n 1)
if [[ -z $clang ]]; then
  echo "left out: this test needs clang++, which is not there"
  exit 77
fi

# analyse SOURCE...: all of them in one translation unit.
analyse() {
  printf '#include "%s"\n' "$@" | "$clang" "${options[@]}" -x c++ - 2>&1
}

if $refused; then
  wanted=$(grep -nE '// refused$' "${sources[0]}" | cut -d : -f 1 | sort -n)
  found=$(analyse "${sources[0]}" | grep -E ' error: .*\[-Werror,-Wthread-safety' | sed -E 's/^[^:]*:([0-9]+):.*/\1/' | sort -nu)
  [[ -n $wanted ]] && diff <(echo "$wanted") <(echo "$found") && exit
  echo "lines that are marked (<) and lines that $clang refuses (>) differ, as above"
  exit 1
fi

readonly at_once=24
status=0
for ((first = 0; first < ${#sources[@]}; first += at_once)); do
  analyse "${sources[@]:first:at_once}" || status=1
done
[[ $status -eq 0 ]] && echo "${#sources[@]} sources, analysed by $clang"
exit $status
