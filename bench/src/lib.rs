//! The load tests: Remora beside its peers, interleaved in one run.
