//! Fields that a later version brings.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The value of a field that a later version brings. It is parsed so that the refusal can say
/// so: the apiserver would merely drop an unknown field, and whoever wrote `encryption` must
/// not believe that columns are encrypted.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Later(serde_json::Value);

/// The schema of a refused number.
pub(super) fn number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer" })
}
