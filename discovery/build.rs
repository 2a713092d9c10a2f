//! Compiles discovery.proto. protox does it in Rust, so no protoc is needed on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["discovery.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .skip_debug(["Credentials", "Account", "ColumnKey"])
        .compile_fds(files)?;
    Ok(())
}
