/*
 * Meters, colour-blind and colour-aware: two rates and three colours (RFC 2698), one rate and three colours (RFC 2697), one
 * rate and two colours; arrays of them, and the cells of direct meters.
 *
 * A cell is locked while a worker updates it. Cells that no packet has updated since all were written have the common
 * rates. The packets of each colour are counted in cells of each worker, without synchronisation; a read adds them up.
 */
#ifndef SD_METER_H
#define SD_METER_H

#include "object/sd_counter.h"

#if defined(__x86_64__) || defined(__i386__)
#define SD_PAUSE() __builtin_ia32_pause()
#else
#define SD_PAUSE() ((void)0)
#endif

enum sd_colour { SD_GREEN, SD_YELLOW, SD_RED, SD_N_COLOURS };

_Static_assert(sizeof(struct sd_colour_counts) == SD_N_COLOURS * sizeof(struct sd_count), "a count for each colour");

/* A token is a billionth of the unit, so rates per second times nanoseconds are tokens. */
#define SD_TOKEN_SCALE UINT64_C(1000000000)

struct sd_meter {
    sd_u128 committed_tokens;
    /* The second bucket. */
    union {
        /* Two rates. */
        sd_u128 peak_tokens;
        /* One rate, three colours. */
        sd_u128 excess_tokens;
    };
    struct sd_meter_rates rates;
    uint64_t filled_ns;
    uint32_t lock;
    /* In arrays: this cell does not have the common rates. */
    uint32_t is_own;
};

/* Sets the rates; both buckets begin full. The caller holds the lock, or no worker has the meter. */
SD_INLINE void sd_meter_set(struct sd_meter *meter, const struct sd_meter_rates *rates, uint64_t now_ns)
{
    static const struct sd_meter_rates none;
    const struct sd_meter_rates *wanted = rates->is_set ? rates : &none;
    meter->rates.committed_rate = wanted->committed_rate;
    meter->rates.committed_burst = wanted->committed_burst;
    meter->rates.peak_rate = wanted->peak_rate;
    meter->rates.peak_burst = wanted->peak_burst;
    meter->rates.excess_burst = wanted->excess_burst;
    meter->rates.meter_type = wanted->meter_type;
    /* Workers look at it before they lock. */
    __atomic_store_n(&meter->rates.is_set, wanted->is_set, __ATOMIC_RELAXED);
    meter->committed_tokens = (sd_u128)meter->rates.committed_burst * SD_TOKEN_SCALE;
    if (meter->rates.meter_type == SD_METER_TWO_RATE_THREE_COLOUR)
        meter->peak_tokens = (sd_u128)meter->rates.peak_burst * SD_TOKEN_SCALE;
    else
        meter->excess_tokens = (sd_u128)meter->rates.excess_burst * SD_TOKEN_SCALE;
    meter->filled_ns = now_ns;
    meter->is_own = 1;
}

SD_INLINE sd_u128 sd_tokens_fill(sd_u128 tokens, sd_u128 new_tokens, uint64_t burst)
{
    sd_u128 filled = tokens + new_tokens;
    sd_u128 full = (sd_u128)burst * SD_TOKEN_SCALE;
    return filled < tokens || filled > full ? full : filled;
}

/*
 * RFC 2697, and one rate with two colours: tokens that the committed bucket has no room for go to the excess bucket, and a
 * packet takes from one of them.
 */
SD_LOCAL uint32_t sd_meter_mark_single_rate(struct sd_meter *meter, uint32_t before, uint64_t n, uint64_t elapsed_ns)
{
    const struct sd_meter_rates *rates = &meter->rates;
    sd_u128 cost = (sd_u128)n * SD_TOKEN_SCALE;
    sd_u128 new_tokens = (sd_u128)elapsed_ns * rates->committed_rate;
    sd_u128 room = (sd_u128)rates->committed_burst * SD_TOKEN_SCALE - meter->committed_tokens;
    if (new_tokens > room) {
        meter->committed_tokens += room;
        meter->excess_tokens = sd_tokens_fill(meter->excess_tokens, new_tokens - room, rates->excess_burst);
    } else {
        meter->committed_tokens += new_tokens;
    }
    if (before == SD_GREEN && meter->committed_tokens >= cost) {
        meter->committed_tokens -= cost;
        return SD_GREEN;
    }
    if (before == SD_RED || rates->meter_type == SD_METER_SINGLE_RATE_TWO_COLOUR || meter->excess_tokens < cost)
        return SD_RED;
    meter->excess_tokens -= cost;
    return SD_YELLOW;
}

