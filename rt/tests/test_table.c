/* Every engine against a list of entries that is asked one after the other, bit by bit. */
#include "fixture.h"
#include "slow_match.h"
#include "table/sd_table_scan.h"

enum { SIZE = 150, N_LISTED = 40000, N_WORKERS = 2, BATCH_MAX = 90 };

static const struct sd_control_ops *const ops = &sd_control_ops;

/* --- The list --- */

struct listed {
    bool is_live, is_const;
    uint8_t value[KEY_BYTES_MAX], mask[KEY_BYTES_MAX];
    int32_t priority;
    uint32_t action;
    uint8_t data[DATA_BYTES_MAX];
    uint64_t idle_timeout_ns, last_hit_ns;
    bool is_reported;
    uint64_t reported_ns;
    struct sd_count count;
    /* In a write: the count is written, too. */
    bool has_count;
};

/* Handles are positions. */
static struct listed list[N_LISTED];
static uint64_t n_listed, n_live;
/* Changes of constant entries that were refused. */
static uint64_t n_const;

static uint32_t listed_prefix(const struct sd_table_type *type, const struct listed *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < type->n_keys; i++)
        for (uint32_t j = 0; j < type->keys[i].value.width_bits; j++)
            n += type->keys[i].match_kind == SD_MATCH_LPM && bit_of(e->mask + type->keys[i].value.offset, j);
    return n;
}

static struct listed *listed_lookup(const struct sd_table_type *type, bool has_priority, const uint8_t *key)
{
    struct listed *best = NULL;
    for (uint64_t i = 0; i < n_listed; i++) {
        struct listed *e = &list[i];
        if (!e->is_live || !slow_match(type->keys, type->n_keys, e->value, e->mask, key))
            continue;
        if (!best || e->priority > best->priority ||
            (!has_priority && listed_prefix(type, e) > listed_prefix(type, best)))
            best = e;
    }
    return best;
}

static struct listed *listed_find(const struct sd_table_type *type, const struct sd_entry_view *view)
{
    for (uint64_t i = 0; i < n_listed; i++)
        if (list[i].is_live && list[i].priority == view->priority &&
            memcmp(list[i].value, view->value, type->key_bytes) == 0 &&
            memcmp(list[i].mask, view->mask, type->key_bytes) == 0)
            return &list[i];
    return NULL;
}

/* --- Random tables and keys --- */

enum mix { EXACT, INLINE, LPM, LPMS, TERNARY, RANGE, OPTIONAL, ALL, WILDCARDS, PREFIX_HASH, N_MIXES };

static uint64_t state;
static bool has_wildcards;
static uint64_t n_lookups_of_mix, n_hits_of_mix;
static uint32_t n_direct_of_several;

static uint32_t random_kind(enum mix mix, uint32_t i)
{
    switch (mix) {
    case EXACT:
    case INLINE:
    case WILDCARDS:
        return SD_MATCH_EXACT;
    case LPM:
    case PREFIX_HASH:
        return i == 0 ? SD_MATCH_LPM : SD_MATCH_EXACT;
    case LPMS:
        return i < 2 ? SD_MATCH_LPM : SD_MATCH_EXACT;
    case TERNARY:
        return i == 0 ? SD_MATCH_TERNARY : (uint32_t)below(&state, 3);
    case RANGE:
        return i == 0 ? SD_MATCH_RANGE : (uint32_t)below(&state, 2);
    case OPTIONAL:
        return i == 0 ? SD_MATCH_OPTIONAL : SD_MATCH_EXACT;
    case ALL:
    case N_MIXES:
        break;
    }
    return i == 0 ? SD_MATCH_RANGE : (uint32_t)below(&state, 5);
}

/* A key of `key_bytes` bytes, padding included. */
static struct sd_table_type *random_table(struct fixture *f, enum mix mix, uint32_t key_bytes)
{
    struct sd_table_type *type = fixture_table(f, SIZE);
    struct sd_key_type *keys = f->keys[f->pipeline.n_tables - 1];
    uint32_t kinds[KEYS_MAX], n = 0;
    while (type->key_bytes < key_bytes) {
        uint32_t left = key_bytes - type->key_bytes;
        uint32_t size = n + 1 == KEYS_MAX - 1 ? left : 1 + (uint32_t)below(&state, left);
        uint32_t padding = size > 1 && below(&state, 3) == 0 ? 1 : 0;
        size -= padding;
        kinds[n] = random_kind(mix, n);
        uint32_t width = size * 8 - (uint32_t)below(&state, 8);
        fixture_key(type, keys, kinds[n], width, size, padding);
        n++;
    }
    /* The kind that makes the mix is not always the first. */
    uint32_t with = (uint32_t)below(&state, n);
    uint32_t kind = keys[0].match_kind;
    keys[0].match_kind = keys[with].match_kind;
    keys[with].match_kind = kind;
    if (mix == PREFIX_HASH)
        type->structure = SD_STRUCTURE_PREFIX_HASH;
    /* Entries leave out exact elements: only ternary tables have masks for these. */
    has_wildcards = mix == WILDCARDS;
    if (has_wildcards)
        type->structure = SD_STRUCTURE_TERNARY;
    type->has_idle_timeout = mix != INLINE && key_bytes % 4 > 0;
    if (mix == INLINE)
        return type;
    type->has_direct_counter = 1;
    type->direct_counter_unit = SD_UNIT_BOTH;
    return type;
}

/* Few values each, so that keys meet; in all bytes, so that every byte counts. */
static void random_value(uint8_t *to, const struct sd_value_type *value)
{
    slow_value(to, value->width_bits, below(&state, 12));
}

