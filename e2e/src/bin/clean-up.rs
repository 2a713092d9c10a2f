//! `make clean-up`: ends what the demos left running, by process id, and removes what they wrote.

use anyhow::Result;
use remora_e2e::{kubernetes, left_running};

fn main() -> Result<()> {
    left_running::end_all()?;
    kubernetes::end_all()
}
