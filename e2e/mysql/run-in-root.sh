#!/bin/sh
# Runs a program of the MySQL root on the host's own paths: run-in-root.sh ROOT PROGRAM [ARG...]
#
# The root's loader and libraries are used instead of chroot, so that data directories, sockets
# and pids are those of the caller, and the process that the caller started is the program.
set -eu
root=$1
program=$2
shift 2
exec "$root/lib64/ld-linux-x86-64.so.2" \
    --library-path "$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/mysql/private:$root/usr/lib/mysqlrouter/private" \
    "$root/$program" "$@"
