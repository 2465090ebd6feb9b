#!/usr/bin/env bash
# Deploys things.
set -euo pipefail

readonly VERSION="1.0"
export TARGET_DIR=/srv
NAME=${1:-world}
declare -a items=(a b)

# Prints a message.
log() {
  local level="$1"
  printf '%s\n' "$level"
}

function deploy {
  log "deploy"
  inner() { echo nested; }
}

function with-dash() (
  cd /tmp
)

if [[ -n "$NAME" ]]; then
  on_exit() { rm -f x; }
  trap on_exit EXIT
fi

cat <<EOF
fake() { not a function; }
EOF
