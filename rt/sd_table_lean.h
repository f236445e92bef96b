/*
 * Entries of lean tables: key, action, handle and data, all of it in the exact engine.
 *
 * Owns: what the control plane does with them. The order of entries has the hash of each key, by which an entry is
 * found again whose handle is known: the engine moves entries as it grows.
 *
 * Non-goal: what is left out of such entries is what their tables do not have. They have no priority, do not expire,
 * count nothing and lead to actions only; so what a view says about these is not kept.
 */
#ifndef SD_TABLE_LEAN_H
#define SD_TABLE_LEAN_H

#include "sd_entries.h"

SD_INLINE struct sd_exact_shape sd_lean_shape(const struct sd_table *t)
{
    return sd_table_shape(t->type, t->type->key_bytes);
}

/* Not inlined: compilers that know the key's size but not the table's warn of what lies behind short keys. */
static SD_UNUSED __attribute__((noinline)) uint64_t sd_lean_hash(const struct sd_table *t, const uint8_t *key)
{
    return sd_exact_hash(t->exact.secrets, key, t->type->key_bytes);
}

SD_INLINE uint64_t sd_lean_word(const struct sd_table *t, const uint8_t *entry)
{
    struct sd_lean_value value;
    memcpy(&value, entry + sd_exact_value_at(sd_lean_shape(t)), sizeof value);
    return value.word;
}

/* The entry of this key, or NULL. */
SD_LOCAL const uint8_t *sd_lean_find(const struct sd_table *t, const uint8_t *key)
{
    return sd_exact_find_hashed(&t->exact, sd_lean_shape(t), key, sd_lean_hash(t, key));
}

/* The entry that was given this handle, of which the order says the hash; or NULL. */
SD_LOCAL const uint8_t *sd_lean_at(const struct sd_table *t, uint64_t handle, uint64_t hash)
{
    return sd_exact_find_word(&t->exact, sd_lean_shape(t), hash, handle << SD_LEAN_HANDLE_SHIFT,
                              UINT64_MAX << SD_LEAN_HANDLE_SHIFT);
}

/* SD_OK, or SD_NOT_FOUND without an entry. */
SD_LOCAL uint32_t sd_lean_show(const struct sd_table *t, const uint8_t *entry, struct sd_entry_view *view)
{
    if (!entry)
        return SD_NOT_FOUND;
    uint64_t word = sd_lean_word(t, entry);
    *view = (struct sd_entry_view){
        .handle = word >> SD_LEAN_HANDLE_SHIFT,
        .value = entry,
        .mask = t->ones,
        .kind = SD_ENTRY_ACTION,
        .what = sd_lean_action(word),
        .is_const = (word & SD_LEAN_IS_CONST) != 0,
        .data = entry + sd_exact_value_at(sd_lean_shape(t)) + sizeof(struct sd_lean_value),
    };
    return SD_OK;
}

SD_LOCAL uint32_t sd_lean_check(const struct sd_table *t, const struct sd_entry_view *view)
{
    if (view->kind != SD_ENTRY_ACTION)
        return SD_NOT_FOUND;
    return view->what < t->type->n_actions ? SD_OK : SD_OUT_OF_RANGE;
}

/* What the engine keeps beside the key. The view's data may be what it keeps already. */
SD_INLINE const uint8_t *sd_lean_value(const struct sd_table *t, const struct sd_entry_view *view, uint64_t handle,
                                       bool is_const)
{
    struct sd_lean_value value = {view->what | (is_const ? SD_LEAN_IS_CONST : 0) | handle << SD_LEAN_HANDLE_SHIFT};
    memcpy(t->exact_value, &value, sizeof value);
    sd_data_assign(t->exact_value + sizeof value, t->type->data_bytes, view->data,
                   t->type->actions[view->what].data_bytes);
    return t->exact_value;
}

enum sd_lean_writer { SD_LEAN_BY_CONTROLLER, SD_LEAN_BY_PROGRAM };

/* `hash` is that of the key. Entries of the program may be constant, and more than the table's size. */
SD_LOCAL uint32_t sd_lean_insert(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *view,
                                 enum sd_lean_writer writer, uint64_t hash, uint64_t *handle)
{
    bool is_program = writer == SD_LEAN_BY_PROGRAM;
    struct sd_exact_shape shape = sd_lean_shape(t);
    if (sd_exact_find_hashed(&t->exact, shape, view->value, hash))
        return SD_EXISTS;
    if ((t->n_entries >= t->type->size && !is_program) || t->next_handle > SD_LEAN_HANDLE_MAX)
        return SD_FULL;
    uint32_t status = sd_lean_check(t, view);
    if (status != SD_OK)
        return status;
    if (!sd_order_reserve(&t->order, t->next_handle))
        return SD_NO_MEMORY;
    const uint8_t *value = sd_lean_value(t, view, t->next_handle, is_program && view->is_const);
    status = sd_exact_add_hashed(&t->exact, shape, view->value, value, hash);
    if (status != SD_OK)
        return status;
    sd_order_add(&t->order, t->next_handle, hash);
    *handle = t->next_handle++;
    sd_table_add_entries(t, 1);
    sd_instance_add_bytes(instance, sd_touched_bytes(t));
    return SD_OK;
}

SD_LOCAL uint32_t sd_lean_modify(struct sd_table *t, const struct sd_entry_view *view, uint64_t *handle)
{
    const uint8_t *entry = sd_lean_find(t, view->value);
    if (!entry)
        return SD_NOT_FOUND;
    uint32_t status = sd_lean_check(t, view);
    if (status != SD_OK)
        return status;
    uint64_t word = sd_lean_word(t, entry);
    *handle = word >> SD_LEAN_HANDLE_SHIFT;
    const uint8_t *value = sd_lean_value(t, view, *handle, word & SD_LEAN_IS_CONST);
    return sd_exact_replace(&t->exact, sd_lean_shape(t), view->value, value);
}

SD_LOCAL uint32_t sd_lean_remove(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *view)
{
    const uint8_t *entry = sd_lean_find(t, view->value);
    if (!entry)
        return SD_NOT_FOUND;
    uint64_t handle = sd_lean_word(t, entry) >> SD_LEAN_HANDLE_SHIFT;
    sd_exact_remove(&t->exact, sd_lean_shape(t), view->value);
    sd_order_remove(&t->order, handle);
    sd_table_add_entries(t, -UINT64_C(1));
    sd_instance_add_bytes(instance, -(uint64_t)sd_touched_bytes(t));
    return SD_OK;
}

#endif
