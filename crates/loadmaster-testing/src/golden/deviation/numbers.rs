//! Rules about quantities.

use loadmaster_framework::api::Quantity;

use super::{Deviation, Difference};

/// Negative amounts beyond upstream's fast path: the recorded value is off by one, positive or
/// arbitrary. Ours must be the amount rounded away from zero.
pub(super) fn negative_quantities(it: &Deviation<'_>) -> bool {
    let quantity = it.case["input"].as_str().and_then(|it| Quantity::parse(it).ok());
    let Some(quantity) = quantity.filter(|it| it.sign() < 0) else { return false };
    it.differences.iter().all(|difference| {
        let of_units = match &*difference.path {
            "value" => Quantity::from_value as fn(i64) -> Quantity,
            "milliValue" => Quantity::from_milli_value,
            _ => return false,
        };
        let actual = difference.actual.as_i64();
        actual.is_some_and(|at| of_units(at) <= quantity && quantity < &of_units(at) + &of_units(1))
    })
}

/// A request of the pod as a whole that upstream keeps as a big decimal: each time the requests are
/// summed up the overhead is added to the pod's own copy, and scores see what has grown by then.
/// Only points of `NodeResourcesBalancedAllocation`, which counts such requests, can differ.
pub(super) fn growing_pod_requests(it: &Deviation<'_>) -> bool {
    let spec = &it.case["pod"]["spec"];
    let requests = spec["resources"]["requests"].as_object();
    let grows = requests.into_iter().flatten().any(|(name, amount)| {
        amount.as_str().is_some_and(is_big_decimal) && spec["overhead"].get(name).is_some()
    });
    let about_balance = |it: &Difference| {
        let path = &*it.path;
        path.starts_with("best")
            || path.starts_with("scores[")
                && (path.ends_with("].total") || path.ends_with(".NodeResourcesBalancedAllocation"))
    };
    grows && it.differences.iter().all(about_balance)
}

/// Whether upstream's parser leaves its fast path for `text`: a binary amount with a fraction, or
/// more than 18 digits.
fn is_big_decimal(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    text.ends_with('i') && text.contains('.') || digits > 18
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn explains(input: &str, path: &str, actual: i64) -> bool {
        let case = json!({"input": input});
        let difference =
            Difference { path: path.to_owned(), expected: json!(1), actual: json!(actual) };
        let check = |_: &str| Ok(Vec::new());
        negative_quantities(&Deviation { case: &case, differences: &[difference], check })
    }

    #[test]
    fn a_negative_quantity_is_explained_only_where_ours_is_rounded_away_from_zero() {
        assert!(explains("-1.5n", "value", -1));
        assert!(explains("-1.5", "value", -2));
        assert!(explains("-1.5", "milliValue", -1500));
        assert!(!explains("-1.5", "value", -1));
        assert!(!explains("-1.5", "value", -3));
        assert!(!explains("-1.5", "sign", -1));
        assert!(!explains("1.5", "value", 2));
    }

    #[test]
    fn requests_that_do_not_grow_explain_nothing() {
        let explains = |memory: &str, overhead: Value, path: &str| {
            let case = json!({"pod": {"spec": {
                "resources": {"requests": {"memory": memory}},
                "overhead": overhead,
            }}});
            let path = path.to_owned();
            let difference = Difference { path, expected: json!(1), actual: json!(2) };
            let check = |_: &str| Ok(Vec::new());
            growing_pod_requests(&Deviation { case: &case, differences: &[difference], check })
        };
        let overhead = json!({"memory": "1Mi"});
        let score = "scores[n1].plugins.NodeResourcesBalancedAllocation";
        assert!(explains("1.5Ki", overhead.clone(), score));
        assert!(!explains("1.5k", overhead.clone(), score));
        assert!(!explains("1.5Ki", json!({"cpu": "1"}), score));
        assert!(!explains("1.5Ki", overhead, "scores[n1].plugins.NodeResourcesFit"));
    }
}
