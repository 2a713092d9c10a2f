//! The control channel: the operator streams snapshots, sidecars report health.
