#!/usr/bin/env bash
# Goal: the program itself works: version, exit codes as a shell sees them, completion as bash uses it, a manual page
# that troff takes without complaint.
# Method: run it.
#   program.sh PROGRAM VERSION
set -uo pipefail
program=$(realpath "$1")
version=$2
status=0

# expect WHAT ACTUAL EXPECTED
expect() {
  [[ $2 == "$3" ]] && return
  printf '%s: got:\n%s\nexpected:\n%s\n' "$1" "$2" "$3" >&2
  status=1
}

# complete WORD...: what bash offers for the last word.
complete_words() {
  COMP_WORDS=(ackbox "$@") COMP_CWORD=$# COMPREPLY=()
  _ackbox 2>/dev/null
  printf '%s ' "${COMPREPLY[@]}"
}

expect "version" "$("$program" --version)" "ackbox $version"
"$program" stats /nowhere/agent.db >/dev/null 2>&1
expect "exit code of a missing file" $? 3
"$program" list >/dev/null 2>&1
expect "exit code of a wrong command line" $? 2

# next_command PROGRAM: what init prints to be called next.
next_command() {
  local folder
  folder=$(mktemp -d)
  "$1" init alice bob --folder "$folder" | sed -n "s# serve $folder/alice.db .*##p"
  rm -r "$folder"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/it's here"
ln -s "$program" "$work/it's here/ackbox"
cd "$work" || exit 1
expect "the next command after one by the path" "$(PATH="$work/it's here:$PATH" next_command ackbox)" "  ackbox"
expect "the next command after one of a folder" "$(next_command "./it's here/ackbox")" "  './it'\\''s here/ackbox'"
expect "the next command after one of a package" "$(ACKBOX_CALLED_AS='npx ackbox' next_command "./it's here/ackbox")" "  npx ackbox"

# shellcheck source=/dev/null
source <("$program" completion bash)
expect "completion of a command" "$(complete_words ex)" "explain export "
expect "completion of an option" "$(complete_words list agent.db --st)" "--state "
expect "completion of a value" "$(complete_words list agent.db --state se)" "sending sent "
expect "completion of a shell" "$(complete_words completion z)" "zsh "
if command -v zsh >/dev/null; then
  "$program" completion zsh | zsh -n || status=1
fi
if command -v fish >/dev/null; then
  "$program" completion fish | fish -n || status=1
fi
if command -v groff >/dev/null; then
  expect "complaints about the manual page" "$("$program" man | groff -man -ww -Tutf8 2>&1 >/dev/null)" ""
fi
exit $status
