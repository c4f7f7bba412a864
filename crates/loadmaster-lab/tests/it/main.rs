//! The binary `lab` from outside.

#[cfg(test)]
mod cli;
