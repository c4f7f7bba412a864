//! Commands that answer and end.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::kit::{config_file, run};

#[tokio::test]
async fn every_command_has_a_manual_page() {
    let (code, page, _) = run(&["man"]).await;
    assert_eq!(code, 0);
    assert!(page.contains(".TH scheduler 1"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let (code, _, log) = run(&["man", folder.path().to_str().unwrap()]).await;
    assert_eq!(code, 0, "{log}");
    for page in ["scheduler.1", "scheduler-doctor.1", "scheduler-config-check.1"] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
}

#[tokio::test]
async fn every_shell_gets_a_script_that_knows_the_flags() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, script, log) = run(&["completions", shell]).await;
        assert_eq!(code, 0, "{log}");
        assert!(script.contains("leader-elect-lease-duration"), "{shell}");
    }
}

#[tokio::test]
async fn what_holds_in_the_end_can_be_written_to_a_file() {
    let config = config_file("profiles:\n- schedulerName: mine\n");
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("effective.yaml");
    let args = ["--config", config.path().to_str().unwrap(), "--leader-elect-resource-name=mine"];
    let to = ["--write-config-to", written.to_str().unwrap()];
    let (code, _, log) = run(&[&args[..], &to].concat()).await;
    assert_eq!(code, 0, "{log}");
    let text = std::fs::read_to_string(&written).unwrap();
    assert!(text.contains("resourceName: mine"), "{text}");
}

#[tokio::test]
async fn flags_that_do_not_fit_the_configuration_are_refused_by_field() {
    let (code, _, log) = run(&["--leader-elect-renew-deadline=1h"]).await;
    assert_eq!(code, 2);
    assert!(log.contains("leaderElection"), "{log}");
}

#[tokio::test]
async fn a_gate_that_cannot_be_followed_ends_the_start() {
    let (code, _, log) = run(&["--feature-gates=GangScheduling=true"]).await;
    assert_eq!(code, 2);
    assert!(log.contains("GangScheduling changes decisions"), "{log}");
}

#[tokio::test]
async fn a_file_too_large_for_a_configuration_is_refused_unread() {
    let mut config = config_file("");
    config.write_all(&vec![b'#'; 5 << 20]).unwrap();
    let (code, _, log) = run(&["config", "check", config.path().to_str().unwrap()]).await;
    assert_eq!(code, 2);
    assert!(log.contains("holds more than 4 MiB"), "{log}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let config = config_file("");
    let mut child = Command::new(env!("CARGO_BIN_EXE_scheduler"))
        .args(["config", "show", config.path().to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
