#!/usr/bin/env bash
# Goal: the Python client is typed throughout, and needs no more than Python 3.9.
# Method: mypy --strict, where it is installed; otherwise it says so and is left out.
#   python_types.sh SOURCE_DIR
set -euo pipefail
if ! python3 -m mypy --version >/dev/null 2>&1 && ! command -v mypy >/dev/null; then
  echo "left out: this test needs mypy, which is not installed"
  exit 77
fi
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
mypy=(mypy)
command -v mypy >/dev/null || mypy=(python3 -m mypy)
"${mypy[@]}" --strict --python-version 3.9 --cache-dir "$cache" "$1/clients/python/ackbox"
