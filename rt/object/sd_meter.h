/*
 * Meters: two rates, three colours, colour-blind and colour-aware (RFC 2698); arrays of them, and the cells of direct meters.
 *
 * A cell is locked while a worker updates it. Cells that no packet has updated since all were written have the common
 * rates.
 */
#ifndef SD_METER_H
#define SD_METER_H

#include "object/sd_object.h"

#if defined(__x86_64__) || defined(__i386__)
#define SD_PAUSE() __builtin_ia32_pause()
#else
#define SD_PAUSE() ((void)0)
#endif

enum sd_colour { SD_GREEN, SD_YELLOW, SD_RED };

/* A token is a billionth of the unit, so rates per second times nanoseconds are tokens. */
#define SD_TOKEN_SCALE UINT64_C(1000000000)

struct sd_meter {
    sd_u128 committed_tokens;
    sd_u128 peak_tokens;
    struct sd_meter_rates rates;
    uint64_t filled_ns;
    uint32_t lock;
    /* In arrays: this cell does not have the common rates. */
    uint32_t is_own;
};

/* Sets the rates; both buckets begin full. */
SD_INLINE void sd_meter_set(struct sd_meter *meter, const struct sd_meter_rates *rates, uint64_t now_ns)
{
    meter->rates = (struct sd_meter_rates){0};
    if (rates->is_set)
        meter->rates = *rates;
    meter->committed_tokens = (sd_u128)meter->rates.committed_burst * SD_TOKEN_SCALE;
    meter->peak_tokens = (sd_u128)meter->rates.peak_burst * SD_TOKEN_SCALE;
    meter->filled_ns = now_ns;
    meter->is_own = 1;
}

SD_INLINE sd_u128 sd_tokens_fill(sd_u128 tokens, uint64_t elapsed_ns, uint64_t rate, uint64_t burst)
{
    sd_u128 filled = tokens + (sd_u128)elapsed_ns * rate;
    sd_u128 full = (sd_u128)burst * SD_TOKEN_SCALE;
    return filled < tokens || filled > full ? full : filled;
}

/* Meters `n` units of a packet of the colour `before`, which is green in colour-blind mode, and returns its new colour. The
   caller holds the lock. */
SD_INLINE uint32_t sd_meter_mark_locked(struct sd_meter *meter, uint32_t before, uint64_t n, uint64_t now_ns)
{
    const struct sd_meter_rates *rates = &meter->rates;
    if (!rates->is_set)
        return SD_GREEN;
    /* A clock that runs backwards adds no tokens. */
    uint64_t elapsed_ns = 0;
    if (now_ns > meter->filled_ns) {
        elapsed_ns = now_ns - meter->filled_ns;
        meter->filled_ns = now_ns;
    }
    meter->committed_tokens = sd_tokens_fill(meter->committed_tokens, elapsed_ns, rates->committed_rate,
                                             rates->committed_burst);
    meter->peak_tokens = sd_tokens_fill(meter->peak_tokens, elapsed_ns, rates->peak_rate, rates->peak_burst);
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
    /* The control plane writes rates only while no worker runs. */
    if (!meter->rates.is_set)
        return SD_GREEN;
    sd_meter_lock(meter);
    uint32_t colour = sd_meter_mark_locked(meter, before, n, now_ns);
    sd_meter_unlock(meter);
    return colour;
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
        return true;
    }
    sd_meter_lock(meter);
    if (!meter->is_own)
        sd_meter_set(meter, &o->meters.common, o->meters.common_since_ns);
    *colour = sd_meter_mark_locked(meter, (uint32_t)before, n, w->now_ns);
    sd_meter_unlock(meter);
    return true;
}

SD_LOCAL bool sd_meters_init(struct sd_object *o)
{
    return sd_lazy_init(&o->meters.memory, o->type->size, sizeof(struct sd_meter));
}

/* --- For the control plane --- */

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

#endif
