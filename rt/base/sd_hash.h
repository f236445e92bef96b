/*
 * Hash algorithms over bytes, and the internet checksum: what crate interp, modules externs::hash, crc,
 * checksum and lookup3, says of them.
 *
 * Bytes come in two pieces, one after the other: what was packed, and a packet's payload. Pieces of any lengths
 * hash as the whole does. A piece of no bytes may be NULL.
 */
#ifndef SD_HASH_H
#define SD_HASH_H

#include "sd_abi.h"
#include "base/sd_random.h"

enum sd_hash_algorithm {
    SD_HASH_CRC32,
    SD_HASH_CRC32_CUSTOM,
    SD_HASH_CRC16,
    SD_HASH_CRC16_CUSTOM,
    /* Not a function of the bytes: a random number. */
    SD_HASH_RANDOM,
    /* The first eight bytes as a number. */
    SD_HASH_IDENTITY,
    SD_HASH_CSUM16,
    SD_HASH_XOR16,
    SD_HASH_LOOKUP3,
    SD_HASH_TOEPLITZ
};

struct sd_span {
    const uint8_t *bytes;
    size_t n;
};

/*
 * --- Cyclic redundancy checks ---
 *
 * The polynomials are reflected; eight bytes are done at a time ("slicing by 8": M. Kounavis and F. Berry, "A systematic
 * approach to building high performance software-based CRC generators"). Element `b` of table `k` is the
 * remainder of the byte `b` followed by `k` bytes of zeros. A remainder is linear in the bits: eight of them
 * make a table.
 */
#define SD_CRC_ROW(b0, b1, b2, b3, b4, b5, b6, b7)                                                          \
    {SD_CRC_128(0, b0, b1, b2, b3, b4, b5, b6), SD_CRC_128(b7, b0, b1, b2, b3, b4, b5, b6)}
#define SD_CRC_128(v, b0, b1, b2, b3, b4, b5, b6)                                                           \
    SD_CRC_32(v, b0, b1, b2, b3, b4), SD_CRC_32((v) ^ (b5), b0, b1, b2, b3, b4),                            \
        SD_CRC_32((v) ^ (b6), b0, b1, b2, b3, b4), SD_CRC_32((v) ^ (b5) ^ (b6), b0, b1, b2, b3, b4)
#define SD_CRC_32(v, b0, b1, b2, b3, b4)                                                                    \
    SD_CRC_8(v, b0, b1, b2), SD_CRC_8((v) ^ (b3), b0, b1, b2), SD_CRC_8((v) ^ (b4), b0, b1, b2),            \
        SD_CRC_8((v) ^ (b3) ^ (b4), b0, b1, b2)
#define SD_CRC_8(v, b0, b1, b2)                                                                             \
    (v), (v) ^ (b0), (v) ^ (b1), (v) ^ (b0) ^ (b1), (v) ^ (b2), (v) ^ (b0) ^ (b2), (v) ^ (b1) ^ (b2),       \
        (v) ^ (b0) ^ (b1) ^ (b2)

