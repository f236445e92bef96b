/*
 * Tables: what packets look up, and what the control plane does with entries.
 *
 * Owns: struct sd_table, its entries, and the engines that find them:
 *
 *   exact   all keys exact: sd_exact.h, with the action and its data beside the key, so that packets need no more of
 *           an entry than what they find there, unless it counts, expires or leads to a profile. Where none does
 *           that, the table is *lean*: what the engine keeps is the entry, and there is no other.
 *   direct  all keys exact, of 1 to SD_DIRECT_BITS_MAX bits together: an array of entries by key, no hash.
 *   LPM     one LPM key, with exact ones in front of it: sd_lpm.h. Where they are too wide together an index for
 *           each prefix length that is in use, the longest first.
 *   ranked  anything else: sd_ternary.h. Larger priorities come first; in tables without ternary, range or optional
 *           keys larger sums of prefix lengths; then what was inserted first.
 *   none    without keys: no entries.
 *
 * Invariants: an entry of a table that is not lean stays where it is in memory until it is removed; its slot (chunk
 * and position) is used again when all workers have passed a boundary since. No handle ever is. Value, mask and priority
 * are an entry's identity. Packets change nothing of an entry but its marks (last hit, reported), the cells of the direct
 * counter, of which each worker has its own, and the direct meter, which is locked.
 *
 * Workers look things up while entries come and go: an entry is filled before its engine leads to it, and what workers
 * see of it does not change while they run packets. What can be done meanwhile says sd_table_concurrent_ops.
 */
#ifndef SD_TABLE_H
#define SD_TABLE_H

#include "table/exact/sd_exact_reserve.h"
#include "table/lpm/sd_lpm_update.h"
#include "table/sd_match.h"
#include "object/sd_profile.h"
#include "table/sd_table_order.h"
#include "table/ternary/sd_ternary_write.h"

#ifdef SD_TRACE
#define SD_WANTS_HANDLES
#endif

struct sd_found {
    /* Action data. */
    const uint8_t *data;
    /* UINT32_MAX: nothing to run (an empty group). */
    uint32_t action;
    /* UINT32_MAX: no profile. */
    uint32_t member;
    /* SD_DEFAULT_ENTRY on a miss. Only where somebody wants to know (SD_WANTS_HANDLES): it is not at hand. */
    uint64_t handle;
    bool hit;
};

#define SD_NEVER UINT64_MAX

/* Of keys that are copied where a lookup is not inlined. */
#define SD_KEY_BYTES_MAX 64u

/* Its value, data, times, mask and meter follow, where the table says. */
struct sd_entry {
    uint64_t handle;
    /* The member, group or one-shot. */
    void *target;
    /* Action index, member id or group id. */
    uint32_t what;
    /* Of a free one the next free one. */
    uint32_t slot;
    union {
        int32_t priority;
        /* Packets read no priorities, so this may be written as soon as the entry is removed. */
        uint32_t next_removed;
    };
    /* Sum of the LPM keys' prefix lengths. */
    uint32_t prefix_bits : 28;
    /* enum sd_entry_kind */
    uint32_t kind : 3;
    uint32_t is_const : 1;
};

_Static_assert(sizeof(struct sd_entry) == 32, "with a short key and little data an entry takes one line");

/* Of entries that may expire. */
struct sd_entry_times {
    uint64_t last_hit_ns;
    /* When its expiry was reported since the last hit, or SD_NEVER. */
    uint64_t reported_ns;
    uint64_t idle_timeout_ns;
};

/* Entries of one length of the LPM key's prefix. */
struct sd_prefix {
    uint32_t prefix_bits;
    struct sd_index index;
    /* What of a key counts; NULL: all of it. */
    uint8_t *mask;
};

#define SD_CHUNK_BITS 8
#define SD_CHUNK_SLOTS (1u << SD_CHUNK_BITS)

struct sd_chunk {
    uint8_t *entries;
    /* Of direct counters: of each worker SD_CHUNK_SLOTS cells. */
    struct sd_count *counts;
};

