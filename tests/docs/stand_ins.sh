# shellcheck shell=bash
# Read before each shell block of the documentation. These functions stand in for the commands that do not end, that
# would change this machine, or that take minutes; all others are executed as they are written.
#
# ACKBOX: the program. SCENE: the page's folder. SOURCE: the project. TESTS: the names of its tests, one a line.
# BUILD: its build folder.
set -euo pipefail

# `serve` goes on in the background, and this returns once it listens; agents of `init` listen at free ports.
ackbox() {
  case "$*" in
    serve\ *--check-config* | serve\ *--fields*) "$ACKBOX" "$@" ;;
    serve\ *)
      local out
      out=$(mktemp "$SCENE/serve.XXXXXX")
      "$ACKBOX" "$@" >"$out" 2>"$out.log" </dev/null &
      echo $! >>"$SCENE/daemons"
      until grep -q '^listening on' "$out"; do
        kill -0 $! 2>/dev/null || {
          cat "$out.log" >&2
          return 1
        }
        sleep 0.02
      done
      ;;
    init\ *) "$ACKBOX" "$@" --port "$INIT_PORT" ;;
    *) "$ACKBOX" "$@" ;;
  esac
}

# A stream never ends: its first line is shown. An error status of another request is an error.
curl() {
  case " $* " in
    *" -N "*)
      local line=
      coproc stream { exec curl --silent "$@" 2>/dev/null; }
      # shellcheck disable=SC2154  # coproc sets stream_PID
      local reader=$stream_PID
      while [[ -z $line ]]; do
        read -r line <&"${stream[0]}"
      done
      kill "$reader"
      printf '%s\n' "$line"
      ;;
    *)
      command curl --silent --show-error --fail-with-body "$@"
      echo
      ;;
  esac
}

# Whether the expression selects a test; none is executed.
ctest() {
  local expression=
  while [[ $# -gt 0 ]]; do
    case "$1" in
      -R) expression=$2 ;;
      --preset) preset "$2" ;;
      --test-dir) ;;
      *)
        echo "stand_ins.sh: ctest $1: add it here" >&2
        return 1
        ;;
    esac
    shift 2
  done
  grep -cE -- "$expression" "$TESTS" || {
    echo "ctest -R '$expression' selects no test" >&2
    return 1
  }
}

preset() {
  grep -qF "\"name\": \"$1\"" "$SOURCE/CMakePresets.json" || {
    echo "there is no preset $1" >&2
    return 1
  }
}

# Whether its presets, options and targets exist; nothing is configured or built.
cmake() {
  while [[ $# -gt 0 ]]; do
    case "$1" in
      --preset)
        preset "$2"
        shift
        ;;
      --target)
        grep -qs "^build \(.*/\)\?$2[ :]" "$BUILD/build.ninja" "$BUILD/../dev/build.ninja" || {
          echo "there is no target $2" >&2
          return 1
        }
        shift
        ;;
      -DACKBOX_*)
        local option=${1#-D}
        grep -q "option(${option%%=*} " "$SOURCE/CMakeLists.txt" || {
          echo "there is no option ${option%%=*}" >&2
          return 1
        }
        ;;
    esac
    shift
  done
}

# An environment of Python takes seconds to make; tests/clients/packages.sh installs the wheel in one.
python3() { [[ $* == "-m venv "* ]] || command python3 "$@"; }
py/bin/pip() { [[ -f ${!#} ]]; }

apt-get() { :; }
useradd() { :; }
scripts/install_packages() { [[ -x $SOURCE/scripts/install_packages ]]; }
# Another test executes it.
tests/mutation/run() { [[ -x $SOURCE/tests/mutation/run ]]; }
