//! From the checked program to the IR of one architecture.
