/*
 * When what a writer has taken out can be used again: after every reader has passed a boundary.
 *
 * Owns: struct sd_epochs, which readers and the writer share, and struct sd_limbo, which is the writer's.
 *
 * Quiescent-state-based reclamation (McKenney, Slingwine 1998). Readers are workers, at most `n_readers` of them,
 * each with an index. What a reader found is good until it passes its next boundary, that between two bursts. One
 * writer at a time takes things out where readers look for them, and retires them; they are freed when all readers
 * have passed a boundary since.
 *
 * Invariants: `now` only grows, and only the writer changes it. What is retired while it is `e` is stamped e + 1. A
 * reader that saw e + 1 at a boundary cannot reach what was taken out before. Readers begin idle.
 *
 * Non-goal: several writers. Who writes holds a lock, or is alone.
 */
#ifndef SD_EPOCH_H
#define SD_EPOCH_H

#include "worker/sd_store.h"

/* A reader that reads nothing. */
#define SD_EPOCH_IDLE UINT64_MAX

struct sd_reader_epoch {
    uint64_t seen;
} __attribute__((aligned(SD_LINE_BYTES)));

struct sd_epochs {
    uint64_t now;
    uint32_t n_readers;
    /* The control plane while it reads entries that workers may remove; idle at other times. */
    struct sd_reader_epoch control;
    /* A cache line each. */
    struct sd_reader_epoch *readers;
};

/* Readers begin idle; false when memory is short. */
SD_LOCAL bool sd_epochs_init(struct sd_epochs *epochs, uint32_t n_readers)
{
    epochs->now = 1;
    epochs->n_readers = 0;
    epochs->control.seen = SD_EPOCH_IDLE;
    epochs->readers = sd_alloc_lines(n_readers, sizeof *epochs->readers);
    if (!epochs->readers)
        return false;
    epochs->n_readers = n_readers;
    for (uint32_t i = 0; i < n_readers; i++)
        epochs->readers[i].seen = SD_EPOCH_IDLE;
    return true;
}

SD_LOCAL void sd_epochs_free(struct sd_epochs *epochs)
{
    free(epochs->readers);
    epochs->readers = NULL;
    epochs->n_readers = 0;
}

/* --- Readers --- */

/*
 * A boundary: what the reader found before is no longer used. The first one ends idleness.
 *
 * A reader that was not idle needs no barrier: while the writer sees its older epoch it frees nothing that this
 * reader may have. An idle one does: the exchange and the load are in the one order of all sequentially consistent
 * operations, as are the writer's increment and load in sd_epoch_safe. If the writer still took it for idle, its
 * increment came first, and the load here sees it and all that was taken out before.
 */
SD_INLINE void sd_epoch_quiesce(struct sd_epochs *epochs, uint32_t reader)
{
    uint64_t *seen = &epochs->readers[reader].seen;
    uint64_t now = __atomic_load_n(&epochs->now, __ATOMIC_ACQUIRE);
    if (SD_LIKELY(__atomic_load_n(seen, __ATOMIC_RELAXED) != SD_EPOCH_IDLE)) {
        __atomic_store_n(seen, now, __ATOMIC_RELEASE);
        return;
    }
    __atomic_exchange_n(seen, now, __ATOMIC_SEQ_CST);
    (void)__atomic_load_n(&epochs->now, __ATOMIC_SEQ_CST);
}

/* Until it passes a boundary the reader holds nothing and reads nothing. */
SD_INLINE void sd_epoch_idle(struct sd_epochs *epochs, uint32_t reader)
{
    __atomic_store_n(&epochs->readers[reader].seen, SD_EPOCH_IDLE, __ATOMIC_RELEASE);
}

/* The control plane begins to read what workers may take out, until sd_epoch_end_control. */
SD_INLINE void sd_epoch_begin_control(struct sd_epochs *epochs)
{
    uint64_t now = __atomic_load_n(&epochs->now, __ATOMIC_ACQUIRE);
    __atomic_exchange_n(&epochs->control.seen, now, __ATOMIC_SEQ_CST);
    (void)__atomic_load_n(&epochs->now, __ATOMIC_SEQ_CST);
}

