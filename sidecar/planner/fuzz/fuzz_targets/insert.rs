//! An INSERT that is put together again from its rows and values splits as before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use remora_planner::lexer::SqlMode;
use remora_planner::utility::{InsertRow, InsertSource, Span, insert};

fn rows<'a>(sql: &'a [u8], rows: &[InsertRow], values: &[Span]) -> Vec<Vec<&'a [u8]>> {
    rows.iter().map(|row| row.values(values).iter().map(|span| span.text(sql)).collect()).collect()
}

fuzz_target!(|sql: &[u8]| {
    let mode = SqlMode::default();
    let Ok(found) = insert(sql, mode) else { return };
    let InsertSource::Rows { keyword, rows: spans, values } = found.source else { return };
    let before = rows(sql, &spans, &values);
    let mut again = sql[..keyword.range().end].to_vec();
    for (i, row) in before.iter().enumerate() {
        again.extend_from_slice(if i == 0 { b" (" } else { b", (" });
        again.extend_from_slice(&row.join(&b", "[..]));
        again.push(b')');
    }
    // A version comment that is open at VALUES stays open.
    let Ok(found) = insert(&again, mode) else {
        assert!(sql.windows(3).any(|bytes| bytes == b"/*!"));
        return;
    };
    let InsertSource::Rows { rows: spans, values, .. } = found.source else { panic!("rows") };
    assert_eq!(rows(&again, &spans, &values), before);
});
