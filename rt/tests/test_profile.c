/* Action profiles, selectors and value sets. */
#include "fixture.h"

static const struct sd_control_ops *const ops = &sd_control_ops;

enum { PLAIN, SELECTOR, UNUSED };

/* Two tables share the plain profile, one has the selector. */
static void begin(struct fixture *f)
{
    fixture_begin(f);
    f->pipeline.n_objects = 3;
    f->objects[PLAIN] = (struct sd_object_type){.kind = SD_OBJECT_ACTION_PROFILE, .size = 3, .data_bytes = 24};
    f->objects[SELECTOR] = (struct sd_object_type){.kind = SD_OBJECT_ACTION_SELECTOR, .data_bytes = 24};
    f->objects[UNUSED] = (struct sd_object_type){.kind = SD_OBJECT_ACTION_PROFILE};
    for (uint32_t i = 0; i < 3; i++) {
        struct sd_table_type *type = fixture_table(f, 10);
        fixture_key(type, f->keys[i], SD_MATCH_EXACT, 8, 1, 0);
        type->profile = i < 2 ? PLAIN : SELECTOR;
    }
    fixture_create(f, 1);
}

static struct sd_entry_view entry(const uint8_t *key, uint32_t kind, uint32_t what)
{
    static const uint8_t ones = 0xff;
    return (struct sd_entry_view){.value = key, .mask = &ones, .kind = kind, .what = what};
}

static struct sd_found lookup(struct fixture *f, uint32_t table, uint8_t key, uint64_t hash)
{
    return sd_table_lookup(sd_instance_worker(f->instance, 0), &f->packet, table, f->instance->tables[table].type, &key, 1, hash);
}

