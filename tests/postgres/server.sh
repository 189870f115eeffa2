#!/usr/bin/env bash
# Starts a PostgreSQL server for many tests, reached by a socket in FOLDER, or ends it. Without fsync: each case makes a
# database, whose files would be synced. The tests of what survives have a server of their own, with fsync.
#
#   server.sh SETUP|CLEANUP FOLDER
set -euo pipefail
folder=$2
programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
# The server refuses to run as root.
as=()
[[ $(id -u) -ne 0 ]] || as=(runuser -u postgres --)
cd /
if [[ -d $folder/data ]]; then
  # It may have been left by a run that was interrupted.
  "${as[@]}" "$programs/pg_ctl" -D "$folder/data" -w -m immediate stop >/dev/null 2>&1 || true
fi
rm -rf "$folder"
[[ $1 == SETUP ]] || exit 0
mkdir "$folder"
chmod 777 "$folder"
"${as[@]}" "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --no-locale --no-sync >/dev/null
# It must not hold the output of ctest open.
"${as[@]}" "$programs/pg_ctl" -D "$folder/data" -w -l "$folder/log" -o "-c listen_addresses= -c fsync=off \
  -c unix_socket_directories=$folder -c client_connection_check_interval=50 -c shared_buffers=32MB" start >/dev/null
