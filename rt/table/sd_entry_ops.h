/*
 * Operations of the control plane on entries that depend on the kind of table.
 *
 * Owns: struct sd_entry_ops. Most tables have a record (struct sd_entry) for each entry: sd_records.h. Tables with
 * type->entries_are_inline have none: exact/sd_inline.h. sd_table_ops.h checks arguments before it calls these.
 */
#ifndef SD_ENTRY_OPS_H
#define SD_ENTRY_OPS_H

#include "table/sd_entries.h"

/* Entries of the program may be constant, and may exceed the table's size. */
enum sd_entry_writer { SD_BY_CONTROLLER, SD_BY_PROGRAM };

struct sd_entry_ops {
    /* Inserts `n` entries, one after the other. Returns how many were inserted; for each the status (enum sd_status) and,
       if that is SD_OK, the handle. */
    uint32_t (*insert)(struct sd_instance *, struct sd_table *, enum sd_entry_writer, const struct sd_entry_view *,
                       uint32_t n, uint64_t now_ns, uint64_t *handles, uint8_t *statuses);
    /* Modify and remove the entries with the keys of `n` views, one after the other, so that a key may be there twice; the
       result and its arrays are those of `insert`. Entries that the program declares constant stay as they are: SD_CONST.
       Views of several entries must not point to memory of the table, which an earlier one may change. */
    uint32_t (*modify)(struct sd_instance *, struct sd_table *, const struct sd_entry_view *, uint32_t n, uint64_t now_ns,
                       uint64_t *handles, uint8_t *statuses);
    uint32_t (*remove)(struct sd_instance *, struct sd_table *, const struct sd_entry_view *, uint32_t n, uint64_t *handles,
                       uint8_t *statuses);
    /* Makes a change (enum sd_record_op) with each of `n` records that have key, action and data only; the result and its arrays
       are those of `insert`. NULL: by way of views. */
    uint32_t (*write_records)(struct sd_instance *, struct sd_table *, uint32_t op, const struct sd_record_layout *,
                           const uint8_t *records, uint32_t n, uint64_t *handles, uint8_t *statuses);
    uint32_t (*find)(const struct sd_table *, const struct sd_entry_view *key, struct sd_entry_view *found);
    /* Reads the entry with this handle; `ordered` is what the insertion order has under it. */
    uint32_t (*read)(const struct sd_table *, uint64_t handle, uint64_t ordered, struct sd_entry_view *found);
    /* Reads up to `n` entries above `*after` (see table_read_records) into records that have key, action and data only. NULL: by
       way of views. */
    uint32_t (*read_records)(const struct sd_table *, const struct sd_record_layout *, uint64_t *after, uint8_t *records,
                          uint64_t *handles, uint32_t n);
    /* Up to `n` entries with handles above `*after`, which becomes the last one's; returns their number, which is 0 only at
       the end. NULL: entries are in the insertion order. */
    uint32_t (*next)(const struct sd_table *, uint64_t *after, struct sd_entry_view *, uint32_t n);
};

#endif
