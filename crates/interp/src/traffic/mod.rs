//! How packets go through the blocks of an architecture, and between them.