static void random_key(uint8_t *key, const struct sd_table_type *type)
{
    memset(key, 0, KEY_BYTES_MAX);
    for (uint32_t i = 0; i < type->n_keys; i++)
        random_value(key + type->keys[i].value.offset, &type->keys[i].value);
    if (below(&state, 4) == 0) {
        const struct sd_value_type *value = &type->keys[below(&state, type->n_keys)].value;
        uint64_t bit = below(&state, value->width_bits);
        key[value->offset + bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void mask_bits(uint8_t *value, uint8_t *mask, uint32_t n_bytes)
{
    for (uint32_t i = 0; i < n_bytes; i++)
        value[i] &= mask[i];
}

static void random_entry(struct listed *e, const struct sd_table_type *type, bool has_priority)
{
    random_key(e->value, type);
    memset(e->mask, 0, sizeof e->mask);
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *v = &type->keys[i].value;
        uint8_t *value = e->value + v->offset, *mask = e->mask + v->offset;
        uint32_t n = v->width_bits;
        bool is_any = below(&state, 4) == 0;
        switch (type->keys[i].match_kind) {
        case SD_MATCH_EXACT:
            if (!(has_wildcards && is_any))
                sd_prefix_mask(mask, n, n);
            break;
        case SD_MATCH_LPM:
            sd_prefix_mask(mask, n, below(&state, 2) ? n : (uint32_t)below(&state, n + 1));
            break;
        case SD_MATCH_TERNARY:
            for (uint32_t j = 0; j < n; j++)
                if (!is_any && below(&state, 8) > 0)
                    mask[j / 8] |= (uint8_t)(1u << j % 8);
            break;
        case SD_MATCH_OPTIONAL:
            if (!is_any)
                sd_prefix_mask(mask, n, n);
            break;
        default:
            random_value(mask, v);
            if (is_any) {
                memset(value, 0, v->size_bytes);
                sd_prefix_mask(mask, n, n);
            } else if (compare_bits(value, mask, n) > 0 && below(&state, 20) > 0) {
                uint8_t low[KEY_BYTES_MAX];
                memcpy(low, mask, v->size_bytes);
                memcpy(mask, value, v->size_bytes);
                memcpy(value, low, v->size_bytes);
            }
            continue;
        }
        mask_bits(value, mask, v->size_bytes);
    }
    e->priority = has_priority ? (int32_t)below(&state, 5) - 1 : 0;
    e->action = (uint32_t)below(&state, SD_ARRAY_LEN(fixture_actions));
    memset(e->data, 0, sizeof e->data);
    for (uint32_t i = 0; i < fixture_actions[e->action].data_bytes; i++)
        e->data[i] = (uint8_t)check_random(&state);
    e->idle_timeout_ns = below(&state, 3) * 500 * type->has_idle_timeout;
}

/* As random_entry, often with the key of one that is or was there. */
static void random_write(struct listed *e, const struct sd_table_type *type, bool has_priority)
{
    memset(e, 0, sizeof *e);
    random_entry(e, type, has_priority);
    if (n_listed > 0 && below(&state, 2) == 0) {
        const struct listed *known = &list[below(&state, n_listed)];
        memcpy(e->value, known->value, sizeof e->value);
        memcpy(e->mask, known->mask, sizeof e->mask);
        e->priority = known->priority;
    }
}

static struct sd_entry_view view_of(const struct listed *e)
{
    return (struct sd_entry_view){
        .value = e->value,
        .mask = e->mask,
        .priority = e->priority,
        .kind = SD_ENTRY_ACTION,
        .what = e->action,
        .data = e->data,
        .idle_timeout_ns = e->idle_timeout_ns,
    };
}

/* --- Comparison --- */

static void check_view(const struct sd_table_type *type, const struct sd_entry_view *view)
{
    CHECK(view->handle < n_listed);
    const struct listed *e = &list[view->handle];
    CHECK(e->is_live && view->priority == e->priority && view->kind == SD_ENTRY_ACTION);
    CHECK(memcmp(view->value, e->value, type->key_bytes) == 0);
    CHECK(memcmp(view->mask, e->mask, type->key_bytes) == 0);
    CHECK(view->what == e->action && memcmp(view->data, e->data, sizeof e->data) == 0);
    CHECK(view->idle_timeout_ns == e->idle_timeout_ns && view->last_hit_ns == e->last_hit_ns);
}

/* What the list does when a controller inserts an entry. */
static uint32_t listed_insert(const struct sd_table_type *type, const struct listed *e, uint64_t now_ns)
{
    struct sd_entry_view view = view_of(e);
    if (listed_find(type, &view))
        return SD_EXISTS;
    if (n_live >= SIZE)
        return SD_FULL;
    if (e->action >= type->n_actions)
        return SD_OUT_OF_RANGE;
    list[n_listed] = *e;
    list[n_listed].is_live = true;
    list[n_listed].last_hit_ns = type->has_idle_timeout ? now_ns : 0;
    n_listed++;
    n_live++;
    return SD_OK;
}

/* Keys that are there, keys twice in the batch, actions that there are not, and more than there is room for. */
static void insert_batch(const struct sd_table_type *type, struct sd_instance *instance, bool has_priority,
                         uint64_t now_ns)
{
    static struct listed entries[BATCH_MAX];
    static struct sd_entry_view views[BATCH_MAX];
    uint64_t handles[BATCH_MAX];
    uint8_t statuses[BATCH_MAX];
    uint32_t n = (uint32_t)below(&state, BATCH_MAX + 1), n_expected = 0;
    for (uint32_t i = 0; i < n; i++) {
        random_write(&entries[i], type, has_priority);
        if (i > 0 && below(&state, 4) == 0)
            entries[i] = entries[below(&state, i)];
        if (below(&state, 16) == 0)
            entries[i].action = type->n_actions;
        views[i] = view_of(&entries[i]);
    }
    uint32_t n_inserted = ops->table_insert_batch(instance, 0, views, n, now_ns, handles, statuses);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t handle = n_listed;
        CHECK(statuses[i] == listed_insert(type, &entries[i], now_ns));
        CHECK(statuses[i] != SD_OK || handles[i] == handle);
        n_expected += statuses[i] == SD_OK;
    }
    CHECK(n_inserted == n_expected && ops->table_n_entries(instance, 0) == n_live);
}

/* The list does the same when a controller modifies an entry. */
static uint32_t listed_modify(const struct sd_table_type *type, const struct listed *e, uint64_t now_ns, uint64_t *handle)
{
    struct sd_entry_view view = view_of(e);
    struct listed *there = listed_find(type, &view);
    if (!there || there->is_const)
        return there ? SD_CONST : SD_NOT_FOUND;
    if (e->action >= type->n_actions)
        return SD_OUT_OF_RANGE;
    *handle = (uint64_t)(there - list);
    there->action = e->action;
    memcpy(there->data, e->data, sizeof e->data);
    there->idle_timeout_ns = e->idle_timeout_ns;
    there->last_hit_ns = type->has_idle_timeout ? now_ns : 0;
    there->is_reported = false;
    if (e->has_count)
        there->count = e->count;
    return SD_OK;
}

static uint32_t listed_remove(const struct sd_table_type *type, const struct listed *e, uint64_t *handle)
{
    struct sd_entry_view view = view_of(e);
    struct listed *there = listed_find(type, &view);
    if (!there || there->is_const)
        return there ? SD_CONST : SD_NOT_FOUND;
    *handle = (uint64_t)(there - list);
    there->is_live = false;
    n_live--;
    return SD_OK;
}

/* Keys that are not there, keys twice in the batch, constant entries, and actions that there are not. */
static void change_batch(const struct sd_table_type *type, struct sd_instance *instance, bool has_priority,
                         uint64_t now_ns)
{
    static struct listed entries[BATCH_MAX];
    static struct sd_entry_view views[BATCH_MAX];
    struct sd_table *t = &instance->tables[0];
    uint64_t handles[BATCH_MAX];
    uint8_t statuses[BATCH_MAX];
    bool removes = below(&state, 3) == 0;
    uint32_t n = (uint32_t)below(&state, removes ? 12 : BATCH_MAX + 1), n_expected = 0, n_done;
    for (uint32_t i = 0; i < n; i++) {
        random_write(&entries[i], type, has_priority);
        if (i > 0 && below(&state, 4) == 0)
            entries[i] = entries[below(&state, i)];
        if (below(&state, 16) == 0)
            entries[i].action = type->n_actions;
        entries[i].has_count = below(&state, 4) == 0;
        entries[i].count = (struct sd_count){below(&state, 100), below(&state, 100)};
        views[i] = view_of(&entries[i]);
        views[i].count = entries[i].has_count ? &entries[i].count : NULL;
    }
    if (removes)
        n_done = t->entry_ops->remove(instance, t, views, n, handles, statuses);
    else
        n_done = t->entry_ops->modify(instance, t, views, n, now_ns, handles, statuses);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t handle = 0;
        uint32_t status = removes ? listed_remove(type, &entries[i], &handle)
                                  : listed_modify(type, &entries[i], now_ns, &handle);
        CHECK(statuses[i] == status && (status != SD_OK || handles[i] == handle));
        n_expected += status == SD_OK;
        n_const += status == SD_CONST;
    }
    CHECK(n_done == n_expected && ops->table_n_entries(instance, 0) == n_live);
}