struct sd_table {
    const struct sd_table_type *type;
    uint32_t engine;
    uint32_t has_range;
    uint32_t has_priority;
    /* Where parts of an entry are; 0: there is none. Masks are left out where keys are all exact. */
    uint32_t value_at, data_at, times_at, mask_at, meter_at, entry_bytes;
    uint32_t data_bytes;
    uint32_t n_workers;
    struct sd_chunk *chunks;
    uint64_t n_chunks, chunks_capacity;
    /* Slots that were ever used, and the first free one of these. */
    uint32_t n_slots, free_slot;
    /* The first of those whose entries were removed, and of those that wait until workers have reached an epoch. */
    uint32_t removed_slot, waiting_slot, n_removed_slots;
    uint64_t waiting_stamp;
    /* Of the instance. */
    struct sd_epochs *epochs;
    /* Arrays of chunks that were too small. */
    struct sd_limbo limbo;
    uint64_t n_entries, n_timed;
    /* With more than this the table is far: SD_CACHED_BYTES_LARGE. */
    uint64_t n_entries_cached_max;
    uint64_t next_handle;
    /* Of each entry the slot + 1; of lean tables the hash of the key. */
    struct sd_order order;
    uint64_t *secrets;
    /* Ones of each key, as the masks of exact keys are. */
    uint8_t *ones;

    /* Direct: by key the entry, or NULL. */
    struct sd_entry **direct;
    /* Exact. */
    bool entries_are_inline;
    struct sd_exact exact;
    /* Room to put together what it keeps beside a key. */
    uint8_t *exact_value;

    /* LPM: its key, or NULL. Alone: by prefix the slot. */
    const struct sd_key_type *lpm_key;
    struct sd_lpm lpm;
    /* Beside exact keys: by length of the prefix; those that are in use, the longest first. */
    struct sd_prefix **by_length;
    struct sd_prefix **prefixes;
    uint32_t n_prefixes;
    /* Ranked: by key, and by value, mask and priority. */
    struct sd_ternary ternary;
    struct sd_index identities;

    uint32_t default_action;
    uint8_t *default_data;
    struct sd_count default_count;
    struct sd_meter default_meter;
};

/* --- Entries --- */

/*
 * Of a slot that was found before: the array has had its chunk since the slot was used first. So the array is to be read
 * after the slot, which it does not depend on: x86 keeps that order, and compilers do among what is volatile.
 */
SD_ALWAYS_INLINE const struct sd_chunk *sd_chunk_at(const struct sd_table *t, uint32_t slot)
{
#if defined(SD_EXACT_SSE2) && !defined(SD_EXACT_ATOMIC_TAGS)
    __asm__ volatile("" : "+r"(slot));
    const struct sd_chunk *chunks = *(struct sd_chunk *const volatile *)&t->chunks;
#else
    const struct sd_chunk *chunks = __atomic_load_n(&t->chunks, __ATOMIC_ACQUIRE);
#endif
    return chunks + (slot >> SD_CHUNK_BITS);
}

SD_ALWAYS_INLINE struct sd_entry *sd_chunk_entry(const struct sd_table *t, const struct sd_chunk *chunk, uint32_t slot)
{
    return (struct sd_entry *)(void *)(chunk->entries + (size_t)(slot & (SD_CHUNK_SLOTS - 1)) * t->entry_bytes);
}

SD_ALWAYS_INLINE struct sd_count *sd_chunk_count(const struct sd_chunk *chunk, uint32_t slot, uint32_t worker)
{
    return chunk->counts + (size_t)worker * SD_CHUNK_SLOTS + (slot & (SD_CHUNK_SLOTS - 1));
}

SD_ALWAYS_INLINE struct sd_entry *sd_entry_at(const struct sd_table *t, uint32_t slot)
{
    return sd_chunk_entry(t, sd_chunk_at(t, slot), slot);
}

/* As the order of entries has it, in tables that are not lean. */
SD_INLINE struct sd_entry *sd_entry_ordered(const struct sd_table *t, uint64_t ordered)
{
    return sd_entry_at(t, (uint32_t)(ordered - 1));
}

SD_ALWAYS_INLINE uint8_t *sd_entry_value(const struct sd_table *t, const struct sd_entry *e)
{
    return (uint8_t *)(uintptr_t)e + t->value_at;
}

/* Where an entry's data are, known where the type is. */
SD_ALWAYS_INLINE uint32_t sd_data_at(const struct sd_table_type *type)
{
    return (uint32_t)sd_round_up(sizeof(struct sd_entry) + type->key_bytes, SD_DATA_ALIGN);
}

SD_ALWAYS_INLINE uint8_t *sd_entry_data(const struct sd_table *t, const struct sd_entry *e)
{
    return (uint8_t *)(uintptr_t)e + t->data_at;
}

/* Of tables whose entries may expire. */
SD_ALWAYS_INLINE struct sd_entry_times *sd_entry_times(const struct sd_table *t, const struct sd_entry *e)
{
    return (struct sd_entry_times *)(void *)((uint8_t *)(uintptr_t)e + t->times_at);
}

