//! Prints the reference of the manifest: `cargo run -p remora-crds --example manifest`.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::io::stdout().write_all(remora_crds::manifest_reference()?.as_bytes())?;
    Ok(())
}
