//! What offloads leave to the port.
