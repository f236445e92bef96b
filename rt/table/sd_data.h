/*
 * Data of entries that actions change (`@__ref` in P4).
 *
 * Owns: how two workers and the control plane keep out of each other's way. The compiler decides for each action
 * (crates/elaborate, updates.rs): operations that change one value in one step, a sequence count that is odd while an action
 * has an entry for itself, or a shard for each worker (sd_shard.h). Counts are few, and shared by entries: a writer may wait for
 * another entry's, a reader may read twice.
 */
#ifndef SD_DATA_H
#define SD_DATA_H

#include <time.h>

#include "table/sd_entry.h"

/* How often a reader looks again before it sleeps a little, and how often it does that before it takes what it sees: the worker
   may hang. */
#define SD_DATA_N_LOOKS 100u
#define SD_DATA_N_SLEEPS 10000u

/* The worker's cells of the entry whose action runs, and its meter. NULL where there are none. */
struct sd_direct {
    struct sd_count *count;
    struct sd_meter *meter;
    struct sd_colour_counts *colours;
    /* In tables whose actions change data: the data that the running action writes, which are those of its entry or the worker's
       part of them (sd_shard.h), and the count that is odd meanwhile. */
    uint8_t *data;
    uint32_t *sequence;
};

SD_ALWAYS_INLINE uint32_t *sd_data_sequence(uint32_t *sequences, const uint8_t *data)
{
    return &sequences[((uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SD_DATA_SEQUENCE_BITS)];
}

/* Orders the stores before and after it, and the loads. ThreadSanitizer does not know fences. */
SD_ALWAYS_INLINE void sd_data_fence(int order)
{
#ifndef SD_EXACT_ATOMIC_TAGS
    __atomic_thread_fence(order);
#else
    (void)order;
#endif
}

/* --- Workers --- */

/*
 * An action that changes the data of its entry begins. It has the entry for itself until sd_data_end_update: no other worker runs
 * such an action, and the control plane reads the data again (sd_data_copy). One worker alone waits for nobody.
 */
SD_ALWAYS_INLINE void sd_data_begin_update(struct sd_worker *w, uint32_t table, const uint8_t *data)
{
    uint32_t *sequence = sd_data_sequence(w->instance->data_sequences, data);
    w->direct[table].data = (uint8_t *)(uintptr_t)data;
    w->direct[table].sequence = sequence;
    uint32_t n = __atomic_load_n(sequence, __ATOMIC_RELAXED);
    if (w->instance->n_workers == 1) {
        __atomic_store_n(sequence, n + 1, __ATOMIC_RELAXED);
    } else {
        while (SD_UNLIKELY((n & 1) || !__atomic_compare_exchange_n(sequence, &n, n + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) {
            sd_relax();
            n = __atomic_load_n(sequence, __ATOMIC_RELAXED);
        }
    }
    sd_data_fence(__ATOMIC_RELEASE);
}

SD_ALWAYS_INLINE void sd_data_end_update(struct sd_worker *w, uint32_t table)
{
    uint32_t *sequence = w->direct[table].sequence;
    __atomic_store_n(sequence, __atomic_load_n(sequence, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

/* The action changes the data of its entry by single operations, or no other worker has packets of the entry. */
SD_ALWAYS_INLINE void sd_data_offer(struct sd_worker *w, uint32_t table, const uint8_t *data)
{
    w->direct[table].data = (uint8_t *)(uintptr_t)data;
}

/* Operations that change a value in an entry. */
enum sd_data_update { SD_DATA_SET, SD_DATA_ADD, SD_DATA_AND, SD_DATA_OR, SD_DATA_XOR };

/* Changes a value in one step, and returns the new one. One worker alone needs no locked instruction. */
#define SD_DEFINE_DATA_UPDATE(bits)                                                                                    \
    SD_ALWAYS_INLINE uint##bits##_t sd_data_update_##bits(const struct sd_worker *w, uint##bits##_t *at,               \
                                                          enum sd_data_update update, uint##bits##_t operand)          \
    {                                                                                                                  \
        bool is_alone = w->instance->n_workers == 1;                                                                   \
        uint##bits##_t value = operand;                                                                                \
        switch (update) {                                                                                              \
        case SD_DATA_SET: break;                                                                                       \
        case SD_DATA_ADD:                                                                                              \
            if (!is_alone)                                                                                             \
                return __atomic_add_fetch(at, operand, __ATOMIC_RELAXED);                                              \
            value = (uint##bits##_t)(*at + operand);                                                                   \
            break;                                                                                                     \
        case SD_DATA_AND:                                                                                              \
            if (!is_alone)                                                                                             \
                return __atomic_and_fetch(at, operand, __ATOMIC_RELAXED);                                              \
            value = (uint##bits##_t)(*at & operand);                                                                   \
            break;                                                                                                     \
        case SD_DATA_OR:                                                                                               \
            if (!is_alone)                                                                                             \
                return __atomic_or_fetch(at, operand, __ATOMIC_RELAXED);                                               \
            value = (uint##bits##_t)(*at | operand);                                                                   \
            break;                                                                                                     \
        case SD_DATA_XOR:                                                                                              \
            if (!is_alone)                                                                                             \
                return __atomic_xor_fetch(at, operand, __ATOMIC_RELAXED);                                              \
            value = (uint##bits##_t)(*at ^ operand);                                                                   \
            break;                                                                                                     \
        }                                                                                                              \
        __atomic_store_n(at, value, __ATOMIC_RELAXED);                                                                 \
        return value;                                                                                                  \
    }

SD_DEFINE_DATA_UPDATE(8)
SD_DEFINE_DATA_UPDATE(16)
SD_DEFINE_DATA_UPDATE(32)
SD_DEFINE_DATA_UPDATE(64)

/* --- The control plane --- */

/* Copies memory by aligned words, the largest first: values that are changed in one step are not seen half. */
SD_LOCAL void sd_data_copy_words(uint8_t *to, const uint8_t *from, uint32_t n_bytes)
{
    uint32_t i = 0;
    for (; i + 8 <= n_bytes; i += 8)
        *(uint64_t *)(void *)(to + i) = __atomic_load_n((const uint64_t *)(const void *)(from + i), __ATOMIC_RELAXED);
    if (i + 4 <= n_bytes) {
        *(uint32_t *)(void *)(to + i) = __atomic_load_n((const uint32_t *)(const void *)(from + i), __ATOMIC_RELAXED);
        i += 4;
    }
    if (i + 2 <= n_bytes) {
        *(uint16_t *)(void *)(to + i) = __atomic_load_n((const uint16_t *)(const void *)(from + i), __ATOMIC_RELAXED);
        i += 2;
    }
    if (i < n_bytes)
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

/* Copies what is changed while the count is odd (NULL: nothing changes it): all of a change, or nothing of it. Both are aligned
   to 8 bytes. */
SD_LOCAL void sd_data_copy_guarded(const uint32_t *sequence, uint8_t *to, const uint8_t *from, uint32_t n_bytes)
{
    for (uint32_t n = 0;; n++) {
        uint32_t before = sequence ? __atomic_load_n(sequence, __ATOMIC_ACQUIRE) : 0;
        sd_data_copy_words(to, from, n_bytes);
        sd_data_fence(__ATOMIC_ACQUIRE);
        uint32_t after = sequence ? __atomic_load_n(sequence, __ATOMIC_RELAXED) : 0;
        if ((before == after && !(before & 1)) || n == SD_DATA_N_LOOKS + SD_DATA_N_SLEEPS)
            return;
        if (n < SD_DATA_N_LOOKS) {
            sd_relax();
            continue;
        }
        const struct timespec pause = {.tv_nsec = 100000};
        nanosleep(&pause, NULL);
    }
}

/* Copies the data of an entry, without the shards. */
SD_LOCAL void sd_data_copy(const struct sd_table *t, uint8_t *to, const uint8_t *from, uint32_t n_bytes)
{
    sd_data_copy_guarded(t->data_sequences ? sd_data_sequence(t->data_sequences, from) : NULL, to, from, n_bytes);
}

#endif
