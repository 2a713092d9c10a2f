"""A pytest plugin: PyMySQL where a test imports MySQLdb."""

import pymysql

pymysql.install_as_MySQLdb()