static void test_members(void)
{
    struct fixture f;
    begin(&f);
    const uint8_t *data;
    uint32_t action;
    uint64_t handle;
    uint8_t key = 1;
    struct sd_entry_view view = entry(&key, SD_ENTRY_MEMBER, 7);
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_NOT_FOUND);
    CHECK(ops->table_n_entries(f.instance, 0) == 0);
    CHECK(ops->member_insert(f.instance, UNUSED, 7, 0, NULL) == SD_NOT_FOUND);
    CHECK(ops->member_insert(f.instance, 3, 7, 0, NULL) == SD_NOT_FOUND);
    CHECK(ops->member_insert(f.instance, PLAIN, 7, 3, NULL) == SD_OUT_OF_RANGE);
    CHECK(ops->member_insert(f.instance, PLAIN, 7, 1, (const uint8_t *)"abcd") == SD_OK);
    CHECK(ops->member_insert(f.instance, PLAIN, 7, 0, NULL) == SD_EXISTS);
    CHECK(ops->member_insert(f.instance, PLAIN, UINT32_MAX, 0, NULL) == SD_OK);
    CHECK(ops->member_insert(f.instance, PLAIN, 0, 0, NULL) == SD_OK);
    CHECK(ops->member_insert(f.instance, PLAIN, 8, 0, NULL) == SD_FULL);
    uint32_t id = 0;
    CHECK(ops->member_next(f.instance, PLAIN, &id) == SD_OK && id++ == 0);
    CHECK(ops->member_next(f.instance, PLAIN, &id) == SD_OK && id++ == 7);
    CHECK(ops->member_next(f.instance, PLAIN, &id) == SD_OK && id == UINT32_MAX);
    CHECK(ops->member_remove(f.instance, PLAIN, UINT32_MAX) == SD_OK);
    CHECK(ops->member_next(f.instance, PLAIN, &id) == SD_NOT_FOUND);
    CHECK(ops->member_get(f.instance, PLAIN, 7, &action, &data) == SD_OK && action == 1);
    CHECK(memcmp(data, "abcd", 5) == 0);
    CHECK(ops->member_get(f.instance, PLAIN, 8, &action, &data) == SD_NOT_FOUND);

    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OK);
    CHECK(ops->table_insert(f.instance, 1, &view, 0, &handle) == SD_OK);
    struct sd_found found = lookup(&f, 0, 1, 0);
    CHECK(found.hit && found.action == 1 && found.member == 7 && memcmp(found.data, "abcd", 4) == 0);
    CHECK(ops->member_modify(f.instance, PLAIN, 7, 2, (const uint8_t *)"012345678901234567890123") == SD_OK);
    CHECK(ops->member_modify(f.instance, PLAIN, 8, 2, NULL) == SD_NOT_FOUND);
    CHECK(ops->member_modify(f.instance, PLAIN, 7, 3, NULL) == SD_OUT_OF_RANGE);
    found = lookup(&f, 1, 1, 0);
    CHECK(found.action == 2 && memcmp(found.data, "012345678901234567890123", 24) == 0);
    /* In use until no entry refers to it. */
    CHECK(ops->member_remove(f.instance, PLAIN, 7) == SD_IN_USE);
    CHECK(ops->table_remove(f.instance, 0, &view) == SD_OK);
    CHECK(ops->member_remove(f.instance, PLAIN, 7) == SD_IN_USE);
    view.what = 0;
    CHECK(ops->table_modify(f.instance, 1, &view, 0, &handle) == SD_OK);
    CHECK(ops->member_remove(f.instance, PLAIN, 0) == SD_IN_USE);
    view.what = 9;
    CHECK(ops->table_modify(f.instance, 1, &view, 0, &handle) == SD_NOT_FOUND);
    CHECK(lookup(&f, 1, 1, 0).member == 0);
    CHECK(ops->member_remove(f.instance, PLAIN, 7) == SD_OK);
    CHECK(ops->member_remove(f.instance, PLAIN, 7) == SD_NOT_FOUND);
    /* The program's entries name actions. */
    key = 2;
    view = entry(&key, SD_ENTRY_ACTION, 1);
    view.data = (const uint8_t *)"wxyz";
    CHECK(sd_table_add_initial(f.instance, 0, &view) == SD_OK);
    found = lookup(&f, 0, 2, 0);
    CHECK(found.action == 1 && found.member == UINT32_MAX && memcmp(found.data, "wxyz", 4) == 0);
    struct sd_weighted one = {0, 1, UINT32_MAX, NULL};
    CHECK(ops->group_set(f.instance, PLAIN, 1, 0, &one, 1) == SD_OUT_OF_RANGE);
    fixture_end(&f);
}

/* What the interpreter chooses: one after the other in proportion to the weights, of those that are up. */
static uint32_t listed_choice(const struct sd_weighted *w, uint32_t n, uint64_t hash, uint32_t down)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        if (w[i].watch_port == UINT32_MAX || !(down >> w[i].watch_port & 1))
            total += w[i].weight ? w[i].weight : 1;
    if (total == 0)
        return UINT32_MAX;
    uint64_t at = hash % total;
    for (uint32_t i = 0; i < n; i++) {
        if (w[i].watch_port != UINT32_MAX && (down >> w[i].watch_port & 1))
            continue;
        uint64_t weight = w[i].weight ? w[i].weight : 1;
        if (at < weight)
            return i;
        at -= weight;
    }
    return UINT32_MAX;
}

