/*
 * Exact keys: a hash table that grows a segment at a time while workers look keys up.
 *
 * Owns: struct sd_exact and lookups in it; sd_exact_write.h changes it, sd_exact_reserve.h makes room ahead,
 * sd_exact_scan.h goes through it. Where to
 * start: sd_exact_find.
 *
 * A directory, indexed by the high bits of the hash, leads to segments (extendible hashing: Fagin et al. 1979).
 * A segment is an array of buckets; the bits of the hash behind those of the directory, times the number of
 * buckets, say which is a key's home. A bucket is 15 tags of 16 bits and a word about the keys at home here, 32
 * bytes that one comparison of a vector goes through; then 15 entries, key and value side by side. So a lookup
 * touches the tags, and the entry whose tag agrees. A key that finds its home full lies up to SD_EXACT_REACH_MAX
 * buckets behind it, and the word at home says so.
 *
 * A segment in which too many keys are away from home is replaced by a larger one, or, when it is as large as
 * segments get, by two: the pause is that of copying one segment, whatever the size of the table. How large
 * segments get depends on the hash, from one to two times a base, so that they do not all become full at once:
 * memory in use grows with the entries and not in doublings.
 *
 * Readers, of which there may be many, take no locks; there is one writer at a time. The writer fills an entry and
 * then publishes its tag; a removed entry's tag is cleared at once, and its slot used again when all readers have
 * passed a boundary (sd_epoch.h); the same is true of segments and directories that were replaced. So what a
 * reader found is good until its next boundary. Replacing a value publishes a new entry and then removes the old
 * one (or stores one word: `is_word`); readers find the one or the other.
 *
 * Hashes are secret (sd_index.h), so an attacker who does not know the secrets cannot choose keys that collide.
 *
 * Non-goals: giving memory back while the table lives (what segments had is used for later ones); several writers.
 */
#ifndef SD_EXACT_H
#define SD_EXACT_H

#include "worker/sd_epoch.h"
#include "table/sd_index.h"
#include "base/sd_vector.h"

#if defined(__SANITIZE_THREAD__)
#define SD_EXACT_ATOMIC_TAGS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SD_EXACT_ATOMIC_TAGS 1
#endif
#endif

/* SD_SCALAR: without vectors, for tests and other processors. */
#if defined(__SSE2__) && !defined(SD_SCALAR)
#include <emmintrin.h>
#define SD_EXACT_SSE2 1
#ifdef __AES__
#include <wmmintrin.h>
#define SD_EXACT_AES 1
#endif
#endif

#define SD_EXACT_SLOTS 15u
#define SD_EXACT_TAGS_BYTES 32u
/* Buckets behind its home in which a key may lie. */
#define SD_EXACT_REACH_MAX 7u
/* Keys that are looked up, or inserted, side by side. */
#define SD_EXACT_BURST 32u
/* Bits of the hash that the directory may use. */
#define SD_EXACT_DEPTH_MAX 24u
#define SD_EXACT_CLASS_BITS 3u
#define SD_EXACT_N_CLASSES (1u << SD_EXACT_CLASS_BITS)
/* Segments of other sizes: with memory of their own, or cut from a chunk as those of the classes are. */
#define SD_EXACT_OWN SD_EXACT_N_CLASSES
#define SD_EXACT_CUT (SD_EXACT_N_CLASSES + 1)

/* Sizes of keys and values: compile-time constants on the lookup path. */
struct sd_exact_shape {
    uint32_t key_bytes;
    uint32_t value_bytes;
    /* The value is one word of 4 or 8 bytes that readers load at once: it is replaced where it lies. */
    bool is_word;
};

SD_ALWAYS_INLINE struct sd_exact_shape sd_exact_with_key(struct sd_exact_shape shape, uint32_t key_bytes)
{
    shape.key_bytes = key_bytes;
    return shape;
}

