# Sourced by the suites in Python: one environment for all of them, by the versions below.

PYMYSQL=1.2.4
MYSQLCLIENT=2.3.2
SQLALCHEMY=2.1.9
OTHERS=(pytest==9.2.0 cryptography==50.0.2)

# The environment, with the sources of the suites beside it.
build_python() (
    say "Installing PyMySQL, mysqlclient, SQLAlchemy and their tests"
    python3 -m venv "$1/venv"
    pip=("$1/venv/bin/python" -m pip --quiet --disable-pip-version-check)
    "${pip[@]}" install "${OTHERS[@]}" "PyMySQL==$PYMYSQL"
    mkdir "$1/sources"
    "${pip[@]}" download --no-deps --dest "$1/sources" \
        --no-binary mysqlclient,SQLAlchemy "mysqlclient==$MYSQLCLIENT" "SQLAlchemy==$SQLALCHEMY"
    for archive in "$1"/sources/*.tar.gz; do tar -C "$1/sources" -xzf "$archive"; done
    "${pip[@]}" install --no-deps "$1/sources/mysqlclient-$MYSQLCLIENT.tar.gz"
    "${pip[@]}" install typing_extensions
)

# mysqlclient is compiled against Debian's client library.
python() {
    debian python3-venv gcc pkg-config default-libmysqlclient-dev
    cached suite-python build_python "$here/python.sh"
}

# mysqldb_tests PYTEST-OPTION...: the tests of mysqlclient, of whatever is called MySQLdb.
mysqldb_tests() {
    local folder
    folder=$(python)
    cat >my.cnf <<-END
		[MySQLdb-tests]
		host = $HOST
		port = $PORT
		user = $ACCOUNT
		password = $PASSWORD
		database = $DATABASE
		default-character-set = utf8mb4
	END
    cp -r "$folder/sources/mysqlclient-$MYSQLCLIENT/tests" tests
    TESTDB=$PWD/my.cnf pytest "$folder" "$@" tests
}

# pytest FOLDER ARGUMENT...: what fails is in the verdicts.
pytest() {
    local folder=$1
    shift
    PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" -m pytest \
        -p verdicts -p no:cacheprovider -v --tb=short --continue-on-collection-errors "$@" || true
}
