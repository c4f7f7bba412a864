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
//!
//! Whoever embeds it writes this loop around a [`Scheduler`](scheduler::Scheduler);
//! `loadmaster-sim` is such a loop over a cluster in memory, and `loadmaster-scheduler` one over an
//! API server:
//!
//! | Call | When |
//! |---|---|
//! | [`handle_event`](scheduler::Scheduler::handle_event) | something changed in the cluster |
//! | [`schedule_one`](scheduler::Scheduler::schedule_one) | as long as it has a pod to try: one decision a call |
//! | [`poll_action`](scheduler::Scheduler::poll_action) | after each of the others: what is to be done in the world |
//! | [`handle_result`](scheduler::Scheduler::handle_result) | it was done, or failed |
//! | [`handle_timeout`](scheduler::Scheduler::handle_timeout) | at the time that [`poll_timeout`](scheduler::Scheduler::poll_timeout) names |

pub mod event;

pub mod queue;

pub mod cache;

pub mod profile;

pub mod cycle;

pub mod preemption;

pub mod report;

pub mod meter;

pub mod scheduler;