SD_INLINE void sd_epoch_end_control(struct sd_epochs *epochs)
{
    __atomic_store_n(&epochs->control.seen, SD_EPOCH_IDLE, __ATOMIC_RELEASE);
}

/* --- The writer --- */

/* The stamp of what is taken out now: it is safe when sd_epoch_safe gives this or more. */
SD_INLINE uint64_t sd_epoch_stamp(const struct sd_epochs *epochs)
{
    return __atomic_load_n(&epochs->now, __ATOMIC_RELAXED) + 1;
}

/* Begins a new epoch, and gives the one that all readers have reached. */
SD_LOCAL uint64_t sd_epoch_safe(struct sd_epochs *epochs)
{
    uint64_t safe = __atomic_add_fetch(&epochs->now, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < epochs->n_readers; i++) {
        uint64_t seen = __atomic_load_n(&epochs->readers[i].seen, __ATOMIC_SEQ_CST);
        if (seen < safe)
            safe = seen;
    }
    return safe;
}

typedef void sd_free_function(void *pointer, void *context);

struct sd_retired {
    void *pointer;
    void *context;
    sd_free_function *free_function;
    uint64_t stamp;
};

/* A ring of memory to free after a grace period, sorted by stamp. */
struct sd_limbo {
    struct sd_retired *retired;
    uint64_t first, n, capacity;
};

/* Makes room for `n` more, so that sd_retire cannot fail; false when memory is short. */
SD_LOCAL bool sd_limbo_reserve(struct sd_limbo *limbo, uint64_t n)
{
    if (limbo->capacity - limbo->n >= n)
        return true;
    uint64_t capacity = limbo->capacity ? limbo->capacity : 8;
    while (capacity - limbo->n < n)
        if (__builtin_mul_overflow(capacity, 2, &capacity))
            return false;
    struct sd_retired *retired = calloc(capacity, sizeof *retired);
    if (!retired)
        return false;
    for (uint64_t i = 0; i < limbo->n; i++)
        retired[i] = limbo->retired[(limbo->first + i) & (limbo->capacity - 1)];
    free(limbo->retired);
    limbo->retired = retired;
    limbo->first = 0;
    limbo->capacity = capacity;
    return true;
}

/*
 * Frees by `free_function(pointer, context)` what no reader can find any more, once no reader has it. False, and
 * nothing happens, when there was no room and memory is short.
 */
SD_LOCAL bool sd_retire(struct sd_limbo *limbo, const struct sd_epochs *epochs, void *pointer,
                                sd_free_function *free_function, void *context)
{
    if (!sd_limbo_reserve(limbo, 1))
        return false;
    uint64_t at = (limbo->first + limbo->n++) & (limbo->capacity - 1);
    limbo->retired[at] = (struct sd_retired){pointer, context, free_function, sd_epoch_stamp(epochs)};
    return true;
}

/* Frees what has a stamp of at most `safe`: see sd_epoch_safe. */
SD_LOCAL void sd_collect_until(struct sd_limbo *limbo, uint64_t safe)
{
    while (limbo->n > 0 && limbo->retired[limbo->first].stamp <= safe) {
        struct sd_retired retired = limbo->retired[limbo->first];
        limbo->first = (limbo->first + 1) & (limbo->capacity - 1);
        limbo->n--;
        retired.free_function(retired.pointer, retired.context);
    }
}

/* Frees what no reader has any more. */
SD_LOCAL void sd_collect(struct sd_limbo *limbo, struct sd_epochs *epochs)
{
    if (limbo->n > 0)
        sd_collect_until(limbo, sd_epoch_safe(epochs));
}

/* Frees everything: there are no readers any more. */
SD_LOCAL void sd_limbo_free(struct sd_limbo *limbo)
{
    sd_collect_until(limbo, UINT64_MAX);
    free(limbo->retired);
    *limbo = (struct sd_limbo){NULL, 0, 0, 0};
}

#endif
