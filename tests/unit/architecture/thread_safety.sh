#!/usr/bin/env bash
# Goal: what a mutex guards is used with its lock held (src/base/mutex.hpp). Clang's analysis is part of each build by
# Clang, where whatever it finds is an error.
# Method: that it finds what it should is seen on a file that misuses locks: each line of it that ends in `// refused`
# must be reported, and no other.
#
#   thread_safety.sh OPTION... -- SOURCE
#
# OPTION is the compiler's. Exit status 77: there is no clang++.
set -uo pipefail

options=(-std=c++20 -fsyntax-only -Wno-everything -Wthread-safety -Wthread-safety-beta -Werror)
while [[ $1 != -- ]]; do
  options+=("$1")
  shift
done
source=$2

# Debian's clang-tidy brings a compiler whose name has its version.
clang=$(compgen -c clang++ | grep -E '^clang\+\+(-[0-9]+)?$' | sort -V | head -n 1)
if [[ -z $clang ]]; then
  echo "left out: this test needs clang++, which is not there"
  exit 77
fi

wanted=$(grep -nE '// refused$' "$source" | cut -d : -f 1 | sort -n)
found=$("$clang" "${options[@]}" "$source" 2>&1 | grep -E ' error: .*\[-Werror,-Wthread-safety' |
  sed -E 's/^[^:]*:([0-9]+):.*/\1/' | sort -nu)
[[ -n $wanted ]] && diff <(echo "$wanted") <(echo "$found") && exit
echo "lines that are marked (<) and lines that $clang refuses (>) differ, as above"
exit 1
