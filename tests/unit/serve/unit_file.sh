#!/usr/bin/env bash
# Goal: the unit of systemd that an installation has starts the program of that installation, wherever it goes, and
# systemd takes it. Method: installs the daemon's files below a folder as CMake does, under each prefix and by DESTDIR,
# puts the program where its own rule does, and has systemd-analyze verify the unit with that folder as the root.
set -uo pipefail
cmake=$1
program=$2
script=$3
if ! command -v systemd-analyze >/dev/null; then
  echo "NOT RUN: there is no systemd-analyze (Debian's package systemd); the unit file was not verified"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
expect() { # WHAT GOT WANTED
  if [[ $2 != "$3" ]]; then
    printf '%s: got "%s", wanted "%s"\n' "$1" "$2" "$3" >&2
    status=1
  fi
}

verify() { # ROOT PREFIX
  local unit=$1$2/lib/systemd/system/ackbox@.service
  expect "the program under $2" "$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")" "$2/bin/ackbox"
  expect "a name that was left as it is, under $2" "$(grep -c '@[A-Z_]*@' "$unit")" 0
  # As it is found below a root, with all that it names: an instance, its program, and kill.
  local root
  root=$(mktemp -d -p "$folder")
  mkdir -p "$root/usr/lib/systemd/system" "$root$2/bin" "$root/bin"
  cp "$unit" "$root/usr/lib/systemd/system/ackbox@alice.service"
  cp "$program" "$root$2/bin/ackbox"
  printf '#!/bin/sh\n' >"$root/bin/kill"
  chmod +x "$root/bin/kill"
  local said
  said=$(systemd-analyze verify --man=no --recursive-errors=no --root="$root" ackbox@alice.service 2>&1)
  expect "systemd-analyze of the unit under $2 (status $?)" "$said" ""
}

for prefix in /usr /usr/local /opt/x; do
  root=$(mktemp -d -p "$folder")
  DESTDIR=$root "$cmake" -DCMAKE_INSTALL_PREFIX="$prefix" -P "$script" >/dev/null || status=1
  verify "$root" "$prefix"
done
# Without DESTDIR the files lie where they say.
"$cmake" -DCMAKE_INSTALL_PREFIX="$folder/here" -P "$script" >/dev/null || status=1
verify "" "$folder/here"
exit $status