SD_ALWAYS_INLINE const uint8_t *sd_entry_mask(const struct sd_table *t, const struct sd_entry *e)
{
    return t->mask_at ? (const uint8_t *)e + t->mask_at : t->ones;
}

SD_INLINE struct sd_meter *sd_entry_meter(const struct sd_table *t, const struct sd_entry *e)
{
    return (struct sd_meter *)(void *)((uint8_t *)(uintptr_t)e + t->meter_at);
}

SD_ALWAYS_INLINE struct sd_count *sd_slot_count(const struct sd_table *t, uint32_t slot, uint32_t worker)
{
    return sd_chunk_count(sd_chunk_at(t, slot), slot, worker);
}

SD_INLINE struct sd_count *sd_entry_count(const struct sd_table *t, const struct sd_entry *e, uint32_t worker)
{
    return sd_slot_count(t, e->slot, worker);
}

/* --- Lookup --- */

SD_ALWAYS_INLINE struct sd_entry *sd_index_find(const struct sd_table *t, const struct sd_index *index,
                                                uint64_t hash, const uint8_t *key, const uint8_t *mask,
                                                uint32_t key_bytes)
{
    uint32_t at = (uint32_t)hash, slot;
    while ((slot = sd_index_next(index, hash, &at)) != SD_NO_SLOT) {
        struct sd_entry *e = sd_entry_at(t, slot);
        if (SD_LIKELY(sd_key_equal(key, sd_entry_value(t, e), mask, key_bytes)))
            return e;
    }
    return NULL;
}

/* What the exact engine keeps beside a key; action data follow. */
struct sd_exact_value {
    uint32_t slot;
    /* Action index, member id or group id. */
    uint32_t what;
};

/* What it keeps instead in lean tables: the action, whether the entry is constant, and the handle. */
struct sd_inline_value {
    uint64_t word;
};

_Static_assert(sizeof(struct sd_inline_value) == sizeof(struct sd_exact_value), "both are in front of the data");

#define SD_INLINE_ACTION_BITS 12u
#define SD_INLINE_IS_CONST (UINT64_C(1) << SD_INLINE_ACTION_BITS)
#define SD_INLINE_HANDLE_SHIFT (SD_INLINE_ACTION_BITS + 1)
#define SD_INLINE_HANDLE_MAX (UINT64_MAX >> SD_INLINE_HANDLE_SHIFT)

SD_ALWAYS_INLINE uint32_t sd_inline_action(uint64_t word)
{
    return (uint32_t)word & ((1u << SD_INLINE_ACTION_BITS) - 1);
}

/* Whether packets change something of an entry that they hit, or need more of it than its action. */
SD_ALWAYS_INLINE bool sd_table_uses_entries(const struct sd_table_type *type)
{
    return type->has_idle_timeout || type->has_direct_counter || type->has_direct_meter ||
           type->profile != UINT32_MAX;
}

/* Of tables with exact keys alone. */
SD_ALWAYS_INLINE bool sd_table_can_be_inline(const struct sd_table_type *type)
{
    return !sd_table_uses_entries(type) && type->n_actions <= 1u << SD_INLINE_ACTION_BITS;
}

SD_ALWAYS_INLINE struct sd_exact_shape sd_table_shape(const struct sd_table_type *type, uint32_t key_bytes)
{
    struct sd_exact_shape shape = {key_bytes, (uint32_t)sizeof(struct sd_exact_value) + type->data_bytes, false};
    return shape;
}

#define SD_DIRECT_BITS_MAX 16u

/* Bits of all elements of a key where each is exact; 0 where they are too many, or not. */
SD_ALWAYS_INLINE uint32_t sd_direct_bits(const struct sd_table_type *type)
{
    uint32_t n_bits = 0;
    if (type->has_wildcards)
        return 0;
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_key_type *key = &type->keys[i];
        if (key->match_kind != SD_MATCH_EXACT || key->value.is_varbit ||
            key->value.width_bits > SD_DIRECT_BITS_MAX - n_bits)
            return 0;
        n_bits += key->value.width_bits;
    }
    return n_bits;
}

/* Of a table whose engine is direct: below 2^16 whatever the bytes are. */
SD_ALWAYS_INLINE uint32_t sd_direct_index(const struct sd_table_type *type, const void *key, uint32_t key_bytes)
{
    uint32_t at = 0, n_bits = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *value = &type->keys[i].value;
        uint32_t width = value->width_bits, n_bytes = (width + 7) / 8;
        /* Never so; compilers that do not know the type see it here. */
        if (n_bytes > 2 || value->offset >= key_bytes || n_bytes > key_bytes - value->offset)
            return 0;
        uint16_t part = 0;
        memcpy(&part, (const uint8_t *)key + value->offset, n_bytes);
        at = at << width | part;
        n_bits += width;
    }
    return at & ((UINT32_C(1) << n_bits) - 1);
}