/* Batches of entries have each of them once, in the order of their handles. */
static void check_scan(const struct sd_table_type *type, struct sd_instance *instance)
{
    static struct sd_entry_view views[BATCH_MAX];
    uint64_t after = UINT64_MAX, n_seen = 0, next = 0;
    for (;;) {
        uint32_t n_wanted = 1 + (uint32_t)below(&state, BATCH_MAX);
        uint32_t n = sd_table_read_batch(&instance->tables[0], &after, views, n_wanted);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(views[i].handle >= next);
            next = views[i].handle + 1;
            check_view(type, &views[i]);
        }
        CHECK(n == 0 || after == views[n - 1].handle);
        n_seen += n;
        if (n < n_wanted)
            break;
    }
    CHECK(n_seen == n_live);
}

static void check_all(const struct sd_table_type *type, struct sd_instance *instance)
{
    struct sd_entry_view view;
    uint64_t after = UINT64_MAX;
    CHECK(ops->table_n_entries(instance, 0) == n_live);
    for (uint64_t i = 0; i < n_listed; i++) {
        CHECK(ops->table_get(instance, 0, i, &view) == (list[i].is_live ? SD_OK : SD_NOT_FOUND));
        if (!list[i].is_live)
            continue;
        check_view(type, &view);
        CHECK(ops->table_next(instance, 0, &after, &view) == SD_OK && after == i && view.handle == i);
        struct sd_count count;
        CHECK(ops->direct_count(instance, 0, i, &count) == (type->has_direct_counter ? SD_OK : SD_NOT_FOUND));
        if (!type->has_direct_counter)
            continue;
        CHECK(count.n_packets == list[i].count.n_packets && count.n_bytes == list[i].count.n_bytes);
    }
    CHECK(ops->table_next(instance, 0, &after, &view) == SD_NOT_FOUND);
    CHECK(ops->table_get(instance, 0, n_listed, &view) == SD_NOT_FOUND);
    check_scan(type, instance);
}

static void check_expired(struct sd_instance *instance, uint64_t now_ns)
{
    if (!instance->pipeline->tables[0].has_idle_timeout)
        return;
    uint64_t handles[3];
    uint32_t n = 0, taken = 0;
    for (uint64_t i = 0; i < n_listed; i++) {
        struct listed *e = &list[i];
        uint64_t since = e->is_reported ? e->reported_ns : e->last_hit_ns;
        if (!e->is_live || e->idle_timeout_ns == 0 || now_ns < since || now_ns - since < e->idle_timeout_ns)
            continue;
        /* A few at a time. */
        if (taken % 3 == 0) {
            n = ops->table_take_expired(instance, 0, now_ns, handles, 3);
            CHECK(n > 0);
        }
        CHECK(taken % 3 < n && handles[taken % 3] == i);
        taken++;
        e->is_reported = true;
        e->reported_ns = now_ns;
    }
    CHECK(taken % 3 == 0 || n == taken % 3);
    CHECK(ops->table_take_expired(instance, 0, now_ns, handles, 3) == 0);
}

