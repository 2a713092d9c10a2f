# Sourced by what builds something big once: a folder under ~/.cache/remora, named
# by the hash of what it is made from, so that a change of the recipe makes a new
# one and an unchanged recipe costs nothing.

set -euo pipefail

CACHE=${REMORA_CACHE:-$HOME/.cache/remora}
MINIMUM_GIB=20

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# Stops before anything is built where what is built would fill the disk. Asked once, at
# the beginning: what a run itself writes must not end it.
require_disk() {
    mkdir -p "$CACHE"
    local free
    free=$(df --output=avail -BG "$CACHE" | tail -1 | tr -dc 0-9)
    if ((free < MINIMUM_GIB)); then
        say "Only $free GiB are free where $CACHE lies; $MINIMUM_GIB GiB are needed. Free some, or set REMORA_CACHE to a folder on a larger disk."
        exit 1
    fi
}

# cached NAME BUILD INPUT...: prints the folder; calls `BUILD FOLDER` when it is not
# there yet. The folder appears whole or not at all, and one run at a time builds it.
cached() {
    local name=$1 build=$2 key folder fresh
    shift 2
    key=$(cat "$@" | sha256sum | cut -c1-12)
    folder=$CACHE/$name-$key
    if [[ ! -d $folder ]]; then
        mkdir -p "$CACHE"
        exec 9>"$CACHE/$name.lock"
        flock 9
        if [[ ! -d $folder ]]; then
            fresh=$(mktemp -d "$CACHE/.$name-XXXXXX")
            trap 'rm -rf --one-file-system "$fresh"' EXIT
            "$build" "$fresh" >&2
            chmod 755 "$fresh"
            mv -T "$fresh" "$folder"
            trap - EXIT
        fi
        exec 9>&-
    fi
    echo "$folder"
}
