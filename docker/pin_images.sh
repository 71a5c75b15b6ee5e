#!/bin/sh
# Ask the registry for the digest of each image that is taken, and write it behind its version; needs a container engine
# and a way to the registry. `pin_images.sh check` asks nobody: it refuses what bears no digest.
set -eu
cd "$(dirname "$0")"
images=$(sed -n -e 's/^ *image: *//p' -e 's/^FROM  *\([^ ]*\).*/\1/p' compose.yaml Dockerfile Dockerfile.server | sort -u)
for image in $images; do
    case $image in
        gnz-track*) continue ;;
        *:*@sha256:*) digest=${image##*@sha256:} ;;
        *) digest= ;;
    esac
    if [ "${1:-}" = check ]; then
        if [ "${#digest}" -ne 64 ] || [ -n "$(printf %s "$digest" | tr -d 0-9a-f)" ]; then
            echo "refused: $image bears no digest; write it with: sh docker/pin_images.sh" >&2
            exit 2
        fi
        continue
    fi
    name=${image%%@*}
    found=$(docker buildx imagetools inspect "$name" --format '{{.Manifest.Digest}}')
    case $found in
        sha256:*) ;;
        *) echo "refused: no digest came for $name" >&2; exit 2 ;;
    esac
    for file in compose.yaml Dockerfile Dockerfile.server; do
        changed=$(sed "s|$image\$|$name@$found|" "$file")
        printf '%s\n' "$changed" >"$file"
    done
    echo "$name@$found"
done
