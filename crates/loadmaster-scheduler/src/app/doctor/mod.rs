//! `doctor`: which pods wait in a cluster, and why.

mod command;
mod examine;
mod finding;
mod text;

pub(crate) use command::Doctor;

#[cfg(test)]
mod tests;