static void run(enum mix mix, uint32_t key_bytes, int n_steps)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_table_type *type = random_table(&f, mix, key_bytes);
    bool has_priority = false;
    uint32_t n_lpm = 0, n_bits = 0;
    for (uint32_t i = 0; i < type->n_keys; i++) {
        n_bits += type->keys[i].value.width_bits;
        has_priority |= type->keys[i].match_kind > SD_MATCH_LPM;
        n_lpm += type->keys[i].match_kind == SD_MATCH_LPM;
    }
    fixture_create(&f, N_WORKERS);
    bool is_direct = (mix == EXACT || mix == INLINE) && n_bits <= 16;
    CHECK((type->structure == SD_STRUCTURE_TERNARY) == (has_priority || n_lpm > 1 || mix == WILDCARDS));
    CHECK((type->structure == SD_STRUCTURE_DIRECT) == is_direct);
    CHECK(type->entries_are_inline == (mix == INLINE && !is_direct));
    n_direct_of_several += is_direct && type->n_keys > 1;
    static const uint8_t default_data[4] = {1, 2, 3, 4};
    CHECK(ops->table_set_default(f.instance, 0, 1, default_data) == SD_OK);
    n_listed = n_live = 0;
    uint64_t now_ns = 0, n_lookups = 0, n_hits = 0;
    /* The program's entries: of two with one key the first stays. */
    for (int i = 0; i < 3; i++) {
        struct listed *e = &list[n_listed];
        memset(e, 0, sizeof *e);
        random_entry(e, type, has_priority);
        e->idle_timeout_ns = 0;
        struct sd_entry_view view = view_of(e);
        view.is_const = 1;
        bool is_new = !listed_find(type, &view);
        CHECK(sd_table_add_initial(f.instance, 0, &view) == SD_OK);
        CHECK(ops->table_find(f.instance, 0, &view, &view) == SD_OK && view.is_const);
        if (is_new) {
            e->is_live = e->is_const = true;
            n_listed++;
            n_live++;
        }
    }
    for (int step = 0; step < n_steps; step++) {
        CHECK(n_listed + BATCH_MAX < N_LISTED);
        now_ns += below(&state, 40);
        /* Tables fill and empty again. */
        uint64_t choice = below(&state, 100), n_inserts = step / 600 % 2 == 0 ? 45 : 15;
        struct listed written, *e = &written, *there;
        random_write(e, type, has_priority);
        struct sd_entry_view view = view_of(e), found;
        uint64_t handle = 12345;
        there = listed_find(type, &view);
        if (choice < n_inserts) {
            if (below(&state, 20) == 0) {
                insert_batch(type, f.instance, has_priority, now_ns);
                continue;
            }
            uint32_t status = ops->table_insert(f.instance, 0, &view, now_ns, &handle);
            uint64_t next = n_listed;
            CHECK(status == listed_insert(type, e, now_ns));
            CHECK(status != SD_OK || handle == next);
        } else if (choice < 55) {
            CHECK(ops->table_remove(f.instance, 0, &view) == listed_remove(type, e, &handle));
        } else if (choice < 65) {
            if (below(&state, 20) == 0) {
                change_batch(type, f.instance, has_priority, now_ns);
                continue;
            }
            uint64_t expected = handle;
            uint32_t status = ops->table_modify(f.instance, 0, &view, now_ns, &handle);
            CHECK(status == listed_modify(type, e, now_ns, &expected) && (status != SD_OK || handle == expected));
        } else if (choice < 70) {
            CHECK(ops->table_find(f.instance, 0, &view, &found) == (there ? SD_OK : SD_NOT_FOUND));
            if (there)
                check_view(type, &found);
            if (there && type->has_direct_counter && found.handle % 3 == 0) {
                there->count = (struct sd_count){step, step + 1};
                CHECK(ops->set_direct_count(f.instance, 0, found.handle, there->count) == SD_OK);
            }
        } else if (choice == 70) {
            check_expired(f.instance, now_ns);
        } else {
            uint8_t key[KEY_BYTES_MAX];
            struct sd_worker *w = sd_instance_worker(f.instance, (uint32_t)below(&state, N_WORKERS));
            w->now_ns = now_ns;
            f.packet.length_bytes = (uint32_t)below(&state, 2000);
            random_key(key, type);
            there = listed_lookup(type, has_priority, key);
            struct sd_found got = sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, key, type->key_bytes, 0);
            n_lookups++;
            CHECK(got.hit == (there != NULL) && got.member == UINT32_MAX);
            if (there) {
                CHECK(got.handle == (uint64_t)(there - list) && got.action == there->action);
                CHECK(memcmp(got.data, there->data, DATA_BYTES_MAX) == 0);
                CHECK((uintptr_t)got.data % (type->structure == SD_STRUCTURE_EXACT ? 8 : 16) == 0);
                n_hits++;
                there->last_hit_ns = type->has_idle_timeout ? now_ns : 0;
                there->is_reported = false;
                there->count.n_packets++;
                there->count.n_bytes += f.packet.length_bytes;
            } else {
                CHECK(got.handle == SD_DEFAULT_ENTRY && got.action == 1);
                CHECK(memcmp(got.data, default_data, 4) == 0);
            }
        }
        if (step % 1000 == 999)
            check_all(type, f.instance);
    }
    check_all(type, f.instance);
    struct sd_table_count counted = {0, 0};
    for (uint32_t i = 0; i < N_WORKERS; i++) {
        counted.n_lookups += sd_instance_worker(f.instance, i)->table_counts[0].n_lookups;
        counted.n_misses += sd_instance_worker(f.instance, i)->table_counts[0].n_misses;
    }
    CHECK(counted.n_lookups == n_lookups && counted.n_lookups - counted.n_misses == n_hits);
    n_lookups_of_mix += n_lookups;
    n_hits_of_mix += n_hits;
    fixture_end(&f);
}

/* --- Growth, and how far keys are from where they belong --- */

static double mean_distance(const struct sd_index *index)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i <= index->mask; i++)
        if (index->cells[i])
            sum += (i - (index->cells[i] >> 32)) & index->mask;
    return (double)sum / index->n;
}

/* Linear probing with 2/3 of the cells in use: a key is one cell from home (Knuth 6.4, theorem K). */
static void test_index(uint32_t n, unsigned shift)
{
    struct sd_index index = {NULL, 0, 0};
    uint64_t secrets[SD_N_SECRETS(8)];
    sd_secrets_init(secrets, SD_N_SECRETS(8), n + shift);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)i << shift;
        CHECK(sd_index_reserve(&index));
        sd_index_add(&index, sd_key_hash(secrets, (const uint8_t *)&key, NULL, 8), i);
    }
    CHECK(mean_distance(&index) < 1.5);
    free(index.cells);
}

