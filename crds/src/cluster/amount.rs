//! Amounts of CPU, memory and storage.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// Kubernetes' own pattern for quantities.
const PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";
const SUFFIXES: [&str; 14] = [
    "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P",
];

/// An amount such as `500m`, `10Gi` or `2`. A plain number may stand without quotes, which
/// Kubernetes' own `Quantity` takes from nobody but the apiserver.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Amount(pub Quantity);

impl Amount {
    /// Whether Kubernetes understands it, and it is more than nothing.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let text = self.0.0.as_str();
        let number = SUFFIXES
            .iter()
            .find_map(|suffix| text.strip_suffix(suffix))
            .or_else(|| text.strip_suffix('E'))
            .unwrap_or(text);
        let plain = number.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '+');
        plain
            && number
                .parse::<f64>()
                .is_ok_and(|number| number.is_finite() && number > 0.0)
    }
}

impl From<&str> for Amount {
    fn from(text: &str) -> Self {
        Self(Quantity(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount such as 500m, 10Gi or 2")
            }

            fn visit_str<E>(self, text: &str) -> Result<Amount, E> {
                Ok(text.into())
            }

            fn visit_u64<E>(self, number: u64) -> Result<Amount, E> {
                Ok(Amount(Quantity(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Amount, E> {
                Ok(Amount(Quantity(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Amount, E> {
                Ok(Amount(Quantity(number.to_string())))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An amount such as 500m, 10Gi or 2.",
            "x-kubernetes-int-or-string": true,
            "pattern": PATTERN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(yaml: &str) -> Amount {
        serde_saphyr::from_str(yaml).unwrap()
    }

    #[test]
    fn a_number_needs_no_quotes() {
        assert_eq!(parse("2"), "2".into());
        assert_eq!(parse("1.5"), "1.5".into());
        assert_eq!(parse("10Gi"), "10Gi".into());
        assert_eq!(parse("'2'"), "2".into());
    }

    #[test]
    fn what_kubernetes_does_not_understand_is_invalid() {
        for good in ["1", "0.5", ".5", "500m", "10Gi", "1E", "1e3", "+1"] {
            assert!(Amount::from(good).is_valid(), "{good}");
        }
        for bad in ["", "Gi", "10GiB", "ten", "-1", "0", "1 Gi", "inf", "NaN"] {
            assert!(!Amount::from(bad).is_valid(), "{bad}");
        }
    }
}
