/*
 * Extern functions and methods in C, or in anything with a C ABI, for P4 programs that Siding runs.
 *
 *     extern void scramble(in bit<32> key);               what the program declares
 *     siding run program.p4 --extern ./scramble.so        where it is
 *
 * A library exports one symbol, `siding_extern_library`: a table of functions, each with its name in P4, the
 * declaration that it was written for, and a function that does the work. Everything else may be absent.
 * `siding extern new NAME` makes one with a program and a test; docs/how-to/externs.md is a guide, examples/04-own-extern/
 * a larger example.
 *
 * Rules:
 * - A function is called by several threads, by each with a state of its own: what `open` gave in that thread. Nothing
 *   else has to be safe for threads.
 * - Nothing that is pointed to stays valid after the call, but for what `open` is given, which stays so until `close`.
 * - It must not wait, print or keep the processor for long unless the call is meant to: packets wait behind it.
 */
#ifndef SIDING_EXTERN_H
#define SIDING_EXTERN_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIDING_EXTERN_ABI_VERSION 1u

/*
 * A value among the bytes of arguments, or the result: an integer in its lowest bits, in the order of bytes of the
 * machine, with zeros above. Up to 64 bits it is a uint8_t, uint16_t, uint32_t or uint64_t, up to 128 two uint64_t, above
 * that as many as needed, the lowest first. A bool is 0 or 1 in a uint8_t, an enum without underlying type or an error a
 * uint32_t. A varbit is a uint32_t with its length in bits, and then its bytes, the first bit on top.
 *
 * Values follow each other without gaps: a packed struct of the arguments' types overlays them all.
 */
struct siding_value {
    uint32_t offset;
    uint32_t size_bytes;
    /* For a varbit, the maximum width. */
    uint32_t width_bits;
    uint32_t is_varbit;
};

enum siding_direction {
    SIDING_IN,
    /* `out` and `inout`: holds the value before the call, and what it holds after the call is assigned. */
    SIDING_INOUT,
    /* A string literal, in `text`; no values. */
    SIDING_TEXT,
    /* An optional argument that the program leaves out; no values. */
    SIDING_ABSENT
};

struct siding_arg {
    uint32_t direction;
    /* One, or the fields of a struct, header or tuple in order. */
    uint32_t n_values;
    const struct siding_value *values;
    const char *text;
};

/* A call as the program has it. */
struct siding_signature {
    /* `function` or `type.method`. */
    const char *name;
    /* Index of the method's object; UINT32_MAX for functions. */
    uint32_t object;
    uint32_t n_args;
    const struct siding_arg *args;
    /* Bytes that the arguments take together. */
    uint32_t args_bytes;
    /* Size 0: none. */
    struct siding_value result;
};

/*
 * The packet as it is at the call: what arrived, unless the program was told to deparse first. In front of `payload_at`
 * are headers that the program has parsed; it has them in its variables, and what a function writes there does not
 * reach it: they are put back in front of the payload. From there on a function may change everything: bytes,
 * `length_bytes`, and where the packet begins: `data` may move into the room in front, `length_bytes` grow into the room
 * behind. Where nothing is parsed (payload_at is 0) that is the whole packet.
 */
struct siding_packet {
    uint8_t *data;
    uint32_t length_bytes;
    /* Bytes in front of `data`, and behind `data + length_bytes`, that may be written. A packet never gets longer
       than 9216 bytes. The function does not have to keep them up to date. */
    uint32_t headroom_bytes;
    uint32_t tailroom_bytes;
    /* Offset in bytes of the payload, which the parser has not extracted. Code that moves the payload updates it. */
    uint32_t payload_at;
    uint32_t ingress_port;
    uint32_t reserved;
};

/* Result of a function. */
enum siding_status {
    SIDING_OK,
    /* The packet goes no further, and is counted as dropped under the extern's name. */
    SIDING_DROP
};

struct siding_call {
    /* The result of `open` in this thread. */
    void *state;
    uint8_t *args;
    /* Holds the value that the place of the result had; the program takes what it holds after the call. */
    uint8_t *result;
    /* NULL where `packet` of the extern is SIDING_PACKET_UNUSED. */
    struct siding_packet *packet;
    const struct siding_signature *signature;
    uint64_t now_ns;
};

/* Arguments of `open`. */
struct siding_opening {
    /* Signature of the program's first call that needs the state. */
    const struct siding_signature *signature;
    /* TEXT of the user's --extern-option NAME=TEXT; NULL if there is none. */
    const char *option;
    /* Buffer for the reason why `open` failed, terminated by 0. */
    char *message;
    uint32_t message_bytes;
    /* From 0; the same for all states of a thread. */
    uint32_t thread;
};

/* Whether a function needs the packet: one that does not is called sooner. */
enum siding_packet_use { SIDING_PACKET_UNUSED, SIDING_PACKET_READ, SIDING_PACKET_CHANGED };

struct siding_extern {
    /* `scramble`, or `type.method`. */
    const char *name;
    /*
     * The declaration in P4 that it is written for: "void scramble(in bit<32> key)". A program that declares it otherwise
     * is refused when it is loaded. `bit<*>` stands for any width, `bit<8|16>` for either, `_` for any type. NULL: any
     * declaration.
     */
    const char *declaration;
    /* enum siding_packet_use */
    uint32_t packet;
    uint32_t reserved;
    /*
     * Called before the first call in each thread: once for all functions of a program that have the same `open`, and
     * once for each object for methods. Gives the state; NULL means that it cannot, and says why. May be NULL.
     */
    void *(*open)(const struct siding_opening *opening);
    void (*close)(void *state);
    /* Gives enum siding_status. */
    uint32_t (*run)(struct siding_call *call);
    /* Does several calls at once, which may belong to several packets; may be NULL. */
    void (*run_batch)(struct siding_call *calls, uint32_t *status, uint32_t n);
};

struct siding_extern_library {
    /* SIDING_EXTERN_ABI_VERSION */
    uint32_t abi_version;
    uint32_t n_externs;
    const struct siding_extern *externs;
};

/* The symbol that a library defines; visible even if other symbols are hidden. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct siding_extern_library siding_extern_library;

/* --- To read and write values without a struct: `i` counts arguments, of which the first value is meant. --- */

static inline uint64_t siding_get(const struct siding_call *call, uint32_t i)
{
    const struct siding_value *value = call->signature->args[i].values;
    uint64_t n = 0;
    memcpy(&n, call->args + value->offset, value->size_bytes < 8 ? value->size_bytes : 8);
    return n;
}

/* Bits above the value's width must be zero. */
static inline void siding_set(struct siding_call *call, uint32_t i, uint64_t n)
{
    const struct siding_value *value = call->signature->args[i].values;
    memset(call->args + value->offset, 0, value->size_bytes);
    memcpy(call->args + value->offset, &n, value->size_bytes < 8 ? value->size_bytes : 8);
}

static inline void siding_set_result(struct siding_call *call, uint64_t n)
{
    const struct siding_value *value = &call->signature->result;
    memset(call->result, 0, value->size_bytes);
    memcpy(call->result, &n, value->size_bytes < 8 ? value->size_bytes : 8);
}

#ifdef __cplusplus
}
#endif

#endif
