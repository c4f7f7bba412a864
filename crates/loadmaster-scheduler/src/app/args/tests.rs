use clap::{CommandFactory, Parser};

use super::*;

pub(super) fn parse(args: &[&str]) -> Result<Run, clap::Error> {
    let args = [&["scheduler"], args].concat();
    Cli::try_parse_from(hyphenated(args.iter().map(Into::into))).map(|it| it.run)
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn a_flag_that_is_given_twice_has_its_last_value() {
    let run = parse(&["--secure-port=1", "--secure-port=2"]).unwrap();
    assert_eq!(run.serving.secure_port, Some(2));
}

#[test]
fn underscores_in_a_flags_name_are_hyphens_and_stay_in_its_value() {
    let run = parse(&["--leader_elect_resource_name=my_lease"]).unwrap();
    assert_eq!(run.leader.leader_elect_resource_name.as_deref(), Some("my_lease"));
}

#[test]
fn the_version_may_be_asked_for_in_the_originals_words() {
    for flag in ["--version", "--version=true", "--version=raw"] {
        assert_eq!(parse(&[flag]).unwrap_err().kind(), clap::error::ErrorKind::DisplayVersion);
    }
}

#[test]
fn a_flag_that_is_gone_is_refused_with_the_nearest() {
    let error = parse(&["--tls-cert", "a"]).unwrap_err().to_string();
    assert!(error.contains("--tls-cert-file"), "{error}");
}

#[test]
fn a_duration_without_a_unit_is_refused() {
    let error = parse(&["--leader-elect-lease-duration=15"]).unwrap_err().to_string();
    assert!(error.contains("write a number with a unit"), "{error}");
}

#[test]
fn every_flag_has_a_value_as_it_was_given_or_by_default() {
    let line = ["scheduler", "--secure-port=1", "--secure-port=2", "--tls-cipher-suites=A,B"];
    let matches = Cli::command().try_get_matches_from(line).unwrap();
    let values = values(&Cli::command(), &matches);
    for (name, value) in [
        ("config", ""),
        ("secure-port", "2"),
        ("tls-cipher-suites", "[A,B]"),
        ("bind-address", "0.0.0.0"),
        ("authorization-always-allow-paths", "[/healthz,/readyz,/livez]"),
        ("authentication-token-webhook-cache-ttl", "10s"),
    ] {
        assert_eq!(values.get(name).map(String::as_str), Some(value), "{name}");
    }
}
