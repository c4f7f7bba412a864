use std::path::Path;

use super::*;
use crate::{
    doctor::{Other, machine::Folder},
    lock::Holder,
    measure::What,
    plan::Lto,
};

/// So many MB in all and available.
fn memory(total: u64, available: u64) -> Memory {
    Memory { total: Size::mebi(total), available: Size::mebi(available), group: None }
}

/// The course's guest: 2560 MB, two processors, nothing else going on.
fn forge() -> Machine {
    let folder = |mebi| Folder { path: "/target".into(), size: Size::mebi(mebi) };
    Machine {
        memory: memory(2560, 2100),
        cores: 2,
        disk_free: Size::mebi(6000),
        target: folder(3000),
        registry: folder(400),
        images: folder(20),
        holder: None,
        others: Vec::new(),
        largest: Some(Other { pid: 42, name: "browser".into(), memory: Size::mebi(300) }),
    }
}

fn plan(mebi: u64) -> Plan {
    Plan {
        what: What {
            package: "p".into(),
            binary: "b".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            profile: "release".into(),
            lto: Lto::Fat,
            jobs: 2,
        },
        memory: Size::mebi(mebi),
        measured: true,
        lowered: None,
    }
}

/// What a build that takes so much finds on that machine.
fn found(machine: &Machine, mebi: u64) -> Vec<Line> {
    let topology = Topology::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let needs = Needs {
        step: Some(Step::Build),
        plans: &[plan(600), plan(mebi)],
        growth: Size::mebi(1500),
        topology: &topology,
        toolchains: &[],
        registry: None,
        cluster: None,
    };
    checks(machine, &needs)
}

fn line<'a>(lines: &'a [Line], name: &str) -> &'a Line {
    lines.iter().find(|it| it.name == name).unwrap()
}

fn fails(lines: &[Line]) -> Vec<&str> {
    lines.iter().filter(|it| it.verdict == Verdict::Fails).map(|it| it.name.as_str()).collect()
}

#[test]
fn on_the_courses_guest_a_build_of_a_gigabyte_passes_with_its_margins() {
    let lines = found(&forge(), 1000);
    assert!(fails(&lines).is_empty(), "{lines:?}");
    assert_eq!(line(&lines, "memory available").margin, "1100 MB");
    assert_eq!(line(&lines, "budget of the guest forge").margin, "1304 MB");
    assert_eq!(line(&lines, "ceiling of all guests").margin, "2048 MB");
    assert_eq!(line(&lines, "disk").margin, "4500 MB");
    assert!(line(&lines, "folders").found.contains("target 3000 MB"));
}

#[test]
fn a_build_that_takes_more_fails_by_the_difference_and_says_what_to_stop() {
    let lines = found(&forge(), 2200);
    assert_eq!(fails(&lines), ["memory available"]);
    let line = line(&lines, "memory available");
    assert_eq!(line.margin, "-100 MB");
    // Which program can be done without is for people to say.
    let mend = line.mend.as_ref().unwrap();
    assert!(mend.ends_with("the largest is `browser`, process 42, with 300 MB"), "{mend}");
    // On the guest its budget counts; on a larger machine what does not fit the guest is only told.
    let idle = Machine { memory: memory(2560, 2500), ..forge() };
    assert_eq!(fails(&found(&idle, 2400)), ["budget of the guest forge"]);
    let large = Machine { memory: memory(64_000, 60_000), ..forge() };
    let lines = found(&large, 2400);
    assert!(fails(&lines).is_empty());
    let budget = self::line(&lines, "budget of the guest forge");
    assert_eq!((budget.verdict, budget.margin.as_str()), (Verdict::Note, "-96.0 MB"));
}

#[test]
fn a_control_group_counts_like_a_smaller_machine() {
    let group = Some((Size::mebi(1024), Size::mebi(700)));
    let limited = Machine { memory: Memory { group, ..memory(2560, 2100) }, ..forge() };
    let lines = found(&limited, 900);
    assert_eq!(fails(&lines), ["memory of the control group"]);
    assert_eq!(line(&lines, "memory of the control group").margin, "-200 MB");
}

#[test]
fn a_full_disk_says_what_can_be_removed() {
    let full = Machine { disk_free: Size::mebi(100), ..forge() };
    let lines = found(&full, 1000);
    assert_eq!(fails(&lines), ["disk"]);
    assert!(line(&lines, "disk").mend.as_ref().unwrap().contains("`cargo clean` frees 3000 MB"));
}

#[test]
fn another_heavy_step_stops_this_one_and_other_compilers_do_not() {
    let holder =
        Holder { pid: 7, command: "cargo xtask perf".into(), since: "2026-01-02T03:04:05Z".into() };
    let other = Other { pid: 8, name: "rustc".into(), memory: Size::mebi(500) };
    let busy = Machine { holder: Some(holder), others: vec![other], ..forge() };
    let lines = found(&busy, 1000);
    assert_eq!(fails(&lines), ["other heavy steps"]);
    let held = line(&lines, "other heavy steps");
    assert!(held.found.contains("`cargo xtask perf`, process 7"), "{held:?}");
    assert_eq!(line(&lines, "other compilers").verdict, Verdict::Note);
}

#[test]
fn a_registry_that_does_not_answer_stops_a_push_and_nothing_else() {
    let topology = Topology::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let reached =
        Reached { address: "127.0.0.1:5000".into(), fault: Some("connection refused".into()) };
    let registry = ("forge.lab:5000".to_owned(), reached);
    let verdict = |step| {
        let needs = Needs {
            step,
            plans: &[],
            growth: Size::default(),
            topology: &topology,
            toolchains: &[],
            registry: Some(&registry),
            cluster: None,
        };
        let lines = checks(&forge(), &needs);
        let line = line(&lines, "registry").clone();
        assert!(line.mend.unwrap().contains("`cargo xtask forge up`"));
        line.verdict
    };
    assert_eq!(verdict(Some(Step::Push)), Verdict::Fails);
    assert_eq!(verdict(Some(Step::Image)), Verdict::Note);
    assert_eq!(verdict(None), Verdict::Note);
}
