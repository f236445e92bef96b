/* Writes entries of tests/controllers/station.p4 with siding_shm.h, for the tests of `siding switch --shm-socket`.
 *
 *     codes SOCKET check     each kind of outcome
 *     codes SOCKET loop      inserts and deletes until it is killed, or the switch
 */
#include "siding_shm.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 512

static void need(int holds, const struct siding_shm *shm, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, siding_shm_error(shm));
    exit(1);
}

struct places {
    const struct siding_shm_table *table;
    const struct siding_shm_key *station;
    const struct siding_shm_action *forward;
    const struct siding_shm_field *port;
};

static struct places places(struct siding_shm *shm)
{
    struct places at;
    need(siding_shm_table(shm, "stations", 0, &at.table) == 0, shm, "table");
    at.station = siding_shm_key(at.table, "station");
    at.forward = siding_shm_action(at.table, "forward_and_count");
    need(at.station && at.forward, shm, "key and action");
    at.port = siding_shm_param(at.forward, "port");
    need(at.port != NULL, shm, "parameter");
    return at;
}

static uint64_t submit(struct siding_shm *shm, const struct places *at, enum siding_shm_op op, uint64_t first, size_t n)
{
    struct siding_shm_batch batch;
    uint64_t number;
    if (siding_shm_begin(shm, at->table, op, n, &batch))
        return 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char *record = siding_shm_record(&batch, i);
        need(siding_shm_set(record, &at->station->field, first + i) == 0, shm, "set");
        need(siding_shm_set_action(record, at->table, at->forward) == 0, shm, "action");
        need(siding_shm_set(record, at->port, 3) == 0, shm, "set");
    }
    return siding_shm_submit(shm, &batch, &number) ? 0 : number;
}