static void test_growth(uint64_t n, unsigned shift, bool entries_are_inline, uint64_t n_reserved)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_table_type *type = fixture_table(&f, n);
    type->has_idle_timeout = !entries_are_inline;
    fixture_key(type, f.keys[0], SD_MATCH_EXACT, 64, 8, 0);
    fixture_create(&f, 1);
    struct sd_worker *w = sd_instance_worker(f.instance, 0);
    uint64_t handle, key, ones = UINT64_MAX;
    uint32_t data;
    struct sd_entry_view view = {
        .value = (const uint8_t *)&key,
        .mask = (const uint8_t *)&ones,
        .kind = SD_ENTRY_ACTION,
        .what = 1,
        .data = (const uint8_t *)&data,
    };
    CHECK(ops->table_reserve(f.instance, 0, n_reserved / 16) == SD_OK);
    for (uint64_t i = 0; i < n / 2; i++) {
        key = i << shift;
        data = (uint32_t)i;
        CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OK && handle == i);
        /* With few entries there, and with many; and once more. */
        if (i == n / 32 || i == n / 4 || i == n / 3)
            CHECK(ops->table_reserve(f.instance, 0, n_reserved) == SD_OK);
    }
    CHECK(ops->table_reserve(f.instance, 0, n + 1) == SD_FULL && ops->table_reserve(f.instance, 1, 1) == SD_NOT_FOUND);
    for (uint64_t i = n / 2; i < n; i += BATCH_MAX) {
        struct sd_entry_view views[BATCH_MAX];
        uint64_t keys[BATCH_MAX], handles[BATCH_MAX];
        uint32_t values[BATCH_MAX], n_batch = n - i < BATCH_MAX ? (uint32_t)(n - i) : BATCH_MAX;
        uint8_t statuses[BATCH_MAX];
        for (uint32_t j = 0; j < n_batch; j++) {
            keys[j] = (i + j) << shift;
            values[j] = (uint32_t)(i + j);
            views[j] = view;
            views[j].value = (const uint8_t *)&keys[j];
            views[j].data = (const uint8_t *)&values[j];
        }
        CHECK(ops->table_insert_batch(f.instance, 0, views, n_batch, 0, handles, statuses) == n_batch);
        CHECK(handles[0] == i && handles[n_batch - 1] == i + n_batch - 1);
    }
    key = (n - 1) << shift;
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_EXISTS);
    key = UINT64_MAX;
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_FULL);
    for (uint64_t i = 0; i < n; i++) {
        key = i << shift;
        struct sd_found found = sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, &key, 8, 0);
        CHECK(found.hit && found.handle == i && memcmp(found.data, &i, 4) == 0);
        key = ~key;
        CHECK(!sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, &key, 8, 0).hit);
    }
    for (uint64_t i = 0; i < n; i++) {
        key = i << shift;
        if (i % 3 != 0)
            CHECK(ops->table_remove(f.instance, 0, &view) == SD_OK);
    }
    CHECK(ops->table_remove(f.instance, 0, &view) == ((n - 1) % 3 ? SD_NOT_FOUND : SD_OK));
    uint64_t after = UINT64_MAX, n_left = 0;
    struct sd_entry_view found;
    while (ops->table_next(f.instance, 0, &after, &found) == SD_OK)
        CHECK(after == 3 * n_left++);
    CHECK(n_left == ops->table_n_entries(f.instance, 0));
    /* The order has been packed, and can be added to. */
    for (uint64_t i = 0; i < n - 1; i += 7) {
        CHECK(ops->table_get(f.instance, 0, i, &found) == (i % 3 == 0 ? SD_OK : SD_NOT_FOUND));
        key = i << shift;
        CHECK(i % 3 != 0 || (found.handle == i && memcmp(found.value, &key, 8) == 0));
        if (i % 3 == 1)
            CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OK && handle == n + i / 21);
    }
    CHECK(ops->table_get(f.instance, 0, n, &found) == SD_OK && found.handle == n && found.what == 1);
    after = n - 1;
    CHECK(ops->table_next(f.instance, 0, &after, &found) == SD_OK && after == n);
    CHECK(sd_order_bytes(&f.instance->tables[0].order) < 9 * n + 100000);
    CHECK(n_left > (n - 1) / 3 - 1);
    fixture_end(&f);
}

/* A table with inline entries, and another one with the same entries: records in one, single views in the other. */
static void test_plain_records(uint32_t key_bytes, uint32_t n_keys, uint32_t n_const)
{
    enum { N_TABLES = 2, RECORDS_MAX = 300 };
    struct fixture f;
    fixture_begin(&f);
    for (uint32_t i = 0; i < N_TABLES; i++) {
        struct sd_table_type *type = fixture_table(&f, n_keys * 3 / 4);
        type->has_idle_timeout = false;
        fixture_key(type, f.keys[i], SD_MATCH_EXACT, 8 * key_bytes, key_bytes, 0);
    }
    fixture_create(&f, 1);
    CHECK(f.tables[0].entries_are_inline);
    uint32_t action_at = key_bytes, data_at = (uint32_t)sd_round_up(action_at + 1, 8);
    struct sd_record_layout layout = {
        .record_bytes = data_at + DATA_BYTES_MAX, .mask_at = SD_NO_PART, .kind_at = SD_NO_PART, .action_at = action_at,
        .action_bytes = 1, .priority_at = SD_NO_PART, .data_at = data_at, .idle_timeout_at = SD_NO_PART,
        .count_at = SD_NO_PART, .rates_at = SD_NO_PART,
    };
    static uint8_t records[RECORDS_MAX * (KEY_BYTES_MAX + 8 + DATA_BYTES_MAX)], read[sizeof records];
    uint8_t statuses[RECORDS_MAX], mask[KEY_BYTES_MAX];
    uint64_t handles[RECORDS_MAX], handle;
    memset(mask, 0xff, sizeof mask);
    struct sd_entry_view view = {.mask = mask, .kind = SD_ENTRY_ACTION}, found;
    for (uint32_t i = 0; i < n_const; i++) {
        uint8_t key[KEY_BYTES_MAX] = {0}, data[DATA_BYTES_MAX] = {0};
        memcpy(key, &(uint32_t){i * 2}, key_bytes < 4 ? key_bytes : 4);
        view.value = key, view.data = data, view.is_const = true;
        for (uint32_t table = 0; table < N_TABLES; table++)
            CHECK(sd_table_put_initial(f.instance, table, &view) == SD_OK);
    }
    view.is_const = false;
    for (uint32_t round = 0; round < 400; round++) {
        enum sd_record_op op = (enum sd_record_op)(round % 8 == 7 ? SD_RECORD_REMOVE : below(&state, 3));
        uint32_t n = 1 + (uint32_t)below(&state, round % 3 ? 20 : RECORDS_MAX), n_done = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint8_t *record = records + i * layout.record_bytes;
            memset(record, 0, layout.record_bytes);
            memcpy(record, &(uint32_t){(uint32_t)below(&state, n_keys)}, key_bytes < 4 ? key_bytes : 4);
            record[action_at] = (uint8_t)below(&state, SD_ARRAY_LEN(fixture_actions));
            for (uint32_t j = 0; j < fixture_actions[record[action_at]].data_bytes; j++)
                record[data_at + j] = (uint8_t)check_random(&state);
        }
        uint32_t n_written = ops->table_write_records(f.instance, 0, op, &layout, records, n, 0, handles, statuses);
        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *record = records + i * layout.record_bytes;
            view.value = record, view.what = record[action_at], view.data = record + data_at;
            bool is_there = ops->table_find(f.instance, 1, &view, &found) == SD_OK;
            uint32_t status = op == SD_RECORD_INSERT   ? ops->table_insert(f.instance, 1, &view, 0, &handle)
                              : op == SD_RECORD_MODIFY ? ops->table_modify(f.instance, 1, &view, 0, &handle)
                                                       : ops->table_remove(f.instance, 1, &view);
            CHECK(statuses[i] == status);
            n_done += status == SD_OK;
            if (status == SD_OK)
                CHECK(handles[i] == (op == SD_RECORD_REMOVE ? found.handle : handle));
            CHECK(op == SD_RECORD_INSERT || is_there == (status != SD_NOT_FOUND));
        }
        CHECK(n_written == n_done && ops->table_n_entries(f.instance, 0) == ops->table_n_entries(f.instance, 1));
        /* All entries but the constant ones, a few or many at a time. */
        uint32_t n_max = round % 2 ? RECORDS_MAX : 1 + (uint32_t)below(&state, 50), n_read, n_all = 0;
        uint64_t after = UINT64_MAX, other = UINT64_MAX;
        do {
            memset(read, 0xee, sizeof read);
            n_read = ops->table_read_records(f.instance, 0, &layout, &after, read, handles, n_max);
            for (uint32_t i = 0; i < n_read; i++) {
                do
                    CHECK(ops->table_next(f.instance, 1, &other, &found) == SD_OK);
                while (found.is_const);
                const uint8_t *record = read + i * layout.record_bytes;
                uint32_t n_bytes = fixture_actions[found.what].data_bytes;
                CHECK(handles[i] == found.handle && memcmp(record, found.value, key_bytes) == 0);
                CHECK(record[action_at] == found.what && memcmp(record + data_at, found.data, n_bytes) == 0);
                for (uint32_t j = data_at + n_bytes; j < layout.record_bytes; j++)
                    CHECK(record[j] == 0);
            }
            CHECK(n_read == n_max || read[n_read * layout.record_bytes] == 0xee);
            n_all += n_read;
        } while (n_read == n_max);
        CHECK(n_all == ops->table_n_entries(f.instance, 0) - n_const);
    }
    CHECK(ops->table_n_entries(f.instance, 0) > n_const);
    fixture_end(&f);
}

