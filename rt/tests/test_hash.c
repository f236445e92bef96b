/* Hashes against published values and slow models; random numbers against published ones. */
#include "check.h"
#include "base/sd_buffer.h"
#include "base/sd_hash.h"

enum { N_MAX = 200 };

static uint64_t state = 4;

static const enum sd_hash_algorithm algorithms[] = {
    SD_HASH_CRC32,    SD_HASH_CRC32_CUSTOM, SD_HASH_CRC16, SD_HASH_CRC16_CUSTOM,
    SD_HASH_IDENTITY, SD_HASH_CSUM16,       SD_HASH_XOR16, SD_HASH_LOOKUP3,
    SD_HASH_TOEPLITZ,
};

static const uint8_t *text(const char *s)
{
    return (const uint8_t *)s;
}

/* --- Models: a bit, or a 16-bit word, at a time --- */

static uint64_t slow_crc(const uint8_t *bytes, size_t n, uint64_t reflected_polynomial, uint64_t initial)
{
    uint64_t remainder = initial;
    for (size_t i = 0; i < n; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            unsigned carry = (unsigned)(remainder ^ bytes[i] >> bit) & 1;
            remainder = remainder >> 1 ^ (carry ? reflected_polynomial : 0);
        }
    }
    return remainder ^ initial;
}

static unsigned word_at(const uint8_t *bytes, size_t n, size_t at)
{
    return (unsigned)bytes[at] << 8 | (at + 1 < n ? bytes[at + 1] : 0u);
}

static uint64_t slow_checksum(const uint8_t *bytes, size_t n)
{
    unsigned sum = 0;
    for (size_t at = 0; at < n; at += 2) {
        sum += word_at(bytes, n, at);
        if (sum > 0xffff)
            sum = sum - 0x10000 + 1;
    }
    return 0xffff - sum;
}

static uint64_t slow_xor16(const uint8_t *bytes, size_t n)
{
    unsigned all = 0;
    for (size_t at = 0; at < n; at += 2)
        all ^= word_at(bytes, n, at);
    return all;
}

static uint32_t rotated(uint32_t v, unsigned n)
{
    for (; n > 0; n--)
        v = v << 1 | v >> 31;
    return v;
}

/* By tables of what is done to which word: 0, 1 and 2 are a, b and c of the original. */
static uint64_t slow_lookup3(const uint8_t *bytes, size_t n, uint32_t start)
{
    static const struct {
        unsigned x, y, z, n;
    } mix[] = {{0, 2, 1, 4}, {1, 0, 2, 6}, {2, 1, 0, 8}, {0, 2, 1, 16}, {1, 0, 2, 19}, {2, 1, 0, 4}};
    static const struct {
        unsigned x, y, n;
    } last[] = {{2, 1, 14}, {0, 2, 11}, {1, 0, 25}, {2, 1, 16}, {0, 2, 4}, {1, 0, 14}, {2, 1, 24}};
    uint32_t s[3];
    for (unsigned i = 0; i < 3; i++)
        s[i] = 0xdeadbeef + (uint32_t)n + start;
    if (n == 0)
        return s[2];
    size_t n_blocks = (n + 11) / 12;
    for (size_t block = 0; block < n_blocks; block++) {
        for (size_t i = 0; i < 12 && block * 12 + i < n; i++)
            s[i / 4] += (uint32_t)bytes[block * 12 + i] << 8 * (i % 4);
        if (block + 1 < n_blocks) {
            for (unsigned i = 0; i < 6; i++) {
                s[mix[i].x] -= s[mix[i].y];
                s[mix[i].x] ^= rotated(s[mix[i].y], mix[i].n);
                s[mix[i].y] += s[mix[i].z];
            }
        }
    }
    for (unsigned i = 0; i < 7; i++) {
        s[last[i].x] ^= s[last[i].y];
        s[last[i].x] -= rotated(s[last[i].y], last[i].n);
    }
    return s[2];
}

static uint64_t slow_identity(const uint8_t *bytes, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n && i < 8; i++)
        v = v * 256 + bytes[i];
    return v;
}

