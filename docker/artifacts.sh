#!/bin/sh
# Serve a folder as an S3 store, with one pair of keys. `artifacts.sh check` asks a running one with those keys.
set -eu

refuse() {
    echo "refused: $*" >&2
    exit 2
}

[ -n "${AWS_ACCESS_KEY_ID:-}" ] || refuse "AWS_ACCESS_KEY_ID is empty; name a key"
[ -n "${AWS_SECRET_ACCESS_KEY:-}" ] || refuse "AWS_SECRET_ACCESS_KEY is empty; choose a secret, as make_env.sh does"
[ "${#AWS_SECRET_ACCESS_KEY}" -ge 16 ] \
    || refuse "AWS_SECRET_ACCESS_KEY has ${#AWS_SECRET_ACCESS_KEY} characters; choose 16 or more, as make_env.sh does"
case $AWS_ACCESS_KEY_ID$AWS_SECRET_ACCESS_KEY in
    *[!A-Za-z0-9_-]*) refuse "the keys of the artifact store may hold letters, digits, - and _ only" ;;
esac
bucket=${GNZ_S3_BUCKET:-gnz}
address=${GNZ_S3_BIND:-127.0.0.1:8080}
# Settings are in the environment: keys are not to be in the list of processes.
export RCLONE_CONFIG=/dev/null

if [ "${1:-}" = check ]; then
    export RCLONE_S3_PROVIDER=Rclone RCLONE_S3_ENDPOINT="http://127.0.0.1:${address##*:}"
    export RCLONE_S3_ACCESS_KEY_ID="$AWS_ACCESS_KEY_ID" RCLONE_S3_SECRET_ACCESS_KEY="$AWS_SECRET_ACCESS_KEY"
    exec "${RCLONE:-rclone}" lsf --max-depth 1 --retries 1 --low-level-retries 1 --contimeout 3s --timeout 5s ":s3:$bucket"
fi

folder=${GNZ_S3_FOLDER:-/data}
mkdir -p "$folder/$bucket"
export RCLONE_AUTH_KEY="\"$AWS_ACCESS_KEY_ID,$AWS_SECRET_ACCESS_KEY\""
exec "${RCLONE:-rclone}" serve s3 --addr "$address" --no-cleanup "$folder"
