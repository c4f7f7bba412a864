//! `KubeSchedulerConfiguration` from text to profiles, with the plugins of kube-scheduler 1.36.

mod catalog;
mod errors;
mod golden;
mod never_panics;
mod profiles;
mod registry;
mod show;
mod warnings;
