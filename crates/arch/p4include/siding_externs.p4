// SPDX-License-Identifier: Apache-2.0
//
// Extern functions that Siding has, for every architecture. They work on the
// payload of the packet: what the parser has not extracted, or all of the
// packet where the program deparses before the call. `offset` counts bytes from
// where that begins.
//
// A function that returns `true` has done what it says. One that returns
// `false` has done nothing, and the packet is as it was: the payload is shorter
// than `offset`, it has a length that the function cannot work with, its tag is
// wrong, or what it would become has no room (a packet never gets longer than
// 9216 bytes).

#ifndef _SIDING_EXTERNS_P4_
#define _SIDING_EXTERNS_P4_

/// Takes so many cycles of the processor's time stamp counter, and does nothing
/// else: to see what slow functions do to a switch.
extern void dummy(in bit<32> cycles);

// --- AES. A key is a bit<128>, bit<192> or bit<256>, its first byte on top. ---

/// GCM (NIST SP 800-38D). Encrypts the payload from `offset` on and appends a
/// tag of 16 bytes; the `offset` bytes before are authenticated and stay
/// readable. A nonce must never be used twice with a key.
extern bool aes_gcm_encrypt<K>(in bit<16> offset, in K key, in bit<96> nonce);

/// The reverse: checks the tag at the end of the packet, takes it off, and
/// decrypts. With a wrong tag nothing is decrypted.
extern bool aes_gcm_decrypt<K>(in bit<16> offset, in K key, in bit<96> nonce);

/// CBC (NIST SP 800-38A). From `offset` on there have to be whole blocks of 16
/// bytes: padding is up to the program.
extern bool aes_cbc_encrypt<K>(in bit<16> offset, in K key, in bit<128> iv);
extern bool aes_cbc_decrypt<K>(in bit<16> offset, in K key, in bit<128> iv);

/// CTR (NIST SP 800-38A), of any length. `counter` is the first counter block.
extern bool aes_ctr_encrypt<K>(in bit<16> offset, in K key, in bit<128> counter);
extern bool aes_ctr_decrypt<K>(in bit<16> offset, in K key, in bit<128> counter);

// --- IPsec ---

/// ESP (RFC 4303) with AES-GCM (RFC 4106) for a whole packet, whose IP header
/// begins `ip_header` bytes behind the start of the payload. The association
/// with this index, in a file, says whether it encrypts or decrypts, in tunnel
/// or transport mode: --extern-option ipsec_esp=FILE.
extern bool ipsec_esp(in bit<32> association, in bit<16> ip_header);

// --- Compression: a block in the LZ4 block format from `offset` to the end. ---

extern bool lz4_compress(in bit<16> offset);
extern bool lz4_decompress(in bit<16> offset);

// --- Inference ---

/// The class that a decision tree gives a packet with these features: a number,
/// or a struct of numbers of up to 64 bits. The tree comes from a file:
/// --extern-option tree_classify=FILE.
extern bit<8> tree_classify<F>(in F features);

#endif
