//! Ports: packets from and to capture files and memory.
