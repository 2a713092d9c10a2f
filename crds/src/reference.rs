//! `docs/manifest.md`: every field of a `ShardingCluster` and of a `Topology`, from their schemas.

use std::fmt::Write;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use schemars::generate::SchemaSettings;

use crate::{Topology, crd};

const HEADER: &str = "\
<!-- Made by `cargo run -p remora-crds --example manifest > docs/manifest.md`. Do not edit: change the
comments in crds/src. -->

# The manifest, field by field

`kubectl explain shardingcluster.spec --recursive` says the same about a cluster. A whole one is in
[examples/shop.yaml](../examples/shop.yaml); what its parts do together is in
[operations.md](operations.md).
";

const TOPOLOGY: &str = "
## Topology

Without Kubernetes, the second document of the sidecar's file: where the servers are, and who may log
in. With Kubernetes the operator makes it, and nobody writes one.
";

/// One line of a table.
struct Field {
    path: String,
    kind: String,
    default: String,
    text: String,
}

/// The whole page.
///
/// # Errors
/// If a schema is none, which a test would show.
pub fn manifest_reference() -> Result<String, serde_json::Error> {
    let mut page = HEADER.to_owned();
    let crd = crd();
    let versions = crd.spec.versions.into_iter();
    let schemas = versions.filter_map(|version| version.schema?.open_api_v3_schema);
    for schema in schemas {
        let properties = schema.properties.unwrap_or_default();
        for (name, title) in [
            ("spec", "`spec`"),
            ("status", "`status`: what the operator found"),
        ] {
            if let Some(part) = properties.get(name) {
                section(&mut page, &format!("ShardingCluster {title}"), part);
            }
        }
    }
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<Topology>();
    let schema: JSONSchemaProps = serde_json::from_value(serde_json::to_value(schema)?)?;
    page += TOPOLOGY;
    table(&mut page, &schema);
    Ok(page)
}

fn section(page: &mut String, title: &str, schema: &JSONSchemaProps) {
    // Writing into a String cannot fail.
    let _ = writeln!(page, "\n## {title}");
    table(page, schema);
    let mut rules = Vec::new();
    collect_rules(schema, &mut rules);
    if !rules.is_empty() {
        page.push_str("\nBesides the bounds above, the API server refuses:\n\n");
        for rule in rules {
            let _ = writeln!(page, "- {rule}");
        }
    }
}

fn table(page: &mut String, schema: &JSONSchemaProps) {
    let mut fields = Vec::new();
    walk("", schema, &mut fields);
    page.push_str("\n| field | type | default | meaning |\n| --- | --- | --- | --- |\n");
    for field in fields {
        let Field {
            path,
            kind,
            default,
            text,
        } = field;
        let _ = writeln!(page, "| `{path}` | {kind} | {default} | {text} |");
    }
}

fn walk(prefix: &str, schema: &JSONSchemaProps, fields: &mut Vec<Field>) {
    let required = schema.required.clone().unwrap_or_default();
    for (name, property) in schema.properties.iter().flatten() {
        let path = format!("{prefix}{name}");
        let property = one_of(property);
        let default = match &property.default {
            Some(value) => format!("`{}`", cell(&value.0.to_string())),
            None if required.contains(name) => "required".to_owned(),
            None => String::new(),
        };
        fields.push(Field {
            kind: kind(property),
            default,
            text: cell(description(schema, name).unwrap_or_default()),
            path: path.clone(),
        });
        if is_selector(property) {
            continue;
        }
        match (&property.items, &property.additional_properties) {
            (Some(JSONSchemaPropsOrArray::Schema(items)), _) => {
                walk(&format!("{path}[]."), one_of(items), fields);
            }
            (_, Some(JSONSchemaPropsOrBool::Schema(values))) => {
                walk(&format!("{path}.*."), values, fields);
            }
            _ => walk(&format!("{path}."), property, fields),
        }
    }
}

fn description<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<&'a str> {
    let property = schema.properties.as_ref()?.get(name)?;
    property
        .description
        .as_deref()
        .or_else(|| one_of(property).description.as_deref())
}

/// What an optional object is, when it is there.
fn one_of(schema: &JSONSchemaProps) -> &JSONSchemaProps {
    let choices = schema.any_of.iter().chain(&schema.all_of).flatten();
    let mut objects = choices.filter(|choice| choice.properties.is_some());
    objects.next().unwrap_or(schema)
}

fn is_selector(schema: &JSONSchemaProps) -> bool {
    let properties = schema.properties.as_ref();
    properties.is_some_and(|all| all.contains_key("matchExpressions"))
}

fn is_map(schema: &JSONSchemaProps) -> bool {
    let values = schema.additional_properties.as_ref();
    matches!(values, Some(JSONSchemaPropsOrBool::Schema(_)))
}

fn kind(schema: &JSONSchemaProps) -> String {
    if is_selector(schema) {
        return "LabelSelector".to_owned();
    }
    let choices: Vec<_> = schema
        .enum_
        .iter()
        .chain(
            schema
                .one_of
                .iter()
                .flatten()
                .filter_map(|choice| choice.enum_.as_ref()),
        )
        .flatten()
        .filter(|value| !value.0.is_null())
        .map(|value| format!("`{}`", value.0.to_string().trim_matches('"')))
        .collect();
    if !choices.is_empty() {
        return choices.join(", ");
    }
    let name = match schema.type_.as_deref() {
        Some("array") => match &schema.items {
            Some(JSONSchemaPropsOrArray::Schema(items)) => format!("list of {}", kind(items)),
            _ => "list".to_owned(),
        },
        Some("object") if is_map(schema) => "map".to_owned(),
        Some(name) => name.to_owned(),
        None if schema.x_kubernetes_int_or_string == Some(true) => "integer or string".to_owned(),
        None => "any".to_owned(),
    };
    let bounds = match (schema.minimum, schema.maximum) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) if least > 0.0 => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        _ => String::new(),
    };
    let length = schema
        .max_length
        .map(|most| format!(", at most {most} characters"));
    format!("{name}{bounds}{}", length.unwrap_or_default())
}

fn collect_rules(schema: &JSONSchemaProps, rules: &mut Vec<String>) {
    for rule in schema.x_kubernetes_validations.iter().flatten() {
        if let Some(message) = &rule.message {
            rules.push(cell(message));
        }
    }
    for property in schema.properties.iter().flat_map(|all| all.values()) {
        collect_rules(property, rules);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        collect_rules(items, rules);
    }
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_page_is_what_the_types_say() {
        let checked_in = include_str!("../../docs/manifest.md");
        assert!(
            checked_in == manifest_reference().unwrap(),
            "docs/manifest.md is stale: run `cargo run -p remora-crds --example manifest > \
             docs/manifest.md`"
        );
    }

    #[test]
    fn no_field_of_the_page_is_without_meaning() {
        let page = manifest_reference().unwrap();
        for path in [
            "`shards`",
            "`tables[].sharding.key`",
            "`shards[].instances[].host`",
        ] {
            assert!(page.contains(path), "{path}");
        }
        let empty: Vec<_> = page.lines().filter(|line| line.ends_with("|  |")).collect();
        assert_eq!(empty, [""; 0]);
    }
}
