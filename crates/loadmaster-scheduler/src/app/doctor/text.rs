//! What was found, for a person.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use loadmaster_framework::duration::GoDuration;

use super::finding::{Findings, Lease, Waiting};

/// So many pods of a kind are shown.
const SHOWN_MAX: usize = 50;

/// All of it. Pods that have not waited for `patience` are counted alone.
pub(super) fn text(findings: &Findings, patience: GoDuration) -> String {
    let mut text = format!("{}, {}\n", findings.server, findings.server_version);
    unclaimed(findings, &mut text);
    let (overdue, rest): (Vec<_>, Vec<_>) = findings.pending.iter().partition(|it| it.overdue);
    if !overdue.is_empty() {
        section(
            &mut text,
            &format!("{} waiting for {patience} or longer", count(overdue.len(), "pod")),
        );
        pods(&mut text, &overdue);
    }
    if !rest.is_empty() {
        let _ = writeln!(text, "\n{} waiting for less than {patience}", count(rest.len(), "pod"));
    }
    if !findings.gated.is_empty() {
        section(&mut text, &format!("{} held back by gates", count(findings.gated.len(), "pod")));
        pods(&mut text, &findings.gated.iter().collect::<Vec<_>>());
    }
    leases(&findings.leases, &mut text);
    permissions(findings, &mut text);
    if !findings.unknown.is_empty() {
        section(&mut text, "could not be found out");
        lines(&mut text, &findings.unknown);
    }
    if findings.is_fine() {
        text += "\nnothing found\n";
    }
    text
}

fn unclaimed(findings: &Findings, text: &mut String) {
    if findings.unclaimed.is_empty() {
        return;
    }
    section(text, "pods that no scheduler takes");
    let mut table = table(&["SCHEDULER NAME", "PODS", "FOR EXAMPLE", "WHAT TO DO"]);
    for it in &findings.unclaimed {
        let example = it.pods.first().map(String::as_str).unwrap_or_default();
        table.add_row([&it.scheduler_name, &it.pods.len().to_string(), example, &it.remedy()]);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
}

fn pods(text: &mut String, pods: &[&Waiting]) {
    let mut table = table(&["NAMESPACE", "POD", "SCHEDULER", "AGE", "NOMINATED", "WHY"]);
    for pod in pods.iter().take(SHOWN_MAX) {
        let age = GoDuration::from_secs(i64::try_from(pod.age).unwrap_or(i64::MAX)).to_string();
        table.add_row([
            &pod.namespace,
            &pod.name,
            &pod.scheduler_name,
            &age,
            pod.nominated.as_deref().unwrap_or("-"),
            &why(pod),
        ]);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    if pods.len() > SHOWN_MAX {
        let _ = writeln!(text, "and {} more; --output json has all", pods.len() - SHOWN_MAX);
    }
}

fn why(pod: &Waiting) -> String {
    if !pod.gates.is_empty() {
        return format!("gates: {}", pod.gates.join(", "));
    }
    match (&*pod.reason, &*pod.message) {
        ("", "") => "its scheduler has not said anything yet".to_owned(),
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

fn leases(leases: &[Lease], text: &mut String) {
    section(text, "who leads");
    let mut table = table(&["LEASE", "HOLDER", "SINCE", "RENEWED"]);
    for lease in leases {
        let state = lease.state.clone().unwrap_or_default();
        let holder = match (&lease.state, &*state.holder_identity) {
            (None, _) => "nobody: there is no such lease".to_owned(),
            (_, "") => "nobody: it was given back".to_owned(),
            (_, holder) if lease.live => holder.to_owned(),
            (_, holder) => format!("nobody: {holder} let it run out"),
        };
        let time = |it: Option<jiff::Timestamp>| {
            it.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"))
        };
        let name = format!("{}/{}", lease.namespace, lease.name);
        table.add_row([name, holder, time(state.acquire_time), time(state.renew_time)]);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
}

fn permissions(findings: &Findings, text: &mut String) {
    if !findings.missing.is_empty() {
        section(text, "permissions that are missing");
        let line = |it: &loadmaster_k8s::needs::Need| {
            format!("{it}{}", if it.optional { " (it can do without)" } else { "" })
        };
        lines(text, &findings.missing.iter().map(line).collect::<Vec<_>>());
        *text +=
            "grant them by: scheduler manifests --config FILE --permissions | kubectl apply -f -\n";
    }
    if !findings.lacking.is_empty() {
        section(text, "kinds that this server does not serve");
        lines(text, &findings.lacking.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}

fn section(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}");
}

fn lines(text: &mut String, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.to_vec());
    table
}

/// `1 pod`, `2 pods`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