/*
 * `function(shape, ...)`, which is to be inlined, with a size of keys that is a constant where it is a common one: for
 * code that serves tables of any shape. What it does with a key is then some instructions instead of loops and calls.
 */
#define SD_EXACT_SHAPED(shape, function, ...)                                             \
    ((shape).key_bytes == 4    ? function(sd_exact_with_key(shape, 4), __VA_ARGS__)       \
     : (shape).key_bytes == 6  ? function(sd_exact_with_key(shape, 6), __VA_ARGS__)       \
     : (shape).key_bytes == 8  ? function(sd_exact_with_key(shape, 8), __VA_ARGS__)       \
     : (shape).key_bytes == 12 ? function(sd_exact_with_key(shape, 12), __VA_ARGS__)      \
     : (shape).key_bytes == 13 ? function(sd_exact_with_key(shape, 13), __VA_ARGS__)      \
     : (shape).key_bytes == 16 ? function(sd_exact_with_key(shape, 16), __VA_ARGS__)      \
                               : function(shape, __VA_ARGS__))

/* In front of the buckets of a segment. What readers use of it never changes. */
struct sd_exact_segment {
    uint32_t n_buckets;
    /* Number of leading bits of the hash that all keys of the segment share. */
    uint32_t depth;
    /* Keys that are not at home. */
    uint32_t n_displaced;
    /* Below SD_EXACT_N_CLASSES, or SD_EXACT_OWN or SD_EXACT_CUT. */
    uint32_t size_class;
    /* Number of buckets that fit its memory. */
    uint32_t n_buckets_room;
    struct sd_exact_segment *next_free;
} __attribute__((aligned(SD_LINE_BYTES)));

/* A slot that was removed, and waits for the readers. */
struct sd_exact_removed {
    uint64_t stamp;
    uint8_t *bucket;
    uint32_t lane;
};

struct sd_exact_chunk {
    uint8_t *bytes;
    size_t n_bytes;
};

struct sd_exact {
    /* Address of the directory's cells, and 64 less its depth in the low six bits: read and written at once. */
    uint64_t directory;
    /* See sd_exact_hash. */
    uint64_t *secrets;
    /* Bytes of all segments in use. */
    uint64_t n_segments_bytes;
    /* NULL: there are no readers beside the writer. */
    struct sd_epochs *epochs;
    uint64_t n_entries_max;
    uint32_t bucket_bytes;
    /* For what is not inlined. */
    struct sd_exact_shape shape;
    /* On a line of its own: it changes with every entry, and readers read it after a miss only. */
    uint64_t n_entries __attribute__((aligned(SD_LINE_BYTES)));
    struct sd_limbo limbo;
    /* A ring, in the order of stamps. */
    struct sd_exact_removed *removed;
    uint64_t removed_first, n_removed, removed_capacity;
    /* For each size class: number of buckets, and the list of free segments. */
    uint32_t n_buckets_max[SD_EXACT_N_CLASSES];
    struct sd_exact_segment *free_segments[SD_EXACT_N_CLASSES];
    /* Free segments that are SD_EXACT_CUT, of any size. */
    struct sd_exact_segment *free_cut;
    /* Memory of full-grown segments; the last chunk is used up to `chunk_at`. */
    struct sd_exact_chunk *chunks;
    uint64_t n_chunks, chunks_capacity;
    size_t chunk_at;
    size_t n_chunks_bytes;
};

/* --- Layout --- */

SD_ALWAYS_INLINE uint32_t sd_exact_value_at(struct sd_exact_shape shape)
{
    uint32_t align = shape.value_bytes > 4 ? 8 : 4;
    return (shape.key_bytes + align - 1) & ~(align - 1);
}

SD_ALWAYS_INLINE uint32_t sd_exact_entry_bytes(struct sd_exact_shape shape)
{
    uint32_t align = shape.value_bytes > 4 ? 8 : 4;
    return (sd_exact_value_at(shape) + shape.value_bytes + align - 1) & ~(align - 1);
}

