//! Any text as a configuration file is taken or refused, and can stand in place of itself.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use remora_sidecar::config::parse;

fuzz_target!(|text: &str| {
    let path = Path::new("shop.yaml");
    match parse(path, text, None) {
        Ok(snapshot) => assert!(parse(path, text, Some(&snapshot)).is_ok()),
        Err(error) => assert!(error.to_string().starts_with("shop.yaml:")),
    }
});
