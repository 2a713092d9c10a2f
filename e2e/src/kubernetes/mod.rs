//! A real Kubernetes of one node, in namespaces of its own: nothing of it is left on the
//! machine when it has ended.

mod host;
mod images;
mod kubectl;
mod node;
mod remora;
mod runs;
mod scripts;

pub use host::HostState;
pub use images::Images;
pub use node::Kubernetes;
pub use remora::{SYSTEM, example, load_job};
pub use runs::{RunFolder, end_all, sweep};
pub use scripts::{node_root, programs};
