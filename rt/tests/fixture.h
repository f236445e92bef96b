/* A program for tests, put together at run time: its types, an instance, a packet. */
#ifndef SD_FIXTURE_H
#define SD_FIXTURE_H

#define SD_WANTS_HANDLES
#include "check.h"
#include "worker/sd_instance.h"

enum { KEYS_MAX = 6, KEY_BYTES_MAX = 48, DATA_BYTES_MAX = 24, TABLES_MAX = 4, OBJECTS_MAX = 8, FIXTURE_DIRECT_BITS_MAX = 16 };

struct fixture {
    struct sd_pipeline pipeline;
    struct sd_table_type tables[TABLES_MAX];
    struct sd_key_type keys[TABLES_MAX][KEYS_MAX];
    struct sd_object_type objects[OBJECTS_MAX];
    struct sd_value_set_type value_sets[1];
    struct sd_instance *instance;
    struct sd_packet packet;
};

/* Actions without, with a little and with much data. */
static const struct sd_action_type fixture_actions[] = {
    {.name = "none", .data_bytes = 0},
    {.name = "some", .data_bytes = 4},
    {.name = "much", .data_bytes = DATA_BYTES_MAX},
};

static inline void fixture_begin(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->pipeline.abi_version = SD_ABI_VERSION;
    f->pipeline.abi_size = sizeof f->pipeline;
    f->pipeline.state_bytes = 40;
    f->pipeline.state_align = 8;
    f->pipeline.tables = f->tables;
    f->pipeline.objects = f->objects;
    f->pipeline.value_sets = f->value_sets;
    f->pipeline.control = &sd_control_ops;
    f->packet.length_bytes = 100;
}

/* A table without a key: fixture_key gives it one. */
static inline struct sd_table_type *fixture_table(struct fixture *f, uint64_t size)
{
    uint32_t i = f->pipeline.n_tables++;
    f->tables[i] = (struct sd_table_type){
        .name = "t",
        .keys = f->keys[i],
        .n_actions = SD_ARRAY_LEN(fixture_actions),
        .actions = fixture_actions,
        .data_bytes = DATA_BYTES_MAX,
        .size = size,
        .profile = UINT32_MAX,
        .has_idle_timeout = 1,
    };
    return &f->tables[i];
}

/* One more element at the key's end, after padding. */
static inline void fixture_key(struct sd_table_type *type, struct sd_key_type *keys, uint32_t match_kind,
                               uint32_t width_bits, uint32_t size_bytes, uint32_t padding)
{
    struct sd_key_type *key = &keys[type->n_keys++];
    *key = (struct sd_key_type){
        .name = "k",
        .value = {type->key_bytes + padding, size_bytes, width_bits, 0},
        .match_kind = match_kind,
    };
    type->key_bytes += padding + size_bytes;
    CHECK(type->key_bytes <= KEY_BYTES_MAX);
}

/* Fills in the decisions that the compiler makes for a program: the first structure that supports the key, unless the test
   has set one, and all that this structure can do. */
static inline void fixture_decide(struct sd_table_type *type)
{
    static const uint32_t in_order[] = {SD_STRUCTURE_DIRECT, SD_STRUCTURE_EXACT, SD_STRUCTURE_LPM,
                                        SD_STRUCTURE_PREFIX_HASH, SD_STRUCTURE_TERNARY};
    for (uint32_t i = 0; type->n_keys > 0 && type->structure == SD_STRUCTURE_NONE; i++) {
        struct sd_table_type tried = *type;
        tried.structure = in_order[i];
        bool is_large = tried.structure == SD_STRUCTURE_DIRECT && sd_key_width_bits(type) > FIXTURE_DIRECT_BITS_MAX;
        if (!is_large && sd_structure_of(&tried)->supports(&tried))
            type->structure = tried.structure;
    }
    const struct sd_structure_ops *structure = sd_structure_of(type);
    if (structure && structure->can_inline_entries) {
        struct sd_table_type tried = *type;
        tried.entries_are_inline = 1;
        type->entries_are_inline = structure->supports(&tried);
    }
    type->is_staged = structure && structure->can_stage;
    type->concurrent_ops = sd_concurrent_ops_max(type);
}

static inline void fixture_create(struct fixture *f, uint32_t n_workers)
{
    for (uint32_t i = 0; i < f->pipeline.n_tables; i++)
        fixture_decide(&f->tables[i]);
    struct sd_config config = {.n_workers = n_workers, .seed = 7};
    f->instance = sd_instance_create(&f->pipeline, &config);
    CHECK(f->instance);
}

static inline void fixture_end(struct fixture *f)
{
    sd_instance_destroy(f->instance);
}

static inline uint64_t below(uint64_t *state, uint64_t n)
{
    return check_random(state) % n;
}

#endif
