//! What the commands are called with. `xtask` has the same files and gives the help with them.

pub(crate) mod build;
pub(crate) mod build_image;
pub(crate) mod doctor;
pub(crate) mod forge;
pub(crate) mod verify_tags;
pub(crate) mod write_down;