/* A multiple of 32, so that tags are in one cache line. */
SD_ALWAYS_INLINE uint32_t sd_exact_bucket_bytes(struct sd_exact_shape shape)
{
    uint32_t n = SD_EXACT_TAGS_BYTES + SD_EXACT_SLOTS * sd_exact_entry_bytes(shape);
    return (n + SD_EXACT_TAGS_BYTES - 1) & ~(SD_EXACT_TAGS_BYTES - 1);
}

SD_ALWAYS_INLINE uint8_t *sd_exact_entry(struct sd_exact_shape shape, uint8_t *bucket, uint32_t lane)
{
    return bucket + SD_EXACT_TAGS_BYTES + lane * sd_exact_entry_bytes(shape);
}

/* --- Hash: the highest bits are the directory's, the lowest 32 say the bucket, 16 of them are the tag --- */

#define SD_EXACT_N_SECRETS(key_bytes) (10 * (((size_t)(key_bytes) + 15) / 16) + 10)

/*
 * Four rounds of AES with random round keys: for two different blocks any difference of what comes out has a chance
 * of at most 2^-113 (Keliher, Sui: "Exact maximum expected differential and linear probability for two-round AES",
 * 2007, and the theorem on four rounds that follows from it). Longer keys are sums of blocks with round keys of
 * their own. Elsewhere sd_key_hash.
 */
SD_ALWAYS_INLINE uint64_t sd_exact_hash(const uint64_t *secrets, const uint8_t *key, uint32_t key_bytes)
{
    uint64_t hash;
#ifdef SD_EXACT_AES
    const __m128i *round_keys = (const __m128i *)(const void *)secrets;
    __m128i sum = _mm_setzero_si128();
    for (uint32_t at = 0; at < key_bytes; at += 16, round_keys += 5) {
        __m128i block;
        if (key_bytes - at >= 16)
            block = _mm_loadu_si128((const __m128i *)(const void *)(key + at));
        else if (key_bytes - at > 8)
            block = _mm_set_epi64x((int64_t)sd_key_word(key, key_bytes, at + 8),
                                   (int64_t)sd_key_word(key, key_bytes, at));
        else
            block = _mm_cvtsi64_si128((int64_t)sd_key_word(key, key_bytes, at));
        block = _mm_xor_si128(block, round_keys[0]);
        for (int i = 1; i <= 4; i++)
            block = _mm_aesenc_si128(block, round_keys[i]);
        sum = _mm_xor_si128(sum, block);
    }
    hash = (uint64_t)_mm_cvtsi128_si64(sum);
#else
    hash = sd_key_hash(secrets, key, NULL, key_bytes);
#endif
#ifdef SD_EXACT_TEST_HASH
    hash = SD_EXACT_TEST_HASH(hash);
#endif
    /* A tag in use has its highest bit. */
    hash |= 0x8000;
#ifdef SD_EXACT_AES
    /* Else compilers set that bit once more in each part of it. */
    __asm__("" : "+r"(hash));
#endif
    return hash;
}

#define SD_EXACT_EMPTY 0u
/* A slot that was removed, and may not be used yet. */
#define SD_EXACT_REMOVED 1u

/* --- Tags: 15 of 16 bits; then the word about the keys at home --- */

/* A mask has two bits for each lane, like the result of a byte comparison: bits 2 * lane and 2 * lane + 1. */
#define SD_EXACT_LANES 0x3fffffffu
#define SD_EXACT_LANES_ONCE 0x15555555u

SD_ALWAYS_INLINE uint64_t sd_exact_tags(const uint8_t *bucket, uint32_t word)
{
    return __atomic_load_n((const uint64_t *)(const void *)bucket + word, __ATOMIC_ACQUIRE);
}

/* Bits 0, 16, 32 and 48, the only ones, to bits 0, 2, 4 and 6. */
SD_ALWAYS_INLINE uint32_t sd_exact_gather(uint64_t lanes)
{
    return (uint32_t)(lanes * (UINT64_C(1) << 48 | UINT64_C(1) << 34 | UINT64_C(1) << 20 | 1 << 6) >> 48 & 0x55);
}

