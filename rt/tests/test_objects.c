/* Counters, meters and registers: bounds, what all cells were written, workers, and colours by hand. */
#include "fixture.h"

#define LARGE UINT64_C(4000000000)

static const struct sd_control_ops *const ops = &sd_control_ops;

static void test_counters(uint32_t unit, uint64_t packets_each, uint64_t bytes_each)
{
    struct fixture f;
    fixture_begin(&f);
    f.pipeline.n_objects = 2;
    f.objects[0] = (struct sd_object_type){.kind = SD_OBJECT_COUNTER, .unit = unit, .size = LARGE};
    f.objects[1] = (struct sd_object_type){.kind = SD_OBJECT_REGISTER, .size = 1, .cell_bytes = 1};
    fixture_create(&f, 3);
    struct sd_count count;
    for (uint32_t i = 0; i < 3; i++) {
        struct sd_worker *w = sd_instance_worker(f.instance, i);
        for (uint32_t j = 0; j <= i; j++)
            CHECK(sd_counter_count(w, 0, LARGE - 1, 1, 64));
        CHECK(!sd_counter_count(w, 0, LARGE, 1, 64));
        CHECK(!sd_counter_count(w, 0, UINT64_MAX, 1, 64));
    }
    CHECK(ops->counter_read(f.instance, 0, LARGE - 1, &count) == SD_OK);
    CHECK(count.n_packets == 6 * packets_each && count.n_bytes == 6 * 64 * bytes_each);
    CHECK(ops->counter_read(f.instance, 0, 0, &count) == SD_OK);
    CHECK(count.n_packets == 0 && count.n_bytes == 0);
    /* One cell. */
    CHECK(ops->counter_write(f.instance, 0, 5, (struct sd_count){UINT64_MAX, UINT64_MAX - 1}) == SD_OK);
    CHECK(ops->counter_read(f.instance, 0, 5, &count) == SD_OK);
    CHECK(count.n_packets == UINT64_MAX && count.n_bytes == UINT64_MAX - 1);
    /* Counts wrap. */
    CHECK(sd_counter_count(sd_instance_worker(f.instance, 2), 0, 5, 3, 3));
    CHECK(ops->counter_read(f.instance, 0, 5, &count) == SD_OK);
    CHECK(count.n_packets == (packets_each ? 2 : UINT64_MAX));
    CHECK(count.n_bytes == (bytes_each ? 1 : UINT64_MAX - 1));
    /* All cells, and then one. */
    CHECK(ops->counter_write(f.instance, 0, UINT64_MAX, (struct sd_count){3, 4}) == SD_OK);
    for (uint64_t i = 0; i < LARGE; i += LARGE / 7) {
        CHECK(ops->counter_read(f.instance, 0, i, &count) == SD_OK);
        CHECK(count.n_packets == 3 && count.n_bytes == 4);
    }
    CHECK(sd_counter_count(sd_instance_worker(f.instance, 1), 0, 5, 10, 20));
    CHECK(ops->counter_read(f.instance, 0, 5, &count) == SD_OK);
    CHECK(count.n_packets == 3 + 10 * packets_each && count.n_bytes == 4 + 20 * bytes_each);
    CHECK(ops->counter_write(f.instance, 0, 5, (struct sd_count){1, 2}) == SD_OK);
    CHECK(ops->counter_read(f.instance, 0, 5, &count) == SD_OK);
    CHECK(count.n_packets == 1 && count.n_bytes == 2);
    CHECK(ops->counter_read(f.instance, 0, LARGE, &count) == SD_OUT_OF_RANGE);
    CHECK(ops->counter_read(f.instance, 0, UINT64_MAX, &count) == SD_OUT_OF_RANGE);
    CHECK(ops->counter_write(f.instance, 0, LARGE, count) == SD_OUT_OF_RANGE);
    CHECK(ops->counter_read(f.instance, 1, 0, &count) == SD_NOT_FOUND);
    CHECK(ops->counter_read(f.instance, 2, 0, &count) == SD_NOT_FOUND);
    fixture_end(&f);
}

/* --- Meters --- */

static struct sd_meter_rates rates(uint64_t cir, uint64_t cbs, uint64_t pir, uint64_t pbs)
{
    return (struct sd_meter_rates){
        .committed_rate = cir, .committed_burst = cbs, .peak_rate = pir, .peak_burst = pbs, .is_set = 1};
}