/* Prefixes of all lengths over one another. */
static void test_prefixes(void)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_table_type *type = fixture_table(&f, 1000);
    fixture_key(type, f.keys[0], SD_MATCH_LPM, 128, 16, 0);
    fixture_key(type, f.keys[0], SD_MATCH_EXACT, 12, 2, 0);
    fixture_create(&f, 1);
    struct sd_worker *w = sd_instance_worker(f.instance, 0);
    uint64_t handle;
    for (uint32_t n = 0; n <= 128; n++) {
        uint8_t value[18] = {0}, mask[18] = {0};
        value[16] = 5;
        mask[16] = 0xff, mask[17] = 0x0f;
        /* In an order that is none. */
        uint32_t length = n * 50 % 129;
        sd_prefix_mask(mask, 128, length);
        memcpy(value, mask, 16);
        struct sd_entry_view view = {.value = value, .mask = mask, .kind = SD_ENTRY_ACTION, .what = 0};
        CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OK);
        CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_EXISTS);
    }
    for (uint32_t n = 0; n <= 128; n++) {
        uint8_t key[18] = {0};
        sd_prefix_mask(key, 128, n);
        key[16] = 5;
        struct sd_found found = sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, key, 18, 0);
        CHECK(found.hit && found.handle * 50 % 129 == n);
        key[17] = 1;
        CHECK(!sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, key, 18, 0).hit);
    }
    fixture_end(&f);
}

/* Cells that are written with their entry. */
static void test_cells(void)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_table_type *type = fixture_table(&f, 2);
    fixture_key(type, f.keys[0], SD_MATCH_EXACT, 32, 4, 0);
    type->has_direct_counter = type->has_direct_meter = 1;
    type->direct_counter_unit = type->direct_meter_unit = SD_UNIT_BOTH;
    fixture_create(&f, 2);
    struct sd_worker *w = sd_instance_worker(f.instance, 1);
    uint32_t key = 1, ones = UINT32_MAX;
    uint64_t handle;
    struct sd_count count = {7, 70}, counted;
    struct sd_meter_rates rates = {.is_set = 1}, read;
    struct sd_entry_view found, view = {.value = (const uint8_t *)&key, .mask = (const uint8_t *)&ones};
    view.count = &count;
    view.rates = &rates;
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OK);
    /* The first packet is red, and counted after those that were written. */
    CHECK(sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, &key, 4, 0).hit);
    CHECK(sd_direct_meter_colour(w, 0) == SD_RED);
    CHECK(ops->direct_count(f.instance, 0, handle, &counted) == SD_OK && counted.n_packets == 8 && counted.n_bytes == 170);
    /* A result that is written back changes no cell. */
    CHECK(ops->table_get(f.instance, 0, handle, &found) == SD_OK && !found.count && !found.rates);
    CHECK(ops->table_modify(f.instance, 0, &found, 0, &handle) == SD_OK);
    CHECK(ops->direct_count(f.instance, 0, handle, &counted) == SD_OK && counted.n_packets == 8);
    CHECK(ops->direct_rates(f.instance, 0, handle, &read) == SD_OK && read.is_set);
    rates.is_set = 0;
    CHECK(ops->table_modify(f.instance, 0, &view, 0, &handle) == SD_OK);
    CHECK(ops->direct_count(f.instance, 0, handle, &counted) == SD_OK && counted.n_packets == 7 && counted.n_bytes == 70);
    CHECK(ops->direct_rates(f.instance, 0, handle, &read) == SD_OK && !read.is_set);
    /* One that is refused changes nothing; a new one begins with zeros, where an old one was, too. */
    count.n_packets = 99;
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_EXISTS);
    CHECK(ops->direct_count(f.instance, 0, handle, &counted) == SD_OK && counted.n_packets == 7);
    CHECK(ops->table_remove(f.instance, 0, &view) == SD_OK);
    sd_slots_collect(&f.instance->tables[0]);
    sd_slots_collect(&f.instance->tables[0]);
    view.count = NULL;
    view.rates = NULL;
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OK);
    CHECK(ops->direct_count(f.instance, 0, handle, &counted) == SD_OK && counted.n_packets == 0 && counted.n_bytes == 0);
    CHECK(ops->direct_rates(f.instance, 0, handle, &read) == SD_OK && !read.is_set);
    fixture_end(&f);
}