/* Bits of the exact elements of a key that stand in front of its LPM element. */
SD_ALWAYS_INLINE uint32_t sd_lpm_exact_bits(const struct sd_table_type *type)
{
    uint32_t n_bits = 0;
    for (uint32_t i = 0; i < type->n_keys; i++)
        n_bits += type->keys[i].match_kind == SD_MATCH_LPM ? 0 : type->keys[i].value.width_bits;
    return n_bits;
}

/* Bits of all elements together. */
SD_ALWAYS_INLINE uint32_t sd_lpm_key_bits(const struct sd_table_type *type)
{
    uint32_t n_bits = 0;
    for (uint32_t i = 0; i < type->n_keys; i++)
        n_bits += type->keys[i].value.width_bits;
    return n_bits;
}

/* Whether all elements of the key together are one prefix for sd_lpm.h: the exact ones, then the LPM element. */
SD_ALWAYS_INLINE bool sd_lpm_is_joined(const struct sd_table_type *type)
{
    uint32_t n_bits = 0;
    for (uint32_t i = 0; i < type->n_keys; i++) {
        if (type->keys[i].value.is_varbit || type->keys[i].value.width_bits > SD_LPM_LIMBS_MAX * 64)
            return false;
        n_bits += type->keys[i].value.width_bits;
    }
    return n_bits > 0 && n_bits <= SD_LPM_LIMBS_MAX * 64;
}

/* Appends a value of a key, the highest bits first. */
SD_ALWAYS_INLINE void sd_lpm_append(uint64_t *limbs, uint32_t *n_bits, const uint8_t *key, uint32_t key_bytes,
                                    const struct sd_value_type *value)
{
    uint32_t width_bits = value->width_bits, n_words = (width_bits + 63) / 64;
    for (uint32_t i = n_words; i-- > 0;) {
        uint32_t width = i + 1 < n_words ? 64 : width_bits - 64 * (n_words - 1);
        uint32_t at = value->offset + 8 * i, n_bytes = (width + 7) / 8;
        /* Always so; compilers that do not know the type see it here. */
        if (at >= key_bytes || n_bytes > key_bytes - at)
            return;
        uint64_t word = 0;
        memcpy(&word, key + at, n_bytes);
        word <<= 64 - width;
        uint32_t skip = *n_bits % 64;
        limbs[*n_bits / 64] |= word >> skip;
        if (skip + width > 64)
            limbs[*n_bits / 64 + 1] |= word << (64 - skip);
        *n_bits += width;
    }
}

/* Such a key as sd_lpm.h wants it, into zeros; gives the number of limbs. */
SD_ALWAYS_INLINE uint32_t sd_lpm_limbs(const struct sd_table_type *type, const uint8_t *key, uint32_t key_bytes,
                                       uint64_t *limbs)
{
    uint32_t n_bits = 0;
    const struct sd_value_type *lpm = NULL;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *value = &type->keys[i].value;
        if (type->keys[i].match_kind == SD_MATCH_LPM)
            lpm = value;
        else
            sd_lpm_append(limbs, &n_bits, key, key_bytes, value);
    }
    if (lpm)
        sd_lpm_append(limbs, &n_bits, key, key_bytes, lpm);
    return (n_bits + 63) / 64;
}

/* The slot, or SD_NO_SLOT. */
SD_ALWAYS_INLINE uint32_t sd_joined_lookup(const struct sd_table *t, const struct sd_table_type *type, const void *key,
                                           uint32_t key_bytes)
{
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    uint32_t n_limbs = sd_lpm_limbs(type, key, key_bytes, limbs);
    return sd_lpm_lookup(&t->lpm, limbs, n_limbs);
}

_Static_assert(SD_LPM_NONE == SD_NO_SLOT, "what no prefix has is no slot");

/* The slot, or SD_NO_SLOT. */
SD_ALWAYS_INLINE uint32_t sd_prefix_lookup(const struct sd_table *t, const uint8_t *key,
                                                   uint32_t key_bytes)
{
    for (uint32_t i = 0; i < t->n_prefixes; i++) {
        const struct sd_prefix *prefix = t->prefixes[i];
        uint64_t hash = sd_key_hash(t->secrets, key, prefix->mask, key_bytes);
        struct sd_entry *e = sd_index_find(t, &prefix->index, hash, key, prefix->mask, key_bytes);
        if (e)
            return e->slot;
    }
    return SD_NO_SLOT;
}