/* The lanes whose tag is this one. What is read later through what is found here is read later indeed; the same tags
   are read once more only after what orders loads. */
SD_ALWAYS_INLINE uint32_t sd_exact_agree(const uint8_t *bucket, uint16_t tag)
{
    uint32_t lanes;
#if defined(SD_EXACT_SSE2) && !defined(SD_EXACT_ATOMIC_TAGS)
#if SD_AVX2
    sd_u16x16 tags = *(const sd_u16x16 *)(const void *)bucket;
    lanes = sd_bytes_mask((sd_u16x16)(tags == tag));
#else
    const __m128i *tags = (const __m128i *)(const void *)bucket;
    __m128i wanted = _mm_set1_epi16((int16_t)tag);
    lanes = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_load_si128(tags), wanted)) |
            (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_load_si128(tags + 1), wanted)) << 16;
#endif
#else
    const uint64_t ones = UINT64_C(0x0001000100010001), low = ones * 0x7fff;
    lanes = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t difference = sd_exact_tags(bucket, i) ^ ones * tag;
        /* The highest bit of the lanes that are zero. */
        uint64_t equal = ~(((difference & low) + low) | difference | low) >> 15;
        lanes |= sd_exact_gather(equal) << 8 * i;
    }
#endif
    return lanes & SD_EXACT_LANES;
}

/* Returns sd_exact_agree; later loads are ordered after its loads. */
SD_ALWAYS_INLINE uint32_t sd_exact_match(const uint8_t *bucket, uint16_t tag)
{
    uint32_t lanes = sd_exact_agree(bucket, tag);
    /* x86 does not reorder loads, and the fence stops the compiler. Other machines load tags with acquire. */
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    return lanes;
}

/* The lanes with an entry: theirs is the highest bit of a tag. */
SD_ALWAYS_INLINE uint32_t sd_exact_used(const uint8_t *bucket)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t used = sd_exact_tags(bucket, i) >> 15 & UINT64_C(0x0001000100010001);
        lanes |= sd_exact_gather(used) << 8 * i;
    }
    return lanes & SD_EXACT_LANES_ONCE;
}

SD_ALWAYS_INLINE uint32_t sd_exact_lane(uint32_t lanes)
{
    return (uint32_t)__builtin_ctz(lanes) / 2;
}

SD_ALWAYS_INLINE uint32_t sd_exact_without(uint32_t lanes, uint32_t lane)
{
    return lanes & ~(3u << 2 * lane);
}

/* Only the writer; what it wrote before is there when readers see it. */
SD_ALWAYS_INLINE void sd_exact_set_tag(uint8_t *bucket, uint32_t lane, uint16_t tag)
{
    uint64_t *word = (uint64_t *)(void *)bucket + lane / 4;
    uint64_t tags = __atomic_load_n(word, __ATOMIC_RELAXED);
    unsigned shift = lane % 4 * 16;
    tags = (tags & ~(UINT64_C(0xffff) << shift)) | (uint64_t)tag << shift;
    __atomic_store_n(word, tags, __ATOMIC_RELEASE);
}

SD_ALWAYS_INLINE uint16_t sd_exact_tag(const uint8_t *bucket, uint32_t lane)
{
    return (uint16_t)(sd_exact_tags(bucket, lane / 4) >> lane % 4 * 16);
}

/*
 * About the keys at home: how many buckets further some lie (3 bits), how many lie elsewhere (6), and how often one
 * of them has moved (7). Moves cannot come round while a reader looks: each leaves a slot that waits for it.
 */
#define SD_EXACT_HOME_REACH(home) ((home) & 7u)
#define SD_EXACT_HOME_AWAY (1u << 3)
#define SD_EXACT_HOME_N_AWAY(home) ((home) >> 3 & 63u)
#define SD_EXACT_N_AWAY_MAX 63u
#define SD_EXACT_HOME_MOVES (1u << 9)

