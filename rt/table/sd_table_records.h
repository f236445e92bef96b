/*
 * Entries as records: byte strings of one size, which the host has checked.
 *
 * Owns: writing and reading them by way of struct sd_entry_view (sd_record_view.h), in pieces that stay in a near cache.
 */
#ifndef SD_TABLE_RECORDS_H
#define SD_TABLE_RECORDS_H

#include "table/sd_record_view.h"
#include "table/sd_table_scan.h"

/* Views of one piece take 17 KiB. */
#define SD_RECORDS_PIECE 128u

SD_LOCAL uint32_t sd_table_write_records(struct sd_instance *instance, uint32_t table, uint32_t op,
                                         const struct sd_record_layout *layout, const uint8_t *records, uint32_t n,
                                         uint64_t now_ns, uint64_t *handles, uint8_t *statuses)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t), n_done = 0;
    if (status != SD_OK) {
        memset(statuses, (int)status, n);
        return 0;
    }
    if (t->entry_ops->write_records && sd_record_is_plain(layout))
        return t->entry_ops->write_records(instance, t, op, layout, records, n, handles, statuses);
    struct sd_entry_view views[SD_RECORDS_PIECE];
    struct sd_record_cells cells[SD_RECORDS_PIECE];
    const struct sd_record_layout parts = *layout;
    for (uint32_t i = 0; i < n && i < SD_RECORDS_PIECE; i++)
        views[i] = sd_record_empty_view(t);
    for (uint32_t from = 0, n_piece; from < n; from += n_piece) {
        n_piece = n - from < SD_RECORDS_PIECE ? n - from : SD_RECORDS_PIECE;
        for (uint32_t i = 0; i < n_piece; i++)
            sd_record_view(&parts, records + (size_t)(from + i) * parts.record_bytes, &cells[i], &views[i]);
        switch ((enum sd_record_op)op) {
        case SD_RECORD_INSERT:
            n_done += t->entry_ops->insert(instance, t, SD_BY_CONTROLLER, views, n_piece, now_ns, handles + from,
                                           statuses + from);
            break;
        case SD_RECORD_MODIFY:
            n_done += t->entry_ops->modify(instance, t, views, n_piece, now_ns, handles + from, statuses + from);
            break;
        case SD_RECORD_REMOVE:
            n_done += t->entry_ops->remove(instance, t, views, n_piece, handles + from, statuses + from);
            break;
        }
    }
    return n_done;
}

/* Writes an entry into a record. */
SD_INLINE void sd_record_put(const struct sd_table *t, const struct sd_record_layout *layout,
                             const struct sd_entry_view *view, uint8_t *record)
{
    memset(record, 0, layout->record_bytes);
    memcpy(record, view->value, t->type->key_bytes);
    if (layout->mask_at != SD_NO_PART)
        memcpy(record + layout->mask_at, view->mask, t->type->key_bytes);
    if (layout->kind_at != SD_NO_PART)
        record[layout->kind_at] = (uint8_t)view->kind;
    memcpy(record + layout->action_at, &view->what, layout->action_bytes);
    if (layout->priority_at != SD_NO_PART)
        memcpy(record + layout->priority_at, &view->priority, sizeof view->priority);
    if (view->kind == SD_ENTRY_ACTION)
        memcpy(record + layout->data_at, view->data, t->type->actions[view->what].data_bytes);
    if (layout->idle_timeout_at != SD_NO_PART)
        memcpy(record + layout->idle_timeout_at, &view->idle_timeout_ns, sizeof view->idle_timeout_ns);
}

/* Writes the direct cells of an entry into its record. */
SD_INLINE void sd_record_put_cells(struct sd_instance *instance, uint32_t table, const struct sd_record_layout *layout,
                                   uint64_t handle, uint8_t *record)
{
    struct sd_count count;
    struct sd_meter_rates rates;
    if (layout->count_at != SD_NO_PART && sd_direct_count(instance, table, handle, &count) == SD_OK)
        memcpy(record + layout->count_at, &count, sizeof count);
    if (layout->rates_at != SD_NO_PART && sd_direct_rates(instance, table, handle, &rates) == SD_OK)
        memcpy(record + layout->rates_at, &rates, sizeof rates);
}

SD_LOCAL uint32_t sd_table_read_records(struct sd_instance *instance, uint32_t table,
                                        const struct sd_record_layout *layout, uint64_t *after, uint8_t *records,
                                        uint64_t *handles, uint32_t n_max)
{
    const struct sd_table *t = sd_table_of(instance, table);
    uint32_t n = 0;
    if (sd_table_check(t) != SD_OK)
        return 0;
    /* Data that packets change are copied at one time, which views do. */
    if (t->entry_ops->read_records && !t->data_copies && sd_record_is_plain(layout))
        return t->entry_ops->read_records(t, layout, after, records, handles, n_max);
    struct sd_entry_view views[SD_RECORDS_PIECE];
    uint32_t n_wanted, n_read;
    do {
        n_wanted = n_max - n < SD_RECORDS_PIECE ? n_max - n : SD_RECORDS_PIECE;
        n_read = sd_table_read_batch(t, after, views, n_wanted);
        for (uint32_t i = 0; i < n_read; i++) {
            if (views[i].is_const || (layout->of_controllers && views[i].is_of_packet))
                continue;
            uint8_t *record = records + (size_t)n * layout->record_bytes;
            sd_record_put(t, layout, &views[i], record);
            sd_record_put_cells(instance, table, layout, views[i].handle, record);
            handles[n++] = views[i].handle;
        }
    } while (n < n_max && n_read == n_wanted);
    return n;
}

#endif