/* Marks, counts and meters. The counter is the entry's, where it has one: known before the entry is here. */
SD_ALWAYS_INLINE void sd_entry_hit(struct sd_worker *w, const struct sd_packet *packet, struct sd_table *t,
                                   uint32_t table, const struct sd_table_type *type, struct sd_entry *e,
                                   struct sd_count *count)
{
    if (type->has_idle_timeout) {
        /* All workers write the same here in most cases: a cache line that is only read is not fought over. */
        struct sd_entry_times *times = sd_entry_times(t, e);
        if (__atomic_load_n(&times->last_hit_ns, __ATOMIC_RELAXED) != w->now_ns)
            __atomic_store_n(&times->last_hit_ns, w->now_ns, __ATOMIC_RELAXED);
        if (SD_UNLIKELY(__atomic_load_n(&times->reported_ns, __ATOMIC_RELAXED) != SD_NEVER))
            __atomic_store_n(&times->reported_ns, SD_NEVER, __ATOMIC_RELAXED);
    }
    if (type->has_direct_counter)
        sd_count_add(count, type->direct_counter_unit, 1, packet->length_bytes);
    if (type->has_direct_meter) {
        uint64_t n = type->direct_meter_unit == SD_UNIT_BYTES ? packet->length_bytes : 1;
        w->direct_colours[table] = (uint8_t)(1 + sd_meter_mark(sd_entry_meter(t, e), n, w->now_ns));
    }
}

/* What an entry of a table with a profile says. */
SD_LOCAL struct sd_found sd_entry_target(const struct sd_entry *e, uint64_t selector_hash)
{
    struct sd_found found = {NULL, UINT32_MAX, UINT32_MAX, e->handle, true};
    const struct sd_member *member = NULL;
    if (e->kind == SD_ENTRY_ONE_SHOT) {
        const struct sd_choices *choices = &((const struct sd_one_shot *)e->target)->choices;
        uint32_t i = sd_choose(choices, selector_hash);
        if (i != UINT32_MAX) {
            found.data = choices->weighted[i].data;
            found.action = choices->weighted[i].member_or_action;
        }
    } else if (e->kind == SD_ENTRY_GROUP) {
        const struct sd_group *group = e->target;
        uint32_t i = sd_choose(&group->choices, selector_hash);
        if (i != UINT32_MAX)
            member = group->members[i];
    } else {
        member = e->target;
    }
    if (member) {
        found.data = member->data;
        found.action = member->action;
        found.member = member->name.id;
    }
    return found;
}

/* What the first step of a lookup gives the second one. */
struct sd_lookup_state {
    /* Of exact tables the bucket where the key is at home, then sd_exact_candidate; of direct ones the entry; of LPM a word
       of the root, then the entry or SD_LOOKUP_MISS; NULL where nothing is known yet. */
    uint8_t *at;
    /* Where there are steps between the two; of LPM the first limb of the key. */
    uint64_t hash;
};

#define SD_LOOKUP_MISS ((uint8_t *)(uintptr_t)1)

/* The entry at home whose tag agrees, of several the first one; or NULL. */
SD_ALWAYS_INLINE uint8_t *sd_exact_candidate(struct sd_exact_shape shape, uint8_t *bucket, uint64_t hash)
{
    uint32_t lanes = sd_exact_agree(bucket, (uint16_t)hash);
    if (SD_UNLIKELY(!lanes))
        return NULL;
    /* Lanes are told by two bits each: of the first one the lower. */
    return bucket + SD_EXACT_TAGS_BYTES + (size_t)__builtin_ctz(lanes) * (sd_exact_entry_bytes(shape) / 2);
}

/* How far a table's memory is: in the nearer caches, or not. */
enum sd_lookup_mode { SD_LOOKUP_INLINE, SD_LOOKUP_STAGED };

/* Entries up to this many bytes of each table stay in caches from where they come sooner than a packet can wait. */
#define SD_CACHED_BYTES (UINT64_C(256) << 10)
/* The same of one table of a program with many, whose packets take long enough to hide some of it anyway. */
#define SD_CACHED_BYTES_LARGE (UINT64_C(1) << 20)

