use super::*;
use TokenKind as K;

fn kinds(sql: &str) -> Vec<(K, String)> {
    with(sql, SqlMode::default())
}

fn with(sql: &str, mode: SqlMode) -> Vec<(K, String)> {
    Lexer::new(sql.as_bytes(), mode)
        .map(|t| {
            (
                t.kind,
                String::from_utf8_lossy(t.text(sql.as_bytes())).into_owned(),
            )
        })
        .collect()
}

fn just_kinds(sql: &str) -> Vec<K> {
    kinds(sql).into_iter().map(|(kind, _)| kind).collect()
}

fn texts(sql: &str) -> Vec<String> {
    kinds(sql).into_iter().map(|(_, text)| text).collect()
}

fn code(sql: &str) -> String {
    texts(sql).join(" ")
}

fn is_invalid(sql: &str) -> bool {
    just_kinds(sql).last() == Some(&K::Invalid)
}

fn is_unread(sql: &str) -> bool {
    just_kinds(sql).last() == Some(&K::Unread)
}

#[test]
fn a_point_select_is_words_and_a_number() {
    insta::assert_debug_snapshot!(just_kinds("SELECT c FROM t1 WHERE id=503"), @"
    [
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Equal,
        Integer,
    ]
    ");
}

#[test]
fn operators_are_the_longest_that_mysql_knows() {
    assert_eq!(
        code("a<=>b<>c!=d<=e>=f<<g>>h||i&&j:=k->l->>m"),
        "a <=> b <> c != d <= e >= f << g >> h || i && j := k -> l ->> m"
    );
    assert_eq!(
        just_kinds("<=> ->> -> ||"),
        [K::NullSafeEqual, K::LongArrow, K::Arrow, K::DoublePipe]
    );
}

#[test]
fn runs_of_comparison_characters_that_are_no_operator_are_refused_as_mysql_does() {
    for sql in ["1=!0", "1>!0", "1<!0", "1 <>!0", "1=>0", "1<=!0", "1==1"] {
        assert!(is_invalid(sql), "{sql}");
    }
    assert_eq!(code("1<=>=0"), "1 <=> = 0");
    assert_eq!(code("1= !0"), "1 = ! 0");
}

#[test]
fn version_comments_are_code_up_to_the_servers_version() {
    assert_eq!(code("select 1 /*!50100 +1 */"), "select 1 + 1");
    assert_eq!(code("select 1 /*!050100 +1 */"), "select 1 + 1");
    assert_eq!(code("select 1 /*!90704+1 */"), "select 1 + 1");
    assert_eq!(code("select 1 /*!90705 +1 */ + 5"), "select 1 + 5");
    assert_eq!(code("select 1 /*!100000 +1 */"), "select 1");
    assert_eq!(code("select 1 /*!090704 +1*/"), "select 1 + 1");
    assert_eq!(code("select 1 /*!100000+1*/"), "select 1 0 + 1");
    assert_eq!(code("select 1 /*!501001+1*/"), "select 1 1 + 1");
    assert_eq!(code("select 1 /*!0501009 */"), "select 1 09");
    assert_eq!(code("select 1 /*!907050+1*/"), "select 1");
    assert_eq!(code("select 1 /*!+1 */"), "select 1 + 1");
    assert_eq!(code("select 1 /*!501 */"), "select 1 501");
    assert_eq!(code("select 1 /*!50100,2*/"), "select 1 , 2");
    assert_eq!(code("select 2*/*!50100 2*/"), "select 2 * 2");
}

#[test]
fn comments_nest_as_in_mysql() {
    assert_eq!(code("select 1 /*!50100 /* x */ +1 */"), "select 1 + 1");
    assert_eq!(code("select 1 /*!99999 /* x */ +1 */ + 5"), "select 1 + 5");
    assert_eq!(code("select 1 /* /* x */ + 5"), "select 1 + 5");
    assert_eq!(code("select 1 /*!50100 +1 -- x */\n */"), "select 1 + 1");
    assert!(is_invalid("select 1 /*!50100 +1"));
    assert!(is_unread("select 1 /*!50100 /*!50100 +1 */ */"));
    assert!(is_invalid("select 1 /* x"));
    assert!(is_invalid("select /*/"));
}

#[test]
fn two_dashes_are_a_comment_only_before_a_blank() {
    assert_eq!(code("select 1 --1"), "select 1 - - 1");
    assert_eq!(code("select 1 --\t1"), "select 1");
    assert_eq!(code("select 1 --"), "select 1");
    assert_eq!(code("select 1--; ;"), "select 1");
    assert_eq!(code("select 1 -- 1\n+2"), "select 1 + 2");
    assert_eq!(code("select 1 # 1\n+2"), "select 1 + 2");
    for sql in [
        "1--/* x */ 1",
        "1--# x",
        "/*!50000 1--*/ 1",
        "1--/*!50000 1*/",
    ] {
        assert!(
            is_unread(sql),
            "a blank in the comment's place would hide the rest: {sql}"
        );
    }
}

#[test]
fn hints_stand_only_behind_their_keywords() {
    assert_eq!(
        just_kinds("SELECT /*+ NO_ICP(t) */ a"),
        [K::Word, K::Hint, K::Word]
    );
    assert_eq!(just_kinds("SELECT a /*+ NO_ICP(t) */"), [K::Word, K::Word]);
    assert!(is_unread("SELECT /*+ QB_NAME(`*/ */ a"));
}

#[test]
fn numbers_are_classed_by_their_form() {
    assert_eq!(
        just_kinds("1 1.5 .5 1. 1e3 1.e3 1e+3 1.5E-3"),
        [
            K::Integer,
            K::Decimal,
            K::Decimal,
            K::Decimal,
            K::Float,
            K::Float,
            K::Float,
            K::Float,
        ]
    );
    assert_eq!(
        just_kinds("18446744073709551615 18446744073709551616"),
        [K::Integer, K::Decimal]
    );
    assert_eq!(just_kinds("00000000000000000000000000001"), [K::Integer]);
    assert_eq!(
        just_kinds("0x1f 0b01 x'4F' B'01'"),
        [K::Hex, K::Bit, K::Hex, K::Bit]
    );
    for sql in ["x'4'", "x'4G'", "b'12'", "x'"] {
        assert!(is_invalid(sql), "{sql}");
    }
}

#[test]
fn names_may_begin_with_digits() {
    for sql in [
        "1e", "12abc", "0X01", "0x", "0xg", "0x1g", "0b12", "0B1", "$a", "a$b", "äö", "_x",
    ] {
        assert_eq!(just_kinds(sql), [K::Word], "{sql}");
    }
    assert_eq!(texts("1e1x"), ["1e1", "x"]);
    assert_eq!(just_kinds("t.1"), [K::Word, K::Dot, K::Word]);
    assert_eq!(
        just_kinds("t.1e5.x"),
        [K::Word, K::Dot, K::Word, K::Dot, K::Word]
    );
    assert_eq!(just_kinds("t .1"), [K::Word, K::Decimal]);
    assert_eq!(just_kinds("1..1"), [K::Decimal, K::Decimal]);
}

#[test]
fn quotes_double_and_escape() {
    assert_eq!(
        texts(r"'a''b' 'c\'d' `e``f`"),
        ["'a''b'", r"'c\'d'", "`e``f`"]
    );
    assert_eq!(just_kinds("\"a\""), [K::String]);
    let ansi = SqlMode {
        ansi_quotes: true,
        ..SqlMode::default()
    };
    assert_eq!(
        with("\"a\"\"b\"", ansi),
        [(K::QuotedIdentifier, "\"a\"\"b\"".into())]
    );
    let plain = SqlMode {
        no_backslash_escapes: true,
        ..SqlMode::default()
    };
    assert_eq!(with(r"'a\' 'b'", plain).len(), 2);
    for sql in ["'a", r"'a\'", "`a", "\"", "`a\0b`"] {
        assert!(is_invalid(sql), "{sql:?}");
    }
}

#[test]
fn introducers_are_known_character_sets() {
    assert_eq!(
        just_kinds("_utf8mb4'a' _UTF8 'b' _foo'c'"),
        [
            K::Introducer,
            K::String,
            K::Introducer,
            K::String,
            K::Word,
            K::String,
        ]
    );
    assert_eq!(just_kinds("_utf8.a"), [K::Word, K::Dot, K::Word]);
    assert_eq!(
        just_kinds("N'a' n'b'"),
        [K::NationalString, K::NationalString]
    );
}

#[test]
fn variables_are_one_token_or_a_mark() {
    assert_eq!(
        texts("@a.b @`c d` @'e' @\"f\" @ @@session.x"),
        [
            "@a.b", "@`c d`", "@'e'", "@\"f\"", "@", "@@", "session", ".", "x",
        ]
    );
}

#[test]
fn bytes_without_meaning_end_the_statement() {
    for sql in ["select \\N", "select [1]", "a\x01b"] {
        assert!(is_invalid(sql), "{sql:?}");
    }
    let by_accident = [
        "1.5ex",
        "1.5e+",
        "select \0\0",
        "select 1 # a\0b\n+1",
        "select /*+ \0 */ 1",
        "!<1",
    ];
    for sql in by_accident {
        assert!(is_unread(sql), "{sql:?}");
    }
}

#[test]
fn words_that_are_not_utf8_are_not_read() {
    let last = |sql: &[u8]| {
        Lexer::new(sql, SqlMode::default())
            .last()
            .map(|token| token.kind)
    };
    assert_eq!(last(b"a OR\xa0b"), Some(K::Unread));
    assert_eq!(last(b"t.\xe9"), Some(K::Unread));
    assert_eq!(last(b"`\xe9`"), Some(K::QuotedIdentifier));
    assert_eq!(last(b"'\xe9'"), Some(K::String));
    assert_eq!(last("é.日本".as_bytes()), Some(K::Word));
}

#[test]
fn a_last_nul_is_the_end() {
    assert_eq!(code("select 1\0"), "select 1");
    assert_eq!(code("select 1 -- \0"), "select 1");
    assert_eq!(code("select 1 /* \0 */ +1"), "select 1 + 1");
}

#[test]
fn literals_are_decoded_as_mysql_does() {
    let mode = SqlMode::default();
    let plain = SqlMode {
        no_backslash_escapes: true,
        ..mode
    };
    assert_eq!(
        &*string_literal(br"'a\'b\\c\n\%\_\q\Z'", mode),
        b"a'b\\c\n\\%\\_q\x1a"
    );
    assert_eq!(&*string_literal(br"'a\n''b'", plain), br"a\n'b");
    assert_eq!(&*string_literal(br#"N'a"b'"#, mode), br#"a"b"#);
    assert_eq!(&*identifier(b"`a``b`"), b"a`b");
    assert_eq!(&*identifier(b"ab"), b"ab");
    assert_eq!(integer_literal(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(integer_literal(b"18446744073709551616"), None);
    assert_eq!(hex_literal(b"0x1ff"), [1, 0xff]);
    assert_eq!(hex_literal(b"X'01FF'"), [1, 0xff]);
    assert_eq!(bit_literal(b"b'1000000001'"), [2, 1]);
    assert_eq!(bit_literal(b"0b1"), [1]);
}

#[test]
fn texts_split_into_statements_outside_quotes_and_programs() {
    let split = |sql: &str| -> Vec<String> {
        Statements::new(sql.as_bytes(), SqlMode::default())
            .map(|r| sql[r].to_owned())
            .collect()
    };
    assert_eq!(
        split("select ';' ; select 2; -- end"),
        ["select ';' ", " select 2"]
    );
    assert_eq!(split("select 1"), ["select 1"]);
    assert_eq!(split("a;;b"), ["a", "", "b"]);
    assert_eq!(split(""), [""]);
    let program = "CREATE DEFINER=`a`@`b` PROCEDURE p() BEGIN SELECT 1; SELECT 2; END";
    assert_eq!(split(program), [program]);
    assert_eq!(
        split(&format!("{program} ; select 3")),
        [&format!("{program} "), " select 3"]
    );
    assert_eq!(split("create table t (`event` int); select 1").len(), 2);
}

#[test]
fn a_program_ends_with_its_outermost_block() {
    let programs = [
        "CREATE PROCEDURE p() SELECT 1",
        "CREATE PROCEDURE IF NOT EXISTS p(IN a CHAR(3) CHARACTER SET latin1) COMMENT 'x;' l: BEGIN END l",
        "create function f(n int) returns varchar(9) character set latin1 deterministic begin return if(n, 1, 2); end",
        "CREATE FUNCTION f() RETURNS INT RETURN CASE WHEN 1 THEN 2 ELSE 3 END",
        "CREATE PROCEDURE p() IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SELECT 3; END IF",
        "CREATE PROCEDURE p() BEGIN IF a THEN IF b THEN SELECT IF(1, 2, 3); END IF; ELSE BEGIN END; END IF; SELECT 2; END",
        "CREATE PROCEDURE p() BEGIN CASE a WHEN 1 THEN SELECT CASE WHEN 1 THEN 2 END; ELSE BEGIN END; END CASE; SET a = 1; END",
        "CREATE PROCEDURE p() BEGIN l: LOOP LEAVE l; END LOOP l; WHILE CASE WHEN 1 THEN 2 END DO SET a = 1; END WHILE; SELECT 1; END",
        "CREATE PROCEDURE p() BEGIN REPEAT SET a = REPEAT('x', 2); UNTIL CASE a WHEN 1 THEN 2 END END REPEAT; SELECT 1; END",
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR NOT FOUND, SQLSTATE VALUE '23000', 1062 BEGIN SELECT 1; END; SELECT 2; END",
        "CREATE PROCEDURE p() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET done = IF(1, 2, 3); SELECT begin, `end` FROM t; END",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.b = 2; END",
        "CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW FOLLOWS h BEGIN SET NEW.a = 1; END",
        "CREATE TRIGGER g BEFORE DELETE ON t FOR EACH ROW SET @a = 1",
        "ALTER EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM t; DELETE FROM u; END",
        "/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END */",
        "ALTER PROCEDURE p COMMENT 'c'",
    ];
    for program in programs {
        let text = format!("{program}; SELECT 2");
        let split: Vec<&str> = Statements::new(text.as_bytes(), SqlMode::default())
            .map(|range| &text[range])
            .collect();
        assert_eq!(split, [program, " SELECT 2"]);
    }
}

#[test]
fn complexity_counts_depth_and_chains() {
    let found = complexity(b"a OR b OR (c, d, (e)) OR f", SqlMode::default());
    assert_eq!(
        found,
        Complexity {
            depth: 2,
            longest_run: 7
        }
    );
    let values = format!("values {}", vec!["(-1,2)"; 1000].join(","));
    assert!(complexity(values.as_bytes(), SqlMode::default()).longest_run < 8);
}

proptest::proptest! {
    #[test]
    fn any_bytes_give_tokens_in_order_that_end(sql: Vec<u8>, ansi: bool, plain: bool) {
        check(&sql, SqlMode { ansi_quotes: ansi, no_backslash_escapes: plain, ..SqlMode::default() });
    }

    #[test]
    fn text_like_sql_gives_tokens_in_order_that_end(
        sql in r#"[ abxnNeE0-9.'"`@/*!+\\;<>=:|&#?\-\n_$(),]{0,64}"#, ansi: bool,
    ) {
        check(sql.as_bytes(), SqlMode { ansi_quotes: ansi, ..SqlMode::default() });
    }
}

fn check(sql: &[u8], mode: SqlMode) {
    let mut end = 0;
    let mut invalid = false;
    for token in Lexer::new(sql, mode) {
        assert!(!invalid, "nothing follows an invalid token");
        assert!(token.start as usize >= end);
        assert!(token.end > token.start || token.kind.is_broken());
        end = token.end as usize;
        assert!(end <= sql.len());
        invalid = token.kind.is_broken();
    }
    let blank = without_comments(sql, mode);
    let kinds = |sql: &[u8]| -> Vec<K> {
        Lexer::new(sql, mode)
            .map(|t| t.kind)
            .filter(|k| *k != K::Hint)
            .collect()
    };
    if !invalid {
        assert_eq!(kinds(sql), kinds(&blank), "no token hangs on a comment");
    }
}

/// The statement with blanks in the place of all that is no token, and of hints.
fn without_comments(sql: &[u8], mode: SqlMode) -> Vec<u8> {
    let mut copy = vec![b' '; sql.len()];
    for token in Lexer::new(sql, mode).filter(|token| token.kind != K::Hint) {
        copy[token.range()].copy_from_slice(token.text(sql));
    }
    copy
}