/* Meters `n` units of a packet of the colour `before`, which is green in colour-blind mode, and returns its new colour. The
   caller holds the lock. */
SD_INLINE uint32_t sd_meter_mark_locked(struct sd_meter *meter, uint32_t before, uint64_t n, uint64_t now_ns)
{
    const struct sd_meter_rates *rates = &meter->rates;
    if (!__atomic_load_n(&rates->is_set, __ATOMIC_RELAXED))
        return SD_GREEN;
    /* A clock that runs backwards adds no tokens. */
    uint64_t elapsed_ns = 0;
    if (now_ns > meter->filled_ns) {
        elapsed_ns = now_ns - meter->filled_ns;
        meter->filled_ns = now_ns;
    }
    if (SD_UNLIKELY(rates->meter_type != SD_METER_TWO_RATE_THREE_COLOUR))
        return sd_meter_mark_single_rate(meter, before, n, elapsed_ns);
    /* RFC 2698: a packet takes peak tokens, and committed ones if it is green. */
    meter->committed_tokens = sd_tokens_fill(meter->committed_tokens, (sd_u128)elapsed_ns * rates->committed_rate,
                                             rates->committed_burst);
    meter->peak_tokens = sd_tokens_fill(meter->peak_tokens, (sd_u128)elapsed_ns * rates->peak_rate, rates->peak_burst);
    sd_u128 cost = (sd_u128)n * SD_TOKEN_SCALE;
    if (before == SD_RED || meter->peak_tokens < cost)
        return SD_RED;
    meter->peak_tokens -= cost;
    if (before == SD_YELLOW || meter->committed_tokens < cost)
        return SD_YELLOW;
    meter->committed_tokens -= cost;
    return SD_GREEN;
}

SD_INLINE void sd_meter_lock(struct sd_meter *meter)
{
    while (__atomic_exchange_n(&meter->lock, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&meter->lock, __ATOMIC_RELAXED))
            SD_PAUSE();
}

SD_INLINE void sd_meter_unlock(struct sd_meter *meter)
{
    __atomic_store_n(&meter->lock, 0, __ATOMIC_RELEASE);
}

/* Meters `n` units (packets or bytes) and returns the colour. */
SD_INLINE uint32_t sd_meter_mark(struct sd_meter *meter, uint32_t before, uint64_t n, uint64_t now_ns)
{
    if (!__atomic_load_n(&meter->rates.is_set, __ATOMIC_RELAXED))
        return SD_GREEN;
    sd_meter_lock(meter);
    uint32_t colour = sd_meter_mark_locked(meter, before, n, now_ns);
    sd_meter_unlock(meter);
    return colour;
}

/* Sets the rates of a meter that workers may be using. */
SD_LOCAL void sd_meter_change(struct sd_meter *meter, const struct sd_meter_rates *rates, uint64_t now_ns)
{
    sd_meter_lock(meter);
    sd_meter_set(meter, rates, now_ns);
    sd_meter_unlock(meter);
}

/* Copies rates and tokens of a meter that workers may be using to one that none has. */
SD_LOCAL void sd_meter_copy(struct sd_meter *to, struct sd_meter *from)
{
    sd_meter_lock(from);
    to->committed_tokens = from->committed_tokens;
    to->peak_tokens = from->peak_tokens;
    to->rates = from->rates;
    to->filled_ns = from->filled_ns;
    to->is_own = from->is_own;
    sd_meter_unlock(from);
}

/* Counts a packet of this colour. */
SD_INLINE void sd_colours_add(struct sd_colour_counts *colours, uint32_t colour, uint64_t n_bytes)
{
    sd_cell_add(&colours->counts[colour].n_packets, 1);
    sd_cell_add(&colours->counts[colour].n_bytes, n_bytes);
}

SD_INLINE struct sd_colour_counts *sd_meter_colours(const struct sd_meter_array *meters, uint32_t worker, uint64_t index)
{
    return (struct sd_colour_counts *)(void *)(meters->colours.bytes + worker * meters->worker_bytes) + index;
}

