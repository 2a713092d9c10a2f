//! No stored bytes make opening panic, none that were not sealed open, and what is sealed comes
//! back.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use remora_cipher::{Key, KeyMaterial, Nonce, Place};

static KEY: LazyLock<Key> = LazyLock::new(|| {
    let material = |byte| KeyMaterial::from_bytes(&[byte; 32]).expect("32 bytes");
    Key::new([(1, material(1)), (2, material(2))]).expect("a first version")
});

fuzz_target!(|stored: &[u8]| {
    let place = Place::new("shop", "person", "mobile");
    assert!(KEY.open(&place, stored).is_err(), "nobody sealed it");
    for nonce in [Nonce::Random, Nonce::Synthetic] {
        let sealed = KEY.seal(&place, nonce, stored).expect("short");
        assert_eq!(KEY.open(&place, &sealed).as_deref(), Ok(stored));
        let mut changed = sealed.clone();
        if let Some(byte) = changed.get_mut(stored.len() % sealed.len()) {
            *byte ^= 1;
        }
        assert!(KEY.open(&place, &changed).is_err());
    }
    let _ = KeyMaterial::from_secret(stored);
});
