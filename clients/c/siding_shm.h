/* Table entries of a Siding switch of the same machine, written through shared memory.
 *
 * A session is one controller of P4Runtime. It and all that belongs to it are for one thread at a time. Functions that
 * return int return 0 or a canonical code of gRPC (SIDING_SHM_...); siding_shm_error() has the text of the last failure.
 *
 *     struct siding_shm *shm;
 *     siding_shm_open(&shm, "/run/siding/shm", NULL);
 *     const struct siding_shm_table *flows;
 *     siding_shm_table(shm, "flows", 0, &flows);
 *     struct siding_shm_batch batch;
 *     siding_shm_begin(shm, flows, SIDING_SHM_INSERT, 1000, &batch);
 *     ... fill batch.records, by the setters or by a struct of `siding build --emit shm-header` ...
 *     uint64_t number;
 *     siding_shm_submit(shm, &batch, &number);
 *     struct siding_shm_outcome outcome;
 *     siding_shm_wait(shm, number, &outcome);
 */
#ifndef SIDING_SHM_H
#define SIDING_SHM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum siding_shm_code {
    SIDING_SHM_OK = 0,
    SIDING_SHM_UNKNOWN = 2, /* some entries have failed */
    SIDING_SHM_INVALID_ARGUMENT = 3,
    SIDING_SHM_DEADLINE_EXCEEDED = 4,
    SIDING_SHM_NOT_FOUND = 5,
    SIDING_SHM_ALREADY_EXISTS = 6,
    SIDING_SHM_PERMISSION_DENIED = 7,
    SIDING_SHM_RESOURCE_EXHAUSTED = 8, /* no slot is free, or the table is full */
    SIDING_SHM_FAILED_PRECONDITION = 9,
    SIDING_SHM_OUT_OF_RANGE = 11,
    SIDING_SHM_UNIMPLEMENTED = 12,
    SIDING_SHM_INTERNAL = 13,
    SIDING_SHM_UNAVAILABLE = 14 /* the session is over; what was not answered is unknown: read it back */
};

enum siding_shm_op { SIDING_SHM_INSERT = 1, SIDING_SHM_MODIFY = 2, SIDING_SHM_DELETE = 3, SIDING_SHM_UPSERT = 4 };

enum siding_shm_match {
    SIDING_SHM_EXACT = 2,
    SIDING_SHM_LPM = 3,
    SIDING_SHM_TERNARY = 4,
    SIDING_SHM_RANGE = 5,
    SIDING_SHM_OPTIONAL = 6
};

enum siding_shm_part { SIDING_SHM_IDLE_TIMEOUT = 1, SIDING_SHM_COUNT = 2, SIDING_SHM_RATES = 4 };

#define SIDING_SHM_NONE UINT32_MAX

struct siding_shm;

struct siding_shm_options {
    uint64_t device_id;
    const char *role; /* NULL: the default role */
    uint64_t election_id_high, election_id_low;
    int has_election_id;  /* 0: reads only */
    uint32_t n_slots;     /* 0: as the switch likes */
    uint32_t slot_bytes;  /* a multiple of 4096 */
    uint32_t timeout_ms;  /* for each answer; 0: 30000 */
};

/* A value in a record: an integer, little-endian; bits above n_bits are zero. */
struct siding_shm_field {
    uint32_t id, offset, n_bytes, n_bits;
    char *name;
};

struct siding_shm_key {
    struct siding_shm_field field;
    enum siding_shm_match kind;
    uint32_t second_at; /* mask, or the high end of a range; or SIDING_SHM_NONE */
};

struct siding_shm_action {
    uint32_t id, index, n_params;
    char *name;
    struct siding_shm_field *params;
};

/* The layout of the records of a table. Positions that records lack are SIDING_SHM_NONE. */
struct siding_shm_table {
    uint64_t program, hash;
    uint32_t id, record_bytes, parts, parts_available;
    uint32_t kind_at, action_at, action_bytes, priority_at, idle_timeout_at, count_at, rates_at;
    uint32_t n_keys, n_actions;
    char *name;
    struct siding_shm_key *keys;
    struct siding_shm_action *actions;
    struct siding_shm_table *next;
};

/* Records that are being filled; they are zero in the beginning. */
struct siding_shm_batch {
    unsigned char *records;
    size_t n;
    const struct siding_shm_table *table;
    enum siding_shm_op op;
    uint32_t slot, n_slots;
};

struct siding_shm_outcome {
    uint64_t number;
    int code;
    uint64_t n, n_failed;
    /* A code for each entry, or NULL if all are 0. Valid until the next call with this session. */
    const unsigned char *codes;
};

/* Connects. Without options: device 0, the default role, election id 1. Free what it returns also after a failure. */
int siding_shm_open(struct siding_shm **shm, const char *path, const struct siding_shm_options *options);
void siding_shm_close(struct siding_shm *shm);
/* Text of the last failure. `shm` may be NULL. */
const char *siding_shm_error(const struct siding_shm *shm);
const char *siding_shm_code_name(int code);
int siding_shm_is_primary(const struct siding_shm *shm);