/* The vectors of the interpreter's own tests. */
static void test_mark(void)
{
    struct sd_meter meter = {0};
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1000000, 5) == SD_GREEN);
    struct sd_meter_rates r = rates(1, 1, 2, 2);
    sd_meter_set(&meter, &r, 0);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 0) == SD_GREEN);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 0) == SD_YELLOW);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 0) == SD_RED);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 500000000) == SD_YELLOW);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 2000000000) == SD_GREEN);
    /* Time that runs backwards gives nothing. */
    CHECK(sd_meter_mark(&meter, SD_GREEN, 2, 0) == SD_RED);
    /* Buckets fill up to their burst however long nothing comes, and however fast they fill. */
    r = rates(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    sd_meter_set(&meter, &r, 0);
    CHECK(sd_meter_mark(&meter, SD_GREEN, UINT64_MAX, 0) == SD_GREEN);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 0) == SD_RED);
    CHECK(sd_meter_mark(&meter, SD_GREEN, UINT64_MAX, UINT64_MAX) == SD_GREEN);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, UINT64_MAX) == SD_RED);
    /* Also where rate times time, and what was left, do not fit together. */
    sd_meter_set(&meter, &r, 0);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 0) == SD_GREEN);
    CHECK(sd_meter_mark(&meter, SD_GREEN, UINT64_MAX, UINT64_MAX) == SD_GREEN);
    /* A third of a packet each time: rates are exact. */
    r = rates(1, 1, 1, 1);
    sd_meter_set(&meter, &r, 0);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 0) == SD_GREEN);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 333333333) == SD_RED);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 666666666) == SD_RED);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 999999999) == SD_RED);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, 1000000000) == SD_GREEN);
    /* Without rates again. */
    r.is_set = 0;
    sd_meter_set(&meter, &r, 0);
    CHECK(sd_meter_mark(&meter, SD_GREEN, UINT64_MAX, 0) == SD_GREEN && meter.rates.committed_rate == 0);
}

/* The colours that packets of the colours `before` get from a fresh meter, all in one moment. */
static bool marks(struct sd_meter_rates r, const uint32_t before[4], const uint32_t after[4])
{
    struct sd_meter meter = {0};
    sd_meter_set(&meter, &r, 0);
    for (int i = 0; i < 4; i++)
        if (sd_meter_mark(&meter, before[i], 1, 0) != after[i])
            return false;
    return true;
}

/* RFC 2697, and one rate with two colours: the vectors of the interpreter's own tests. */
static void test_mark_single_rate(void)
{
    enum { G = SD_GREEN, Y = SD_YELLOW, R = SD_RED };
    static const uint32_t green[4] = {G, G, G, G};
    struct sd_meter_rates r = {
        .committed_rate = 1, .committed_burst = 2, .excess_burst = 1, .is_set = 1, .meter_type = SD_METER_SINGLE_RATE_THREE_COLOUR};
    struct sd_meter meter = {0};
    sd_meter_set(&meter, &r, 0);
    static const struct {
        uint64_t now_ns;
        uint32_t colours[4];
    } moments[] = {
        {0, {G, G, Y, R}},
        /* One token goes to the committed bucket; after three seconds it is full, and so is the excess bucket. */
        {1000000000, {G, R, R, R}},
        {4000000000, {G, G, Y, R}},
        {UINT64_MAX, {G, G, Y, R}},
    };
    for (size_t i = 0; i < SD_ARRAY_LEN(moments); i++)
        for (int j = 0; j < 4; j++)
            CHECK(sd_meter_mark(&meter, green[j], 1, moments[i].now_ns) == moments[i].colours[j]);
    r.committed_rate = 0;
    r.committed_burst = 1;
    /* A yellow packet takes from the excess bucket alone, a red one from none. */
    CHECK(marks(r, (const uint32_t[]){R, Y, Y, G}, (const uint32_t[]){R, Y, R, G}));
    CHECK(marks(r, (const uint32_t[]){G, G, G, Y}, (const uint32_t[]){G, Y, R, R}));
    /* Two colours: what is not green is red. */
    r.meter_type = SD_METER_SINGLE_RATE_TWO_COLOUR;
    CHECK(marks(r, (const uint32_t[]){R, Y, G, G}, (const uint32_t[]){R, R, G, R}));
    /* The excess bucket fills up to its burst, whatever is left over. */
    r = (struct sd_meter_rates){
        .committed_rate = UINT64_MAX, .excess_burst = UINT64_MAX, .is_set = 1, .meter_type = SD_METER_SINGLE_RATE_THREE_COLOUR};
    sd_meter_set(&meter, &r, 0);
    CHECK(sd_meter_mark(&meter, SD_GREEN, UINT64_MAX - 1, 0) == SD_YELLOW);
    CHECK(sd_meter_mark(&meter, SD_GREEN, UINT64_MAX, UINT64_MAX) == SD_YELLOW);
    CHECK(sd_meter_mark(&meter, SD_GREEN, 1, UINT64_MAX) == SD_RED);
}

