//! Executes the IR: the meaning of a program, step by step.
