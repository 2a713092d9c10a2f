//! What the chart lets the operator do, each rule with its reason. A right that is added, or
//! forgotten when its use goes, shows in a golden.

const RBAC: &str = include_str!("../../charts/remora/templates/rbac.yaml");

/// One rule as a line, and the comment above it.
#[derive(Default)]
struct Rule {
    reason: Vec<&'static str>,
    fields: Vec<&'static str>,
}

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut current = Rule::default();
    for line in RBAC.lines() {
        let is_rule = line.starts_with("- apiGroups:") || !current.fields.is_empty();
        if let Some(comment) = line.strip_prefix("# ") {
            if !current.fields.is_empty() {
                rules.push(std::mem::take(&mut current));
            }
            current.reason.push(comment);
        } else if is_rule && (line.starts_with("- apiGroups:") || line.starts_with("  ")) {
            if line.starts_with("- ") && !current.fields.is_empty() {
                rules.push(std::mem::take(&mut current));
            }
            current.fields.push(line.trim_start_matches(['-', ' ']));
        } else if !current.fields.is_empty() {
            rules.push(std::mem::take(&mut current));
        }
    }
    rules
}

#[test]
fn every_right_has_a_reason() {
    let rules = rules();
    assert!(rules.len() > 10, "{}", rules.len());
    let shown: Vec<_> = rules
        .iter()
        .map(|rule| {
            assert!(!rule.reason.is_empty(), "no reason: {:?}", rule.fields);
            format!("{}\n  {}", rule.fields.join("; "), rule.reason.join(" "))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn no_right_reaches_all_of_a_kind_or_all_secrets() {
    for rule in rules() {
        let text = rule.fields.join("; ");
        assert!(!text.contains('*'), "{text}");
        let lists = text.contains("list") || text.contains("watch");
        assert!(!(text.contains("[secrets]") && lists), "{text}");
    }
}