/* Whether packets of programs with many tables should wait for this one's memory. */
SD_ALWAYS_INLINE bool sd_table_exceeds_cache(const struct sd_worker *w, uint32_t table)
{
    const struct sd_instance *instance = w->instance;
    const struct sd_table *t = &instance->tables[table];
    if (SD_UNLIKELY(instance->path != SD_PATH_AUTO))
        return instance->path == SD_PATH_BURSTS || (instance->path == SD_PATH_MIXED && table % 2 == 1);
    return __atomic_load_n(&t->n_entries, __ATOMIC_RELAXED) > t->n_entries_cached_max;
}

/*
 * A lookup in two steps, and two more between them where memory is far, so that other packets run while the memory comes.
 * `type` is that of the table and `key_bytes` the size that it says, constants of the program: what the table lacks costs
 * nothing. What is near is not asked for but read.
 */
SD_ALWAYS_INLINE void sd_table_lookup_hash(const struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                   const void *key, uint32_t key_bytes, enum sd_lookup_mode mode,
                                   struct sd_lookup_state *asked)
{
    const struct sd_table *t = &w->instance->tables[table];
    uint32_t engine = type->engine ? type->engine : t->engine;
    if (engine == SD_STRUCTURE_DIRECT) {
        struct sd_entry **at = &t->direct[sd_direct_index(type, key, key_bytes)];
        asked->at = (uint8_t *)__atomic_load_n(at, __ATOMIC_ACQUIRE);
    } else if (engine == SD_STRUCTURE_EXACT) {
        struct sd_exact_shape shape = sd_table_shape(type, key_bytes);
        uint64_t hash = sd_exact_hash(t->exact.secrets, key, key_bytes);
        uint8_t *bucket = sd_exact_home_of(&t->exact, shape, hash);
        if (mode == SD_LOOKUP_INLINE) {
            asked->at = sd_exact_candidate(shape, bucket, hash);
        } else {
            __builtin_prefetch(bucket);
            asked->at = bucket;
            asked->hash = hash;
        }
    } else if (engine == SD_STRUCTURE_LPM && sd_lpm_is_joined(type)) {
        asked->at = NULL;
        if (mode == SD_LOOKUP_INLINE)
            return;
        uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
        sd_lpm_limbs(type, key, key_bytes, limbs);
        asked->at = (uint8_t *)(uintptr_t)sd_lpm_root_word(sd_lpm_root_of(&t->lpm), limbs);
        asked->hash = limbs[0];
        __builtin_prefetch(asked->at);
    }
}

/* Between the two steps, when what the first one asked for from far away has come: asks for what it leads to. */
SD_ALWAYS_INLINE void sd_table_prefetch_entry(const struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                        uint32_t key_bytes, struct sd_lookup_state *asked)
{
    const struct sd_table *t = &w->instance->tables[table];
    uint32_t engine = type->engine ? type->engine : t->engine;
    if (engine == SD_STRUCTURE_EXACT) {
        struct sd_exact_shape shape = sd_table_shape(type, key_bytes);
        uint8_t *bucket = asked->at, *entry = sd_exact_candidate(shape, bucket, asked->hash);
        asked->at = entry;
        if (!entry)
            entry = bucket;
        __builtin_prefetch(entry);
        /* Buckets and tags are multiples of 32 bytes: what divides that is in one line. */
        if (SD_EXACT_TAGS_BYTES % sd_exact_entry_bytes(shape) != 0)
            __builtin_prefetch(entry + sd_exact_entry_bytes(shape) - 1);
    } else if (engine == SD_STRUCTURE_LPM && sd_lpm_is_joined(type)) {
        uint32_t word = __atomic_load_n((const uint32_t *)(const void *)asked->at, __ATOMIC_ACQUIRE);
        if (word & SD_LPM_NODE)
            __builtin_prefetch(sd_lpm_block(sd_lpm_root_of(&t->lpm), word));
    }
}

/* Asks for what a packet that hits an entry touches of it. */
SD_ALWAYS_INLINE void sd_entry_prefetch(const struct sd_worker *w, const struct sd_table *t,
                                        const struct sd_table_type *type, uint32_t slot)
{
    const uint8_t *entry = (const uint8_t *)sd_entry_at(t, slot);
    __builtin_prefetch(entry);
    if (type->data_bytes > 0)
        __builtin_prefetch(entry + sd_data_at(type) + type->data_bytes - 1);
    if (type->has_direct_counter)
        __builtin_prefetch(sd_slot_count(t, slot, w->index), 1);
}

/*
 * A third step, of tables whose entries lie elsewhere than what leads to them: when that has come, asks for the entry and
 * its counter. The key is needed of prefixes of more than one limb; without it (NULL) their answer looks for itself.
 */
