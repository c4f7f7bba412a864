//! Simulations of the scheduler over an in-memory cluster.

#[cfg(test)]
mod history;
#[cfg(test)]
mod simulation;
