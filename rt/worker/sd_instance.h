/*
 * A program's tables and objects together, and the workers that packets run on.
 *
 * Owns: making and destroying instances; `sd_control_ops`.
 *
 * Workers begin on cache lines of their own. A seed gives each worker its own stream of random numbers, the first
 * one that of the seed itself.
 */
#ifndef SD_INSTANCE_H
#define SD_INSTANCE_H

#include "base/sd_random.h"
#include "object/sd_register.h"
#include "table/sd_table_records.h"
#include "object/sd_value_set.h"

/*
 * The control plane's side is the same for all programs, and takes longer to compile than most of them. So it can be compiled
 * once, as a separate object (SD_CONTROL_ALONE, see sd_control.c), and linked with programs compiled without it
 * (SD_CONTROL_ELSEWHERE). Without either macro, a program contains it.
 */
#ifdef SD_CONTROL_ELSEWHERE

#define SD_HIDDEN __attribute__((visibility("hidden")))
extern SD_HIDDEN const struct sd_control_ops sd_control_ops;
SD_HIDDEN struct sd_instance *sd_instance_create(const struct sd_pipeline *, const struct sd_config *);
SD_HIDDEN void sd_instance_destroy(struct sd_instance *);
SD_HIDDEN struct sd_worker *sd_instance_worker(struct sd_instance *, uint32_t index);
SD_HIDDEN uint32_t sd_table_add_initial(struct sd_instance *, uint32_t table, const struct sd_entry_view *);

#else

#ifdef SD_CONTROL_ALONE
#define SD_CONTROL __attribute__((visibility("hidden")))
SD_CONTROL struct sd_instance *sd_instance_create(const struct sd_pipeline *, const struct sd_config *);
SD_CONTROL void sd_instance_destroy(struct sd_instance *);
SD_CONTROL struct sd_worker *sd_instance_worker(struct sd_instance *, uint32_t index);
SD_CONTROL uint32_t sd_table_add_initial(struct sd_instance *, uint32_t table, const struct sd_entry_view *);
extern SD_CONTROL const struct sd_control_ops sd_control_ops;
#else
#define SD_CONTROL static SD_UNUSED
#endif

SD_LOCAL void sd_worker_free(struct sd_worker *w)
{
    if (!w)
        return;
    free(w->state);
    free(w->emitted.bytes);
    free(w->direct_colours);
    free(w->direct);
    free(w->digests.bytes);
    free(w->scratch.bytes);
    free(w->table_counts);
    free(w->burst);
    free(w->async_ways);
    free(w->kept.bytes);
    free(w);
}

SD_LOCAL struct sd_worker *sd_worker_new(struct sd_instance *instance, uint32_t index, uint64_t seed)
{
    const struct sd_pipeline *pipeline = instance->pipeline;
    struct sd_worker *w = sd_alloc_lines(1, sizeof *w);
    if (!w)
        return NULL;
    w->instance = instance;
    w->index = index;
    w->seen = &instance->epochs->readers[index].seen;
    w->epoch = &instance->epochs->now;
    sd_random_seed(w->random, seed + index * UINT64_C(0x9e3779b97f4a7c15));
    size_t align = pipeline->state_align > SD_LINE_BYTES ? pipeline->state_align : SD_LINE_BYTES;
    size_t state_bytes = sd_round_up(pipeline->state_bytes ? pipeline->state_bytes : 1, align);
    w->state = aligned_alloc(align, state_bytes);
    w->direct_colours = sd_alloc_lines(pipeline->n_tables, 1);
    w->direct = sd_alloc_lines(pipeline->n_tables, sizeof *w->direct);
    w->table_counts = sd_alloc_lines(pipeline->n_tables, sizeof *w->table_counts);
    if (pipeline->burst_bytes)
        w->burst = sd_alloc_lines(1, pipeline->burst_bytes);
    bool has_burst = w->burst || !pipeline->burst_bytes;
    if (pipeline->n_async)
        w->async_ways = sd_alloc_lines(pipeline->n_async, sizeof *w->async_ways);
    bool has_async = w->async_ways || !pipeline->n_async;
    if (!w->state || !w->direct_colours || !w->direct || !w->table_counts || !has_burst || !has_async) {
        sd_worker_free(w);
        return NULL;
    }
    memset(w->state, 0, state_bytes);
    return w;
}

