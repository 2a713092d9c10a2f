# Sourced by the runner of each suite, which sets VERSION and defines `install` and `run`:
#
#   SUITE version    the version of the driver, and so of its tests
#   SUITE install    what the suite needs, once for each version
#   SUITE run        the tests, against the server that the environment names
#
# A run finds the server in HOST, PORT, ACCOUNT, PASSWORD and DATABASE, works in its current
# folder, which is its own, and writes a line for each test into VERDICTS: `passed NAME`, `failed NAME` or
# `skipped NAME`. What it prints is kept for whoever looks into a failure.
#
# Suites come from the package caches as they are. None of their text is in this repository.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$(realpath "$0")
source "$here/../cache.sh"

# debian PACKAGE...: those of Debian that are not there yet.
debian() {
    local package missing=()
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    if ((${#missing[@]})); then
        say "Installing ${missing[*]} from Debian"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >&2
    fi
}

# suite ACTION: what the runner's last line calls.
suite() {
    case ${1-} in
    version) echo "$VERSION" ;;
    install) install >/dev/null ;;
    run) run ;;
    *)
        echo "usage: $0 version|install|run" >&2
        exit 2
        ;;
    esac
}
