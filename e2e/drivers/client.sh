# Sourced by the suites of MySQL's own programs, which come with the server's root file system.

VERSION=$(cat "$CACHE/mysql-9.7/version")

install() { :; }

# program NAME ARGUMENT...: one of MySQL's programs, logged in.
program() {
    local name=$1
    shift
    "$here/../mysql/run-in-root.sh" "$MYSQL_ROOT" "usr/bin/$name" --no-defaults \
        --host="$HOST" --port="$PORT" --protocol=tcp --user="$ACCOUNT" --password="$PASSWORD" \
        --character-sets-dir="$MYSQL_ROOT/usr/share/mysql/charsets" "$@" 2> >(grep -v 'Using a password on the command line' >&2)
}

# verdict NAME COMMAND...: runs a test, which fails as the command does.
verdict() {
    local name=$1
    shift
    echo "== $name"
    if "$@"; then echo "passed $name" >>"$VERDICTS"; else echo "failed $name" >>"$VERDICTS"; fi
}

# same EXPECTED ACTUAL
same() {
    [[ $1 == "$2" ]] || {
        printf 'expected:\n%s\ngot:\n%s\n' "$1" "$2"
        return 1
    }
}