/* False when memory is short; sd_object_free has to be called then, too. */
SD_LOCAL bool sd_object_init(struct sd_object *o, const struct sd_object_type *type, uint32_t n_workers)
{
    o->type = type;
    switch ((enum sd_object_kind)type->kind) {
    case SD_OBJECT_COUNTER: return sd_counters_init(o, n_workers);
    case SD_OBJECT_METER: return sd_meters_init(o, n_workers);
    case SD_OBJECT_REGISTER: return sd_registers_init(o);
    case SD_OBJECT_ACTION_PROFILE:
    case SD_OBJECT_ACTION_SELECTOR: return sd_profile_init(o);
    case SD_OBJECT_OTHER: break;
    }
    return true;
}

SD_LOCAL void sd_object_free(struct sd_object *o)
{
    switch (o->type ? (enum sd_object_kind)o->type->kind : SD_OBJECT_OTHER) {
    case SD_OBJECT_COUNTER: sd_lazy_free(&o->counters.memory); break;
    case SD_OBJECT_METER: sd_meters_free(o); break;
    case SD_OBJECT_REGISTER:
        sd_lazy_free(&o->registers.memory);
        free(o->registers.common);
        break;
    case SD_OBJECT_ACTION_PROFILE:
    case SD_OBJECT_ACTION_SELECTOR: sd_profile_free(o->profile); break;
    case SD_OBJECT_OTHER: break;
    }
}

SD_CONTROL void sd_instance_destroy(struct sd_instance *instance)
{
    if (!instance)
        return;
    const struct sd_pipeline *pipeline = instance->pipeline;
    for (uint32_t i = 0; instance->tables && i < pipeline->n_tables; i++)
        sd_table_free(&instance->tables[i]);
    for (uint32_t i = 0; instance->objects && i < pipeline->n_objects; i++)
        sd_object_free(&instance->objects[i]);
    for (uint32_t i = 0; instance->value_sets && i < pipeline->n_value_sets; i++)
        sd_value_set_free(&instance->value_sets[i]);
    for (uint32_t i = 0; instance->workers && i < instance->n_workers; i++)
        sd_worker_free(instance->workers[i]);
    free(instance->tables);
    free(instance->objects);
    free(instance->value_sets);
    free(instance->workers);
    free(instance->ports_down.ports);
    if (instance->epochs)
        sd_epochs_free(instance->epochs);
    free(instance->epochs);
    free(instance);
}

/* False when memory is short; sd_instance_destroy frees the parts that were made. */
SD_LOCAL bool sd_instance_init(struct sd_instance *instance, uint64_t seed)
{
    const struct sd_pipeline *pipeline = instance->pipeline;
    instance->epochs = sd_alloc_lines(1, sizeof *instance->epochs);
    if (!instance->epochs || !sd_epochs_init(instance->epochs, instance->n_workers))
        return false;
    instance->tables = sd_alloc_lines(pipeline->n_tables, sizeof *instance->tables);
    instance->objects = sd_alloc_lines(pipeline->n_objects, sizeof *instance->objects);
    instance->value_sets = sd_alloc_lines(pipeline->n_value_sets, sizeof *instance->value_sets);
    instance->workers = sd_alloc_lines(instance->n_workers, sizeof *instance->workers);
    if (!instance->tables || !instance->objects || !instance->value_sets || !instance->workers)
        return false;
    for (uint32_t i = 0; i < pipeline->n_objects; i++)
        if (!sd_object_init(&instance->objects[i], &pipeline->objects[i], instance->n_workers))
            return false;
    for (uint32_t i = 0; i < pipeline->n_tables; i++) {
        const struct sd_table_type *type = &pipeline->tables[i];
        if (!sd_table_init(&instance->tables[i], type, instance->epochs, seed + i))
            return false;
        instance->tables[i].data_sequences = instance->data_sequences;
        if (type->default_action)
            sd_table_set_default(instance, i, type->default_action - 1, NULL);
        struct sd_profile *profile = sd_profile_of(instance, type->profile);
        if (profile && profile->n_actions == 0)
            sd_profile_set_actions(profile, type);
    }
    for (uint32_t i = 0; i < pipeline->n_value_sets; i++)
        sd_value_set_init(&instance->value_sets[i], &pipeline->value_sets[i]);
    for (uint32_t i = 0; i < instance->n_workers; i++) {
        instance->workers[i] = sd_worker_new(instance, i, seed);
        if (!instance->workers[i])
            return false;
    }
    return true;
}

