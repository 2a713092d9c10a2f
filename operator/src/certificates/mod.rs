//! The CA that all replicas share, its rotation, and the certificates that it issues: short-lived
//! ones for the webhook and for discovery, renewed in the process, and those of MySQL servers and
//! gateways, which are kept in Secrets.

mod audience;
mod authority;
mod keeper;
mod replicas;
mod rotation;
pub(crate) mod servers;
mod serving;
mod state;
mod store;
mod trust;
mod validity;

pub use audience::Audience;
pub(crate) use audience::{Member, Place};
pub use authority::{Authority, CertificateError, ServerCertificate};
pub use keeper::{Keeper, follow};
pub use serving::ServingCertificate;
pub use state::{CaState, StoreError};
pub use store::load_or_create;
pub use trust::{ServerSide, Trust};
pub use validity::{Validity, validity, verifies};
