//! The scheduler as a pure state machine: it decides and never acts.
//!
//! The modules stand in the order of a pod's way: a change of the cluster becomes an [`event`],
//! the [`queue`] says who waits, why, and what would help, the [`cache`] what the cluster looks
//! like, a [`profile`] which plugins are asked, the [`cycle`] which node is taken, [`preemption`]
//! what would have to go, the [`report`] why each node lost, the [`meter`] how long it took, and
//! the [`scheduler`] drives them.
//!
//! Nothing here does I/O, reads a clock or starts a thread: time and randomness are arguments, and
//! what must be done in the world is handed out as actions whose results are handed back.

pub mod event;

pub mod queue;

pub mod cache;

pub mod profile;

pub mod cycle;

pub mod preemption;

pub mod report;

pub mod meter;

pub mod scheduler;