static void test_limits(void)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_table_type *none = fixture_table(&f, 10), *type = fixture_table(&f, 2);
    fixture_key(type, f.keys[1], SD_MATCH_EXACT, 8, 1, 0);
    type->has_direct_meter = 1;
    type->direct_meter_unit = SD_UNIT_BYTES;
    (void)none;
    fixture_create(&f, 2);
    struct sd_worker *w = sd_instance_worker(f.instance, 0);
    uint8_t key = 1, ones = 0xff;
    uint64_t handle;
    struct sd_entry_view view = {.value = &key, .mask = &ones, .kind = SD_ENTRY_ACTION, .what = 0}, found;
    /* Without keys there are no entries, without a default action nothing runs. */
    struct sd_found miss = sd_table_lookup(w, &f.packet, 0, f.instance->tables[0].type, &key, 0, 0);
    CHECK(!miss.hit && miss.action == UINT32_MAX && w->table_counts[0].n_lookups == 1);
    CHECK(ops->table_insert(f.instance, 0, &view, 0, &handle) == SD_OUT_OF_RANGE);
    CHECK(ops->table_remove(f.instance, 0, &view) == SD_NOT_FOUND);
    CHECK(ops->table_insert(f.instance, 2, &view, 0, &handle) == SD_NOT_FOUND);
    /* Entries of the program may be more than the size, and count. */
    for (key = 1; key <= 3; key++)
        CHECK(sd_table_add_initial(f.instance, 1, &view) == SD_OK);
    CHECK(ops->table_n_entries(f.instance, 1) == 3);
    CHECK(ops->table_insert(f.instance, 1, &view, 0, &handle) == SD_FULL);
    for (key = 1; key <= 2; key++)
        CHECK(ops->table_remove(f.instance, 1, &view) == SD_OK);
    key = 9;
    view.what = SD_ARRAY_LEN(fixture_actions);
    CHECK(ops->table_insert(f.instance, 1, &view, 0, &handle) == SD_OUT_OF_RANGE);
    view.what = 0;
    view.kind = SD_ENTRY_MEMBER;
    CHECK(ops->table_insert(f.instance, 1, &view, 0, &handle) == SD_NOT_FOUND);
    view.kind = SD_ENTRY_ACTION;
    CHECK(ops->table_insert(f.instance, 1, &view, 0, &handle) == SD_OK && handle == 3);
    CHECK(ops->table_set_default(f.instance, 1, 3, NULL) == SD_OUT_OF_RANGE);
    const uint8_t *data;
    CHECK(ops->table_default(f.instance, 1, &data) == UINT32_MAX);
    CHECK(ops->table_set_default(f.instance, 1, 0, NULL) == SD_OK);
    CHECK(ops->table_default(f.instance, 1, &data) == 0);
    /* A view that was given back can be written back. */
    view.what = 2;
    view.data = (const uint8_t *)"123456789012345678901234";
    CHECK(ops->table_modify(f.instance, 1, &view, 0, &handle) == SD_OK);
    CHECK(ops->table_get(f.instance, 1, 3, &found) == SD_OK);
    CHECK(ops->table_modify(f.instance, 1, &found, 0, &handle) == SD_OK);
    CHECK(ops->table_get(f.instance, 1, 3, &found) == SD_OK);
    CHECK(memcmp(found.data, view.data, 24) == 0);
    /* The direct meter: green without rates; one packet of two has room. */
    f.packet.length_bytes = 60;
    CHECK(sd_direct_meter_colour(w, 1) == SD_GREEN && w->direct_colours[1] == 0);
    CHECK(sd_table_lookup(w, &f.packet, 1, f.instance->tables[1].type, &key, 1, 0).hit && w->direct_colours[1] == 1 + SD_GREEN);
    struct sd_meter_rates rates = {.committed_burst = 100, .peak_burst = 100, .is_set = 1}, read;
    CHECK(ops->set_direct_rates(f.instance, 1, 3, &rates, 0) == SD_OK);
    CHECK(sd_table_lookup(w, &f.packet, 1, f.instance->tables[1].type, &key, 1, 0).hit && sd_direct_meter_colour(w, 1) == SD_GREEN);
    CHECK(sd_table_lookup(w, &f.packet, 1, f.instance->tables[1].type, &key, 1, 0).hit && sd_direct_meter_colour(w, 1) == SD_RED);
    key = 200;
    /* The default entry has a meter of its own. */
    CHECK(!sd_table_lookup(w, &f.packet, 1, f.instance->tables[1].type, &key, 1, 0).hit && sd_direct_meter_colour(w, 1) == SD_GREEN);
    struct sd_colour_counts colours, zeros = {0};
    CHECK(ops->direct_colours(f.instance, 1, 3, &colours) == SD_OK);
    CHECK(colours.counts[SD_GREEN].n_packets == 2 && colours.counts[SD_RED].n_packets == 1);
    CHECK(colours.counts[SD_GREEN].n_bytes == 120 && colours.counts[SD_RED].n_bytes == 60);
    CHECK(ops->set_direct_colours(f.instance, 1, 3, &zeros) == SD_OK);
    CHECK(ops->direct_colours(f.instance, 1, 3, &colours) == SD_OK && colours.counts[SD_GREEN].n_packets == 0);
    CHECK(ops->direct_colours(f.instance, 1, SD_DEFAULT_ENTRY, &colours) == SD_OK);
    CHECK(colours.counts[SD_GREEN].n_packets == 1 && colours.counts[SD_GREEN].n_bytes == 60);
    CHECK(ops->direct_colours(f.instance, 1, 0, &colours) == SD_NOT_FOUND);
    CHECK(ops->direct_colours(f.instance, 0, SD_DEFAULT_ENTRY, &colours) == SD_NOT_FOUND);
    /* The entry that comes next into the slot begins with zeros. */
    key = 9;
    CHECK(sd_table_lookup(w, &f.packet, 1, f.instance->tables[1].type, &key, 1, 0).hit);
    CHECK(ops->table_remove(f.instance, 1, &view) == SD_OK);
    w->direct_colours[1] = 1 + SD_RED;
    sd_direct_colours_reset(w);
    CHECK(sd_direct_meter_colour(w, 1) == SD_GREEN);
    view.kind = SD_ENTRY_ACTION;
    CHECK(ops->table_insert(f.instance, 1, &view, 0, &handle) == SD_OK && handle == 4);
    CHECK(ops->direct_colours(f.instance, 1, 4, &colours) == SD_OK && memcmp(&colours, &zeros, sizeof zeros) == 0);
    CHECK(ops->set_direct_rates(f.instance, 1, 4, &rates, 0) == SD_OK);
    CHECK(ops->direct_rates(f.instance, 1, 4, &read) == SD_OK && read.is_set && read.peak_burst == 100);
    CHECK(ops->direct_rates(f.instance, 1, SD_DEFAULT_ENTRY, &read) == SD_OK && !read.is_set);
    CHECK(ops->set_direct_rates(f.instance, 1, SD_DEFAULT_ENTRY, &rates, 0) == SD_OK);
    CHECK(ops->direct_rates(f.instance, 1, SD_DEFAULT_ENTRY, &read) == SD_OK && read.is_set);
    CHECK(ops->direct_rates(f.instance, 1, 0, &read) == SD_NOT_FOUND);
    struct sd_count count;
    CHECK(ops->direct_count(f.instance, 1, 3, &count) == SD_NOT_FOUND);
    fixture_end(&f);
}