static bool colours_are(const struct sd_colour_counts *colours, uint64_t n_green, uint64_t n_yellow, uint64_t n_red,
                        uint64_t packet_bytes)
{
    uint64_t n[] = {n_green, n_yellow, n_red};
    for (int i = 0; i < SD_N_COLOURS; i++)
        if (colours->counts[i].n_packets != n[i] || colours->counts[i].n_bytes != n[i] * packet_bytes)
            return false;
    return true;
}

/* Counts of colours: of all workers, with and without rates, reset for one cell and for all. */
static void test_colours(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.pipeline.n_objects = 1;
    f.objects[0] = (struct sd_object_type){.kind = SD_OBJECT_METER, .unit = SD_UNIT_PACKETS, .size = LARGE};
    fixture_create(&f, 2);
    struct sd_worker *w = sd_instance_worker(f.instance, 0), *other = sd_instance_worker(f.instance, 1);
    struct sd_meter_rates r = rates(0, 1, 0, 2);
    struct sd_colour_counts colours, none = {0};
    uint32_t colour;
    CHECK(sd_meter_execute(w, 60, 0, LARGE - 1, SD_GREEN, &colour));
    CHECK(ops->meter_write(f.instance, 0, UINT64_MAX, &r, 0) == SD_OK);
    for (int i = 0; i < 4; i++)
        CHECK(sd_meter_execute(i % 2 ? w : other, 60, 0, LARGE - 1, SD_GREEN, &colour));
    CHECK(ops->meter_read_colours(f.instance, 0, LARGE - 1, &colours) == SD_OK && colours_are(&colours, 2, 1, 2, 60));
    CHECK(ops->meter_read_colours(f.instance, 0, 0, &colours) == SD_OK && colours_are(&colours, 0, 0, 0, 60));
    CHECK(!sd_meter_execute(w, 60, 0, LARGE, SD_GREEN, &colour));
    CHECK(ops->meter_read_colours(f.instance, 0, LARGE, &colours) == SD_OUT_OF_RANGE);
    CHECK(ops->meter_write_colours(f.instance, 0, LARGE, &none) == SD_OUT_OF_RANGE);
    CHECK(ops->meter_read_colours(f.instance, 1, 0, &colours) == SD_NOT_FOUND);
    CHECK(ops->meter_write_colours(f.instance, 1, 0, &none) == SD_NOT_FOUND);
    CHECK(ops->meter_write_colours(f.instance, 0, LARGE - 1, &none) == SD_OK);
    CHECK(ops->meter_read_colours(f.instance, 0, LARGE - 1, &colours) == SD_OK && colours_are(&colours, 0, 0, 0, 60));
    CHECK(sd_meter_execute(other, 60, 0, LARGE - 1, SD_RED, &colour) && colour == SD_RED);
    CHECK(ops->meter_read_colours(f.instance, 0, LARGE - 1, &colours) == SD_OK && colours_are(&colours, 0, 0, 1, 60));
    /* Counts that were read can be written. */
    CHECK(ops->meter_write_colours(f.instance, 0, UINT64_MAX, &colours) == SD_OK);
    CHECK(sd_meter_execute(w, 60, 0, 0, SD_YELLOW, &colour) && colour == SD_YELLOW);
    CHECK(ops->meter_read_colours(f.instance, 0, 0, &colours) == SD_OK && colours_are(&colours, 0, 1, 1, 60));
    fixture_end(&f);
}