SD_ALWAYS_INLINE uint16_t sd_exact_home(const uint8_t *bucket)
{
    return sd_exact_tag(bucket, SD_EXACT_SLOTS);
}

SD_ALWAYS_INLINE void sd_exact_set_home(uint8_t *bucket, uint32_t home)
{
    sd_exact_set_tag(bucket, SD_EXACT_SLOTS, (uint16_t)home);
}

/* --- Where keys are at home --- */

/* Loads through which others go: x86 keeps their order, and compilers then need not forget what else they know. What is
   loaded is kept, so that it is one value however often it is used. */
SD_ALWAYS_INLINE uint64_t sd_exact_load(const uint64_t *at)
{
#if defined(SD_EXACT_SSE2) && !defined(SD_EXACT_ATOMIC_TAGS)
    uint64_t word = *at;
    __asm__("" : "+r"(word));
    return word;
#else
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
#endif
}

/* A cell of the directory: the number of a segment's buckets in 16 bits, and above them the address of the first. */
SD_ALWAYS_INLINE uint64_t sd_exact_cell_to(const void *buckets, uint32_t n_buckets)
{
    return (uint64_t)(uintptr_t)buckets << 16 | n_buckets;
}

SD_ALWAYS_INLINE uint8_t *sd_exact_buckets(uint64_t cell)
{
    return (uint8_t *)(uintptr_t)(cell >> 16);
}

SD_ALWAYS_INLINE uint32_t sd_exact_n_buckets(uint64_t cell)
{
    return (uint16_t)cell;
}

SD_ALWAYS_INLINE uint64_t sd_exact_cell(const struct sd_exact *t, uint64_t hash)
{
    uint64_t directory = sd_exact_load(&t->directory);
    const uint64_t *cells = (const uint64_t *)(uintptr_t)(directory & ~UINT64_C(63));
    return sd_exact_load(&cells[hash >> (directory & 63)]);
}

/* The bits that select the bucket: the buckets of a segment are ordered by them. */
SD_ALWAYS_INLINE uint32_t sd_exact_home_bits(uint64_t hash)
{
    return (uint32_t)hash;
}

SD_ALWAYS_INLINE uint32_t sd_exact_home_index(uint64_t hash, uint32_t n_buckets)
{
    return (uint32_t)((uint64_t)sd_exact_home_bits(hash) * n_buckets >> 32);
}

SD_ALWAYS_INLINE uint8_t *sd_exact_home_of(const struct sd_exact *t, struct sd_exact_shape shape, uint64_t hash)
{
    uint64_t cell = sd_exact_cell(t, hash);
    size_t index = sd_exact_home_index(hash, sd_exact_n_buckets(cell));
    return sd_exact_buckets(cell) + index * sd_exact_bucket_bytes(shape);
}

SD_ALWAYS_INLINE struct sd_exact_segment *sd_exact_segment_of(uint64_t cell)
{
    return (struct sd_exact_segment *)(void *)(sd_exact_buckets(cell) - sizeof(struct sd_exact_segment));
}

/* --- Lookup --- */

/* The position of an entry. */
struct sd_exact_place {
    uint8_t *home;
    /* NULL: nowhere. */
    uint8_t *bucket;
    uint32_t lane;
};

SD_ALWAYS_INLINE uint8_t *sd_exact_find_in(struct sd_exact_shape shape, uint8_t *bucket, const uint8_t *key,
                                           uint64_t hash)
{
    uint32_t lanes = sd_exact_match(bucket, (uint16_t)hash);
    while (lanes) {
        uint32_t lane = sd_exact_lane(lanes);
        uint8_t *entry = sd_exact_entry(shape, bucket, lane);
        if (SD_LIKELY(sd_key_equal(key, entry, NULL, shape.key_bytes)))
            return entry;
        lanes = sd_exact_without(lanes, lane);
    }
    return NULL;
}