static void test_groups(void)
{
    struct fixture f;
    begin(&f);
    uint64_t state = 3, handle;
    uint8_t key = 1, other_key = 2;
    struct sd_entry_view view = entry(&key, SD_ENTRY_GROUP, 5);
    struct sd_entry_view one_shot = entry(&other_key, SD_ENTRY_ONE_SHOT, 0);
    enum { N = 9 };
    for (uint32_t i = 0; i < N; i++)
        CHECK(ops->member_insert(f.instance, SELECTOR, 100 + i, i % 2, (const uint8_t *)&i) == SD_OK);
    CHECK(ops->table_insert(f.instance, 2, &view, 0, &handle) == SD_NOT_FOUND);
    CHECK(ops->group_set(f.instance, SELECTOR, 5, 17, NULL, 0) == SD_OK);
    CHECK(ops->table_insert(f.instance, 2, &view, 0, &handle) == SD_OK);
    /* Nothing to choose from. */
    struct sd_found found = lookup(&f, 2, 1, 3);
    CHECK(found.hit && found.action == UINT32_MAX && found.member == UINT32_MAX && found.handle == handle);
    CHECK(ops->group_remove(f.instance, SELECTOR, 5) == SD_IN_USE);
    CHECK(ops->group_remove(f.instance, SELECTOR, 6) == SD_NOT_FOUND);

    for (int round = 0; round < 300; round++) {
        struct sd_weighted members[N], shots[N];
        uint8_t data[N][DATA_BYTES_MAX], group_data[DATA_BYTES_MAX];
        uint32_t n = (uint32_t)below(&state, N + 1), down = 0, n_down = 0, ports[40];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t port = below(&state, 2) ? UINT32_MAX : (uint32_t)below(&state, 4);
            uint32_t weight = below(&state, 9) == 0 ? UINT32_MAX : (uint32_t)below(&state, 5);
            memset(data[i], (int)(i + 1), sizeof data[i]);
            members[i] = (struct sd_weighted){100 + (uint32_t)below(&state, N), weight, port, NULL};
            shots[i] = (struct sd_weighted){(uint32_t)below(&state, 3), weight, port, data[i]};
        }
        CHECK(ops->group_set(f.instance, SELECTOR, 5, 17, members, n) == SD_OK);
        one_shot.weighted = shots;
        one_shot.n_weighted = n;
        struct sd_weighted group_action = {(uint32_t)below(&state, 3), 1, UINT32_MAX, group_data};
        one_shot.group_action = below(&state, 2) ? &group_action : NULL;
        memset(group_data, N + 1, sizeof group_data);
        if (round == 0)
            CHECK(ops->table_insert(f.instance, 2, &one_shot, 0, &handle) == SD_OK);
        else
            CHECK(ops->table_modify(f.instance, 2, &one_shot, 0, &handle) == SD_OK);
        /* In any order, and some of them twice. */
        for (uint32_t i = 0; i < below(&state, 6); i++) {
            uint32_t port = (uint32_t)below(&state, 4);
            down |= 1u << port;
            ports[n_down++] = port;
        }
        bool is_before = below(&state, 2);
        CHECK(ops->set_ports_down(f.instance, ports, n_down) == SD_OK);
        if (is_before) {
            CHECK(ops->group_set(f.instance, SELECTOR, 5, 17, members, n) == SD_OK);
            CHECK(ops->table_modify(f.instance, 2, &one_shot, 0, &handle) == SD_OK);
        }
        memset(data, 0xee, sizeof data);
        memset(group_data, 0xee, sizeof group_data);
        for (int i = 0; i < 40; i++) {
            uint64_t hash = i < 20 ? (uint64_t)i : check_random(&state);
            uint32_t chosen = listed_choice(members, n, hash, down);
            found = lookup(&f, 2, 2, hash);
            CHECK(!found.group_action == !one_shot.group_action);
            if (found.group_action) {
                CHECK(found.group_action->member_or_action == group_action.member_or_action);
                for (uint32_t j = 0; j < fixture_actions[group_action.member_or_action].data_bytes; j++)
                    CHECK(found.group_action->data[j] == N + 1);
            }
            found = lookup(&f, 2, 1, hash);
            CHECK(found.hit && !found.group_action);
            if (chosen == UINT32_MAX) {
                CHECK(found.action == UINT32_MAX && found.member == UINT32_MAX);
                CHECK(lookup(&f, 2, 2, hash).action == UINT32_MAX);
                continue;
            }
            uint32_t id = members[chosen].member_or_action;
            CHECK(found.member == id && found.action == (id - 100) % 2);
            CHECK(found.action == 0 || memcmp(found.data, &(uint32_t){id - 100}, 4) == 0);
            found = lookup(&f, 2, 2, hash);
            CHECK(found.hit && found.member == UINT32_MAX && found.action == shots[chosen].member_or_action);
            for (uint32_t j = 0; j < fixture_actions[found.action].data_bytes; j++)
                CHECK(found.data[j] == chosen + 1);
        }
        const struct sd_weighted *read;
        uint32_t max_size, n_read;
        CHECK(ops->group_get(f.instance, SELECTOR, 5, &max_size, &read, &n_read) == SD_OK);
        CHECK(max_size == 17 && n_read == n);
        struct sd_entry_view shown;
        CHECK(ops->table_find(f.instance, 2, &one_shot, &shown) == SD_OK);
        CHECK(shown.kind == SD_ENTRY_ONE_SHOT && shown.n_weighted == n);
        CHECK(!shown.group_action == !one_shot.group_action && !shown.is_random);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(read[i].member_or_action == members[i].member_or_action);
            CHECK(read[i].weight == members[i].weight);
            CHECK(read[i].watch_port == members[i].watch_port);
            CHECK(shown.weighted[i].member_or_action == shots[i].member_or_action);
            CHECK(shown.weighted[i].weight == shots[i].weight);
        }
        for (uint32_t i = 0; i < N; i++) {
            bool is_named = false;
            for (uint32_t j = 0; j < n; j++)
                is_named |= members[j].member_or_action == 100 + i;
            if (is_named)
                CHECK(ops->member_remove(f.instance, SELECTOR, 100 + i) == SD_IN_USE);
        }
    }
    /* What is refused changes nothing. */
    struct sd_weighted bad[2] = {{100, 1, UINT32_MAX, NULL}, {200, 1, UINT32_MAX, NULL}};
    CHECK(ops->group_set(f.instance, SELECTOR, 5, 0, bad, 1) == SD_OK);
    CHECK(ops->group_set(f.instance, SELECTOR, 5, 0, bad, 2) == SD_NOT_FOUND);
    CHECK(lookup(&f, 2, 1, 77).member == 100);
    one_shot.weighted = bad;
    one_shot.group_action = NULL;
    CHECK(ops->table_modify(f.instance, 2, &one_shot, 0, &handle) == SD_OUT_OF_RANGE);
    one_shot.weighted = NULL;
    one_shot.n_weighted = 0;
    one_shot.group_action = &bad[0];
    CHECK(ops->table_modify(f.instance, 2, &one_shot, 0, &handle) == SD_OUT_OF_RANGE);
    uint32_t id = 0;
    CHECK(ops->group_next(f.instance, SELECTOR, &id) == SD_OK && id++ == 5);
    CHECK(ops->group_next(f.instance, SELECTOR, &id) == SD_NOT_FOUND);
    CHECK(ops->table_remove(f.instance, 2, &view) == SD_OK);
    CHECK(ops->group_remove(f.instance, SELECTOR, 5) == SD_OK);
    for (uint32_t i = 0; i < N; i++)
        CHECK(ops->member_remove(f.instance, SELECTOR, 100 + i) == SD_OK);
    fixture_end(&f);
}