static void test_meters(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.pipeline.n_objects = 3;
    f.objects[0] = (struct sd_object_type){.kind = SD_OBJECT_METER, .unit = SD_UNIT_PACKETS, .size = 2};
    f.objects[1] = (struct sd_object_type){.kind = SD_OBJECT_METER, .unit = SD_UNIT_BYTES, .size = 1};
    f.objects[2] = (struct sd_object_type){.kind = SD_OBJECT_METER, .unit = SD_UNIT_BYTES, .size = LARGE};
    fixture_create(&f, 2);
    struct sd_worker *w = sd_instance_worker(f.instance, 0), *other = sd_instance_worker(f.instance, 1);
    struct sd_meter_rates r = rates(0, 1, 0, 2), read;
    uint32_t colour = 9;
    w->now_ns = other->now_ns = 1;
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 0, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(ops->meter_write(f.instance, 0, UINT64_MAX, &r, 0) == SD_OK);
    /* Workers share the tokens. */
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 0, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(sd_meter_execute(other, f.packet.length_bytes, 0, 0, SD_GREEN, &colour) && colour == SD_YELLOW);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 0, SD_GREEN, &colour) && colour == SD_RED);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 1, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(ops->meter_read(f.instance, 0, 1, &read) == SD_OK && read.is_set && read.peak_burst == 2);
    colour = 9;
    CHECK(!sd_meter_execute(w, f.packet.length_bytes, 0, 2, SD_GREEN, &colour) && colour == SD_GREEN);
    /* A cell of its own, then all again. */
    r = rates(0, 0, 0, 0);
    CHECK(ops->meter_write(f.instance, 0, 1, &r, 0) == SD_OK);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 1, SD_GREEN, &colour) && colour == SD_RED);
    r.is_set = 0;
    CHECK(ops->meter_write(f.instance, 0, 0, &r, 0) == SD_OK);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 0, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(ops->meter_read(f.instance, 0, 0, &read) == SD_OK && !read.is_set);
    CHECK(ops->meter_write(f.instance, 0, UINT64_MAX, &r, 0) == SD_OK);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 0, 1, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(ops->meter_read(f.instance, 0, 1, &read) == SD_OK && !read.is_set);
    /* Bytes. */
    r = rates(0, 100, 0, 100);
    CHECK(ops->meter_write(f.instance, 1, 0, &r, 0) == SD_OK);
    f.packet.length_bytes = 101;
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 1, 0, SD_GREEN, &colour) && colour == SD_RED);
    f.packet.length_bytes = 100;
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 1, 0, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 1, 0, SD_GREEN, &colour) && colour == SD_RED);
    CHECK(ops->meter_write(f.instance, 2, UINT64_MAX, &r, 0) == SD_OK);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 2, LARGE - 1, SD_GREEN, &colour) && colour == SD_GREEN);
    CHECK(sd_meter_execute(w, f.packet.length_bytes, 2, LARGE - 1, SD_GREEN, &colour) && colour == SD_RED);
    CHECK(ops->meter_read(f.instance, 2, LARGE, &read) == SD_OUT_OF_RANGE);
    CHECK(ops->meter_write(f.instance, 2, LARGE, &r, 0) == SD_OUT_OF_RANGE);
    CHECK(ops->meter_read(f.instance, 3, 0, &read) == SD_NOT_FOUND);
    fixture_end(&f);
}

/* --- Registers --- */

static void test_registers(uint32_t cell_bytes)
{
    enum { SIZE = 50, CELL_MAX = 64 };
    struct fixture f;
    fixture_begin(&f);
    f.pipeline.n_objects = 2;
    f.objects[0] = (struct sd_object_type){.kind = SD_OBJECT_REGISTER, .size = SIZE, .cell_bytes = cell_bytes};
    f.objects[1] = (struct sd_object_type){.kind = SD_OBJECT_REGISTER, .size = LARGE, .cell_bytes = cell_bytes};
    fixture_create(&f, 2);
    struct sd_worker *w = sd_instance_worker(f.instance, 0), *other = sd_instance_worker(f.instance, 1);
    static uint8_t wanted[SIZE][CELL_MAX];
    uint8_t cell[CELL_MAX], zeros[CELL_MAX] = {0};
    uint64_t state = cell_bytes;
    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < 3000; i++) {
        uint64_t index = below(&state, SIZE);
        for (uint32_t j = 0; j < cell_bytes; j++)
            cell[j] = (uint8_t)check_random(&state);
        switch (below(&state, 100)) {
        case 0:
            CHECK(ops->register_write(f.instance, 0, UINT64_MAX, cell) == SD_OK);
            for (uint32_t j = 0; j < SIZE; j++)
                memcpy(wanted[j], cell, cell_bytes);
            break;
        case 1:
            CHECK(ops->register_write(f.instance, 0, index, cell) == SD_OK);
            memcpy(wanted[index], cell, cell_bytes);
            break;
        default:
            CHECK(sd_register_write(w, 0, index, cell, cell_bytes));
            memcpy(wanted[index], cell, cell_bytes);
        }
        index = below(&state, SIZE);
        CHECK(sd_register_read(other, 0, index, cell, cell_bytes));
        CHECK(memcmp(cell, wanted[index], cell_bytes) == 0);
        CHECK(ops->register_read(f.instance, 0, index, cell) == SD_OK);
        CHECK(memcmp(cell, wanted[index], cell_bytes) == 0);
    }
    for (uint64_t beyond = SIZE; beyond > 0; beyond *= 2) {
        memset(cell, 0xaa, sizeof cell);
        CHECK(!sd_register_write(w, 0, beyond, cell, cell_bytes));
        CHECK(!sd_register_read(w, 0, beyond, cell, cell_bytes));
        CHECK(memcmp(cell, zeros, cell_bytes) == 0);
        CHECK(cell[cell_bytes] == 0xaa);
        CHECK(ops->register_read(f.instance, 0, beyond, cell) == SD_OUT_OF_RANGE);
        CHECK(ops->register_write(f.instance, 0, beyond, cell) == SD_OUT_OF_RANGE);
    }
    for (uint32_t i = 0; i < SIZE; i++) {
        CHECK(sd_register_read(w, 0, i, cell, cell_bytes));
        CHECK(memcmp(cell, wanted[i], cell_bytes) == 0);
    }
    memset(cell, 0x5a, sizeof cell);
    CHECK(ops->register_write(f.instance, 1, UINT64_MAX, cell) == SD_OK);
    CHECK(sd_register_write(w, 1, LARGE - 2, zeros, cell_bytes));
    CHECK(ops->register_read(f.instance, 1, LARGE - 1, wanted[0]) == SD_OK);
    CHECK(memcmp(cell, wanted[0], cell_bytes) == 0);
    CHECK(ops->register_read(f.instance, 1, LARGE - 2, wanted[0]) == SD_OK);
    CHECK(memcmp(zeros, wanted[0], cell_bytes) == 0);
    CHECK(ops->register_read(f.instance, 2, 0, cell) == SD_NOT_FOUND);
    fixture_end(&f);
}

