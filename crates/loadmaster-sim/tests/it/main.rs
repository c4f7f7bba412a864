//! The scheduler over an in-memory cluster: single behaviours, and random histories.

#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod extenders;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod history;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod volumes;
