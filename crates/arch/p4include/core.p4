// SPDX-License-Identifier: Apache-2.0
//
// The P4-16 core library (P4-16 specification 1.2.5, appendix "P4 Core
// Library"): what every program may use, whatever its architecture.

#ifndef _CORE_P4_
#define _CORE_P4_

/// Predefined parser error codes. A program adds its own with another `error`
/// declaration. Targets number the members in order, so the order is fixed.
error {
    NoError,               /// The parser has seen nothing wrong; the default value.
    PacketTooShort,        /// `extract`, `lookahead` or `advance` ran past the last bit.
    NoMatch,               /// No label of a `select` fits and it has no default.
    StackOutOfBounds,      /// A header stack element beyond the stack was used.
    HeaderTooShort,        /// A varbit field was asked to hold more than its maximum width.
    ParserTimeout,         /// The target stopped a parser that ran for too long.
    ParserInvalidArgument  /// A parser method got a value the target cannot handle,
                           /// e.g. a length that is no whole number of bytes.
}

/// How a table key element is compared with an entry. Architectures add kinds
/// with further `match_kind` declarations.
match_kind {
    exact,    /// Equal to the value of the entry.
    ternary,  /// Equal to the value of the entry in the bits that its mask selects.
    lpm       /// Begins with the prefix of the entry; the longest prefix wins.
}

/// The packet as a parser sees it: bits and a cursor, which starts at bit 0.
extern packet_in {
    /// Fills the fixed-width header `hdr` from the bits at the cursor, makes it
    /// valid and moves the cursor past it. Errors: PacketTooShort, and
    /// StackOutOfBounds where `hdr` is the `next` of a full stack.
    void extract<T>(out T hdr);

    /// Fills a header with exactly one varbit field, giving that field
    /// `variableFieldSizeInBits` bits. Errors: as above, HeaderTooShort if the
    /// field cannot hold so many, ParserInvalidArgument if the target cannot
    /// extract such a length.
    void extract<T>(out T variableSizeHeader,
                    in bit<32> variableFieldSizeInBits);

    /// Returns the bits at the cursor as a `T` of fixed width and leaves the
    /// cursor where it is. A header comes back valid. Error: PacketTooShort.
    T lookahead<T>();

    /// Moves the cursor `sizeInBits` bits on. Errors: PacketTooShort,
    /// ParserInvalidArgument.
    void advance(in bit<32> sizeInBits);

    /// Length of the packet in bytes; not every target knows it.
    bit<32> length();
}

/// The packet as a deparser builds it, from the first byte on.
extern packet_out {
    /// Appends `hdr` if it is a valid header. Of a stack, union or struct,
    /// appends each member in turn by the same rule.
    void emit<T>(in T hdr);
}

/// In a parser: where `check` is false, sets the parser error to `toSignal` and
/// goes to state `reject` at once.
extern void verify(in bool check, in error toSignal);

/// Does nothing; the default action of a table that declares none.
@noWarn("unused")
action NoAction() {}

/// Stops the compilation with `message` unless `check`, which must be known at
/// compile time, is true. The result is `check`, so that a constant
/// initialised with a call can carry the assertion at top level.
extern bool static_assert(bool check, string message);

/// As above, with a message chosen by the compiler.
extern bool static_assert(bool check);

#endif
