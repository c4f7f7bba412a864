#![doc = include_str!("inter_pod_affinity.md")]

mod counts;
mod filtering;
mod hints;
mod own_term;
mod scoring;

#[cfg(test)]
mod tests;

use loadmaster_framework::{FieldError, Gates, Hooks, Kind, Plugin};

use super::args::InterPodAffinityArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct InterPodAffinity {
    args: InterPodAffinityArgs,
}

impl Plugin for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const DOC: &'static str = include_str!("inter_pod_affinity.md");
    type Args = InterPodAffinityArgs;

    fn validate(args: &Self::Args, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: Self::Args, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self { args })
            .pre_filter()
            .filter()
            .pre_score()
            .score()
            .enqueue_extensions()
            .reads(&[Kind::Namespace])
            .into())
    }
}
