#!/bin/sh
# Write docker/.env out of .env.example, with a random secret in each empty place that ends in _SECRET; never twice.
set -eu
cd "$(dirname "$0")"
target=${1:-.env}
if [ -e "$target" ]; then
    echo "refused: $target is there already; its secrets are in use" >&2
    exit 2
fi
umask 077
while IFS= read -r line; do
    case $line in
        [A-Z]*_SECRET=) line=$line$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n') ;;
    esac
    printf '%s\n' "$line"
done <.env.example >"$target"
echo "written: $target, readable for you only"
