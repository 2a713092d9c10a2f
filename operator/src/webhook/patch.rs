//! What the injector added, as a JSON patch.
//!
//! The apiserver may be newer than our types, which drop fields that they do not know. A patch
//! that compares lists by index would move such fields to another entry; this one inserts
//! entries where they belong and touches nothing else.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, ReplaceOperation};
use serde_json::Value;

/// The patch from `before` to `after`, which lacks nothing that `before` has.
pub(super) fn additions(before: &Value, after: &Value) -> Patch {
    let mut operations = Vec::new();
    compare(&PointerBuf::new(), before, after, &mut operations);
    Patch(operations)
}

fn compare(path: &PointerBuf, before: &Value, after: &Value, out: &mut Vec<PatchOperation>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in after {
                let path = path.with_trailing_token(key.as_str());
                match before.get(key) {
                    Some(old) => compare(&path, old, value, out),
                    None => out.push(add(path, value)),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            let mut before = before.iter().peekable();
            // Entries come in order, so that each index is right once those before it are there.
            for (index, value) in after.iter().enumerate() {
                let path = path.with_trailing_token(index.to_string());
                match before.next_if(|old| is_same_entry(old, value)) {
                    Some(old) => compare(&path, old, value, out),
                    None => out.push(add(path, value)),
                }
            }
        }
        _ if before == after => {}
        _ => out.push(PatchOperation::Replace(ReplaceOperation {
            path: path.clone(),
            value: after.clone(),
        })),
    }
}

/// Lists of a pod that the injector touches have entries with names.
fn is_same_entry(old: &Value, new: &Value) -> bool {
    old == new || old["name"].is_string() && old["name"] == new["name"]
}

fn add(path: PointerBuf, value: &Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path,
        value: value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_our_types_do_not_know_stay_where_they_are() {
        let known = json!({"spec": {"init": [{"name": "a"}], "env": [{"name": "X"}]}});
        let wanted = json!({"spec": {
            "init": [{"name": "sidecar"}, {"name": "a", "env": [1]}],
            "env": [{"name": "H"}, {"name": "X"}, {"name": "Y"}],
            "volumes": ["v"],
        }});
        let mut real = json!({"spec": {
            "init": [{"name": "a", "new": 1}], "env": [{"name": "X", "new": 2}],
        }});
        json_patch::patch(&mut real, &additions(&known, &wanted)).unwrap();
        assert_eq!(
            real,
            json!({"spec": {
                "init": [{"name": "sidecar"}, {"name": "a", "env": [1], "new": 1}],
                "env": [{"name": "H"}, {"name": "X", "new": 2}, {"name": "Y"}],
                "volumes": ["v"],
            }})
        );
    }

    #[test]
    fn names_with_slashes_are_escaped() {
        let wanted = json!({"annotations": {"remora.dev/status": "s"}});
        let mut real = json!({"annotations": {}});
        let patch = additions(&real, &wanted);
        json_patch::patch(&mut real, &patch).unwrap();
        assert_eq!(real, wanted);
    }
}
