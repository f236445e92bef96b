/*
 * The interface of lookup structures: what the control plane does with one.
 *
 * Owns: struct sd_structure_ops. Each structure has a folder (exact/, direct/, lpm/, prefix_hash/, ternary/) with its
 * memory and its lookups, which generated code inlines, and with one struct sd_structure_ops, which the control plane
 * calls through a pointer. sd_structures.h lists them; README.md says how to add one.
 *
 * A structure leads from keys to entries and owns no entry: entries are allocated, filled and freed in sd_entries.h.
 *
 * Invariant: an operation that fails has changed nothing that a lookup can see.
 */
#ifndef SD_STRUCTURE_H
#define SD_STRUCTURE_H

#include "sd_abi.h"

struct sd_table;
struct sd_entry;

/* Operations of a batch whose memory is prefetched together. */
#define SD_WRITE_BATCH 32u

struct sd_structure_ops {
    /* Entries keep a mask, and value, mask and priority identify an entry; otherwise the key is the identity. */
    bool has_masks;
    /* Keys have to be inline entries or records; only some structures can store entries inline. */
    bool can_inline_entries;
    /* Lookups have prefetch steps, so generated code may suspend a packet between them. */
    bool can_stage;
    /* Those of SD_CONCURRENT_INSERT and SD_CONCURRENT_REMOVE that may run while workers look keys up. */
    uint32_t concurrent_ops;
    /* The structure can hold keys of this type; false means that the compiler chose a wrong structure. */
    bool (*supports)(const struct sd_table_type *);

    /* False when memory is short; `free` is called then, too. The table's memory is zero before. */
    bool (*init)(struct sd_table *, uint64_t seed);
    void (*free)(struct sd_table *);
    /* The entry with the view's value, mask and priority, or NULL. */
    struct sd_entry *(*find)(const struct sd_table *, const struct sd_entry_view *);
    /* Makes room for `n` entries in all. NULL: the structure has nothing to allocate ahead. */
    uint32_t (*reserve)(struct sd_table *, uint64_t n);
    /* Makes room for one entry whose LPM prefixes have this total length; SD_OUT_OF_RANGE if there is no such length.
       NULL: `insert` allocates what it needs. */
    uint32_t (*reserve_one)(struct sd_table *, uint32_t prefix_bits);
    /* Prefetches memory for up to SD_WRITE_BATCH inserts that follow. NULL: no prefetch. */
    void (*insert_prefetch)(const struct sd_table *, const struct sd_entry_view *, uint32_t n);
    /* Prefetches what `find` reads for up to SD_WRITE_BATCH keys that follow; if `will_change`, also what `replace` or
       `exchange` writes for them. NULL: no prefetch. */
    void (*find_prefetch)(const struct sd_table *, const struct sd_entry_view *, uint32_t n, bool will_change);
    /* The key is new, and reserve_one has returned SD_OK. */
    uint32_t (*insert)(struct sd_table *, struct sd_entry *);
    /* SD_NO_MEMORY if the structure needs memory to shrink. */
    uint32_t (*remove)(struct sd_table *, const struct sd_entry *);
    /* The new entry takes the place of the old one with the same key, beside workers: each lookup finds one of the two. */
    uint32_t (*replace)(struct sd_table *, const struct sd_entry *old, const struct sd_entry *new_entry);
    /* Lookups in tables of this type read action and data from the structure and not from the entry, so that an entry keeps
       its slot and its cells when `exchange` gives it the view's action, beside workers. NULL: they never do. */
    bool (*stores_actions)(const struct sd_table_type *);
    uint32_t (*exchange)(struct sd_table *, const struct sd_entry *, const struct sd_entry_view *);
    /* Bytes of memory that a lookup of one entry touches, about. NULL: those of the entry. */
    uint32_t (*touched_bytes)(const struct sd_table *);
};

#endif
