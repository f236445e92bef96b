/*
 * Views of entries that lie in records.
 *
 * Owns: what the parts of a record mean. The host decides the layout (struct sd_record_layout), and checks widths, masks and
 * actions before records get here.
 */
#ifndef SD_RECORD_VIEW_H
#define SD_RECORD_VIEW_H

#include "table/sd_entries.h"

SD_INLINE uint32_t sd_record_u32(const uint8_t *at, uint32_t n_bytes)
{
    uint32_t value = 0;
    if (n_bytes == 1)
        return *at;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Cells of records, which need not be aligned where they are. */
struct sd_record_cells {
    struct sd_count count;
    struct sd_meter_rates rates;
};

/* A view with the parts that those of all records of a table have in common. */
SD_INLINE struct sd_entry_view sd_record_empty_view(const struct sd_table *t)
{
    return (struct sd_entry_view){.mask = t->ones, .kind = SD_ENTRY_ACTION, .profile = UINT32_MAX};
}

/* Records have key, action and data only. */
SD_INLINE bool sd_record_is_plain(const struct sd_record_layout *layout)
{
    return layout->mask_at == SD_NO_PART && layout->kind_at == SD_NO_PART && layout->priority_at == SD_NO_PART &&
           layout->idle_timeout_at == SD_NO_PART && layout->count_at == SD_NO_PART && layout->rates_at == SD_NO_PART;
}

/*
 * Lets a view, which is empty or that of another record, point to key and data of a record. Field by field in its place: a view
 * that is made elsewhere and copied waits until its fields have left the store buffer.
 */
SD_ALWAYS_INLINE void sd_record_plain_view(const struct sd_record_layout *layout, const uint8_t *record,
                                          struct sd_entry_view *view)
{
    view->value = record;
    view->what = sd_record_u32(record + layout->action_at, layout->action_bytes);
    view->data = record + layout->data_at;
}

/* Lets it point to all other parts, too, and to `cells`. */
SD_ALWAYS_INLINE void sd_record_view(const struct sd_record_layout *layout, const uint8_t *record,
                                     struct sd_record_cells *cells, struct sd_entry_view *view)
{
    sd_record_plain_view(layout, record, view);
    if (layout->mask_at != SD_NO_PART)
        view->mask = record + layout->mask_at;
    if (layout->kind_at != SD_NO_PART)
        view->kind = record[layout->kind_at];
    if (layout->priority_at != SD_NO_PART)
        view->priority = (int32_t)sd_record_u32(record + layout->priority_at, 4);
    if (layout->idle_timeout_at != SD_NO_PART)
        memcpy(&view->idle_timeout_ns, record + layout->idle_timeout_at, sizeof view->idle_timeout_ns);
    if (layout->count_at != SD_NO_PART) {
        memcpy(&cells->count, record + layout->count_at, sizeof cells->count);
        view->count = &cells->count;
    }
    if (layout->rates_at != SD_NO_PART) {
        memcpy(&cells->rates, record + layout->rates_at, sizeof cells->rates);
        view->rates = &cells->rates;
    }
}

#endif
