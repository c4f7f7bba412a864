//! Prometheus' text format 0.0.4 as Go writes it: bounds of buckets are label values, and `1e-05`
//! and `0.00001` are two different ones.

use std::fmt::Write as _;

use prometheus::proto::{LabelPair, MetricFamily, MetricType};

/// The families that have anything to show.
pub(super) fn text(families: &[MetricFamily]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|it| !it.get_metric().is_empty()) {
        let name = family.name();
        let kind = match family.get_field_type() {
            MetricType::COUNTER => "counter",
            MetricType::HISTOGRAM => "histogram",
            _ => "gauge",
        };
        let help = family.help().replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for metric in family.get_metric() {
            let labels = metric.get_label();
            match kind {
                "counter" => {
                    sample(&mut text, name, "", labels, None, metric.get_counter().get_value());
                }
                "gauge" => {
                    sample(&mut text, name, "", labels, None, metric.get_gauge().get_value());
                }
                _ => {
                    let histogram = metric.get_histogram();
                    let count = histogram.get_sample_count() as f64;
                    for bucket in histogram.get_bucket() {
                        let (bound, below) = (bucket.upper_bound(), bucket.cumulative_count());
                        if bound.is_finite() {
                            sample(&mut text, name, "_bucket", labels, Some(bound), below as f64);
                        }
                    }
                    sample(&mut text, name, "_bucket", labels, Some(f64::INFINITY), count);
                    let sum = histogram.get_sample_sum();
                    sample(&mut text, name, "_sum", labels, None, sum);
                    sample(&mut text, name, "_count", labels, None, count);
                }
            }
        }
    }
    text
}

fn sample(
    text: &mut String,
    name: &str,
    suffix: &str,
    labels: &[LabelPair],
    bound: Option<f64>,
    value: f64,
) {
    let mut all: Vec<String> =
        labels.iter().map(|it| format!("{}=\"{}\"", it.name(), escaped(it.value()))).collect();
    all.extend(bound.map(|it| format!("le=\"{}\"", go_float(it))));
    let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
    let _ = writeln!(text, "{name}{suffix}{labels} {}", go_float(value));
}

pub(super) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A number as Go's `strconv.FormatFloat(it, 'g', -1, 64)` writes it.
pub(super) fn go_float(it: f64) -> String {
    if it.is_nan() {
        return "NaN".to_owned();
    }
    if it.is_infinite() {
        return if it > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let short = format!("{it:e}");
    let (digits, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    it.to_string()
}