/* At home and wherever keys from there may be. The entry, or NULL. */
static SD_UNUSED __attribute__((noinline)) uint8_t *sd_exact_search(const struct sd_exact *t,
                                                                    struct sd_exact_shape shape,
                                                                    const uint8_t *key, uint64_t hash,
                                                                    struct sd_exact_place *place)
{
    uint64_t cell = sd_exact_cell(t, hash);
    uint32_t n_buckets = sd_exact_n_buckets(cell), index = sd_exact_home_index(hash, n_buckets);
    uint8_t *buckets = sd_exact_buckets(cell);
    uint8_t *home_bucket = buckets + (size_t)index * t->bucket_bytes;
    uint32_t home = sd_exact_home(home_bucket), before;
    do {
        before = home;
        for (uint32_t i = 0; i <= SD_EXACT_HOME_REACH(home); i++) {
            uint32_t at = index + i < n_buckets ? index + i : index + i - n_buckets;
            uint8_t *bucket = buckets + (size_t)at * t->bucket_bytes;
            uint8_t *entry = sd_exact_find_in(shape, bucket, key, hash);
            if (entry) {
                uint32_t lane = ((uint32_t)(entry - bucket) - SD_EXACT_TAGS_BYTES) / sd_exact_entry_bytes(shape);
                *place = (struct sd_exact_place){home_bucket, bucket, lane};
                return entry;
            }
        }
        /* The counter tells whether an entry moved from a bucket not yet read to one already read. */
        home = sd_exact_home(home_bucket);
    } while (home != before);
    *place = (struct sd_exact_place){home_bucket, NULL, 0};
    return NULL;
}

SD_ALWAYS_INLINE uint8_t *sd_exact_find_from(const struct sd_exact *t, struct sd_exact_shape shape,
                                             const uint8_t *key, uint64_t hash, uint8_t *bucket)
{
    uint8_t *entry = sd_exact_find_in(shape, bucket, key, hash);
    if (SD_LIKELY(entry != NULL))
        return entry + sd_exact_value_at(shape);
    uint32_t home = sd_exact_home(bucket);
    if (SD_LIKELY(SD_EXACT_HOME_REACH(home) == 0)) {
        /* Unless it has moved meanwhile from a lane that was looked at late to one that was looked at early: then it
           is there now, or moves have been counted. Words are not moved. */
        if (shape.is_word || (!sd_exact_match(bucket, (uint16_t)hash) && sd_exact_home(bucket) == home))
            return NULL;
    }
    struct sd_exact_place place;
    entry = sd_exact_search(t, shape, key, hash, &place);
    return entry ? entry + sd_exact_value_at(shape) : NULL;
}

/* The entry with this hash whose value begins with a word that agrees with `word` where `mask` has ones; or NULL. */
SD_LOCAL uint8_t *sd_exact_find_word(const struct sd_exact *t, struct sd_exact_shape shape, uint64_t hash,
                                     uint64_t word, uint64_t mask)
{
    uint64_t cell = sd_exact_cell(t, hash);
    uint32_t n_buckets = sd_exact_n_buckets(cell), index = sd_exact_home_index(hash, n_buckets);
    uint8_t *buckets = sd_exact_buckets(cell);
    uint32_t reach = SD_EXACT_HOME_REACH(sd_exact_home(buckets + (size_t)index * t->bucket_bytes));
    for (uint32_t i = 0; i <= reach; i++) {
        uint32_t at = index + i < n_buckets ? index + i : index + i - n_buckets;
        uint8_t *bucket = buckets + (size_t)at * t->bucket_bytes;
        for (uint32_t lanes = sd_exact_match(bucket, (uint16_t)hash); lanes;
             lanes = sd_exact_without(lanes, sd_exact_lane(lanes))) {
            uint8_t *entry = sd_exact_entry(shape, bucket, sd_exact_lane(lanes));
            uint64_t found;
            memcpy(&found, entry + sd_exact_value_at(shape), sizeof found);
            if (((found ^ word) & mask) == 0)
                return entry;
        }
    }
    return NULL;
}

