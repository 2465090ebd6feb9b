#!/usr/bin/env bash
# Back up and restore what a deployment knows: Dagster's runs in PostgreSQL, and a store in a folder.
#   deploy/backup.sh save FOLDER      deploy/backup.sh restore FOLDER
# STORE names the folder of the store; leave it out where the tables lie in a bucket, which has versions
# and replication of its own. The database is found by libpq's variables: PGHOST, PGUSER, PGDATABASE, ...
set -euo pipefail

usage() {
  echo "usage: $0 save|restore FOLDER, with STORE and libpq's variables (PGHOST, PGUSER, PGDATABASE) set" >&2
  exit 2
}
[[ $# -eq 2 && -n $2 ]] || usage
folder=$2
while [[ $folder == ?*/ ]]; do folder=${folder%/}; done # $folder.partial lies beside it

# The lock of the store's writer: no run writes while it is held, none is copied half or starts on half a store.
locked() {
  [[ -n ${STORE:-} ]] || return 0
  [[ -d $STORE ]] || { echo "no store in $STORE: check STORE" >&2; exit 1; }
  exec 9>>"$STORE/writer.lock"
  flock -n 9 || { echo "a run writes to $STORE: wait for it to end, or stop it" >&2; exit 1; }
}

save() {
  [[ ! -e $folder ]] || { echo "$folder is there already: name a new folder" >&2; exit 1; }
  locked
  local partial=$folder.partial
  rm -rf "$partial"
  mkdir -p "$partial"
  pg_dump --format=custom --no-owner --file="$partial/dagster.dump"
  if [[ -n ${STORE:-} ]]; then
    # Mirrors and stage tables come back by themselves, those of stores in buckets (s3+...) too.
    tar -C "$STORE" --exclude=./{,s3+*/}{mirrors,stages} --exclude=./{writer.lock,.restored} -cf "$partial/store.tar" .
  fi
  (cd "$partial" && sha256sum -- * >SHA256SUMS)
  mv "$partial" "$folder"
}

restore() {
  [[ -n ${PGDATABASE:-} ]] || { echo "name the database in PGDATABASE: nothing was changed" >&2; exit 1; }
  (cd "$folder" && sha256sum --check --quiet SHA256SUMS) || {
    echo "$folder is not what was saved: take another back-up" >&2
    exit 1
  }
  # Read whole, before anything is touched.
  pg_restore --file=/dev/null "$folder/dagster.dump" || {
    echo "$folder/dagster.dump cannot be read: nothing was changed" >&2
    exit 1
  }
  if [[ -n ${STORE:-} ]]; then
    mkdir -p "$STORE"
    locked
    restored=$STORE/.restored
    trap 'rm -rf "$restored"' EXIT
    trap 'exit 1' HUP INT TERM # when tar has ended
    rm -rf "$restored"
    [[ -z $(ls -A -I writer.lock "$STORE") ]] || { echo "$STORE is not empty: move it away first" >&2; exit 1; }
    mkdir -m 700 "$restored"
    if ! tar -C "$restored" -xpf "$folder/store.tar" || [[ ! -f $restored/codelake.json ]]; then
      echo "$folder/store.tar holds no whole store: nothing was changed" >&2
      exit 1
    fi
  fi
  trap : HUP INT TERM # from here on the database decides
  # In one transaction: the database is as it was if it fails.
  pg_restore --clean --if-exists --no-owner --exit-on-error --single-transaction \
    --dbname="$PGDATABASE" "$folder/dagster.dump" || {
    echo "the database was not restored, nothing was changed" >&2
    exit 1
  }
  if [[ -n ${STORE:-} ]]; then
    trap - EXIT
    trap '' HUP INT TERM
    # Of a mounted folder they may be another's to change.
    chown --reference="$restored" "$STORE" "$STORE/writer.lock" ||
      echo "$STORE keeps its owner: see that who runs codelake may write there" >&2
    chmod --reference="$restored" "$STORE" || echo "$STORE keeps its mode: see who may read there" >&2
    # The record last: a store without it is none.
    find "$restored" -mindepth 1 -maxdepth 1 ! -name codelake.json -exec mv -t "$STORE" {} +
    mv "$restored/codelake.json" "$STORE"
    rmdir "$restored"
  fi
}

case $1 in
  save) save ;;
  restore) restore ;;
  *) usage ;;
esac
