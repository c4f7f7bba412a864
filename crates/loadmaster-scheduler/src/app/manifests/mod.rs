//! `manifests`: what a cluster needs to run a scheduler, as YAML or JSON, Kustomize base or Helm
//! chart.

mod chart;
mod command;
mod kustomize;
mod objects;
mod rbac;
mod workload;
mod yaml;

pub(crate) use command::{Manifests, leading};

#[cfg(test)]
mod tests;
