//! The `scheduler` binary against a lab cluster, and with nothing to work with.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod extenders;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod feeds;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod leading;
#[cfg(test)]
mod manifests;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod scheduling;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod start_up;
