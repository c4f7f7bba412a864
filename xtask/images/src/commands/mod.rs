//! The commands, a file each.

pub(crate) mod begin;
pub(crate) mod build;
pub(crate) mod build_image;
pub(crate) mod doctor;
pub(crate) mod forge;
mod prepare;
mod registry;
mod results;
pub(crate) mod unpack;
pub(crate) mod verify_tags;
pub(crate) mod write_down;

use xtask_images::{
    assemble::{ArchiveError, AssembleError, BillError},
    build::BuildError,
    cross::CannotBuild,
    forge::ForgeError,
    layout::LayoutError,
    lock::LockError,
    measure::{LedgerError, RunError},
    open::OpenError,
    provenance::ProvenanceError,
    push::PushError,
    recipe::RecipeError,
    reference::NoReference,
    signals::Stopped,
    site::SiteError,
    topology::TopologyError,
    transport::Fault,
    unpack::UnpackError,
};

/// A failure that the user can mend; its text says how. Exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UserError(pub(crate) String);

/// What the machine lacks for a step, which did not begin. Exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoRoom(pub(crate) String);

/// What to do about a failure that does not say so itself: the system's word for a full disk.
pub(crate) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    let is_full = |it: &std::io::Error| {
        matches!(it.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
    };
    let full = error.chain().filter_map(|it| it.downcast_ref()).any(is_full);
    full.then_some(
        "make room on that disk (`cargo xtask doctor` says what takes how much), then run the same \
         command again; an image that was there before is as it was",
    )
}

/// The exit code that a failure has.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    /// A fault of this program.
    const OURS: u8 = 70;
    for cause in error.chain() {
        if let Some(Stopped(code)) = cause.downcast_ref() {
            return *code;
        }
        if cause.is::<NoRoom>() {
            return 1;
        }
        if let Some(cause) = cause.downcast_ref::<BuildError>() {
            return match cause {
                BuildError::Run(RunError::Stopped(Stopped(code))) => *code,
                BuildError::Failed { .. }
                | BuildError::Starved { .. }
                | BuildError::DiskFull { .. }
                | BuildError::Unfit { .. } => 1,
                _ => 2,
            };
        }
        if let Some(PushError::Taken { .. }) = cause.downcast_ref() {
            return 1;
        }
        let can_be_mended = cause.is::<UserError>()
            || cause.is::<CannotBuild>()
            || cause.is::<RecipeError>()
            || cause.is::<TopologyError>()
            || cause.is::<SiteError>()
            || cause.is::<NoReference>()
            || cause.is::<ProvenanceError>()
            || cause.is::<LockError>()
            || cause.is::<LedgerError>()
            || cause.is::<LayoutError>()
            || cause.is::<AssembleError>()
            || cause.is::<ArchiveError>()
            || cause.is::<BillError>()
            || cause.is::<OpenError>()
            || cause.is::<PushError>()
            || cause.is::<Fault>()
            || cause.is::<UnpackError>()
            || cause.is::<ForgeError>();
        if can_be_mended {
            return 2;
        }
    }
    OURS
}
