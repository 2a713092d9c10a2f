//! Whole journeys on real MySQL servers and a real Kubernetes, and what brings those up.
