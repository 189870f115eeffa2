#!/usr/bin/env bash
# Goal: pkg-config names all that a program of the component postgres needs. Method: compile, link and run one.
#
#   postgres_program.sh SOURCE PREFIX COMPILER OPTION...
set -euo pipefail
source=$1 prefix=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ackbox-postgres.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs ackbox-postgres)
"${@:3}" "$source" "${flags[@]}" -o "$folder/program"
timeout 60 "$folder/program"
