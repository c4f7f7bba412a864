//! Rules about quantities.

use loadmaster_framework::api::Quantity;

use super::{Deviation, Difference};

/// Negative amounts beyond upstream's fast path: the recorded value is off by one, positive or
/// arbitrary. Ours must be the amount rounded away from zero.
pub(super) fn negative_quantities(it: &Deviation<'_>) -> bool {
    let text = it.case["input"].as_str().unwrap_or_default();
    let Ok(quantity) = Quantity::parse(text) else { return false };
    if quantity.sign() >= 0 || is_on_fast_path(text) {
        return false;
    }
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
/// summed up the overhead is added to the pod's own copy, so that each who asks sees more.
///
/// Points of `NodeResourcesBalancedAllocation`, which is the last to ask, may then differ. All else
/// must be equal, as it is or once the request has grown by the overhead a few times.
pub(super) fn growing_pod_requests(it: &Deviation<'_>) -> bool {
    let spec = &it.case["pod"]["spec"];
    let grown: Vec<_> = spec["resources"]["requests"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, request)| {
            let request = request.as_str().filter(|it| !is_on_fast_path(it))?;
            let overhead = Quantity::parse(spec["overhead"][name].as_str()?).ok()?;
            Some((name.clone(), Quantity::parse(request).ok()?, overhead))
        })
        .collect();
    let about_balance = |it: &Difference| {
        let path = &*it.path;
        path.starts_with("best")
            || path.starts_with("scores[")
                && (path.ends_with("].total") || path.ends_with(".NodeResourcesBalancedAllocation"))
    };
    let only_balance = |times: usize| {
        let mut case = it.case.clone();
        for (name, request, overhead) in &grown {
            let sum = (0..times).fold(request.clone(), |sum, _| &sum + overhead);
            case["pod"]["spec"]["resources"]["requests"][name] = sum.to_string().into();
        }
        (it.check)(&case.to_string()).is_ok_and(|found| found.iter().all(about_balance))
    };
    !grown.is_empty()
        && (it.differences.iter().all(about_balance) || (1..=MOST_SUMS).any(only_balance))
}

/// Nobody sums up a pod's requests more often than this before the nodes are scored.
const MOST_SUMS: usize = 4;

/// Whether upstream's parser keeps `text` in 64 bits rather than as a big decimal.
fn is_on_fast_path(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']);
    let at = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(at);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.trim_start_matches('0').len();
    if let Some(at) = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|it| *it == suffix) {
        // Upstream's estimate of the decimal digits of the product.
        return fraction.is_empty() && whole + (at + 1) * 3 < 15;
    }
    let exponent = match suffix {
        "" => 0,
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        other => other[1..].parse().unwrap_or(0),
    };
    let finest = exponent - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    whole + fraction.len() <= 18 && finest >= -9
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
        assert!(explains("-1.5Ki", "value", -1536));
        assert!(explains("-1.5Ki", "milliValue", -1_536_000));
        assert!(!explains("-1.5Ki", "value", -1535));
        assert!(!explains("-1.5Ki", "value", -1537));
        assert!(!explains("-1.5Ki", "sign", -1));
        assert!(!explains("1.5Ki", "value", 1536));
        assert!(!explains("-1.5", "value", -2));
    }

    #[test]
    fn the_fast_path_ends_where_upstreams_does() {
        for text in ["1", "-00012", "1e3", "1.5", "0.000000001", "999999999999999999", "1Pi"] {
            assert_eq!(is_on_fast_path(text), text != "1Pi", "{text}");
        }
        for text in ["1.5Ki", "-1Ei", "1.5n", "1e-10", "1234567890123456789", "618508872979Ki"] {
            assert!(!is_on_fast_path(text), "{text}");
        }
        assert!(is_on_fast_path("61850887297Ki"));
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
            let check = |_: &str| Err(serde::de::Error::custom("not asked"));
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
