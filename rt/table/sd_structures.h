/*
 * All lookup structures, and whether a table's descriptor is consistent with the one it names.
 */
#ifndef SD_STRUCTURES_H
#define SD_STRUCTURES_H

#include <assert.h>

#include "table/direct/sd_direct_ops.h"
#include "table/exact/sd_exact_ops.h"
#include "table/flow/sd_flow_ops.h"
#include "table/lpm/sd_lpm_ops.h"
#include "table/prefix_hash/sd_prefix_hash_ops.h"
#include "table/ternary/sd_ternary_ops.h"

/* NULL: tables without keys have no entries. */
SD_LOCAL const struct sd_structure_ops *sd_structure_of(const struct sd_table_type *type)
{
    static const struct sd_structure_ops *const structures[SD_N_STRUCTURES] = {
        [SD_STRUCTURE_EXACT] = &sd_exact_ops,
        [SD_STRUCTURE_DIRECT] = &sd_direct_ops,
        [SD_STRUCTURE_LPM] = &sd_lpm_ops,
        [SD_STRUCTURE_PREFIX_HASH] = &sd_prefix_hash_ops,
        [SD_STRUCTURE_TERNARY] = &sd_ternary_ops,
        [SD_STRUCTURE_FLOW] = &sd_flow_structure_ops,
    };
    assert(type->structure < SD_N_STRUCTURES);
    return structures[type->structure];
}

/* enum sd_concurrent_op: all that a table of this type can do while workers run. */
SD_LOCAL uint32_t sd_concurrent_ops_max(const struct sd_table_type *type)
{
    const struct sd_structure_ops *structure = sd_structure_of(type);
    /* The times and the cells of an entry are read and written atomically, and all structures can replace an entry. */
    uint32_t ops = SD_CONCURRENT_EXPIRE | SD_CONCURRENT_READ | SD_CONCURRENT_MODIFY;
    ops |= structure ? structure->concurrent_ops : SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE;
    return ops;
}

/* Aborts if the compiler's decisions do not fit the rest of the descriptor. */
SD_LOCAL void sd_table_type_assert(const struct sd_table_type *type)
{
    const struct sd_structure_ops *structure = sd_structure_of(type);
    assert((type->n_keys == 0) == (structure == NULL));
    assert(!structure || structure->supports(type));
    assert(!type->entries_are_inline || (structure && structure->can_inline_entries));
    assert(!type->is_staged || (structure && structure->can_stage));
    assert((type->concurrent_ops & ~sd_concurrent_ops_max(type)) == 0);
    (void)structure;
}

#endif
