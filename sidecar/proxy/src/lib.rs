//! The data plane: sessions, backends, execution, console, telemetry.
