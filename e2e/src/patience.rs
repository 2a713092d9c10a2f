//! Waiting for what comes true by itself.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// How long [`until`] waits.
const LIMIT: Duration = Duration::from_secs(60);
/// How long an attempt that failed rests.
const REST: Duration = Duration::from_millis(50);

/// Tries until an attempt succeeds, for a minute at most.
///
/// # Errors
/// The last attempt's, with `what` was waited for.
pub async fn until<T>(what: &str, attempt: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    until_within(LIMIT, what, attempt).await
}

/// The same with another limit.
///
/// # Errors
/// As [`until`].
pub async fn until_within<T>(
    limit: Duration,
    what: &str,
    mut attempt: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if Instant::now() > deadline => return Err(error).context(what.to_owned()),
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}
