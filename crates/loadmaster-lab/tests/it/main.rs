//! The lab cluster from outside: the binary `lab`, and the API server as `kube`, plain HTTP and
//! recordings of kube-apiserver 1.36 see it.

#[cfg(test)]
mod access;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod containers;
#[cfg(test)]
#[path = "../../src/runtime/fixture.rs"]
mod fixture;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod scheduler;
#[cfg(test)]
mod support;
#[cfg(test)]
mod watches;
