/*
 * What happens when memory is short: each allocation fails once, and whatever was refused has changed nothing.
 * Leaks are for the sanitizer to find.
 */
#include <sys/mman.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Allocations until one fails. */
static uint64_t n_until;
static bool has_failed;

static bool is_refused(void)
{
    if (n_until == 0 || --n_until > 0)
        return false;
    has_failed = true;
    return true;
}

static void *short_malloc(size_t n)
{
    return is_refused() ? NULL : malloc(n);
}

#include "refuse.h"

#define malloc short_malloc

#include "fixture.h"

static const struct sd_control_ops *const ops = &sd_control_ops;

static void describe(struct fixture *f)
{
    static const uint32_t kinds[TABLES_MAX] = {SD_MATCH_EXACT, SD_MATCH_LPM, SD_MATCH_TERNARY, SD_MATCH_EXACT};
    fixture_begin(f);
    f->pipeline.n_objects = 4;
    f->objects[0] = (struct sd_object_type){.kind = SD_OBJECT_ACTION_SELECTOR, .data_bytes = 24};
    f->objects[1] = (struct sd_object_type){.kind = SD_OBJECT_COUNTER, .size = 10};
    f->objects[2] = (struct sd_object_type){.kind = SD_OBJECT_METER, .size = 10};
    f->objects[3] = (struct sd_object_type){.kind = SD_OBJECT_REGISTER, .size = 10, .cell_bytes = 4};
    for (uint32_t i = 0; i < TABLES_MAX; i++) {
        struct sd_table_type *type = fixture_table(f, 10000);
        fixture_key(type, f->keys[i], kinds[i], 32, 4, 0);
        type->has_direct_counter = i < 3;
        type->has_direct_meter = i == 1;
        type->profile = i == 3 ? 0 : UINT32_MAX;
    }
    static struct sd_key_type field = {.name = "f", .value = {0, 4, 32, 0}};
    f->pipeline.n_value_sets = 1;
    f->value_sets[0] = (struct sd_value_set_type){"v", 1, &field, 4, 100};
}

/* Does the write again when it was refused for want of memory: then there is some. */
#define WRITE(call)                                                                                   \
    do {                                                                                              \
        has_failed = false;                                                                           \
        uint32_t status_ = (call);                                                                    \
        CHECK(status_ == (has_failed ? SD_NO_MEMORY : SD_OK));                                        \
        check_unchanged(f, has_failed);                                                               \
        if (has_failed)                                                                               \
            CHECK((call) == SD_OK);                                                                   \
    } while (0)

/* Allocations that may fail without harm: without memory a place is forgotten. */
#define WRITE_SOMEHOW(call)                                                                           \
    do {                                                                                              \
        has_failed = false;                                                                           \
        uint32_t status_ = (call);                                                                    \
        CHECK(status_ == SD_OK || (has_failed && status_ == SD_NO_MEMORY));                           \
        check_unchanged(f, status_ != SD_OK);                                                         \
        if (status_ != SD_OK)                                                                         \
            CHECK((call) == SD_OK);                                                                   \
    } while (0)

/* What there was before the write that follows. */
static uint64_t n_entries[TABLES_MAX];
static uint32_t n_members, n_groups, n_values;

static uint32_t count_ids(struct fixture *f, uint32_t (*next)(struct sd_instance *, uint32_t, uint32_t *))
{
    uint32_t n = 0;
    for (uint32_t id = 0; next(f->instance, 0, &id) == SD_OK; id++)
        n++;
    return n;
}

static void check_unchanged(struct fixture *f, bool is_unchanged)
{
    const uint8_t *values, *masks;
    uint32_t members = count_ids(f, ops->member_next), groups = count_ids(f, ops->group_next);
    uint32_t n = ops->value_set_read(f->instance, 0, &values, &masks);
    if (is_unchanged)
        CHECK(members == n_members && groups == n_groups && n == n_values);
    for (uint32_t i = 0; i < TABLES_MAX; i++) {
        uint64_t now = ops->table_n_entries(f->instance, i), n_next = 0, after = UINT64_MAX;
        struct sd_entry_view view;
        while (ops->table_next(f->instance, i, &after, &view) == SD_OK)
            n_next++;
        CHECK(n_next == now && (!is_unchanged || now == n_entries[i]));
        n_entries[i] = now;
    }
    n_members = members;
    n_groups = groups;
    n_values = n;
}

