use super::*;
use crate::fixtures::shop;

#[test]
fn the_canonical_form_and_its_fingerprint_never_change() {
    let document = LayoutDocument::of(&shop());
    insta::assert_snapshot!(document.to_json());
    insta::assert_snapshot!(document.fingerprint());
}

#[test]
fn the_order_of_tables_and_an_inherited_number_change_nothing() {
    let mut other = shop();
    other.tables.reverse();
    for table in &mut other.tables {
        if let Some(sharding) = &mut table.sharding {
            sharding.tables_per_shard = Some(16);
        }
    }
    assert_eq!(layout_fingerprint(&shop()), layout_fingerprint(&other));
}

#[test]
fn a_document_survives_its_way_through_a_shard() {
    let document = LayoutDocument::of(&shop());
    assert_eq!(
        LayoutDocument::from_json(&document.to_json()).unwrap(),
        document
    );
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The example's layout without its second table, with it, and that table's name.
fn small_and_whole() -> (LayoutDocument, LayoutDocument, String) {
    let mut small = shop();
    let payment = small.tables.remove(1).name;
    (
        LayoutDocument::of(&small),
        LayoutDocument::of(&shop()),
        payment,
    )
}

#[test]
fn a_table_may_be_added_and_stays_as_it_was_laid_out() {
    let (held, whole, payment) = small_and_whole();
    for shard in [0, 1] {
        let admission = held.admit(&whole, shard, &names(&[])).unwrap();
        assert_eq!(admission.document, whole);
        assert!(admission.refused.is_empty());
    }
    let mut moved = shop();
    moved.tables[1].sharding.as_mut().unwrap().key = vec!["id".to_owned()];
    let moved = LayoutDocument::of(&moved);
    for shard in [0, 1] {
        let admission = whole.admit(&moved, shard, &names(&[&payment])).unwrap();
        assert_eq!(admission.document, whole);
        let errors = admission.errors();
        assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
        assert!(errors[0].reason.contains("set it back"), "{}", errors[0]);
    }
    let errors = whole.contradictions(&moved);
    assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
}

#[test]
fn a_table_that_was_dropped_everywhere_may_come_back_laid_out_anew() {
    let (_, whole, payment) = small_and_whole();
    let mut moved = shop();
    moved.tables[1].sharding.as_mut().unwrap().key = vec!["id".to_owned()];
    let moved = LayoutDocument::of(&moved);
    assert_eq!(whole.changed(&moved).collect::<Vec<_>>(), [&payment]);
    assert_eq!(whole.uncovered(&moved).collect::<Vec<_>>(), [&payment]);
    for shard in [0, 1] {
        let admission = whole.admit(&moved, shard, &names(&[])).unwrap();
        assert_eq!(
            (admission.document, admission.refused.len()),
            (moved.clone(), 0)
        );
    }
}

#[test]
fn a_table_that_is_there_without_being_sharded_is_not_taken_for_a_sharded_one() {
    let (held, whole, payment) = small_and_whole();
    assert_eq!(held.changed(&whole).collect::<Vec<_>>(), [&payment]);
    let admission = held.admit(&whole, 0, &names(&[&payment])).unwrap();
    assert_eq!(admission.document, held);
    let errors = admission.errors();
    assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
    assert!(errors[0].reason.contains("RENAME it"), "{}", errors[0]);
    // Another shard cannot have one: this is a physical table of a sidecar that was faster.
    let admission = held.admit(&whole, 1, &names(&[&payment])).unwrap();
    assert_eq!(admission.document, whole);
}

#[test]
fn a_table_is_taken_out_once_it_is_dropped() {
    let (small, held, payment) = small_and_whole();
    let admission = held.admit(&small, 0, &names(&[&payment])).unwrap();
    assert_eq!(admission.document, held);
    let errors = admission.errors();
    assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
    assert!(errors[0].reason.contains("put it back"), "{}", errors[0]);
    let elsewhere = held.admit(&small, 1, &names(&[&payment])).unwrap();
    assert_eq!(
        (elsewhere.document, elsewhere.refused.len()),
        (held.clone(), 0)
    );
    let dropped = held.admit(&small, 0, &names(&[])).unwrap();
    assert_eq!((dropped.document, dropped.refused.len()), (small, 0));
}

#[test]
fn more_shards_and_another_database_are_refused_by_the_field() {
    let held = LayoutDocument::of(&shop());
    let mut other = shop();
    other.shards = 3;
    other.database = "mall".to_owned();
    let errors = held.contradictions(&LayoutDocument::of(&other));
    let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["spec.shards", "spec.database"]);
    assert!(errors[0].reason.contains("laid out for 2"), "{}", errors[0]);
}