/* The default entry counts its packets, for all workers, with keys and without. */
static void test_default_cells(void)
{
    struct fixture f;
    fixture_begin(&f);
    struct sd_table_type *keyless = fixture_table(&f, 0), *on_call = fixture_table(&f, 2);
    keyless->has_direct_counter = keyless->has_direct_meter = 1;
    keyless->direct_counter_unit = SD_UNIT_BOTH;
    keyless->direct_meter_unit = SD_UNIT_PACKETS;
    fixture_key(on_call, f.keys[1], SD_MATCH_EXACT, 8, 1, 0);
    on_call->has_direct_counter = on_call->has_direct_meter = on_call->direct_on_call = 1;
    on_call->direct_counter_unit = SD_UNIT_BOTH;
    fixture_create(&f, 2);
    struct sd_worker *w[] = {sd_instance_worker(f.instance, 0), sd_instance_worker(f.instance, 1)};
    struct sd_meter_rates rates = {.committed_burst = 1, .peak_burst = 2, .is_set = 1};
    struct sd_colour_counts colours;
    struct sd_count count;
    uint8_t key = 0;
    f.packet.length_bytes = 60;
    CHECK(ops->set_direct_rates(f.instance, 0, SD_DEFAULT_ENTRY, &rates, 0) == SD_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(!sd_table_lookup(w[i % 2], &f.packet, 0, f.instance->tables[0].type, NULL, 0, 0).hit);
        CHECK(sd_direct_meter_colour(w[i % 2], 0) == (uint32_t)i);
        sd_direct_default(w[i % 2], 1);
        CHECK(!sd_table_lookup(w[i % 2], &f.packet, 1, f.instance->tables[1].type, &key, 1, 0).hit);
    }
    CHECK(ops->direct_count(f.instance, 0, SD_DEFAULT_ENTRY, &count) == SD_OK && count.n_packets == 3 && count.n_bytes == 180);
    CHECK(ops->direct_colours(f.instance, 0, SD_DEFAULT_ENTRY, &colours) == SD_OK);
    for (int i = 0; i < SD_N_COLOURS; i++)
        CHECK(colours.counts[i].n_packets == 1 && colours.counts[i].n_bytes == 60);
    /* Only the call of the action counts there. */
    CHECK(ops->direct_count(f.instance, 1, SD_DEFAULT_ENTRY, &count) == SD_OK && count.n_packets == 0);
    sd_direct_counter_count(w[0], 1, 60);
    sd_direct_counter_count(w[1], 1, 60);
    CHECK(sd_direct_meter_execute(w[1], 1, SD_YELLOW, 60) == SD_GREEN);
    CHECK(ops->direct_count(f.instance, 1, SD_DEFAULT_ENTRY, &count) == SD_OK && count.n_packets == 2 && count.n_bytes == 120);
    CHECK(ops->direct_colours(f.instance, 1, SD_DEFAULT_ENTRY, &colours) == SD_OK && colours.counts[SD_GREEN].n_packets == 1);
    CHECK(ops->set_direct_count(f.instance, 1, SD_DEFAULT_ENTRY, (struct sd_count){7, 8}) == SD_OK);
    CHECK(ops->direct_count(f.instance, 1, SD_DEFAULT_ENTRY, &count) == SD_OK && count.n_packets == 7 && count.n_bytes == 8);
    sd_direct_none(w[0], 1);
    sd_direct_counter_count(w[0], 1, 60);
    CHECK(sd_direct_meter_execute(w[0], 1, SD_RED, 60) == SD_GREEN);
    CHECK(ops->direct_count(f.instance, 1, SD_DEFAULT_ENTRY, &count) == SD_OK && count.n_packets == 7);
    fixture_end(&f);
}

int main(void)
{
    for (int mix = 0; mix < N_MIXES; mix++) {
        n_lookups_of_mix = n_hits_of_mix = 0;
        for (uint32_t key_bytes = 1; key_bytes <= 40; key_bytes++) {
            state = (uint64_t)mix * 1000 + key_bytes;
            run((enum mix)mix, key_bytes, key_bytes % 13 == 4 ? 6000 : 1500);
        }
        /* Neither all nor nothing, or little was tested. */
        CHECK(n_hits_of_mix * 20 > n_lookups_of_mix && n_hits_of_mix * 20 < n_lookups_of_mix * 19);
    }
    CHECK(n_const > 100);
    /* Short keys again, of one element and of several. */
    for (uint64_t seed = 0; seed < 12; seed++) {
        state = 100000 + seed;
        run(seed % 2 ? INLINE : EXACT, 1 + (uint32_t)seed % 3, 1500);
    }
    CHECK(n_direct_of_several > 1);
    test_index(1000000, 0);
    for (unsigned shift = 16; shift < 48; shift += 15)
        test_index(100000, shift);
    test_growth(1000000, 0, false, 0);
    test_growth(1000000, 0, false, 1000000);
    test_growth(1000000, 0, true, 0);
    test_growth(1000000, 0, true, 1000000);
    for (unsigned shift = 16; shift <= 46; shift += 15)
        test_growth(100000, shift, shift != 31, shift % 2 ? 100000 : 0);
    for (uint32_t i = 0; i < 8; i++)
        test_plain_records((uint32_t[]){4, 6, 8, 12, 13, 16, 3, 23}[i], i % 3 ? 3000 : 400, i % 2 ? 70 : 0);
    test_prefixes();
    test_cells();
    test_limits();
    test_default_cells();
    return 0;
}
