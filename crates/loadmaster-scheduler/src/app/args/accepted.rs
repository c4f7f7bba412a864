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
}

impl AcceptedFlags {
    /// A sentence for each that is given: why it changes nothing.
    pub(crate) fn notes(&self) -> Vec<String> {
        let calls = "the configuration's clientConnection says how often the server is called";
        let given = [
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
}