SD_ALWAYS_INLINE void sd_table_prefetch_record(const struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                      const void *key, uint32_t key_bytes, struct sd_lookup_state *asked)
{
    const struct sd_table *t = &w->instance->tables[table];
    uint32_t engine = type->engine ? type->engine : t->engine;
    if (engine == SD_STRUCTURE_EXACT && !sd_table_can_be_inline(type) && asked->at) {
        struct sd_exact_value value;
        memcpy(&value, asked->at + sd_exact_value_at(sd_table_shape(type, key_bytes)), sizeof value);
        sd_entry_prefetch(w, t, type, value.slot);
    } else if (engine == SD_STRUCTURE_LPM && sd_lpm_is_joined(type)) {
        uint64_t limbs[SD_LPM_LIMBS_MAX] = {asked->hash};
        uint32_t n_limbs = (sd_lpm_key_bits(type) + 63) / 64;
        asked->at = NULL;
        if (n_limbs > 1) {
            if (!key)
                return;
            limbs[0] = 0;
            sd_lpm_limbs(type, key, key_bytes, limbs);
        }
        uint32_t slot = sd_lpm_lookup(&t->lpm, limbs, n_limbs);
        asked->at = SD_LOOKUP_MISS;
        if (slot == SD_NO_SLOT)
            return;
        asked->at = (uint8_t *)sd_entry_at(t, slot);
        sd_entry_prefetch(w, t, type, slot);
    }
}

SD_ALWAYS_INLINE struct sd_found sd_table_miss(struct sd_worker *w, uint32_t table)
{
    const struct sd_table *t = &w->instance->tables[table];
    w->table_counts[table].n_misses++;
    return (struct sd_found){t->default_data, t->default_action, UINT32_MAX, SD_DEFAULT_ENTRY, false};
}

SD_ALWAYS_INLINE struct sd_found sd_table_hit(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                              const struct sd_table_type *type, struct sd_entry *e,
                                              struct sd_count *count, uint64_t selector_hash)
{
    struct sd_table *t = &w->instance->tables[table];
    sd_entry_hit(w, packet, t, table, type, e, count);
    if (type->profile == UINT32_MAX || SD_LIKELY(e->kind == SD_ENTRY_ACTION))
        return (struct sd_found){(uint8_t *)e + sd_data_at(type), e->what, UINT32_MAX, e->handle, true};
    return sd_entry_target(e, selector_hash);
}

/* Of an entry that its engine leads to itself. */
SD_ALWAYS_INLINE struct sd_found sd_table_hit_entry(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                    const struct sd_table_type *type, struct sd_entry *e,
                                                    uint64_t selector_hash)
{
    const struct sd_table *t = &w->instance->tables[table];
    struct sd_count *count = type->has_direct_counter ? sd_slot_count(t, e->slot, w->index) : NULL;
    return sd_table_hit(w, packet, table, type, e, count, selector_hash);
}

SD_ALWAYS_INLINE struct sd_found sd_table_hit_slot(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                   const struct sd_table_type *type, uint32_t slot,
                                                   uint64_t selector_hash)
{
    const struct sd_table *t = &w->instance->tables[table];
    const struct sd_chunk *chunk = sd_chunk_at(t, slot);
    struct sd_count *count = type->has_direct_counter ? sd_chunk_count(chunk, slot, w->index) : NULL;
    return sd_table_hit(w, packet, table, type, sd_chunk_entry(t, chunk, slot), count, selector_hash);
}

/* Where the candidate is not the entry: all that the engine knows. The value, or NULL. It changes nothing, so that callers
   need not read once more what they know. */
static SD_UNUSED __attribute__((noinline, pure)) const uint8_t *sd_exact_look(const struct sd_exact *exact,
                                                                              uint32_t key_bytes,
                                                                              uint32_t value_bytes,
                                                                              const uint8_t *key)
{
    struct sd_exact_shape shape = {key_bytes, value_bytes, false};
    uint64_t hash = sd_exact_hash(exact->secrets, key, key_bytes);
    return sd_exact_find_from(exact, shape, key, hash, sd_exact_home_of(exact, shape, hash));
}

