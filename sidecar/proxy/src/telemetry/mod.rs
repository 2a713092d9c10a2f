//! What the process tells about itself: logs and metrics. Neither ever holds a value of a row,
//! a statement's text or a credential.

mod command_kind;
mod error_class;
mod histogram;
mod logs;
mod metrics;
mod pools;
mod servers;
mod shards;

pub use command_kind::CommandKind;
pub use error_class::ErrorClass;
pub use histogram::Latencies;
pub use logs::{LogFormat, start_logs};
pub use metrics::{Ending, Metrics, OpenGuard, Way};
pub(crate) use pools::Granted;
pub use pools::PoolMetrics;
pub use servers::ServerMetrics;
pub(crate) use servers::{Retry, ServerGauges};
pub use shards::Shards;
