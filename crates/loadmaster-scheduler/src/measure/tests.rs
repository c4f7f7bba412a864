use std::{collections::BTreeMap, time::Duration};

use loadmaster_core::event::BACKOFF_COMPLETE;
use loadmaster_core::meter::{AttemptResult, CallPoint, Meter, Observation, PluginCall};
use loadmaster_framework::Code;

use super::{CoreMeter, Measures, encode::go_float};

/// What a family is: its type, the names of its labels, its bounds and its help.
#[derive(Debug, Default, PartialEq, Eq)]
struct Family {
    kind: String,
    labels: Vec<String>,
    bounds: Vec<String>,
    help: String,
}

/// The families of the original, from `testdata`.
fn of_the_original() -> BTreeMap<String, Family> {
    let text = include_str!("../../testdata/kube-scheduler-1.36.2-metrics.tsv");
    let split = |it: &str| it.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    text.lines()
        .filter(|it| !it.starts_with('#'))
        .map(|line| {
            let fields: Vec<_> = line.split('\t').collect();
            let [kind, name, labels, bounds, help] = fields[..] else { panic!("{line}") };
            let (kind, help) = (kind.to_owned(), help.to_owned());
            (name.to_owned(), Family { kind, labels: split(labels), bounds: split(bounds), help })
        })
        .collect()
}

/// The families that a page of metrics shows.
fn shown(page: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            current = name.to_owned();
            families.entry(current.clone()).or_default().help = help.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            families.get_mut(&current).unwrap().kind = rest.rsplit(' ').next().unwrap().to_owned();
        } else if let Some((_, labels)) = line.split_once('{') {
            let family = families.get_mut(&current).unwrap();
            let (labels, _) = labels.rsplit_once("\"}").unwrap();
            for pair in labels.split("\",") {
                let (name, value) = pair.split_once("=\"").unwrap();
                let list = if name == "le" { &mut family.bounds } else { &mut family.labels };
                let item = if name == "le" { value } else { name }.to_owned();
                if !list.contains(&item) {
                    list.push(item);
                }
            }
            family.labels.sort();
        }
    }
    families
}

/// Measures with something in every family.
fn measured() -> Measures {
    let measures = Measures::new();
    let meter = CoreMeter::new(measures.clone());
    let (profile, took, code) = ("p", Duration::from_millis(3), Code::Success);
    let (plugin, point, event) = ("A", CallPoint::Filter, BACKOFF_COMPLETE);
    for observation in [
        Observation::Attempt { profile, result: AttemptResult::Scheduled, took },
        Observation::Algorithm { took },
        Observation::Scheduled { attempts: 20, took: Some(took), after_flush: true },
        Observation::Point { profile, point, code, took },
        Observation::Plugin { plugin, point, code, took },
        Observation::Evaluated { profile, plugin, point, times: 3 },
        Observation::Hint { plugin, event, hint: "Queue", took },
        Observation::Event { event, took },
        Observation::PermitWait { code, took },
        Observation::PreemptionAttempt,
        Observation::PreemptionVictims { count: 2 },
        Observation::PreemptionDone { ok: true, took },
        Observation::PreemptsAgain { profile },
        Observation::Panic { plugin, point },
        Observation::OverBudget { plugin, point },
    ] {
        meter.observe(observation);
    }
    let to = measures.families();
    for gauges in [&to.pending_pods, &to.inflight_events, &to.goroutines, &to.cache_size] {
        gauges.with_label_values(&["x"]).set(1);
    }
    to.incoming_pods.with_label_values(&["active", "x"]).inc();
    to.unschedulable_pods.with_label_values(&["A", "p"]).set(1);
    to.set_leader(true, 2);
    measures
}

#[test]
fn families_that_the_original_has_too_have_its_types_labels_bounds_and_helps() {
    let ours = shown(&measured().text());
    let mut missing = Vec::new();
    for (name, theirs) in of_the_original() {
        match ours.get(&name) {
            Some(family) => assert_eq!(*family, theirs, "{name}"),
            None => missing.push(name),
        }
    }
    // What batching and node hints count: neither exists here.
    assert_eq!(
        missing,
        [
            "scheduler_batch_attempts_total",
            "scheduler_batch_cache_flushed_total",
            "scheduler_get_node_hint_duration_seconds",
            "scheduler_store_schedule_results_duration_seconds",
        ]
    );
}

#[test]
fn every_family_has_its_line_in_the_documentation() {
    let page = include_str!("../../../../docs/metrics.md");
    let names = include_str!("helps.txt").lines().filter_map(|it| it.split(' ').next());
    let missing: Vec<_> = names.filter(|it| !page.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty(), "docs/metrics.md lacks {missing:?}");
}

#[test]
fn what_is_observed_is_shown_under_its_labels() {
    let page = measured().text();
    for line in [
        r#"scheduler_schedule_attempts_total{profile="p",result="scheduled"} 1"#,
        r#"scheduler_framework_extension_point_duration_seconds_bucket{extension_point="Filter",profile="p",status="Success",le="0.0032"} 1"#,
        r#"scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"} 1"#,
        r#"scheduler_plugin_evaluation_total{extension_point="Filter",plugin="A",profile="p"} 3"#,
        "scheduler_pod_scheduled_after_flush_total 1",
        r#"leader_election_slowpath_total{name="kube-scheduler"} 2"#,
        r#"loadmaster_plugin_panics_total{extension_point="Filter",plugin="A"} 1"#,
        r#"loadmaster_plugin_over_budget_total{extension_point="Filter",plugin="A"} 1"#,
        r#"loadmaster_repeated_preemptions_total{profile="p"} 1"#,
    ] {
        assert!(page.lines().any(|it| it == line), "{line} is not in\n{page}");
    }
}

#[test]
fn numbers_are_written_as_go_writes_them() {
    for (number, text) in [
        (0.0, "0"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (1.500_000_000_000_000_2e-5, "1.5000000000000002e-05"),
        (5242.88, "5242.88"),
        (524_288.0, "524288"),
        (1_048_576.0, "1.048576e+06"),
        (1_795_990_079.87, "1.79599007987e+09"),
        (18_446_744_073_709_552_000.0, "1.8446744073709552e+19"),
        (f64::INFINITY, "+Inf"),
    ] {
        assert_eq!(go_float(number), text);
    }
}

#[test]
fn the_call_under_way_can_be_seen_and_so_can_the_one_that_it_asked_for() {
    let meter = CoreMeter::new(Measures::new());
    assert_eq!(meter.running_call(), None);
    let node = "a-node-with-a-name-of-more-than-one-word";
    let call = |plugin, point, node| PluginCall { plugin, point, node };
    let seen = || meter.running_call().map(|(it, _)| (it.plugin, it.point, it.node));
    meter.enter(call("DefaultPreemption", CallPoint::PostFilter, None));
    meter.enter(call("Fit", CallPoint::Filter, Some(node)));
    assert_eq!(seen(), Some(("Fit".to_owned(), CallPoint::Filter, node.to_owned())));
    meter.leave();
    let outer = ("DefaultPreemption".to_owned(), CallPoint::PostFilter, String::new());
    assert_eq!(seen(), Some(outer));
    meter.leave();
    assert_eq!(seen(), None);
}