SD_INLINE bool sd_meter_execute(struct sd_worker *w, uint64_t n_bytes, uint32_t object, uint64_t index,
                                uint64_t before, uint32_t *colour)
{
    const struct sd_object *o = &w->instance->objects[object];
    *colour = SD_GREEN;
    if (SD_UNLIKELY(index >= o->type->size))
        return false;
    struct sd_meter *meter = (struct sd_meter *)o->meters.memory.bytes + index;
    uint64_t n = o->type->unit == SD_UNIT_BYTES ? n_bytes : 1;
    if (!o->meters.common.is_set) {
        *colour = sd_meter_mark(meter, (uint32_t)before, n, w->now_ns);
    } else {
        sd_meter_lock(meter);
        if (!meter->is_own)
            sd_meter_set(meter, &o->meters.common, o->meters.common_since_ns);
        *colour = sd_meter_mark_locked(meter, (uint32_t)before, n, w->now_ns);
        sd_meter_unlock(meter);
    }
    sd_colours_add(sd_meter_colours(&o->meters, w->index, index), *colour, n_bytes);
    return true;
}

/* False: there cannot be so many cells, or memory is short. */
SD_LOCAL bool sd_meters_init(struct sd_object *o, uint32_t n_workers)
{
    size_t colours_bytes;
    if (__builtin_mul_overflow(o->type->size, sizeof(struct sd_colour_counts), &colours_bytes) ||
        colours_bytes > PTRDIFF_MAX)
        return false;
    o->meters.worker_bytes = sd_round_up(colours_bytes, SD_LINE_BYTES);
    return sd_lazy_init(&o->meters.memory, o->type->size, sizeof(struct sd_meter)) &&
           sd_lazy_init(&o->meters.colours, n_workers, o->meters.worker_bytes);
}

SD_LOCAL void sd_meters_free(struct sd_object *o)
{
    sd_lazy_free(&o->meters.memory);
    sd_lazy_free(&o->meters.colours);
}

/* --- For the control plane --- */

SD_LOCAL void sd_colours_sum(struct sd_colour_counts *sum, const struct sd_colour_counts *colours)
{
    for (uint32_t i = 0; i < SD_N_COLOURS; i++)
        sd_count_sum(&sum->counts[i], &colours->counts[i]);
}

SD_LOCAL uint32_t sd_meter_get_rates(struct sd_instance *instance, uint32_t object, uint64_t index,
                                             struct sd_meter_rates *rates)
{
    const struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_METER);
    if (!o)
        return SD_NOT_FOUND;
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    const struct sd_meter *meter = (const struct sd_meter *)o->meters.memory.bytes + index;
    *rates = meter->is_own ? meter->rates : o->meters.common;
    return SD_OK;
}

SD_LOCAL uint32_t sd_meter_set_rates(struct sd_instance *instance, uint32_t object, uint64_t index,
                                             const struct sd_meter_rates *rates, uint64_t now_ns)
{
    struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_METER);
    if (!o)
        return SD_NOT_FOUND;
    if (index == SD_ALL_CELLS) {
        if (!sd_lazy_clear(&o->meters.memory))
            return SD_NO_MEMORY;
        o->meters.common = (struct sd_meter_rates){0};
        if (rates->is_set)
            o->meters.common = *rates;
        o->meters.common_since_ns = now_ns;
        return SD_OK;
    }
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    sd_meter_set((struct sd_meter *)o->meters.memory.bytes + index, rates, now_ns);
    return SD_OK;
}

SD_LOCAL uint32_t sd_meter_get_colours(struct sd_instance *instance, uint32_t object, uint64_t index,
                                       struct sd_colour_counts *colours)
{
    const struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_METER);
    if (!o)
        return SD_NOT_FOUND;
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    *colours = o->meters.common_colours;
    for (uint32_t i = 0; i < instance->n_workers; i++)
        sd_colours_sum(colours, sd_meter_colours(&o->meters, i, index));
    return SD_OK;
}

SD_LOCAL uint32_t sd_meter_set_colours(struct sd_instance *instance, uint32_t object, uint64_t index,
                                       const struct sd_colour_counts *colours)
{
    struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_METER);
    if (!o)
        return SD_NOT_FOUND;
    if (index == SD_ALL_CELLS) {
        if (!sd_lazy_clear(&o->meters.colours))
            return SD_NO_MEMORY;
        o->meters.common_colours = *colours;
        return SD_OK;
    }
    struct sd_colour_counts now;
    uint32_t status = sd_meter_get_colours(instance, object, index, &now);
    if (status != SD_OK)
        return status;
    struct sd_colour_counts *cell = sd_meter_colours(&o->meters, 0, index);
    for (uint32_t i = 0; i < SD_N_COLOURS; i++)
        sd_count_correct(&cell->counts[i], colours->counts[i], now.counts[i]);
    return SD_OK;
}

#endif
