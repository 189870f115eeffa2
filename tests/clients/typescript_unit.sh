#!/usr/bin/env bash
# Goal: the package that `npm pack` makes works as it is, without a build.
# Method: pack it, unpack it where Node looks for modules, and run the unit tests on it.
#   typescript_unit.sh SOURCE_DIR
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/tests/clients/install_typescript" "$source" "$work"
cp "$source"/tests/clients/*.mjs "$work"
cd "$work"
timeout 200 node --test typescript_unit_test.mjs
