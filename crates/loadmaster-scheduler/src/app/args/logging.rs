//! What is said, and how.

use clap::ValueEnum;

/// What is said, and how.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LoggingFlags {
    /// How much is logged: 0 decisions, 4 plugins, 10 every node
    #[arg(short, long = "v", value_name = "N", default_value_t = 0)]
    pub(crate) verbosity: u8,
    /// How log lines are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) logging_format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for a person.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;

    #[test]
    fn verbosity_is_read_in_every_notation_of_the_original() {
        for args in [&["-v=4"][..], &["-v", "4"], &["-v4"], &["--v=4"], &["--v", "4"]] {
            assert_eq!(parse(args).unwrap().logging.verbosity, 4, "{args:?}");
        }
    }
}