/* The bit of the key of receive-side scaling at a position, by its words. */
static unsigned rss_key_bit(size_t at)
{
    static const uint64_t words[5] = {0x6d5a56da255b0ec2, 0x4167253d43a38fb0, 0xd0ca2bcbae7b30b4, 0x77cb2da38030f20c,
                                      0x6a42b73bbeac01fa};
    at %= 320;
    return (unsigned)(words[at / 64] >> (63 - at % 64)) & 1;
}

static uint64_t slow_toeplitz(const uint8_t *bytes, size_t n)
{
    uint32_t hash = 0;
    for (size_t at = 0; at < n * 8; at++) {
        if (!(bytes[at / 8] >> (7 - at % 8) & 1))
            continue;
        for (size_t bit = 0; bit < 32; bit++)
            hash ^= rss_key_bit(at + bit) << (31 - bit);
    }
    return hash;
}

static uint64_t slow_hash(enum sd_hash_algorithm algorithm, const uint8_t *bytes, size_t n)
{
    switch (algorithm) {
    case SD_HASH_CRC32:
    case SD_HASH_CRC32_CUSTOM: return slow_crc(bytes, n, 0xedb88320, 0xffffffff);
    case SD_HASH_CRC16:
    case SD_HASH_CRC16_CUSTOM: return slow_crc(bytes, n, 0xa001, 0);
    case SD_HASH_RANDOM: break;
    case SD_HASH_IDENTITY: return slow_identity(bytes, n);
    case SD_HASH_CSUM16: return slow_checksum(bytes, n);
    case SD_HASH_XOR16: return slow_xor16(bytes, n);
    case SD_HASH_LOOKUP3: return slow_lookup3(bytes, n, 0);
    case SD_HASH_TOEPLITZ: return slow_toeplitz(bytes, n);
    }
    CHECK(!"a function of the bytes");
    return 0;
}

static uint64_t whole(enum sd_hash_algorithm algorithm, const uint8_t *bytes, size_t n)
{
    switch (algorithm) {
    case SD_HASH_CRC32:
    case SD_HASH_CRC32_CUSTOM: return sd_hash_crc32(bytes, n);
    case SD_HASH_CRC16:
    case SD_HASH_CRC16_CUSTOM: return sd_hash_crc16(bytes, n);
    case SD_HASH_RANDOM: break;
    case SD_HASH_IDENTITY: return sd_hash_identity(bytes, n);
    case SD_HASH_CSUM16: return sd_hash_csum16(bytes, n);
    case SD_HASH_XOR16: return sd_hash_xor16(bytes, n);
    case SD_HASH_LOOKUP3: return sd_hash_lookup3(bytes, n);
    case SD_HASH_TOEPLITZ: return sd_toeplitz2(bytes, n, NULL, 0);
    }
    CHECK(!"a function of the bytes");
    return 0;
}

/* --- Published --- */