/* A table by its name or the end of its name; the session owns it. */
int siding_shm_table(struct siding_shm *shm, const char *name, uint32_t parts, const struct siding_shm_table **table);
/* NULL if there is none of this name, if several names end in it, or if the table or the action is NULL. */
const struct siding_shm_key *siding_shm_key(const struct siding_shm_table *table, const char *name);
const struct siding_shm_action *siding_shm_action(const struct siding_shm_table *table, const char *name);
const struct siding_shm_field *siding_shm_param(const struct siding_shm_action *action, const char *name);

/* Announces that so many more entries are about to be inserted. */
int siding_shm_reserve(struct siding_shm *shm, const struct siding_shm_table *table, uint64_t n_more);

/* Begins a batch; waits for a free slot. The other one returns SIDING_SHM_RESOURCE_EXHAUSTED instead. */
int siding_shm_begin(struct siding_shm *shm, const struct siding_shm_table *table, enum siding_shm_op op, size_t n,
                     struct siding_shm_batch *batch);
int siding_shm_try_begin(struct siding_shm *shm, const struct siding_shm_table *table, enum siding_shm_op op, size_t n,
                         struct siding_shm_batch *batch);
/* Gives up a batch that was not submitted. */
void siding_shm_abandon(struct siding_shm *shm, struct siding_shm_batch *batch);
/* NULL beyond the last record, or if the batch was not begun. */
unsigned char *siding_shm_record(const struct siding_shm_batch *batch, size_t i);

/* Setters return 0, or -1 and change nothing: a value has too many bytes, records of the table lack the position, or an
 * argument is NULL, such as a key that was not found. Values are integers, or n bytes in big-endian order as P4Runtime has
 * them. */
int siding_shm_set(unsigned char *record, const struct siding_shm_field *field, uint64_t value);
int siding_shm_set_bytes(unsigned char *record, const struct siding_shm_field *field, const void *value, size_t n);
/* The mask, or the high end of a range. */
int siding_shm_set_second(unsigned char *record, const struct siding_shm_key *key, uint64_t value);
int siding_shm_set_second_bytes(unsigned char *record, const struct siding_shm_key *key, const void *value, size_t n);
/* The mask of an LPM element; for an optional one that is to match its value, its width. */
int siding_shm_set_prefix(unsigned char *record, const struct siding_shm_key *key, uint32_t prefix_bits);
int siding_shm_set_action(unsigned char *record, const struct siding_shm_table *table,
                          const struct siding_shm_action *action);
int siding_shm_set_member(unsigned char *record, const struct siding_shm_table *table, uint32_t member);
int siding_shm_set_group(unsigned char *record, const struct siding_shm_table *table, uint32_t group);
int siding_shm_set_priority(unsigned char *record, const struct siding_shm_table *table, int32_t priority);
int siding_shm_set_idle_timeout(unsigned char *record, const struct siding_shm_table *table, uint64_t timeout_ns);

/* Publishes a batch. */
int siding_shm_submit(struct siding_shm *shm, struct siding_shm_batch *batch, uint64_t *number);
/* Waits for an outcome. Returns its code. */
int siding_shm_wait(struct siding_shm *shm, uint64_t number, struct siding_shm_outcome *outcome);
/* Takes any outcome that is there; outcome->number is 0 if there is none. */
int siding_shm_poll(struct siding_shm *shm, struct siding_shm_outcome *outcome);

/* Carries out an encoded p4.v1.WriteRequest. */
int siding_shm_write(struct siding_shm *shm, const void *request, size_t n_bytes);
/* The encoded google.rpc.Status of the last request that failed; *n_bytes is 0 if there is none. */
const void *siding_shm_status(const struct siding_shm *shm, size_t *n_bytes);
/* Carries out an encoded p4.v1.ReadRequest; `take` gets encoded ReadResponses. */
int siding_shm_read(struct siding_shm *shm, const void *request, size_t n_bytes,
                    void (*take)(void *context, const void *response, size_t n_bytes), void *context);
/* Sends an encoded p4.v1.StreamMessageRequest. */
int siding_shm_send(struct siding_shm *shm, const void *message, size_t n_bytes);
/* The next encoded p4.v1.StreamMessageResponse, valid until the next call; *message is NULL if the time is over. */
int siding_shm_receive(struct siding_shm *shm, uint32_t timeout_ms, const void **message, size_t *n_bytes);

/* A descriptor to wait for (POLLIN), when siding_shm_arm() has returned 1; 0 means that something is there already. */
int siding_shm_fd(const struct siding_shm *shm);
int siding_shm_arm(struct siding_shm *shm);

#ifdef __cplusplus
}
#endif

#endif
