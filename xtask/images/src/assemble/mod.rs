//! From finished programs to a finished image: layers, configuration, manifests, index, bills of
//! materials, written so that the same input gives the same digests.

mod archive;
mod image;
mod layer;
mod sbom;

pub use archive::{ArchiveError, write_archive};
pub use image::{AssembleError, Facts, Program, assemble};
pub use layer::Compression;
pub use sbom::{Bill, BillError};
