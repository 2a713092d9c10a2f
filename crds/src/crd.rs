//! The CustomResourceDefinition, as it is installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::ShardingCluster;

/// What stands before the YAML.
const HEADER: &str = "\
# Made by `cargo run -p remora-crds --example crd`. Do not edit: change crds/src/cluster.rs.
";

/// The definition of `ShardingCluster`.
#[must_use]
pub fn crd() -> CustomResourceDefinition {
    let mut crd = ShardingCluster::crd();
    for version in &mut crd.spec.versions {
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|s| s.open_api_v3_schema.as_mut())
        {
            adapt(schema);
        }
    }
    crd
}

/// The definition as YAML, ready for `kubectl apply`.
///
/// # Errors
/// If the definition cannot be written as YAML.
pub fn crd_yaml() -> Result<String, serde_saphyr::ser::Error> {
    Ok(format!("{HEADER}{}", serde_saphyr::to_string(&crd())?))
}

/// Adapts what Rust says to what Kubernetes reads. The apiserver warns about formats of Rust's
/// integers, and the bounds say the same; `kubectl explain` breaks lines by itself.
fn adapt(schema: &mut JSONSchemaProps) {
    if schema
        .format
        .as_deref()
        .is_some_and(|format| format.starts_with("uint"))
    {
        schema.format = None;
    }
    if let Some(description) = &mut schema.description {
        *description = unwrapped(description);
    }
    for property in schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
    {
        adapt(property);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        adapt(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        adapt(values);
    }
}

/// Paragraphs without the line breaks of a source file.
fn unwrapped(text: &str) -> String {
    let paragraphs: Vec<_> = text
        .split("\n\n")
        .map(|p| p.lines().map(str::trim).collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_yaml_is_what_the_types_say() {
        let checked_in = include_str!("../shardingclusters.remora.dev.yaml");
        assert!(
            checked_in == crd_yaml().unwrap(),
            "crds/shardingclusters.remora.dev.yaml is stale: run `cargo run -p remora-crds \
             --example crd > crds/shardingclusters.remora.dev.yaml`"
        );
    }

    #[test]
    fn every_field_is_documented() {
        fn walk(path: &str, schema: &JSONSchemaProps) {
            for (name, property) in schema.properties.iter().flatten() {
                let path = format!("{path}.{name}");
                assert!(
                    property
                        .description
                        .as_deref()
                        .is_some_and(|text| text.len() > 10),
                    "{path} is not documented"
                );
                walk(&path, property);
                if let Some(JSONSchemaPropsOrArray::Schema(items)) = &property.items {
                    walk(&format!("{path}[]"), items);
                }
            }
        }
        let crd = crd();
        let root = crd.spec.versions[0].schema.as_ref().unwrap();
        let properties = root
            .open_api_v3_schema
            .as_ref()
            .unwrap()
            .properties
            .as_ref()
            .unwrap();
        walk("spec", &properties["spec"]);
        walk("status", &properties["status"]);
    }
}
