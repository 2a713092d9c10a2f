#!/bin/sh
# Makes the MySQL 9.7 root that every test, the demo and the container image use:
#
#   build-root.sh DIR     (DIR is ~/.cache/remora/mysql-9.7 when a test asks)
#
#   DIR/root.tar   the root file system, for the container image
#   DIR/root/      the same, unpacked: its programs run from outside with its own loader
#   DIR/data/      an initialised data directory; a server starts from a copy of it
#   DIR/version    the server's version
#
# Debian 12 has no MySQL server; Debian's sid has one that needs a newer glibc, hence a root
# of its own. DIR appears by one rename when all of it is there: a broken run leaves nothing
# that a later run could take for a root.
set -eu

dir=${1:?usage: build-root.sh DIR}
if [ -e "$dir/version" ]; then exit 0; fi

fail() {
    echo "build-root.sh: $*" >&2
    exit 1
}

command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: apt-get install mmdebstrap"
[ "$(id -u)" = 0 ] || fail "the root file system can only be made by root"

# The mirror is the one that this machine uses for its own packages.
mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
if [ -z "$mirror" ]; then
    mirror=$(sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list 2>/dev/null | head -n 1)
fi
mirror=${mirror:-http://deb.debian.org/debian}

mkdir -p "$(dirname "$dir")"
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT

mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' --variant=minbase \
    --include=mysql-server-core,mysql-client-core,mysql-router,ca-certificates \
    sid "$work/root.tar" "deb $mirror sid main"

# Device nodes cannot be made in every sandbox, and no program needs the root's own.
mkdir "$work/root"
tar -C "$work/root" --exclude='./dev/*' -xf "$work/root.tar"

"$(dirname "$0")/run-in-root.sh" "$work/root" usr/sbin/mysqld --no-defaults --user=root \
    --basedir="$work/root/usr" --lc-messages-dir="$work/root/usr/share/mysql" \
    --initialize-insecure --datadir="$work/data" 2>"$work/initialize.log" ||
    fail "mysqld --initialize-insecure failed: $(tail -n 3 "$work/initialize.log")"
# Every server that starts from a copy must make a UUID of its own.
rm -f "$work/data/auto.cnf"

"$(dirname "$0")/run-in-root.sh" "$work/root" usr/sbin/mysqld --version |
    sed -n 's/.* Ver \([0-9.]*\).*/\1/p' >"$work/version"
case $(cat "$work/version") in
9.7.*) ;;
*) fail "sid has MySQL $(cat "$work/version"), and the tests are written for 9.7" ;;
esac

# Another run may have been quicker: its root is as good as this one.
if ! mv -T "$work" "$dir" 2>/dev/null; then
    [ -e "$dir/version" ] || fail "cannot move the finished root to $dir"
fi