static void script(struct fixture *f)
{
    uint32_t key, mask = UINT32_MAX;
    uint64_t handle;
    struct sd_entry_view view = {
        .value = (const uint8_t *)&key,
        .mask = (const uint8_t *)&mask,
        .kind = SD_ENTRY_ACTION,
        .what = 1,
        .data = (const uint8_t *)"data",
    };
    memset(n_entries, 0, sizeof n_entries);
    n_members = n_groups = n_values = 0;
    for (uint32_t table = 0; table < 3; table++) {
        WRITE(ops->table_reserve(f->instance, table, 100));
        for (uint32_t i = 1; i < 300; i++) {
            key = i;
            if (table == 1) {
                mask = UINT32_MAX << i % 32;
                key = i << i % 32;
            }
            has_failed = false;
            uint32_t status = ops->table_insert(f->instance, table, &view, 0, &handle);
            if (status == SD_EXISTS)
                continue;
            /* Some memory is only wanted and not needed. */
            bool is_refused = status != SD_OK;
            CHECK(!is_refused || (has_failed && status == SD_NO_MEMORY));
            CHECK(ops->table_n_entries(f->instance, table) == n_entries[table] + !is_refused);
            if (is_refused) {
                check_unchanged(f, true);
                CHECK(ops->table_find(f->instance, table, &view, &view) == SD_NOT_FOUND);
                CHECK(ops->table_insert(f->instance, table, &view, 0, &handle) == SD_OK);
            }
            n_entries[table]++;
            struct sd_worker *w = sd_instance_worker(f->instance, 0);
            CHECK(sd_table_lookup(w, &f->packet, table, f->instance->tables[table].type, &key, 4, 0).hit);
            if (i == 200)
                WRITE(ops->table_reserve(f->instance, table, 4000));
        }
    }
    for (uint32_t i = 0; i < 20; i++)
        WRITE(ops->member_insert(f->instance, 0, i, 0, NULL));
    struct sd_weighted members[2] = {{0, 1, 3, NULL}, {1, 1, UINT32_MAX, NULL}};
    struct sd_weighted shots[2] = {{1, 1, 3, view.data}, {0, 1, UINT32_MAX, NULL}};
    WRITE(ops->group_set(f->instance, 0, 1, 0, members, 2));
    WRITE(ops->group_set(f->instance, 0, 1, 0, members, 1));
    mask = UINT32_MAX;
    key = 1;
    view.kind = SD_ENTRY_GROUP;
    WRITE(ops->table_insert(f->instance, 3, &view, 0, &handle));
    view.kind = SD_ENTRY_ONE_SHOT;
    view.weighted = shots;
    view.n_weighted = 2;
    WRITE_SOMEHOW(ops->table_modify(f->instance, 3, &view, 0, &handle));
    key = 2;
    WRITE_SOMEHOW(ops->table_insert(f->instance, 3, &view, 0, &handle));
    WRITE_SOMEHOW(ops->table_remove(f->instance, 3, &view));
    WRITE(ops->group_remove(f->instance, 0, 1));
    WRITE(ops->set_ports_down(f->instance, &(uint32_t){3}, 1));
    WRITE(ops->value_set_write(f->instance, 0, (const uint8_t *)&key, (const uint8_t *)&mask, 1));
    uint32_t two[2] = {1, 2};
    WRITE(ops->value_set_write(f->instance, 0, (const uint8_t *)two, (const uint8_t *)two, 2));
}

int main(void)
{
    struct sd_config config = {.n_workers = 2};
    uint64_t n_refused_creations = 0;
    for (uint64_t n = 1;; n++) {
        struct fixture fixture, *f = &fixture;
        describe(f);
        for (uint32_t i = 0; i < f->pipeline.n_tables; i++)
            fixture_decide(&f->tables[i]);
        n_until = n;
        has_failed = false;
        f->instance = sd_instance_create(&f->pipeline, &config);
        CHECK(!f->instance == has_failed);
        if (has_failed) {
            n_refused_creations++;
            continue;
        }
        bool was_created = n_until > 0;
        script(f);
        bool is_done = n_until > 0;
        n_until = 0;
        fixture_end(f);
        CHECK(was_created);
        if (is_done)
            break;
    }
    CHECK(n_refused_creations > 20);
    return 0;
}