static void check(struct siding_shm *shm)
{
    struct places at = places(shm);
    struct siding_shm_outcome outcome;
    const struct siding_shm_table *none;
    need(siding_shm_is_primary(shm), shm, "primary");
    need(siding_shm_table(shm, "nowhere", 0, &none) == SIDING_SHM_NOT_FOUND, shm, "no such table");
    /* A zero byte in the middle of a value. */
    uint64_t number = submit(shm, &at, SIDING_SHM_INSERT, 0x020000000000, 100);
    need(siding_shm_wait(shm, number, &outcome) == 0 && outcome.n == 100 && !outcome.codes, shm, "insert");
    number = submit(shm, &at, SIDING_SHM_INSERT, 0x020000000000 + 99, 2);
    need(siding_shm_wait(shm, number, &outcome) == SIDING_SHM_UNKNOWN && outcome.n_failed == 1, shm, "insert again");
    need(outcome.codes[0] == SIDING_SHM_ALREADY_EXISTS && outcome.codes[1] == 0, shm, "codes");
    need(strstr(siding_shm_error(shm), "ALREADY_EXISTS") != NULL, shm, "text");
    /* A port of 9 bits. */
    struct siding_shm_batch batch;
    need(siding_shm_begin(shm, at.table, SIDING_SHM_INSERT, 1, &batch) == 0, shm, "begin");
    siding_shm_set_action(batch.records, at.table, at.forward);
    need(siding_shm_set(batch.records, at.port, 0x200) == 0, shm, "set");
    need(siding_shm_set(batch.records, at.port, 0x10000) != 0, shm, "too many bytes");
    need(siding_shm_submit(shm, &batch, &number) == 0, shm, "submit");
    siding_shm_wait(shm, number, &outcome);
    need(outcome.n_failed == 1 && outcome.codes[0] == SIDING_SHM_OUT_OF_RANGE, shm, "out of range");
    /* Names that are not found give NULL, and setters refuse it. */
    const struct siding_shm_key *no_key = siding_shm_key(at.table, "nothing");
    const struct siding_shm_action *no_action = siding_shm_action(at.table, "nothing");
    need(!no_key && !no_action && !siding_shm_key(NULL, "station"), shm, "no such key");
    need(!siding_shm_param(no_action, "port") && !siding_shm_action(NULL, "drop"), shm, "no such parameter");
    need(siding_shm_begin(shm, at.table, SIDING_SHM_INSERT, 1, &batch) == 0, shm, "begin");
    need(siding_shm_set(batch.records, NULL, 1) == -1 && siding_shm_set_prefix(batch.records, no_key, 1) == -1, shm, "set");
    need(siding_shm_set_second(batch.records, no_key, 1) == -1, shm, "second");
    need(siding_shm_set_action(batch.records, at.table, no_action) == -1, shm, "set action");
    need(siding_shm_set_priority(batch.records, at.table, 1) == -1, shm, "exact entries have no priority");
    need(siding_shm_set(siding_shm_record(&batch, 1), at.port, 1) == -1, shm, "beyond the last record");
    siding_shm_abandon(shm, &batch);
    need(!siding_shm_record(&batch, 0), shm, "abandoned");
    need(siding_shm_submit(shm, &batch, &number) == SIDING_SHM_INVALID_ARGUMENT, shm, "submit nothing");
    need(siding_shm_begin(shm, NULL, SIDING_SHM_INSERT, 1, &batch) == SIDING_SHM_INVALID_ARGUMENT, shm, "no table");
    /* No slot is free while batches are open. */
    struct siding_shm_batch open[64];
    int n_open = 0;
    while (siding_shm_try_begin(shm, at.table, SIDING_SHM_INSERT, 1, &open[n_open]) == 0)
        n_open++;
    need(n_open == 8, shm, "slots");
    while (n_open)
        siding_shm_abandon(shm, &open[--n_open]);
    /* The first message of the stream is the notice; waiting by poll(2). */
    const void *message;
    size_t n_bytes, n_status;
    need(siding_shm_receive(shm, 1000, &message, &n_bytes) == 0 && message, shm, "notice");
    while (siding_shm_arm(shm) == 0)
        need(siding_shm_receive(shm, 0, &message, &n_bytes) == 0, shm, "receive");
    struct pollfd file = {.fd = siding_shm_fd(shm), .events = POLLIN};
    need(poll(&file, 1, 10) == 0, shm, "nothing comes");
    need(siding_shm_write(shm, "\xff", 1) == SIDING_SHM_INVALID_ARGUMENT, shm, "no request");
    need(siding_shm_status(shm, &n_status) && n_status > 0, shm, "status");
    need(siding_shm_wait(shm, 12345, &outcome) == SIDING_SHM_INVALID_ARGUMENT, shm, "no such number");
    number = submit(shm, &at, SIDING_SHM_DELETE, 0x020000000000, 50);
    need(siding_shm_wait(shm, number, &outcome) == 0, shm, "delete");
    puts("good");
}

static void loop(struct siding_shm *shm)
{
    struct places at = places(shm);
    puts("begun");
    fflush(stdout);
    for (;;) {
        uint64_t numbers[2];
        struct siding_shm_outcome outcome;
        numbers[0] = submit(shm, &at, SIDING_SHM_INSERT, 1, N);
        numbers[1] = submit(shm, &at, SIDING_SHM_DELETE, 1, N);
        for (int i = 0; i < 2; i++) {
            int code = numbers[i] ? siding_shm_wait(shm, numbers[i], &outcome) : SIDING_SHM_UNAVAILABLE;
            if (code == SIDING_SHM_UNAVAILABLE) {
                puts(siding_shm_error(shm));
                siding_shm_close(shm);
                exit(3);
            }
            need(code == 0, shm, "loop");
        }
    }
}

int main(int argc, char **argv)
{
    struct siding_shm *shm;
    struct siding_shm_options options = {.election_id_low = 1000, .has_election_id = 1, .timeout_ms = 20000};
    if (argc != 3)
        return 2;
    /* The session of somebody who has just gone may still have the election id. */
    int code = siding_shm_open(&shm, argv[1], &options);
    for (int i = 0; i < 2000 && code == SIDING_SHM_INVALID_ARGUMENT; i++) {
        siding_shm_close(shm);
        poll(NULL, 0, 5);
        code = siding_shm_open(&shm, argv[1], &options);
    }
    need(code == 0, shm, "open");
    if (strcmp(argv[2], "loop") == 0)
        loop(shm);
    check(shm);
    siding_shm_close(shm);
    return 0;
}
