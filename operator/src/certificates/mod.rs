//! The operator's own certificates: an authority that all replicas share, and short-lived
//! server certificates for the webhook and for discovery, renewed in the process.

mod authority;
mod serving;
mod store;

pub use authority::{Authority, CertificateError};
pub use serving::ServingCertificate;
pub use store::{StoreError, load_or_create};