/* One hash for all packets: each draws a number of its own. */
static void test_random_choices(void)
{
    struct fixture f;
    begin(&f);
    uint8_t key = 1;
    uint64_t handle;
    const struct sd_weighted shots[] = {
        {0, 1, 7, NULL},
        {1, 2, UINT32_MAX, (const uint8_t *)"abcd"},
        {0, 5, 8, NULL},
    };
    struct sd_entry_view view = entry(&key, SD_ENTRY_ONE_SHOT, 0);
    view.weighted = shots;
    view.n_weighted = 3;
    view.is_random = 1;
    CHECK(ops->table_insert(f.instance, 2, &view, 0, &handle) == SD_OK);
    uint32_t n[2] = {0, 0};
    for (int i = 0; i < 8000; i++)
        n[lookup(&f, 2, 1, 3).action]++;
    CHECK(n[0] + n[1] == 8000 && n[1] > 1700 && n[1] < 2300);
    CHECK(ops->set_ports_down(f.instance, (const uint32_t[]){8}, 1) == SD_OK);
    n[0] = n[1] = 0;
    for (int i = 0; i < 3000; i++)
        n[lookup(&f, 2, 1, 3).action]++;
    CHECK(n[0] > 800 && n[0] < 1200);
    CHECK(ops->set_ports_down(f.instance, (const uint32_t[]){8, 7}, 2) == SD_OK);
    for (int i = 0; i < 100; i++)
        CHECK(lookup(&f, 2, 1, 3).action == 1);
    view.is_random = 0;
    CHECK(ops->table_modify(f.instance, 2, &view, 0, &handle) == SD_OK);
    CHECK(ops->set_ports_down(f.instance, NULL, 0) == SD_OK);
    for (int i = 0; i < 100; i++)
        CHECK(lookup(&f, 2, 1, 2).action == 1 && lookup(&f, 2, 1, 3).action == 0);
    fixture_end(&f);
}