SD_ALWAYS_INLINE struct sd_found sd_exact_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                 const struct sd_table_type *type, const void *key,
                                                 uint32_t key_bytes, const struct sd_lookup_state *asked,
                                                 uint64_t selector_hash)
{
    struct sd_table *t = &w->instance->tables[table];
    struct sd_exact_shape shape = sd_table_shape(type, key_bytes);
    const uint8_t *at;
    if (SD_LIKELY(asked->at && sd_key_equal(key, asked->at, NULL, key_bytes))) {
        at = asked->at + sd_exact_value_at(shape);
    } else {
        if (__atomic_load_n(&t->exact.n_entries, __ATOMIC_RELAXED) == 0)
            return sd_table_miss(w, table);
        /* A copy, so that the key itself can stay in registers. */
        uint8_t copy[SD_KEY_BYTES_MAX];
        const uint8_t *here = key;
        copy[0] = 0;
        if (key_bytes <= sizeof copy)
            here = memcpy(copy, key, key_bytes);
        at = sd_exact_look(&t->exact, key_bytes, shape.value_bytes, here);
        if (!at)
            return sd_table_miss(w, table);
    }
    if (!sd_table_can_be_inline(type)) {
        struct sd_exact_value value;
        memcpy(&value, at, sizeof value);
        return sd_table_hit_slot(w, packet, table, type, value.slot, selector_hash);
    }
    struct sd_inline_value value;
    memcpy(&value, at, sizeof value);
    struct sd_found found = {at + sizeof value, sd_inline_action(value.word), UINT32_MAX, 0, true};
#ifdef SD_WANTS_HANDLES
    found.handle = value.word >> SD_INLINE_HANDLE_SHIFT;
#endif
    return found;
}

/* `asked` from sd_table_lookup_hash, with the same key. Whoever calls counts the lookup. */
SD_ALWAYS_INLINE struct sd_found sd_table_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                 const struct sd_table_type *type, const void *key,
                                                 uint32_t key_bytes, const struct sd_lookup_state *asked,
                                                 uint64_t selector_hash)
{
    struct sd_table *t = &w->instance->tables[table];
    uint32_t engine = type->engine ? type->engine : t->engine;
    if (engine == SD_STRUCTURE_EXACT)
        return sd_exact_lookup_finish(w, packet, table, type, key, key_bytes, asked, selector_hash);
    if (engine == SD_STRUCTURE_DIRECT) {
        struct sd_entry *e = (struct sd_entry *)(void *)asked->at;
        return e ? sd_table_hit_entry(w, packet, table, type, e, selector_hash) : sd_table_miss(w, table);
    }
    if (engine == SD_STRUCTURE_LPM && sd_lpm_is_joined(type) && asked->at) {
        if (asked->at == SD_LOOKUP_MISS)
            return sd_table_miss(w, table);
        struct sd_entry *e = (struct sd_entry *)(void *)asked->at;
        return sd_table_hit_entry(w, packet, table, type, e, selector_hash);
    }
    uint32_t slot = SD_NO_SLOT;
    if (engine == SD_STRUCTURE_TERNARY)
        slot = sd_ternary_lookup(&t->ternary, key, key_bytes);
    else if (engine == SD_STRUCTURE_LPM && sd_lpm_is_joined(type))
        slot = sd_joined_lookup(t, type, key, key_bytes);
    else if (engine == SD_STRUCTURE_LPM)
        slot = sd_prefix_lookup(t, key, key_bytes);
    if (slot == SD_NO_SLOT)
        return sd_table_miss(w, table);
    return sd_table_hit_slot(w, packet, table, type, slot, selector_hash);
}

/* Whoever calls counts the lookup. */
SD_ALWAYS_INLINE struct sd_found sd_table_look(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                               const struct sd_table_type *type, const void *key, uint32_t key_bytes,
                                               uint64_t selector_hash)
{
    struct sd_lookup_state asked = {NULL, 0};
    sd_table_lookup_hash(w, table, type, key, key_bytes, SD_LOOKUP_INLINE, &asked);
    return sd_table_lookup_finish(w, packet, table, type, key, key_bytes, &asked, selector_hash);
}

SD_ALWAYS_INLINE struct sd_found sd_table_lookup(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                 const struct sd_table_type *type, const void *key,
                                                 uint32_t key_bytes, uint64_t selector_hash)
{
    w->table_counts[table].n_lookups++;
    return sd_table_look(w, packet, table, type, key, key_bytes, selector_hash);
}

/* Of the packet under way: green where no entry was hit. */
SD_INLINE uint32_t sd_direct_meter_colour(const struct sd_worker *w, uint32_t table)
{
    return w->direct_colours[table] ? w->direct_colours[table] - 1u : SD_GREEN;
}

/* Where a packet begins a block. */
SD_INLINE void sd_direct_colours_reset(struct sd_worker *w)
{
    memset(w->direct_colours, 0, w->instance->pipeline->n_tables);
}

#endif