static void published(void)
{
    const uint8_t *digits = text("123456789");
    CHECK(sd_hash_crc32(digits, 9) == 0xcbf43926);
    CHECK(sd_hash_crc32(NULL, 0) == 0);
    CHECK(sd_hash_crc16(digits, 9) == 0xbb3d);
    CHECK(sd_hash_crc16(NULL, 0) == 0);
    CHECK(sd_hash_identity(digits, 9) == UINT64_C(0x3132333435363738));
    CHECK(sd_hash_identity(digits, 2) == 0x3132);
    CHECK(sd_hash_xor16(digits, 9) == (0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900));

    /* What driver5 of lookup3.c prints for one word of its result. */
    const uint8_t *score = text("Four score and seven years ago");
    CHECK(sd_hash_lookup3(NULL, 0) == 0xdeadbeef);
    CHECK(sd_lookup3_from(NULL, 0, NULL, 0, 0xdeadbeef) == 0xbd5b7dde);
    CHECK(sd_hash_lookup3(score, 30) == 0x17770551);
    CHECK(sd_lookup3_from(score, 30, NULL, 0, 1) == 0xcd628161);

    /* RFC 1071, section 3: the sum is ddf2. */
    const uint8_t words[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    CHECK(sd_checksum_internet2(words, sizeof words, NULL, 0) == (uint16_t)~0xddf2);
    CHECK(sd_checksum_internet2(NULL, 0, NULL, 0) == 0xffff);
    /* RFC 1624, section 4: 0x0000 where the older equation gives 0xffff. */
    CHECK(sd_checksum_replace2(0xdd2f, 0x5555, 0x3285) == 0x0000);
    const uint8_t odd[1] = {0x12};
    CHECK(sd_checksum_internet2(odd, 1, NULL, 0) == (uint16_t)~0x1200);
}

/* --- Against the models, and in pieces --- */

static void check_pieces(const uint8_t *bytes, size_t n, size_t n_first)
{
    /* Just as large as they are, so that a sanitizer sees what is read beyond. */
    uint8_t *a = malloc(n_first + 1);
    uint8_t *b = malloc(n - n_first + 1);
    CHECK(a && b);
    uint8_t *first = a + 1;
    uint8_t *second = b + 1;
    memcpy(first, bytes, n_first);
    memcpy(second, bytes + n_first, n - n_first);
    for (unsigned i = 0; i < SD_ARRAY_LEN(algorithms); i++) {
        uint64_t expected = slow_hash(algorithms[i], bytes, n);
        CHECK(sd_hash2(algorithms[i], first, n_first, second, n - n_first) == expected);
        if (n_first == n) {
            CHECK(whole(algorithms[i], first, n) == expected);
            CHECK(sd_hash2(algorithms[i], NULL, 0, first, n) == expected);
            CHECK(sd_hash2(algorithms[i], first, n, NULL, 0) == expected);
        }
    }
    CHECK(sd_checksum_internet2(first, n_first, second, n - n_first) == slow_checksum(bytes, n));
    free(a);
    free(b);
}

static void fill(uint8_t *bytes, size_t n)
{
    unsigned kind = (unsigned)check_random(&state) % 5;
    for (size_t i = 0; i < n; i++)
        bytes[i] = kind == 0 ? 0 : kind == 1 ? 0xff : (uint8_t)check_random(&state);
}

static void replacing_is_computing_anew(void)
{
    for (unsigned i = 0; i < 2000; i++) {
        uint8_t bytes[40];
        size_t n = 8 + check_random(&state) % 32;
        fill(bytes, n);
        /* Data of nothing but zeros has two checksums. */
        bytes[7] |= 1;
        uint16_t before = (uint16_t)slow_checksum(bytes, n);
        uint32_t old = sd_load_be32(bytes);
        uint32_t changed = i % 8 == 0 ? 0 : i % 8 == 1 ? UINT32_MAX : (uint32_t)check_random(&state);
        sd_store_be32(bytes, changed);
        CHECK(sd_checksum_replace4(before, old, changed) == slow_checksum(bytes, n));
        old = sd_load_be16(bytes + 4);
        before = (uint16_t)slow_checksum(bytes, n);
        sd_store_be16(bytes + 4, (uint16_t)changed);
        CHECK(sd_checksum_replace2(before, (uint16_t)old, (uint16_t)changed) == slow_checksum(bytes, n));
    }
}

static void long_sums_carry(void)
{
    static uint8_t bytes[70001];
    memset(bytes, 0xff, sizeof bytes);
    CHECK(sd_hash_csum16(bytes, sizeof bytes) == slow_checksum(bytes, sizeof bytes));
    CHECK(sd_hash_csum16(bytes, sizeof bytes - 1) == 0);
    CHECK(sd_hash_crc32(bytes, sizeof bytes) == slow_crc(bytes, sizeof bytes, 0xedb88320, 0xffffffff));
}

static void of_what_is_packed(void)
{
    struct sd_worker w = {0};
    CHECK(sd_hash_packed(&w, SD_HASH_CRC32, text("123456789"), 9) == 0xcbf43926);
    sd_pack_begin(&w);
    for (unsigned i = 1; i <= 5; i++)
        sd_pack_bits(&w, 8, 0x30 + i);
    CHECK(sd_hash_packed(&w, SD_HASH_CRC32, text("6789"), 4) == 0xcbf43926);
    CHECK(sd_hash_packed(&w, SD_HASH_CRC16, text("6789"), 4) == 0xbb3d);
    CHECK(sd_hash_packed(&w, SD_HASH_CSUM16, text("6789"), 4) == slow_checksum(text("123456789"), 9));
    CHECK(sd_hash_packed(&w, SD_HASH_IDENTITY, NULL, 0) == UINT64_C(0x3132333435));
    /* A last byte that is not full counts with zeros. */
    sd_pack_begin(&w);
    sd_pack_bits(&w, 9, 1);
    CHECK(sd_hash_packed(&w, SD_HASH_IDENTITY, NULL, 0) == 0x0080);
    for (uint64_t i = 0; i < 4; i++)
        w.random[i] = i + 1;
    CHECK(sd_hash_packed(&w, SD_HASH_RANDOM, NULL, 0) == 41943041);
    CHECK(sd_hash_packed(&w, SD_HASH_RANDOM, NULL, 0) == 58720359);
    CHECK(sd_hash2(SD_HASH_RANDOM, text("1"), 1, NULL, 0) == 0);
    sd_buffer_free(&w.scratch);

    CHECK(sd_hash_within(10, 23, 7) == 12);
    CHECK(sd_hash_within(10, 23, 0) == 10);
    CHECK(sd_hash_within(UINT64_MAX, 1, 2) == 0);
}

/* --- Random numbers --- */

static void random_numbers(void)
{
    struct sd_worker w = {0};
    /* The reference implementation, from the state 1, 2, 3, 4. */
    for (uint64_t i = 0; i < 4; i++)
        w.random[i] = i + 1;
    CHECK(sd_random_next(&w) == 41943041);
    CHECK(sd_random_next(&w) == 58720359);
    /* The reference implementation of SplitMix64. */
    sd_random_seed(w.random, UINT64_C(1477776061723855037));
    CHECK(w.random[0] == UINT64_C(1985237415132408290));
    CHECK(w.random[1] == UINT64_C(2979275885539914483));
    CHECK(w.random[2] == UINT64_C(13511426838097143398));
    CHECK(w.random[3] == UINT64_C(8488337342461049707));

    unsigned seen[10] = {0};
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t n = sd_random_within(&w, 5, 14);
        CHECK(n >= 5 && n <= 14);
        seen[n - 5]++;
    }
    for (unsigned i = 0; i < 10; i++)
        CHECK(seen[i] > 800 && seen[i] < 1200);

    /* Nothing is drawn where there is nothing to choose. */
    uint64_t before[4];
    memcpy(before, w.random, sizeof before);
    CHECK(sd_random_within(&w, 3, 3) == 3);
    CHECK(sd_random_within(&w, 4, 3) == 4);
    CHECK(memcmp(before, w.random, sizeof before) == 0);
    struct sd_worker other = w;
    CHECK(sd_random_within(&w, 0, UINT64_MAX) == sd_random_next(&other));
    /* The lowest bits, again until they are in range. */
    for (unsigned i = 0; i < 100; i++) {
        uint64_t expected;
        do
            expected = sd_random_next(&other) % 8;
        while (expected > 4);
        CHECK(sd_random_within(&w, UINT64_MAX - 4, UINT64_MAX) == UINT64_MAX - 4 + expected);
    }
    CHECK(memcmp(other.random, w.random, sizeof w.random) == 0);
}

int main(void)
{
    published();
    for (size_t n = 0; n <= N_MAX; n++) {
        uint8_t bytes[N_MAX];
        fill(bytes, n);
        check_pieces(bytes, n, n);
        for (unsigned i = 0; i < 20; i++) {
            fill(bytes, n);
            check_pieces(bytes, n, i < n ? i : check_random(&state) % (n + 1));
        }
    }
    replacing_is_computing_anew();
    long_sums_carry();
    of_what_is_packed();
    random_numbers();
    return 0;
}