static void test_impossible(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.pipeline.n_objects = 1;
    struct sd_config config = {.n_workers = 2};
    for (uint32_t kind = SD_OBJECT_COUNTER; kind <= SD_OBJECT_REGISTER; kind++) {
        f.objects[0] = (struct sd_object_type){.kind = kind, .size = UINT64_MAX, .cell_bytes = 8};
        CHECK(!sd_instance_create(&f.pipeline, &config));
        f.objects[0].size = UINT64_C(1) << 60;
        CHECK(!sd_instance_create(&f.pipeline, &config));
        f.objects[0].size = 0;
        fixture_create(&f, 2);
        struct sd_count count;
        uint32_t colour;
        uint8_t cell[8];
        struct sd_worker *w = sd_instance_worker(f.instance, 0);
        if (kind == SD_OBJECT_COUNTER)
            CHECK(!sd_counter_count(w, 0, 0, 1, 1) &&
                  ops->counter_read(f.instance, 0, 0, &count) == SD_OUT_OF_RANGE);
        if (kind == SD_OBJECT_METER)
            CHECK(!sd_meter_execute(w, f.packet.length_bytes, 0, 0, SD_GREEN, &colour));
        if (kind == SD_OBJECT_REGISTER)
            CHECK(!sd_register_read(w, 0, 0, cell, 8));
        fixture_end(&f);
    }
    config.n_workers = 0;
    f.pipeline.n_objects = 0;
    CHECK(!sd_instance_create(&f.pipeline, &config));
    sd_instance_destroy(NULL);
}

static void test_workers(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.pipeline.state_align = 256;
    fixture_create(&f, 3);
    uint64_t first[4];
    sd_random_seed(first, 7);
    for (uint32_t i = 0; i < 3; i++) {
        const struct sd_worker *w = sd_instance_worker(f.instance, i);
        CHECK(w && w->index == i && w->instance == f.instance);
        CHECK((uintptr_t)w->state % 256 == 0 && ((const uint8_t *)w->state)[39] == 0);
        CHECK((memcmp(w->random, first, sizeof first) == 0) == (i == 0));
    }
    CHECK(!sd_instance_worker(f.instance, 3));
    fixture_end(&f);
}

int main(void)
{
    test_counters(SD_UNIT_PACKETS, 1, 0);
    test_counters(SD_UNIT_BYTES, 0, 1);
    test_counters(SD_UNIT_BOTH, 1, 1);
    test_mark();
    test_mark_single_rate();
    test_colours();
    test_meters();
    for (uint32_t cell_bytes = 1; cell_bytes <= 40; cell_bytes++)
        test_registers(cell_bytes);
    test_impossible();
    test_workers();
    return 0;
}
