//! Durations, written as Kubernetes writes them.

use schemars::{Schema, SchemaGenerator, json_schema};

/// What the apiserver takes: `500ms`, `5s`, `1m30s`.
const PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// The schema of a duration.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 32, "pattern": PATTERN })
}
