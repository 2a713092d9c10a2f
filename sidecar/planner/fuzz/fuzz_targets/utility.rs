//! Every place that a parser gives is within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use remora_planner::lexer::SqlMode;
use remora_planner::utility::{
    Assignment, Described, Span, TableName, classify, ddl, describe, prepared, set, set_value, show,
    transaction, use_database,
};

fuzz_target!(|sql: &[u8]| {
    let mode = SqlMode::default();
    let within = |span: Span| assert!(sql.get(span.range()).is_some_and(|text| !text.is_empty()));
    let table = |name: TableName| within(name.span());
    let _ = classify(sql, mode);
    let _ = transaction(sql, mode);
    let _ = prepared(sql, mode);
    if let Ok(database) = use_database(sql, mode) {
        within(database);
    }
    for assignment in set(sql, mode).unwrap_or_default() {
        if let Assignment::Variable { name, value, .. } | Assignment::User { name, value } = assignment {
            within(name);
            within(value);
            let _ = set_value(sql, value, mode);
        }
    }
    if let Ok(show) = show(sql, mode) {
        show.object.into_iter().for_each(table);
        show.database.into_iter().for_each(within);
    }
    match describe(sql, mode) {
        Ok(Described::Table { table: name, .. }) => table(name),
        Ok(Described::Statement { statement, .. } | Described::Remora(statement)) => within(statement),
        _ => {}
    }
    if let Ok(ddl) = ddl(sql, mode) {
        let names = [ddl.names, ddl.new_names, ddl.references, ddl.others];
        names.into_iter().flatten().chain(ddl.on).chain(ddl.like).for_each(table);
        assert!(ddl.query.is_none_or(|at| (at as usize) < sql.len()));
    }
});
