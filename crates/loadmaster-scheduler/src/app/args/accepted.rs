//! Flags that command lines written for the original may hold, and that change nothing here.

/// Flags of the original that are accepted and change nothing. They are hidden from the help.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct AcceptedFlags {
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    profiling: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    contention_profiling: Option<String>,
    #[arg(long, hide = true)]
    kube_api_qps: Option<f32>,
    #[arg(long, hide = true)]
    kube_api_burst: Option<i32>,
    #[arg(long, hide = true)]
    kube_api_content_type: Option<String>,
    #[arg(long, hide = true)]
    vmodule: Option<String>,
    #[arg(long, hide = true)]
    log_flush_frequency: Option<String>,
    #[arg(long, hide = true)]
    show_hidden_metrics_for_version: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    disable_http2_serving: Option<String>,
    #[arg(long, hide = true)]
    http2_max_streams_per_connection: Option<u32>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    permit_port_sharing: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    permit_address_sharing: Option<String>,
    #[arg(long, hide = true)]
    allow_metric_labels: Vec<String>,
    #[arg(long, hide = true)]
    allow_metric_labels_manifest: Option<String>,
    #[arg(long, hide = true)]
    disabled_metrics: Vec<String>,
    #[arg(long, hide = true)]
    log_text_info_buffer_size: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    log_text_split_stream: Option<String>,
    #[arg(long, hide = true, value_delimiter = ',', value_parser = version_of_decisions)]
    emulated_version: Vec<String>,
    #[arg(long, hide = true, value_delimiter = ',', value_parser = version_of_decisions)]
    min_compatibility_version: Vec<String>,
    #[arg(long, hide = true, value_parser = one_certificate)]
    tls_sni_cert_key: Vec<String>,
}

/// Another version than that of the decisions cannot be followed.
fn version_of_decisions(text: &str) -> Result<String, String> {
    let version = text.strip_prefix("kube=").unwrap_or(text);
    if version.trim_start_matches('v') == "1.36" {
        return Ok(text.to_owned());
    }
    Err("decisions are those of kube-scheduler 1.36, whatever the server is; leave it out"
        .to_owned())
}

/// Certificates by the name that a client asks for cannot be had.
fn one_certificate(_: &str) -> Result<String, String> {
    Err("one certificate is served, whatever name is asked for; name it by --tls-cert-file and \
         --tls-private-key-file"
        .to_owned())
}

impl AcceptedFlags {
    /// A sentence for each that is given: why it changes nothing.
    pub(crate) fn notes(&self) -> Vec<String> {
        let calls = "the configuration's clientConnection says how often the server is called";
        let labels = "every label is served with the values that it has";
        let lines = "every line goes to standard error at once";
        let given = [
            (!self.allow_metric_labels.is_empty(), "--allow-metric-labels", labels),
            (self.allow_metric_labels_manifest.is_some(), "--allow-metric-labels-manifest", labels),
            (!self.disabled_metrics.is_empty(), "--disabled-metrics", "every metric is served"),
            (self.log_text_info_buffer_size.is_some(), "--log-text-info-buffer-size", lines),
            (self.log_text_split_stream.is_some(), "--log-text-split-stream", lines),
            (self.profiling.is_some(), "--profiling", "there is no /debug/pprof"),
            (
                self.contention_profiling.is_some(),
                "--contention-profiling",
                "there is no /debug/pprof",
            ),
            (self.kube_api_qps.is_some(), "--kube-api-qps", calls),
            (self.kube_api_burst.is_some(), "--kube-api-burst", calls),
            (self.kube_api_content_type.is_some(), "--kube-api-content-type", "JSON is spoken"),
            (
                self.vmodule.is_some(),
                "--vmodule",
                "RUST_LOG chooses by module, as in RUST_LOG=info,loadmaster_k8s=debug",
            ),
            (
                self.log_flush_frequency.is_some(),
                "--log-flush-frequency",
                "every line is written at once",
            ),
            (
                self.show_hidden_metrics_for_version.is_some(),
                "--show-hidden-metrics-for-version",
                "no metric is hidden",
            ),
            (self.disable_http2_serving.is_some(), "--disable-http2-serving", "HTTP/1.1 is served"),
            (
                self.http2_max_streams_per_connection.is_some(),
                "--http2-max-streams-per-connection",
                "HTTP/1.1 is served",
            ),
            (
                self.permit_port_sharing.is_some(),
                "--permit-port-sharing",
                "a port is served by one process",
            ),
            (
                self.permit_address_sharing.is_some(),
                "--permit-address-sharing",
                "a port that was just left can be taken again anyway",
            ),
        ];
        let notes = given.into_iter().filter(|it| it.0);
        notes.map(|(_, flag, why)| format!("{flag} changes nothing here: {why}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;

    #[test]
    fn a_flag_that_changes_nothing_is_accepted_with_a_word() {
        let run = parse(&["--profiling=false", "--kube-api-qps=50", "--vmodule=a=4"]).unwrap();
        let notes = run.accepted.notes();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert_eq!(notes[0], "--profiling changes nothing here: there is no /debug/pprof");
        assert!(parse(&[]).unwrap().accepted.notes().is_empty());
    }

    #[test]
    fn every_flag_of_kube_scheduler_1_36_is_known() {
        let command = <super::super::Cli as clap::CommandFactory>::command();
        let known: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        let flags = include_str!("flags_1_36.txt").lines();
        let unknown: Vec<_> =
            flags.filter(|it| !known.contains(it) && !["help", "version"].contains(it)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn a_flag_that_cannot_be_followed_is_refused_with_the_reason() {
        let refusal = |flag: &str| parse(&[flag]).unwrap_err().to_string();
        assert!(refusal("--emulated-version=kube=1.35").contains("those of kube-scheduler 1.36"));
        assert!(parse(&["--emulated-version=kube=1.36,kube=v1.36"]).is_ok());
        let certificates = refusal("--tls-sni-cert-key=a.crt,a.key:example.com");
        assert!(certificates.contains("--tls-cert-file"), "{certificates}");
    }
}
