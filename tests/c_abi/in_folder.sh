#!/usr/bin/env bash
# in_folder.sh PROGRAM ARGUMENT...: runs PROGRAM with a folder of its own, and ARGUMENTs, and deletes the folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder" "${@:2}"
