//! Prints the CustomResourceDefinition: `cargo run -p remora-crds --example crd`.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::io::stdout().write_all(remora_crds::crd_yaml()?.as_bytes())?;
    Ok(())
}
