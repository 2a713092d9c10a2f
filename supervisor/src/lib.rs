//! PID 1 of the mysql container: starts mysqld, restarts it, fences it.
