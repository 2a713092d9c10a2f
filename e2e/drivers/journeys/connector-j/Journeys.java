import com.mysql.cj.jdbc.JdbcConnection;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.ByteArrayInputStream;
import java.io.PrintWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.SQLTimeoutException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * What applications do with Connector/J and a HikariCP pool, one journey after the other. Each is
 * a test of its own, with tables of its own, in a database that is empty before the first.
 */
public final class Journeys {
    private static final String ADDRESS = env("HOST") + ":" + env("PORT");
    /** Seconds. A journey that waits for ever must not stop the others. */
    private static final int LIMIT = 30;
    private static final Map<String, Journey> ALL = new LinkedHashMap<>();

    private interface Journey {
        void run(HikariDataSource pool) throws Exception;
    }

    private interface Work {
        void run(Connection db) throws Exception;
    }

    private static String env(String name) {
        return Objects.requireNonNull(System.getenv(name), name);
    }

    private static HikariDataSource pool(String properties) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:mysql://" + ADDRESS + "/" + env("DATABASE") + "?" + properties);
        config.setUsername(env("ACCOUNT"));
        config.setPassword(env("PASSWORD"));
        config.setMaximumPoolSize(5);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(10_000);
        return new HikariDataSource(config);
    }

    /** A journey of one connection, in a pool with these properties. */
    private static void journey(String name, String properties, Work work) {
        ALL.put(name, ignored -> {
            try (HikariDataSource pool = pool(properties); Connection db = pool.getConnection()) {
                work.run(db);
            }
        });
    }

    /** The same with statements prepared by the client and by the server. */
    private static void both(String name, Work work) {
        journey(name + " (text)", "", work);
        journey(name + " (prepared)", "useServerPrepStmts=true&cachePrepStmts=true", work);
    }

    private static void same(Object expected, Object actual) {
        if (!Objects.deepEquals(expected, actual)) {
            throw new AssertionError(show(actual) + " instead of " + show(expected));
        }
    }

    private static String show(Object value) {
        return value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
    }

    private static void run(Connection db, String... texts) throws SQLException {
        try (Statement statement = db.createStatement()) {
            for (String sql : texts) {
                statement.execute(sql);
            }
        }
    }

    private static List<List<Object>> rows(ResultSet result) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        int columns = result.getMetaData().getColumnCount();
        while (result.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= columns; i++) {
                row.add(result.getObject(i));
            }
            rows.add(row);
        }
        return rows;
    }

    private static Object number(Object value) {
        return ((Number) value).longValue();
    }

    private static List<List<Object>> query(Connection db, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = db.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            try (ResultSet result = statement.executeQuery()) {
                return rows(result);
            }
        }
    }

    private static Object value(Connection db, String sql, Object... values) throws SQLException {
        return query(db, sql, values).get(0).get(0);
    }

    private static SQLException failure(Callable<?> work) throws Exception {
        try {
            work.call();
        } catch (SQLException error) {
            return error;
        }
        throw new AssertionError("no error");
    }

    static {
        both("a query gives rows and names", db -> {
            try (PreparedStatement statement = db.prepareStatement("SELECT ? AS one, 'two' AS two, NULL AS nothing")) {
                statement.setInt(1, 1);
                ResultSet result = statement.executeQuery();
                same("two", result.getMetaData().getColumnLabel(2));
                result.next();
                same(1, result.getInt("one"));
                same("two", result.getString("two"));
                same(null, result.getObject("nothing"));
            }
        });
        both("a statement is executed again and again", db -> {
            try (PreparedStatement statement = db.prepareStatement("SELECT ? + 1, ?")) {
                for (int i = 0; i < 50; i++) {
                    statement.setInt(1, i);
                    statement.setString(2, "text " + i);
                    ResultSet result = statement.executeQuery();
                    result.next();
                    same(i + 1, result.getInt(1));
                    same("text " + i, result.getString(2));
                }
            }
        });
        both("all types come back as they went", db -> {
            run(db, "CREATE TEMPORARY TABLE kinds (i INT, u BIGINT UNSIGNED, d DECIMAL(20,5), f DOUBLE, s VARCHAR(50),"
                + " b BLOB, j JSON, day DATE, at DATETIME(6), flag BOOLEAN, bits BIT(9))");
            LocalDateTime at = LocalDateTime.of(2026, 2, 28, 12, 34, 56, 789_012_000);
            try (PreparedStatement insert = db.prepareStatement("INSERT INTO kinds VALUES (?,?,?,?,?,?,?,?,?,?,?)")) {
                insert.setInt(1, -7);
                insert.setBigDecimal(2, new BigDecimal("18446744073709551615"));
                insert.setBigDecimal(3, new BigDecimal("123456789012345.12345"));
                insert.setDouble(4, 1.5);
                insert.setString(5, "größe 🐟");
                insert.setBytes(6, new byte[] {0, 1, -1});
                insert.setString(7, "{\"a\": [1, null]}");
                insert.setObject(8, LocalDate.of(2026, 2, 28));
                insert.setObject(9, at);
                insert.setBoolean(10, true);
                insert.setBytes(11, new byte[] {1, 1});
                same(1, insert.executeUpdate());
            }
            try (PreparedStatement read = db.prepareStatement("SELECT * FROM kinds")) {
                ResultSet row = read.executeQuery();
                row.next();
                same(-7, row.getInt(1));
                same(new BigDecimal("18446744073709551615"), row.getBigDecimal(2));
                same(new BigDecimal("123456789012345.12345"), row.getBigDecimal(3));
                same(1.5, row.getDouble(4));
                same("größe 🐟", row.getString(5));
                same(new byte[] {0, 1, -1}, row.getBytes(6));
                same("{\"a\": [1, null]}", row.getString(7));
                same(LocalDate.of(2026, 2, 28), row.getObject(8, LocalDate.class));
                same(at, row.getObject(9, LocalDateTime.class));
                same(true, row.getBoolean(10));
                same(new byte[] {1, 1}, row.getBytes(11));
            }
        });
        both("an insert gives its keys", db -> {
            run(db, "DROP TABLE IF EXISTS inserted", "CREATE TABLE inserted (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
            try (PreparedStatement insert = db.prepareStatement("INSERT INTO inserted (v) VALUES (?), (?)",
                    Statement.RETURN_GENERATED_KEYS)) {
                insert.setInt(1, 1);
                insert.setInt(2, 2);
                same(2, insert.executeUpdate());
                List<Long> keys = new ArrayList<>();
                for (List<Object> row : rows(insert.getGeneratedKeys())) {
                    keys.add(((Number) row.get(0)).longValue());
                }
                same(List.of(1L, 2L), keys);
            }
        });
        for (String rewrite : List.of("false", "true")) {
            journey("a batch, rewritten: " + rewrite, "rewriteBatchedStatements=" + rewrite, db -> {
                run(db, "DROP TABLE IF EXISTS batch", "CREATE TABLE batch (id INT PRIMARY KEY, v VARCHAR(20))");
                try (PreparedStatement insert = db.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
                    for (int i = 0; i < 500; i++) {
                        insert.setInt(1, i);
                        insert.setString(2, "v" + i);
                        insert.addBatch();
                    }
                    same(500, insert.executeBatch().length);
                }
                same(500L, value(db, "SELECT COUNT(*) FROM batch"));
                try (PreparedStatement update = db.prepareStatement("UPDATE batch SET v = ? WHERE id = ?")) {
                    for (int i = 0; i < 10; i++) {
                        update.setString(1, "new" + i);
                        update.setInt(2, i);
                        update.addBatch();
                    }
                    int[] counts = update.executeBatch();
                    same(10, counts.length);
                    same(1, counts[9]);
                }
                same("new9", value(db, "SELECT v FROM batch WHERE id = 9"));
            });
        }
        journey("a batch whose row fails tells which", "", db -> {
            run(db, "CREATE TABLE failing (id INT PRIMARY KEY)");
            try (PreparedStatement insert = db.prepareStatement("INSERT INTO failing VALUES (?)")) {
                for (int id : new int[] {1, 1, 2}) {
                    insert.setInt(1, id);
                    insert.addBatch();
                }
                SQLException error = failure(insert::executeBatch);
                same(List.of(1, Statement.EXECUTE_FAILED, 1),
                    Arrays.stream(((BatchUpdateException) error).getUpdateCounts()).boxed().toList());
                same(1062, error.getErrorCode());
            }
        });
        journey("a batch of statements", "allowMultiQueries=true&rewriteBatchedStatements=true", db -> {
            run(db, "CREATE TABLE several (n INT)");
            try (Statement statement = db.createStatement()) {
                for (int i = 0; i < 6; i++) {
                    statement.addBatch("INSERT INTO several VALUES (" + i + ")");
                }
                same(6, statement.executeBatch().length);
            }
            same(6L, value(db, "SELECT COUNT(*) FROM several"));
        });
        both("a transaction commits and rolls back", db -> {
            run(db, "DROP TABLE IF EXISTS account", "CREATE TABLE account (id INT PRIMARY KEY, amount INT)",
                "INSERT INTO account VALUES (1, 100)");
            db.setAutoCommit(false);
            query(db, "SELECT amount FROM account WHERE id = ? FOR UPDATE", 1);
            run(db, "UPDATE account SET amount = 1");
            db.rollback();
            run(db, "UPDATE account SET amount = 70");
            db.commit();
            run(db, "UPDATE account SET amount = 2");
            db.rollback();
            db.setAutoCommit(true);
            same(70, value(db, "SELECT amount FROM account"));
        });
        journey("savepoints", "", db -> {
            run(db, "CREATE TABLE steps (n INT)");
            db.setAutoCommit(false);
            run(db, "INSERT INTO steps VALUES (1)");
            Savepoint named = db.setSavepoint("named");
            run(db, "INSERT INTO steps VALUES (2)");
            Savepoint unnamed = db.setSavepoint();
            run(db, "INSERT INTO steps VALUES (3)");
            db.rollback(unnamed);
            db.rollback(named);
            db.releaseSavepoint(named);
            db.commit();
            same(1L, value(db, "SELECT COUNT(*) FROM steps"));
            db.setAutoCommit(true);
        });
        journey("isolation and read-only are the connection's", "", db -> {
            for (int level : new int[] {Connection.TRANSACTION_READ_UNCOMMITTED, Connection.TRANSACTION_READ_COMMITTED,
                Connection.TRANSACTION_SERIALIZABLE, Connection.TRANSACTION_REPEATABLE_READ}) {
                db.setTransactionIsolation(level);
                same(level, db.getTransactionIsolation());
            }
            same("REPEATABLE-READ", value(db, "SELECT @@SESSION.transaction_isolation"));
            run(db, "CREATE TABLE only_read (n INT)");
            db.setReadOnly(true);
            failure(() -> db.createStatement().executeUpdate("INSERT INTO only_read VALUES (1)"));
            db.setReadOnly(false);
            run(db, "INSERT INTO only_read VALUES (1)");
        });
        journey("a cursor fetches rows in steps", "useCursorFetch=true&defaultFetchSize=50", db -> {
            run(db, "SET SESSION cte_max_recursion_depth = 100000");
            try (PreparedStatement statement = db.prepareStatement(
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i FROM n")) {
                statement.setInt(1, 1234);
                ResultSet result = statement.executeQuery();
                int count = 0;
                while (result.next()) {
                    same(++count, result.getInt(1));
                }
                same(1234, count);
            }
        });
        journey("rows are streamed", "", db -> {
            try (Statement statement = db.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
                statement.setFetchSize(Integer.MIN_VALUE);
                ResultSet result = statement.executeQuery(
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)"
                    + " SELECT i, REPEAT('x', 1000) FROM n");
                int count = 0;
                while (result.next()) {
                    same(++count, result.getInt(1));
                }
                same(900, count);
            }
        });
        journey("a result set is updated in place", "", db -> {
            run(db, "CREATE TABLE updated (id INT PRIMARY KEY, v VARCHAR(10))", "INSERT INTO updated VALUES (1, 'a')");
            try (Statement statement = db.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet result = statement.executeQuery("SELECT id, v FROM updated");
                result.next();
                result.updateString("v", "b");
                result.updateRow();
                result.moveToInsertRow();
                result.updateInt("id", 2);
                result.updateString("v", "c");
                result.insertRow();
            }
            same("b,c", value(db, "SELECT GROUP_CONCAT(v ORDER BY id) FROM updated"));
        });
        journey("several statements give several results", "allowMultiQueries=true", db -> {
            try (Statement statement = db.createStatement()) {
                same(true, statement.execute("SELECT 1; SET @x = 5; SELECT @x, ';'"));
                same(1L, number(first(statement)));
                same(false, statement.getMoreResults());
                same(0, statement.getUpdateCount());
                same(true, statement.getMoreResults());
                same(5L, number(first(statement)));
                same(false, statement.getMoreResults());
                same(-1, statement.getUpdateCount());
            }
        });
        both("a procedure with IN, OUT and INOUT", db -> {
            run(db, "DROP PROCEDURE IF EXISTS compute",
                "CREATE PROCEDURE compute(IN a INT, OUT b INT, INOUT c VARCHAR(20))\n"
                + "BEGIN\n  SET b = a * 2;\n  SET c = CONCAT(c, '!');\n  SELECT a AS given;\n  SELECT b AS computed;\nEND");
            try (CallableStatement call = db.prepareCall("{CALL compute(?, ?, ?)}")) {
                call.setInt(1, 21);
                call.registerOutParameter(2, Types.INTEGER);
                call.setString(3, "hey");
                call.registerOutParameter(3, Types.VARCHAR);
                same(true, call.execute());
                same(21, first(call));
                same(true, call.getMoreResults());
                same(42, first(call));
                same(42, call.getInt(2));
                same("hey!", call.getString(3));
            }
        });
        journey("a function is called", "", db -> {
            run(db, "CREATE FUNCTION plus_one(n INT) RETURNS INT DETERMINISTIC RETURN n + 1");
            try (CallableStatement call = db.prepareCall("{? = CALL plus_one(?)}")) {
                call.registerOutParameter(1, Types.INTEGER);
                call.setInt(2, 41);
                call.execute();
                same(42, call.getInt(1));
            }
        });
        journey("PREPARE and EXECUTE in SQL", "", db -> {
            run(db, "SET @a = 2", "PREPARE stmt FROM 'SELECT ? * 21'");
            try (Statement statement = db.createStatement()) {
                statement.execute("EXECUTE stmt USING @a");
                same(42L, number(first(statement)));
            }
            run(db, "DEALLOCATE PREPARE stmt");
            same(1243, failure(() -> db.createStatement().execute("EXECUTE stmt")).getErrorCode());
        });
        both("errors are of their kind", db -> {
            run(db, "DROP TABLE IF EXISTS once", "CREATE TABLE once (id INT PRIMARY KEY)", "INSERT INTO once VALUES (1)");
            SQLException twice = failure(() -> db.prepareStatement("INSERT INTO once VALUES (1)").executeUpdate());
            same(true, twice instanceof SQLIntegrityConstraintViolationException);
            same("23000", twice.getSQLState());
            same(1146, failure(() -> query(db, "SELECT * FROM nowhere")).getErrorCode());
            same("42000", failure(() -> db.createStatement().executeQuery("SELECT 1 FRM t WHERE")).getSQLState());
        });
        both("warnings are shown", db -> {
            run(db, "SET sql_mode = ''", "CREATE TEMPORARY TABLE narrow (n TINYINT)");
            try (PreparedStatement insert = db.prepareStatement("INSERT INTO narrow VALUES (?)")) {
                insert.setInt(1, 1000);
                insert.executeUpdate();
                same(1264, insert.getWarnings().getErrorCode());
            }
        });
        journey("a statement that takes too long is cancelled", "", db -> {
            try (Statement statement = db.createStatement()) {
                statement.setQueryTimeout(1);
                long began = System.nanoTime();
                SQLException error = failure(() -> statement.executeQuery("SELECT SLEEP(20) FROM (SELECT 1 UNION SELECT 2) t"));
                same(true, error instanceof SQLTimeoutException);
                same(true, System.nanoTime() - began < 10_000_000_000L);
            }
            same(1L, number(value(db, "SELECT 1")));
        });
        journey("a statement is cancelled by another thread", "", db -> {
            try (Statement statement = db.createStatement()) {
                ExecutorService executor = Executors.newSingleThreadExecutor();
                Future<Boolean> slow = executor.submit(() -> statement.execute("SELECT SLEEP(20) FROM (SELECT 1 UNION SELECT 2) t"));
                Thread.sleep(300);
                statement.cancel();
                try {
                    slow.get(10, TimeUnit.SECONDS);
                } catch (java.util.concurrent.ExecutionException cancelled) {
                    same(true, cancelled.getCause() instanceof SQLException);
                }
                executor.shutdownNow();
            }
            same(1L, number(value(db, "SELECT 1")));
        });
        journey("a value of a megabyte", "useServerPrepStmts=true", db -> {
            byte[] large = "abc".repeat(400_000).getBytes(StandardCharsets.UTF_8);
            run(db, "CREATE TEMPORARY TABLE large (v LONGBLOB)");
            try (PreparedStatement insert = db.prepareStatement("INSERT INTO large VALUES (?)")) {
                insert.setBinaryStream(1, new ByteArrayInputStream(large));
                insert.executeUpdate();
            }
            same(large, value(db, "SELECT v FROM large"));
        });
        journey("a value of twenty megabytes", "", db -> {
            String large = "x".repeat(20_000_000);
            same(large, value(db, "SELECT ?", large));
        });
        journey("a compressed connection", "useCompression=true", db -> {
            same("a".repeat(100_000), value(db, "SELECT REPEAT('a', 100000)"));
            same("b".repeat(100_000), value(db, "SELECT ?", "b".repeat(100_000)));
        });
        journey("an encrypted connection", "sslMode=REQUIRED", db ->
            same(false, "".equals(query(db, "SHOW STATUS LIKE 'Ssl_cipher'").get(0).get(1))));
        journey("LOAD DATA LOCAL INFILE", "allowLoadLocalInfile=true", db -> {
            run(db, "CREATE TABLE loaded (id INT, name VARCHAR(20))");
            try (Statement statement = db.createStatement()) {
                statement.unwrap(com.mysql.cj.jdbc.JdbcStatement.class)
                    .setLocalInfileInputStream(new ByteArrayInputStream("1,one\n2,two\n".getBytes(StandardCharsets.UTF_8)));
                same(2, statement.executeUpdate("LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded FIELDS TERMINATED BY ','"));
            }
            same("one,two", value(db, "SELECT GROUP_CONCAT(name ORDER BY id) FROM loaded"));
        });
        journey("the catalogue of tables", "", db -> {
            run(db, "CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(30) NOT NULL COMMENT 'the name', KEY by_name (name))",
                "CREATE TABLE child (id INT PRIMARY KEY, parent INT, CONSTRAINT up FOREIGN KEY (parent) REFERENCES parent (id))");
            DatabaseMetaData catalogue = db.getMetaData();
            String database = env("DATABASE");
            same(true, catalogue.getDatabaseProductVersion().startsWith("9.7"));
            same(List.of("child", "parent"), names(catalogue.getTables(database, null, "%arent", null), "TABLE_NAME",
                catalogue.getTables(database, null, "child", null)));
            same(List.of("id", "name"), names(catalogue.getColumns(database, null, "parent", "%"), "COLUMN_NAME"));
            same(List.of("id"), names(catalogue.getPrimaryKeys(database, null, "parent"), "COLUMN_NAME"));
            same(List.of("PRIMARY", "by_name"), names(catalogue.getIndexInfo(database, null, "parent", false, false), "INDEX_NAME"));
            same(List.of("parent"), names(catalogue.getImportedKeys(database, null, "child"), "PKTABLE_NAME"));
            same(List.of("child"), names(catalogue.getExportedKeys(database, null, "parent"), "FKTABLE_NAME"));
            same(true, names(catalogue.getCatalogs(), "TABLE_CAT").contains(database));
        });
        journey("the catalogue by INFORMATION_SCHEMA", "useInformationSchema=true", db -> {
            run(db, "CREATE TABLE described (id INT PRIMARY KEY, v DECIMAL(10,2))");
            same(List.of("id", "v"), names(db.getMetaData().getColumns(env("DATABASE"), null, "described", "%"), "COLUMN_NAME"));
        });
        journey("metadata of parameters and columns", "useServerPrepStmts=true", db -> {
            run(db, "CREATE TABLE meta (id INT PRIMARY KEY, v VARCHAR(20))");
            try (PreparedStatement statement = db.prepareStatement("SELECT id, v FROM meta WHERE id = ?")) {
                same(1, statement.getParameterMetaData().getParameterCount());
                same(2, statement.getMetaData().getColumnCount());
                same("meta", statement.getMetaData().getTableName(2));
                same(env("DATABASE"), statement.getMetaData().getCatalogName(1));
            }
        });
        journey("another database of the same server", "", db -> {
            run(db, "CREATE DATABASE other", "CREATE TABLE other.here (n INT)");
            db.setCatalog("other");
            same("other", value(db, "SELECT DATABASE()"));
            same(0L, value(db, "SELECT COUNT(*) FROM here"));
            db.setCatalog(env("DATABASE"));
            run(db, "DROP DATABASE other");
        });
        journey("times in the zone of the connection",
            "connectionTimeZone=%2B05:30&forceConnectionTimeZoneToSession=true", db -> {
                same("+05:30", value(db, "SELECT @@SESSION.time_zone"));
                Timestamp now = Timestamp.valueOf("2026-06-01 12:00:00");
                run(db, "CREATE TEMPORARY TABLE moments (t TIMESTAMP)");
                try (PreparedStatement insert = db.prepareStatement("INSERT INTO moments VALUES (?)")) {
                    insert.setTimestamp(1, now);
                    insert.executeUpdate();
                }
                try (ResultSet result = db.createStatement().executeQuery("SELECT t FROM moments")) {
                    result.next();
                    same(now, result.getTimestamp(1));
                }
            });
        journey("session variables of the address", "sessionVariables=sql_mode='ANSI_QUOTES',group_concat_max_len=4242", db -> {
            same(true, value(db, "SELECT @@SESSION.sql_mode").toString().startsWith("ANSI_QUOTES"));
            same("4242", String.valueOf(value(db, "SELECT @@SESSION.group_concat_max_len")));
            same(1L, number(value(db, "SELECT \"one\" FROM (SELECT 1 AS one) t")));
        });
        journey("character sets of the connection", "characterEncoding=latin1", db ->
            same("é", value(db, "SELECT ?", "é")));
        journey("the session is reset", "", db -> {
            run(db, "SET @mark = 1", "CREATE TEMPORARY TABLE mine (n INT)");
            db.unwrap(JdbcConnection.class).resetServerState();
            same(null, value(db, "SELECT @mark"));
            same(1146, failure(() -> query(db, "SELECT * FROM mine")).getErrorCode());
        });
        journey("the connection is valid, and knows its id", "", db -> {
            same(true, db.isValid(5));
            long id = ((Number) value(db, "SELECT CONNECTION_ID()")).longValue();
            same(id, db.unwrap(JdbcConnection.class).getSession().getThreadId());
        });
        ALL.put("a pool serves many threads", ignored -> {
            try (HikariDataSource pool = pool("useServerPrepStmts=true&cachePrepStmts=true")) {
                try (Connection db = pool.getConnection()) {
                    run(db, "CREATE TABLE counter (id INT PRIMARY KEY, n INT)", "INSERT INTO counter VALUES (1, 0)");
                }
                ExecutorService executor = Executors.newFixedThreadPool(10);
                List<Future<Object>> all = new ArrayList<>();
                for (int i = 0; i < 200; i++) {
                    all.add(executor.submit(() -> {
                        try (Connection db = pool.getConnection();
                             PreparedStatement update = db.prepareStatement("UPDATE counter SET n = n + ? WHERE id = 1")) {
                            db.setAutoCommit(false);
                            update.setInt(1, 1);
                            update.executeUpdate();
                            db.commit();
                            return null;
                        }
                    }));
                }
                for (Future<Object> one : all) {
                    one.get();
                }
                executor.shutdown();
                try (Connection db = pool.getConnection()) {
                    same(200, value(db, "SELECT n FROM counter"));
                }
            }
        });
        ALL.put("a wrong password is refused", ignored -> {
            SQLException error = failure(() -> java.sql.DriverManager.getConnection(
                "jdbc:mysql://" + ADDRESS + "/" + env("DATABASE"), env("ACCOUNT"), "wrong"));
            same(1045, error.getErrorCode());
            same("28000", error.getSQLState());
        });
    }

    private static Object first(Statement statement) throws SQLException {
        try (ResultSet result = statement.getResultSet()) {
            result.next();
            return result.getObject(1);
        }
    }

    private static List<String> names(ResultSet first, String column, ResultSet... more) throws SQLException {
        List<String> names = new ArrayList<>();
        List<ResultSet> all = new ArrayList<>(List.of(first));
        all.addAll(List.of(more));
        for (ResultSet result : all) {
            while (result.next()) {
                names.add(result.getString(column));
            }
        }
        names.sort(null);
        return names;
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService executor = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        try (PrintWriter verdicts = new PrintWriter(env("VERDICTS"), StandardCharsets.UTF_8)) {
            for (Map.Entry<String, Journey> journey : ALL.entrySet()) {
                Future<Object> run = executor.submit(() -> {
                    journey.getValue().run(null);
                    return null;
                });
                String verdict = "passed";
                try {
                    run.get(LIMIT, TimeUnit.SECONDS);
                } catch (Exception error) {
                    verdict = "failed";
                    System.out.println(journey.getKey() + ": " + (error.getCause() == null ? error : error.getCause()));
                    if (error.getCause() != null) {
                        error.getCause().printStackTrace(System.out);
                    }
                }
                verdicts.println(verdict + " " + journey.getKey());
            }
        }
        System.exit(0);
    }
}
