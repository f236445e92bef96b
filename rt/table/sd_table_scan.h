/*
 * Reading many entries in the order of their insertion, for dumps: the memory of a group of entries is prefetched together.
 *
 * Owns: sd_table_read_batch.
 */
#ifndef SD_TABLE_SCAN_H
#define SD_TABLE_SCAN_H

#include "table/sd_table_ops.h"

/* Entries whose memory is prefetched together. */
#define SD_SCAN_GROUP 32u

/* Prefetches inline entries: homes of their keys, then what the tags there lead to. */
SD_ALWAYS_INLINE void sd_scan_prefetch_inline(const struct sd_table *t, const struct sd_order_at *at, uint32_t n)
{
    struct sd_exact_shape shape = sd_exact_table_shape(t);
    for (uint32_t i = 0; i < n; i++)
        __builtin_prefetch(sd_exact_home_of(&t->exact, shape, at[i].entry));
    for (uint32_t i = 0; i < n; i++)
        sd_exact_prefetch_change(&t->exact, shape, at[i].entry);
}

/* Prefetches records, from the handle to the data. */
SD_ALWAYS_INLINE void sd_scan_prefetch_records(const struct sd_table *t, const struct sd_order_at *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *e = (const uint8_t *)sd_entry_ordered(t, at[i].entry);
        __builtin_prefetch(e);
        __builtin_prefetch(e + t->data_at + t->data_bytes - 1);
    }
}

/*
 * The next entries in ascending order of their handles, up to `n`: those with handles above `*after`, which begins as
 * UINT64_MAX and becomes the handle of the last one. Returns their number; 0: there are no more. What the
 * views point to is valid until the next write to the table.
 */
SD_LOCAL uint32_t sd_table_read_batch(const struct sd_table *t, uint64_t *after, struct sd_entry_view *views, uint32_t n)
{
    if (t->entry_ops->next)
        return t->entry_ops->next(t, after, views, n);
    struct sd_order_at next = sd_order_from(&t->order, *after + 1);
    uint32_t n_read = 0;
    n = t->data_copies && n > SD_N_DATA_COPIES ? SD_N_DATA_COPIES : n;
    while (n_read < n && next.entry) {
        struct sd_order_at group[SD_SCAN_GROUP];
        uint32_t n_group = 0;
        for (; n_group < SD_SCAN_GROUP && n_group < n - n_read && next.entry; sd_order_next(&t->order, &next))
            group[n_group++] = next;
        if (t->type->entries_are_inline)
            sd_scan_prefetch_inline(t, group, n_group);
        else
            sd_scan_prefetch_records(t, group, n_group);
        for (uint32_t i = 0; i < n_group; i++) {
            t->entry_ops->read(t, group[i].handle, group[i].entry, &views[n_read + i]);
            sd_data_show(t, n_read + i, &views[n_read + i]);
        }
        n_read += n_group;
        *after = group[n_group - 1].handle;
    }
    return n_read;
}

#endif