/* Without entries and default actions with data: generated code adds them. NULL when memory is short, or for no workers. */
SD_CONTROL struct sd_instance *sd_instance_create(const struct sd_pipeline *pipeline,
                                                  const struct sd_config *config)
{
    if (config->n_workers == 0)
        return NULL;
    struct sd_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    instance->pipeline = pipeline;
    instance->n_workers = config->n_workers;
    instance->path = config->path;
    if (!sd_instance_init(instance, config->seed)) {
        sd_instance_destroy(instance);
        return NULL;
    }
    return instance;
}

SD_CONTROL struct sd_worker *sd_instance_worker(struct sd_instance *instance, uint32_t index)
{
    return index < instance->n_workers ? instance->workers[index] : NULL;
}

SD_CONTROL uint32_t sd_table_add_initial(struct sd_instance *instance, uint32_t table,
                                         const struct sd_entry_view *view)
{
    return sd_table_put_initial(instance, table, view);
}

SD_LOCAL int sd_port_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

SD_LOCAL uint32_t sd_set_ports_down(struct sd_instance *instance, const uint32_t *ports, uint32_t n)
{
    uint32_t *sorted = calloc(n ? n : 1, sizeof *sorted);
    if (!sorted)
        return SD_NO_MEMORY;
    if (n) {
        memcpy(sorted, ports, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, sd_port_compare);
    }
    free(instance->ports_down.ports);
    instance->ports_down = (struct sd_ports){sorted, n};
    for (uint32_t i = 0; i < instance->pipeline->n_objects; i++) {
        struct sd_profile *profile = sd_profile_of(instance, i);
        if (profile)
            sd_profile_update_ports(profile, &instance->ports_down);
    }
    for (uint32_t i = 0; i < instance->pipeline->n_tables; i++)
        sd_table_update_ports(&instance->tables[i], &instance->ports_down);
    return SD_OK;
}

SD_CONTROL const struct sd_control_ops sd_control_ops = {
    .table_insert = sd_table_insert,
    .table_insert_batch = sd_table_insert_batch,
    .table_reserve = sd_table_reserve,
    .table_modify = sd_table_modify,
    .table_remove = sd_table_remove,
    .table_find = sd_table_find,
    .table_get = sd_table_get,
    .table_next = sd_table_next,
    .table_write_records = sd_table_write_records,
    .table_read_records = sd_table_read_records,
    .table_n_entries = sd_table_n_entries,
    .table_n_timed = sd_table_n_timed,
    .table_set_default = sd_table_set_default,
    .table_default = sd_table_default,
    .direct_count = sd_direct_count,
    .set_direct_count = sd_set_direct_count,
    .direct_rates = sd_direct_rates,
    .set_direct_rates = sd_set_direct_rates,
    .direct_colours = sd_direct_colours,
    .set_direct_colours = sd_set_direct_colours,
    .table_take_expired = sd_table_take_expired,
    .table_remove_ended = sd_table_remove_ended,
    .table_set_profile = sd_table_set_profile,
    .table_packet_writes = sd_table_packet_writes,
    .flow_ids = sd_flow_ids,
    .member_insert = sd_member_insert,
    .member_modify = sd_member_modify,
    .member_remove = sd_member_remove,
    .member_get = sd_member_get,
    .member_next = sd_member_next,
    .group_set = sd_group_set,
    .group_remove = sd_group_remove,
    .group_get = sd_group_get,
    .group_next = sd_group_next,
    .set_ports_down = sd_set_ports_down,
    .value_set_write = sd_value_set_write,
    .value_set_read = sd_value_set_read,
    .counter_read = sd_counter_get,
    .counter_write = sd_counter_set,
    .meter_read = sd_meter_get_rates,
    .meter_write = sd_meter_set_rates,
    .meter_read_colours = sd_meter_get_colours,
    .meter_write_colours = sd_meter_set_colours,
    .register_read = sd_register_get,
    .register_write = sd_register_set,
};

#endif

/* An instance with the entries and default actions that `fill` puts into it, or NULL. */
SD_INLINE struct sd_instance *sd_instance_create_filled(const struct sd_pipeline *pipeline,
                                                        const struct sd_config *config,
                                                        uint32_t (*fill)(struct sd_instance *))
{
    struct sd_instance *instance = sd_instance_create(pipeline, config);
    if (instance && fill(instance) != SD_OK) {
        sd_instance_destroy(instance);
        return NULL;
    }
    return instance;
}

#endif
