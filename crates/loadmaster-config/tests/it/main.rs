//! `KubeSchedulerConfiguration` from text to profiles, with the plugins of kube-scheduler 1.36.

mod catalog;
mod errors;
mod golden;
mod never_panics;
mod profiles;
mod show;
mod warnings;