static void test_value_sets(void)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_key_type fields[2] = {
        {.name = "a", .value = {0, 2, 16, 0}, .match_kind = SD_MATCH_TERNARY},
        {.name = "b", .value = {2, 4, 32, 0}, .match_kind = SD_MATCH_EXACT},
    };
    f.pipeline.n_value_sets = 1;
    f.value_sets[0] = (struct sd_value_set_type){"v", 2, fields, 6, 3};
    for (int has_range = 0; has_range < 2; has_range++) {
        fields[0].match_kind = has_range ? SD_MATCH_RANGE : SD_MATCH_TERNARY;
        fixture_create(&f, 1);
        struct sd_worker *w = sd_instance_worker(f.instance, 0);
        const uint8_t values[] = {0x34, 0x12, 1, 0, 0, 0, 0x00, 0x13, 2, 0, 0, 0};
        const uint8_t masks[] = {0xff, 0xff, 255, 255, 255, 255, 0x00, 0xff, 255, 255, 255, 255};
        const uint8_t key[] = {0x34, 0x12, 1, 0, 0, 0}, near[] = {0x34, 0x12, 2, 0, 0, 0};
        const uint8_t *read_values, *read_masks;
        CHECK(!sd_value_set_contains(w, 0, key, 6));
        CHECK(ops->value_set_read(f.instance, 0, &read_values, &read_masks) == 0);
        CHECK(ops->value_set_write(f.instance, 0, values, masks, 2) == SD_OK);
        CHECK(sd_value_set_contains(w, 0, key, 6) && !sd_value_set_contains(w, 0, near, 6));
        const uint8_t any[] = {0x77, 0x13, 2, 0, 0, 0}, above[] = {0x00, 0xff, 2, 0, 0, 0};
        CHECK(sd_value_set_contains(w, 0, any, 6));
        CHECK(sd_value_set_contains(w, 0, above, 6) == has_range);
        CHECK(ops->value_set_write(f.instance, 0, values, masks, 4) == SD_FULL);
        CHECK(ops->value_set_read(f.instance, 0, &read_values, &read_masks) == 2);
        CHECK(memcmp(read_values, values, 12) == 0 && memcmp(read_masks, masks, 12) == 0);
        CHECK(ops->value_set_write(f.instance, 0, NULL, NULL, 0) == SD_OK);
        CHECK(!sd_value_set_contains(w, 0, key, 6));
        CHECK(ops->value_set_write(f.instance, 1, values, masks, 1) == SD_NOT_FOUND);
        fixture_end(&f);
    }
}

int main(void)
{
    test_members();
    test_groups();
    test_random_choices();
    test_value_sets();
    return 0;
}
