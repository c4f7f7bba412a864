//! The four ways in which a `PATCH` changes an object.
//!
//! [`apply_patch`] picks one by its content type: strategic merge, merge patch (RFC 7386), JSON
//! patch (RFC 6902), and a reduced server-side apply, which merges like a strategic patch and
//! keeps no field ownership.

mod apply;
mod keys;
mod order;
mod placing;
mod strategic;

pub use apply::{PatchError, apply_patch};
pub use strategic::strategic_merge;