/*
 * A lookup in steps, so that those of other keys run while memory comes: the first gives what the later ones
 * want. sd_exact_prefetch_entry may be left out; it pays where the table is larger than the caches.
 */
struct sd_exact_probe {
    uint64_t hash;
    uint8_t *bucket;
};

SD_ALWAYS_INLINE struct sd_exact_probe sd_exact_start(const struct sd_exact *t, struct sd_exact_shape shape,
                                                      const void *key)
{
    uint64_t hash = sd_exact_hash(t->secrets, key, shape.key_bytes);
    struct sd_exact_probe probe = {hash, sd_exact_home_of(t, shape, hash)};
    __builtin_prefetch(probe.bucket);
    return probe;
}

SD_ALWAYS_INLINE void sd_exact_prefetch_entry(struct sd_exact_shape shape, const struct sd_exact_probe *probe)
{
    uint32_t lanes = sd_exact_match(probe->bucket, (uint16_t)probe->hash);
    /* Without one that agrees it is the last lane, which does no harm. */
    uint8_t *entry = sd_exact_entry(shape, probe->bucket, sd_exact_lane(lanes | 1u << 28));
    __builtin_prefetch(entry);
    if (sd_exact_entry_bytes(shape) > 8)
        __builtin_prefetch(entry + sd_exact_entry_bytes(shape) - 1);
}

/* The value of the key, or NULL; good until the reader's next boundary. */
SD_ALWAYS_INLINE uint8_t *sd_exact_finish(const struct sd_exact *t, struct sd_exact_shape shape, const void *key,
                                          const struct sd_exact_probe *probe)
{
    return sd_exact_find_from(t, shape, key, probe->hash, probe->bucket);
}

/* The value of the key, or NULL; good until the reader's next boundary. */
SD_ALWAYS_INLINE uint8_t *sd_exact_find(const struct sd_exact *t, struct sd_exact_shape shape, const void *key)
{
    uint64_t hash = sd_exact_hash(t->secrets, key, shape.key_bytes);
    return sd_exact_find_from(t, shape, key, hash, sd_exact_home_of(t, shape, hash));
}

/* Below this size all entries are in a near cache, and prefetches cost more than they save. */
#define SD_EXACT_CACHED_BYTES (256u << 10)

/* Finds the values of `n` keys; NULL for missing ones. Returns the number found. */
SD_ALWAYS_INLINE uint32_t sd_exact_find_bulk(const struct sd_exact *t, struct sd_exact_shape shape,
                                             const void *keys, size_t key_stride, uint32_t n, uint8_t **values)
{
    const uint8_t *key = keys;
    uint32_t n_found = 0;
    if (__atomic_load_n(&t->n_segments_bytes, __ATOMIC_RELAXED) <= SD_EXACT_CACHED_BYTES) {
        for (uint32_t i = 0; i < n; i++, key += key_stride) {
            values[i] = sd_exact_find(t, shape, key);
            n_found += values[i] != NULL;
        }
        return n_found;
    }
    for (uint32_t from = 0; from < n; from += SD_EXACT_BURST, key += SD_EXACT_BURST * key_stride) {
        struct sd_exact_probe probes[SD_EXACT_BURST];
        uint32_t n_burst = n - from < SD_EXACT_BURST ? n - from : SD_EXACT_BURST;
        for (uint32_t i = 0; i < n_burst; i++)
            probes[i] = sd_exact_start(t, shape, key + i * key_stride);
        for (uint32_t i = 0; i < n_burst; i++)
            sd_exact_prefetch_entry(shape, &probes[i]);
        for (uint32_t i = 0; i < n_burst; i++) {
            values[from + i] = sd_exact_finish(t, shape, key + i * key_stride, &probes[i]);
            n_found += values[from + i] != NULL;
        }
    }
    return n_found;
}

#endif