/* Polynomial 04c11db7. */
static SD_UNUSED const uint32_t sd_crc32_tables[8][256] = {
    SD_CRC_ROW(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
    SD_CRC_ROW(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
    SD_CRC_ROW(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
    SD_CRC_ROW(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
    SD_CRC_ROW(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
    SD_CRC_ROW(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
    SD_CRC_ROW(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
    SD_CRC_ROW(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da)
};

/* Polynomial 8005. */
static SD_UNUSED const uint16_t sd_crc16_tables[8][256] = {
    SD_CRC_ROW(0xc0c1, 0xc181, 0xc301, 0xc601, 0xcc01, 0xd801, 0xf001, 0xa001),
    SD_CRC_ROW(0x9001, 0x6001, 0xc002, 0xc007, 0xc00d, 0xc019, 0xc031, 0xc061),
    SD_CRC_ROW(0xc051, 0xc0a1, 0xc141, 0xc281, 0xc501, 0xca01, 0xd401, 0xe801),
    SD_CRC_ROW(0xfc01, 0xb801, 0x3001, 0x6002, 0xc004, 0xc00b, 0xc015, 0xc029),
    SD_CRC_ROW(0xc03d, 0xc079, 0xc0f1, 0xc1e1, 0xc3c1, 0xc781, 0xcf01, 0xde01),
    SD_CRC_ROW(0xd101, 0xe201, 0x8401, 0x4801, 0x9002, 0x6007, 0xc00e, 0xc01f),
    SD_CRC_ROW(0xc010, 0xc023, 0xc045, 0xc089, 0xc111, 0xc221, 0xc441, 0xc881),
    SD_CRC_ROW(0xccc1, 0xd981, 0xf301, 0xa601, 0x0c01, 0x1802, 0x3004, 0x6008)
};

/* Goes on from a remainder with more bytes. */
SD_LOCAL uint32_t sd_crc32_go_on(uint32_t crc, const uint8_t *bytes, size_t n)
{
    const uint32_t(*t)[256] = sd_crc32_tables;
    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t v;
        memcpy(&v, bytes, sizeof v);
        v ^= crc;
        crc = t[7][v & 0xff] ^ t[6][v >> 8 & 0xff] ^ t[5][v >> 16 & 0xff] ^ t[4][v >> 24 & 0xff] ^
              t[3][v >> 32 & 0xff] ^ t[2][v >> 40 & 0xff] ^ t[1][v >> 48 & 0xff] ^ t[0][v >> 56];
    }
    for (; n > 0; n--, bytes++)
        crc = crc >> 8 ^ t[0][(crc ^ *bytes) & 0xff];
    return crc;
}

SD_LOCAL uint16_t sd_crc16_go_on(uint16_t crc, const uint8_t *bytes, size_t n)
{
    const uint16_t(*t)[256] = sd_crc16_tables;
    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t v;
        memcpy(&v, bytes, sizeof v);
        v ^= crc;
        crc = t[7][v & 0xff] ^ t[6][v >> 8 & 0xff] ^ t[5][v >> 16 & 0xff] ^ t[4][v >> 24 & 0xff] ^
              t[3][v >> 32 & 0xff] ^ t[2][v >> 40 & 0xff] ^ t[1][v >> 48 & 0xff] ^ t[0][v >> 56];
    }
    for (; n > 0; n--, bytes++)
        crc = (uint16_t)(crc >> 8 ^ t[0][(crc ^ *bytes) & 0xff]);
    return crc;
}

/* CRC-32/ISO-HDLC, that of Ethernet. */
SD_INLINE uint64_t sd_hash_crc32(const uint8_t *bytes, size_t n)
{
    return (uint32_t)~sd_crc32_go_on(UINT32_MAX, bytes, n);
}

/* CRC-16/ARC */
SD_INLINE uint64_t sd_hash_crc16(const uint8_t *bytes, size_t n)
{
    return sd_crc16_go_on(0, bytes, n);
}

/* CRC-32 behind other bytes, whose check is `before`: 0 if there are none. */
SD_INLINE uint64_t sd_hash_crc32_on(uint64_t before, const uint8_t *bytes, size_t n)
{
    return (uint32_t)~sd_crc32_go_on((uint32_t)~before, bytes, n);
}

SD_INLINE uint64_t sd_hash_crc16_on(uint64_t before, const uint8_t *bytes, size_t n)
{
    return sd_crc16_go_on((uint16_t)before, bytes, n);
}

/* --- The internet checksum (RFC 1071) and its change with a field (RFC 1624) --- */

/* Adds the carries in until there are none. */
SD_INLINE uint16_t sd_checksum_fold(uint64_t sum)
{
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* The checksum of words that add up to `sum`. */
SD_INLINE uint16_t sd_checksum_of_sum(uint64_t sum)
{
    return (uint16_t)~sd_checksum_fold(sum);
}

/* Swaps the bytes of a sum if its data begins at an odd byte (RFC 1071, section 2 (B)). */
SD_INLINE uint16_t sd_swap_if(uint16_t v, bool is_swapped)
{
    return is_swapped ? __builtin_bswap16(v) : v;
}

/*
 * Ones' complement sum of the 16-bit words, big-endian; an odd last byte is the high half of a word. The words
 * are added as this machine reads them: the order of bytes matters to the last step only (RFC 1071, section
 * 2 (B)).
 */
SD_INLINE uint16_t sd_ones_complement_sum(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;
    for (; n >= 4; n -= 4, bytes += 4) {
        uint32_t v;
        memcpy(&v, bytes, sizeof v);
        sum += v;
    }
    if (n >= 2)
        sum += (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8;
    if (n % 2 != 0)
        sum += bytes[n - 1];
    return __builtin_bswap16(sd_checksum_fold(sum));
}

/* The sum of a wide value that ends at a word boundary, the lowest limb first. */
SD_INLINE uint16_t sd_checksum_limbs(const uint64_t *limb, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (limb[i] & UINT32_MAX) + (limb[i] >> 32);
    return sd_checksum_fold(sum);
}

SD_INLINE uint16_t sd_checksum_internet2(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    uint64_t sum = sd_ones_complement_sum(a, n_a);
    if (n_b > 0)
        sum += sd_swap_if(sd_ones_complement_sum(b, n_b), n_a % 2 != 0);
    return sd_checksum_of_sum(sum);
}

SD_INLINE uint64_t sd_hash_csum16(const uint8_t *bytes, size_t n)
{
    return sd_checksum_internet2(bytes, n, NULL, 0);
}

/* HC' = ~(~HC + ~m + m') (RFC 1624, equation 3). */
SD_INLINE uint16_t sd_checksum_replace2(uint16_t sum, uint16_t old, uint16_t new_value)
{
    return (uint16_t)~sd_checksum_fold((uint64_t)(uint16_t)~sum + (uint16_t)~old + new_value);
}

SD_INLINE uint16_t sd_checksum_replace4(uint16_t sum, uint32_t old, uint32_t new_value)
{
    sum = sd_checksum_replace2(sum, (uint16_t)(old >> 16), (uint16_t)(new_value >> 16));
    return sd_checksum_replace2(sum, (uint16_t)old, (uint16_t)new_value);
}

/* --- The other algorithms --- */

/* Exclusive or of the words of the checksum. */
SD_INLINE uint64_t sd_hash_xor16(const uint8_t *bytes, size_t n)
{
    uint64_t all = 0;
    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t v;
        memcpy(&v, bytes, sizeof v);
        all ^= v;
    }
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++)
        last |= (uint64_t)bytes[i] << 8 * i;
    all ^= last;
    all ^= all >> 32;
    all ^= all >> 16;
    return __builtin_bswap16((uint16_t)all);
}

SD_INLINE uint64_t sd_identity2(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8 && i < n_a + n_b; i++)
        v = v << 8 | (i < n_a ? a[i] : b[i - n_a]);
    return v;
}

SD_INLINE uint64_t sd_hash_identity(const uint8_t *bytes, size_t n)
{
    return sd_identity2(bytes, n, NULL, 0);
}

SD_INLINE uint32_t sd_rotate_left32(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

/* `n` bytes from `at` on, and zeros, as three words of the least significant byte first. */
SD_INLINE void sd_lookup3_load(uint32_t words[3], const uint8_t *a, size_t n_a, const uint8_t *b, size_t at,
                               size_t n)
{
    uint8_t block[12] = {0};
    for (size_t i = 0; i < n; i++)
        block[i] = at + i < n_a ? a[at + i] : b[at + i - n_a];
    memcpy(words, block, sizeof block);
}

#define SD_LOOKUP3_MIX(x, y, z, n)                                                                          \
    do {                                                                                                    \
        x = (x - y) ^ sd_rotate_left32(y, n);                                                               \
        y += z;                                                                                             \
    } while (0)

/* `hashlittle` of Bob Jenkins' lookup3 (http://burtleburtle.net/bob/c/lookup3.c, in the public domain). */
SD_LOCAL uint32_t sd_lookup3_from(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                                          uint32_t start)
{
    size_t n = n_a + n_b;
    uint32_t x = 0xdeadbeefu + (uint32_t)n + start;
    uint32_t y = x;
    uint32_t z = x;
    uint32_t words[3];
    size_t at = 0;
    for (; n - at > 12; at += 12) {
        if (at + 12 <= n_a)
            memcpy(words, a + at, sizeof words);
        else
            sd_lookup3_load(words, a, n_a, b, at, 12);
        x += words[0];
        y += words[1];
        z += words[2];
        SD_LOOKUP3_MIX(x, z, y, 4);
        SD_LOOKUP3_MIX(y, x, z, 6);
        SD_LOOKUP3_MIX(z, y, x, 8);
        SD_LOOKUP3_MIX(x, z, y, 16);
        SD_LOOKUP3_MIX(y, x, z, 19);
        SD_LOOKUP3_MIX(z, y, x, 4);
    }
    if (at == n)
        return z;
    sd_lookup3_load(words, a, n_a, b, at, n - at);
    x += words[0];
    y += words[1];
    z += words[2];
    z = (z ^ y) - sd_rotate_left32(y, 14);
    x = (x ^ z) - sd_rotate_left32(z, 11);
    y = (y ^ x) - sd_rotate_left32(x, 25);
    z = (z ^ y) - sd_rotate_left32(y, 16);
    x = (x ^ z) - sd_rotate_left32(z, 4);
    y = (y ^ x) - sd_rotate_left32(x, 14);
    return (z ^ y) - sd_rotate_left32(y, 24);
}

#undef SD_LOOKUP3_MIX

SD_INLINE uint64_t sd_hash_lookup3(const uint8_t *bytes, size_t n)
{
    return sd_lookup3_from(bytes, n, NULL, 0, 0);
}

/* The Toeplitz hash of receive-side scaling over two pieces, with the key of Microsoft's verification suite: each bit that is
   set selects 32 bits of the key, which begins again behind its end. */
SD_LOCAL uint32_t sd_toeplitz2(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    static const uint8_t key[40] = {
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
        0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
        0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
        0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa
    };
    uint32_t window = (uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 | key[3];
    uint32_t hash = 0;
    for (size_t i = 0; i < n_a + n_b; i++) {
        uint8_t byte = i < n_a ? a[i] : b[i - n_a];
        uint8_t next = key[(i + 4) % sizeof key];
        for (int bit = 7; bit >= 0; bit--) {
            if (byte >> bit & 1)
                hash ^= window;
            window = window << 1 | (next >> bit & 1);
        }
    }
    return hash;
}

/* --- By their names --- */

/* SD_HASH_RANDOM gives 0. The custom ones have the parameters that they begin with. */
SD_INLINE uint64_t sd_hash2(enum sd_hash_algorithm algorithm, const uint8_t *a, size_t n_a, const uint8_t *b,
                            size_t n_b)
{
    switch (algorithm) {
    case SD_HASH_CRC32:
    case SD_HASH_CRC32_CUSTOM:
        return (uint32_t)~sd_crc32_go_on(sd_crc32_go_on(UINT32_MAX, a, n_a), b, n_b);
    case SD_HASH_CRC16:
    case SD_HASH_CRC16_CUSTOM:
        return sd_crc16_go_on(sd_crc16_go_on(0, a, n_a), b, n_b);
    case SD_HASH_RANDOM:
        return 0;
    case SD_HASH_IDENTITY:
        return sd_identity2(a, n_a, b, n_b);
    case SD_HASH_CSUM16:
        return sd_checksum_internet2(a, n_a, b, n_b);
    case SD_HASH_XOR16:
        return sd_hash_xor16(a, n_a) ^ sd_swap_if((uint16_t)sd_hash_xor16(b, n_b), n_a % 2 != 0);
    case SD_HASH_LOOKUP3:
        return sd_lookup3_from(a, n_a, b, n_b, 0);
    case SD_HASH_TOEPLITZ:
        return sd_toeplitz2(a, n_a, b, n_b);
    }
    return 0;
}

/* Over what was packed, and a piece after it. */
SD_INLINE uint64_t sd_hash_packed(struct sd_worker *w, enum sd_hash_algorithm algorithm, const uint8_t *tail,
                                  size_t n_tail)
{
    if (algorithm == SD_HASH_RANDOM)
        return sd_random_next(w);
    return sd_hash2(algorithm, w->scratch.bytes, w->scratch.length, tail, n_tail);
}

/* Over what was packed, behind data whose hash is `before`: 0 if there are none. Only cyclic redundancy checks and sums remember
   data; of others the last piece counts. */
SD_INLINE uint64_t sd_hash_packed_on(struct sd_worker *w, enum sd_hash_algorithm algorithm, uint64_t before)
{
    const uint8_t *bytes = w->scratch.bytes;
    size_t n = w->scratch.length;
    switch (algorithm) {
    case SD_HASH_CRC32:
    case SD_HASH_CRC32_CUSTOM:
        return sd_hash_crc32_on(before, bytes, n);
    case SD_HASH_CRC16:
    case SD_HASH_CRC16_CUSTOM:
        return sd_hash_crc16_on(before, bytes, n);
    case SD_HASH_XOR16:
        return before ^ sd_hash_xor16(bytes, n);
    case SD_HASH_RANDOM:
    case SD_HASH_IDENTITY:
    case SD_HASH_CSUM16:
    case SD_HASH_LOOKUP3:
    case SD_HASH_TOEPLITZ:
        break;
    }
    return sd_hash2(algorithm, bytes, n, NULL, 0);
}

/* `base + hash mod max`, or `base` when `max` is 0. */
SD_INLINE uint64_t sd_hash_within(uint64_t base, uint64_t hash, uint64_t max)
{
    return max == 0 ? base : base + hash % max;
}

#endif
