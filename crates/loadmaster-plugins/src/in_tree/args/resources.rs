use std::collections::BTreeSet;

use loadmaster_framework::field::{FieldError, child, element};
use serde::{Deserialize, Serialize};

use super::is_zero;

/// A resource that a score looks at, and how much it counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResourceSpec {
    /// The resource's name, as `cpu` or `example.com/gpu`.
    pub name: String,
    /// How much it counts against the others; 0 becomes 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight: i64,
}

impl ResourceSpec {
    /// What is looked at when nothing is listed: processor and memory, equally.
    pub(super) fn defaults() -> Vec<Self> {
        ["cpu", "memory"].map(|name| Self { name: name.to_owned(), weight: 1 }).into()
    }

    /// Fills in the defaults of a list.
    pub(super) fn default_list(list: &mut Vec<Self>) {
        if list.is_empty() {
            *list = Self::defaults();
        }
        for resource in list.iter_mut().filter(|it| it.weight == 0) {
            resource.weight = 1;
        }
    }

    /// Weights must be in 1..=100.
    pub(super) fn validate_weights(list: &[Self], path: &str) -> Vec<FieldError> {
        let wrong = list.iter().enumerate().filter(|(_, it)| !(1..=100).contains(&it.weight));
        wrong
            .map(|(index, it)| {
                let detail = format!("resource weight of {} not in valid range (0, 100]", it.name);
                FieldError::invalid(child(&element(path, index), "weight"), it.weight, detail)
            })
            .collect()
    }

    /// Names must not repeat and weights must be 1, since balance knows no weights.
    pub(super) fn validate_unweighted(list: &[Self], path: &str) -> Vec<FieldError> {
        let (mut seen, mut errors) = (BTreeSet::new(), Vec::new());
        for (index, resource) in list.iter().enumerate() {
            let path = element(path, index);
            if !seen.insert(&*resource.name) {
                errors.push(FieldError::duplicate(child(&path, "name"), &resource.name));
            }
            if resource.weight != 1 {
                let path = child(&path, "weight");
                errors.push(FieldError::invalid(path, resource.weight, "must be 1"));
            }
        }
        errors
    }
}

/// A point of the line that maps how full a node is to a score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UtilizationShapePoint {
    /// How full, in percent: 0..=100.
    pub utilization: i32,
    /// The score: 0..=10.
    pub score: i32,
}

impl UtilizationShapePoint {
    /// A line needs a point, rising utilization, and values in range.
    pub(super) fn validate_line(line: &[Self], path: &str) -> Vec<FieldError> {
        if line.is_empty() {
            return vec![FieldError::required(path, "at least one point must be specified")];
        }
        let mut errors = Vec::new();
        let fallen = line.windows(2).position(|it| it[0].utilization >= it[1].utilization);
        if let Some(index) = fallen {
            let path = child(&element(path, index + 1), "utilization");
            let detail = "values must be sorted in increasing order";
            errors.push(FieldError::invalid(path, line[index + 1].utilization, detail));
        }
        for (index, point) in line.iter().enumerate() {
            let path = element(path, index);
            for (name, value, most) in
                [("utilization", point.utilization, 100), ("score", point.score, 10)]
            {
                if !(0..=most).contains(&value) {
                    let detail = format!("not in valid range [0, {most}]");
                    errors.push(FieldError::invalid(child(&path, name), value, detail));
                }
            }
        }
        errors
    }
}
