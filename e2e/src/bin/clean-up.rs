//! `make clean-up`: ends what the demos left running, by process id, and removes what they wrote.

use anyhow::Result;
use remora_e2e::kubernetes::end_all;

fn main() -> Result<()> {
    end_all()
}
