/*
 * The client of siding_shm.h. Formats, and the argument why nobody sleeps too long, are those of crates/shm-client.
 *
 * All of it is in one file, long as it is: a controller adds this file and its header to its own build, and needs no more.
 */
#define _GNU_SOURCE
#include "siding_shm.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "little-endian machines only"
#endif

enum {
    VERSION = 1,
    HELLO_BYTES = 64,
    WELCOME_BYTES = 128,
    ENTRY_BYTES = 64,
    N_SLOTS_MAX = 64,
    SPIN_NS = 20000,
    TIMEOUT_MS = 30000,
    HEAD_BYTES = 16,
    TEXT_BYTES = 256,
    /* S */
    REQUEST_HEAD = 64,
    COMPLETION_TAIL = 128,
    ANSWER_TAIL = 192,
    SERVER_SLEEPS = 256,
    /* C */
    REQUEST_TAIL = 0,
    COMPLETION_HEAD = 64,
    ANSWER_HEAD = 128,
    CLIENT_SLEEPS = 192
};

enum kind { RECORDS = 1, WRITE = 2, READ = 3, STREAM = 4, LAYOUT = 5, RESERVE = 6 };
enum answer { ANSWER_STATUS = 1, ANSWER_READ = 2, ANSWER_STREAM = 3, ANSWER_LAYOUT = 4 };

static const char MAGIC[8] = "SIDINGSM";

struct message {
    struct message *next;
    uint64_t number;
    size_t n_bytes;
    unsigned kind;
    unsigned char bytes[];
};

/* A request that was not answered, or an outcome that nobody has taken. */
struct request {
    struct request *next;
    uint64_t number, n, n_failed;
    uint32_t slot, n_slots;
    int code, is_done;
    unsigned char *codes;
    struct message *status;
};

struct siding_shm {
    int fd, is_primary, is_over;
    uint32_t timeout_ms;
    unsigned char *s, *c;
    size_t s_bytes, c_bytes, requests_at, slots_at, completions_at, answers_at, codes_at, codes_bytes;
    uint64_t n_slots, slot_bytes, n_requests, answer_bytes;
    uint64_t request_tail, completion_head, answer_head, next_number, used;
    struct request *requests;
    struct message *messages, **messages_end;
    struct message *begun;
    struct message *status; /* of the last request that failed */
    struct message *taken;  /* the last message that was received */
    unsigned char *codes;   /* of the last outcome */
    struct siding_shm_table *tables;
    char text[TEXT_BYTES];
};

static char open_text[] = "no memory";

static const struct {
    int code;
    const char *name;
} CODES[] = {{0, "OK"},
             {1, "CANCELLED"},
             {2, "UNKNOWN"},
             {3, "INVALID_ARGUMENT"},
             {4, "DEADLINE_EXCEEDED"},
             {5, "NOT_FOUND"},
             {6, "ALREADY_EXISTS"},
             {7, "PERMISSION_DENIED"},
             {8, "RESOURCE_EXHAUSTED"},
             {9, "FAILED_PRECONDITION"},
             {10, "ABORTED"},
             {11, "OUT_OF_RANGE"},
             {12, "UNIMPLEMENTED"},
             {13, "INTERNAL"},
             {14, "UNAVAILABLE"},
             {15, "DATA_LOSS"},
             {16, "UNAUTHENTICATED"}};

const char *siding_shm_code_name(int code)
{
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
        if (CODES[i].code == code)
            return CODES[i].name;
    return "UNKNOWN";
}

const char *siding_shm_error(const struct siding_shm *shm)
{
    return shm ? shm->text : open_text;
}

__attribute__((format(printf, 3, 4))) static int fail(struct siding_shm *shm, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(shm->text, sizeof shm->text, format, args);
    va_end(args);
    return code;
}

/* --- memory that both ends see --- */

static uint64_t load(const unsigned char *base, size_t at)
{
    return __atomic_load_n((const uint64_t *)(const void *)(base + at), __ATOMIC_RELAXED);
}

static uint64_t load_acquire(const unsigned char *base, size_t at)
{
    return __atomic_load_n((const uint64_t *)(const void *)(base + at), __ATOMIC_ACQUIRE);
}

static void store(unsigned char *base, size_t at, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)(base + at), value, __ATOMIC_RELAXED);
}

static void store_release(unsigned char *base, size_t at, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)(base + at), value, __ATOMIC_RELEASE);
}

/* Copies from S; `at` is a multiple of 8. */
static void copy_from(const unsigned char *base, size_t at, void *to, size_t n)
{
    unsigned char *bytes = to;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = load(base, at + i);
        memcpy(bytes + i, &word, n - i < 8 ? n - i : 8);
    }
}

static void copy_ring(const struct siding_shm *shm, uint64_t position, void *to, size_t n)
{
    size_t begin = position % shm->answer_bytes;
    size_t first = n < shm->answer_bytes - begin ? n : shm->answer_bytes - begin;
    copy_from(shm->s, shm->answers_at + begin, to, first);
    copy_from(shm->s, shm->answers_at, (unsigned char *)to + first, n - first);
}

static void wake(struct siding_shm *shm)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (load(shm->s, SERVER_SLEEPS)) {
        char byte = 1;
        ssize_t sent = send(shm->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent; /* a full socket has bytes that wake the switch; whoever reads notices a closed one */
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int has_news(const struct siding_shm *shm)
{
    return load_acquire(shm->s, COMPLETION_TAIL) != shm->completion_head ||
           load_acquire(shm->s, ANSWER_TAIL) != shm->answer_head;
}

static void drain(struct siding_shm *shm)
{
    char bytes[64];
    ssize_t n;
    do
        n = recv(shm->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (n == (ssize_t)sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        shm->is_over = 1;
}

static int may_sleep(struct siding_shm *shm)
{
    store(shm->c, CLIENT_SLEEPS, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (!has_news(shm))
        return 1;
    store(shm->c, CLIENT_SLEEPS, 0);
    return 0;
}

/* Waits until there is something new, the session is over, or the time. */
static int sleep_until(struct siding_shm *shm, uint64_t deadline)
{
    uint64_t begin = now_ns();
    if (shm->is_over)
        return fail(shm, SIDING_SHM_UNAVAILABLE,
                    "the switch has ended the session; what was not answered is unknown, so read it back");
    if (begin >= deadline)
        return fail(shm, SIDING_SHM_DEADLINE_EXCEEDED, "no answer within the time");
    while (now_ns() - begin < SPIN_NS)
        if (has_news(shm))
            return 0;
    if (!may_sleep(shm))
        return 0;
    struct pollfd file = {.fd = shm->fd, .events = POLLIN};
    uint64_t left_ms = (deadline - begin) / 1000000 + 1;
    poll(&file, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
    store(shm->c, CLIENT_SLEEPS, 0);
    drain(shm);
    return 0;
}

/* --- answers --- */

static void set_text(struct siding_shm *shm, const unsigned char *status, size_t n)
{
    /* The message of an encoded google.rpc.Status is its field 2. */
    size_t at = 0;
    while (at < n) {
        uint64_t parts[2] = {0, 0};
        for (int part = 0; part < 2; part++)
            for (unsigned shift = 0; at < n && shift < 64; shift += 7) {
                parts[part] |= (uint64_t)(status[at] & 0x7f) << shift;
                if (!(status[at++] & 0x80))
                    break;
            }
        unsigned type = parts[0] & 7;
        if (type == 0)
            continue;
        if (type != 2 || parts[1] > n - at)
            return;
        if (parts[0] >> 3 == 2) {
            size_t length = parts[1] < TEXT_BYTES - 1 ? parts[1] : TEXT_BYTES - 1;
            memcpy(shm->text, status + at, length);
            shm->text[length] = 0;
            return;
        }
        at += parts[1];
    }
}

static struct message *take_message(struct siding_shm *shm, enum answer kind, uint64_t number)
{
    for (struct message **at = &shm->messages; *at; at = &(*at)->next) {
        struct message *message = *at;
        if (message->kind != (unsigned)kind || message->number != number)
            continue;
        *at = message->next;
        if (!*at)
            shm->messages_end = at;
        return message;
    }
    return NULL;
}

/* Takes pieces of messages from the ring. */
static int take_pieces(struct siding_shm *shm, int *did)
{
    for (;;) {
        uint64_t n = load_acquire(shm->s, ANSWER_TAIL) - shm->answer_head, head[2];
        if (n == 0)
            return 0;
        copy_ring(shm, shm->answer_head, head, HEAD_BYTES);
        size_t n_bytes = (uint32_t)head[0], taken = HEAD_BYTES + (n_bytes + 7) / 8 * 8;
        unsigned kind = (uint16_t)(head[0] >> 32), more = (uint16_t)(head[0] >> 48) & 1;
        if (n > shm->answer_bytes || taken > n)
            return fail(shm, SIDING_SHM_INTERNAL, "the switch does not follow the protocol");
        size_t before = shm->begun ? shm->begun->n_bytes : 0;
        struct message *message = realloc(shm->begun, sizeof *message + before + n_bytes + 8);
        if (!message)
            return fail(shm, SIDING_SHM_RESOURCE_EXHAUSTED, "no memory");
        *message = (struct message){.number = head[1], .kind = kind, .n_bytes = before + n_bytes};
        copy_ring(shm, shm->answer_head + HEAD_BYTES, message->bytes + before, n_bytes);
        shm->answer_head += taken;
        store_release(shm->c, ANSWER_HEAD, shm->answer_head);
        wake(shm);
        *did = 1;
        shm->begun = more ? message : NULL;
        if (!more) {
            *shm->messages_end = message;
            shm->messages_end = &message->next;
        }
    }
}

static struct request *find_request(const struct siding_shm *shm, uint64_t number)
{
    struct request *request = shm->requests;
    while (request && request->number != number)
        request = request->next;
    return request;
}

static uint64_t slot_mask(uint32_t slot, uint32_t n_slots)
{
    return n_slots ? UINT64_MAX >> (64 - n_slots) << slot : 0;
}

/* Takes all that the switch has sent. */
static int pump(struct siding_shm *shm, int *did)
{
    *did = 0;
    while (load_acquire(shm->s, COMPLETION_TAIL) != shm->completion_head) {
        uint64_t words[8];
        size_t at = shm->completions_at + shm->completion_head % shm->n_requests * ENTRY_BYTES;
        for (size_t i = 0; i < 8; i++)
            words[i] = load(shm->s, at + 8 * i);
        shm->completion_head++;
        store_release(shm->c, COMPLETION_HEAD, shm->completion_head);
        wake(shm);
        *did = 1;
        /* Answers come before the completion that they belong to. */
        int code = take_pieces(shm, did);
        if (code)
            return code;
        struct request *request = find_request(shm, words[0]);
        if (!request || request->is_done)
            continue;
        request->is_done = 1;
        request->code = (int)(uint32_t)words[1];
        request->n = words[2];
        request->n_failed = words[3];
        if (words[1] >> 32)
            request->status = take_message(shm, ANSWER_STATUS, request->number);
        if (request->n_failed && request->n <= request->n_slots * shm->codes_bytes) {
            request->codes = malloc(request->n + 8);
            if (!request->codes)
                return fail(shm, SIDING_SHM_RESOURCE_EXHAUSTED, "no memory");
            copy_from(shm->s, shm->codes_at + request->slot * shm->codes_bytes, request->codes, request->n);
        }
        shm->used &= ~slot_mask(request->slot, request->n_slots);
    }
    return take_pieces(shm, did);
}

static uint64_t deadline(const struct siding_shm *shm)
{
    return now_ns() + (uint64_t)shm->timeout_ms * 1000000;
}

/* --- requests --- */

static int take_slots(struct siding_shm *shm, size_t n_bytes, int waits, uint32_t *slot, uint32_t *n_slots)
{
    uint64_t end = deadline(shm), n = n_bytes ? (n_bytes - 1) / shm->slot_bytes + 1 : 1;
    if (n > shm->n_slots)
        return fail(shm, SIDING_SHM_RESOURCE_EXHAUSTED, "%zu bytes do not fit %llu slots of %llu bytes", n_bytes,
                    (unsigned long long)shm->n_slots, (unsigned long long)shm->slot_bytes);
    for (;;) {
        for (uint32_t at = 0; at + n <= shm->n_slots; at++)
            if (!(shm->used & slot_mask(at, (uint32_t)n))) {
                shm->used |= slot_mask(at, (uint32_t)n);
                *slot = at;
                *n_slots = (uint32_t)n;
                return 0;
            }
        int did, code = pump(shm, &did);
        if (code)
            return code;
        if (did)
            continue;
        if (!waits)
            return fail(shm, SIDING_SHM_RESOURCE_EXHAUSTED, "no slot is free");
        code = sleep_until(shm, end);
        if (code)
            return code;
    }
}

/* Publishes a request, whose words 0 and 6 are filled in. The slots are the request's from now on. */
static int submit(struct siding_shm *shm, uint64_t words[8], uint32_t slot, uint32_t n_slots, uint64_t *number)
{
    uint64_t end = deadline(shm);
    while (shm->request_tail - shm->completion_head >= shm->n_requests) {
        int did, code = pump(shm, &did);
        if (!code && !did)
            code = sleep_until(shm, end);
        if (code)
            return code;
    }
    if (shm->is_over)
        return sleep_until(shm, end);
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return fail(shm, SIDING_SHM_RESOURCE_EXHAUSTED, "no memory");
    request->number = *number = shm->next_number++;
    request->slot = slot;
    request->n_slots = n_slots;
    request->next = shm->requests;
    shm->requests = request;
    words[0] = request->number;
    words[6] |= slot;
    size_t at = shm->requests_at + shm->request_tail % shm->n_requests * ENTRY_BYTES;
    for (size_t i = 0; i < 8; i++)
        store(shm->c, at + 8 * i, words[i]);
    shm->request_tail++;
    store_release(shm->c, REQUEST_TAIL, shm->request_tail);
    wake(shm);
    return 0;
}

static int submit_bytes(struct siding_shm *shm, enum kind kind, const void *bytes, size_t n, uint64_t *number)
{
    uint32_t slot, n_slots;
    int code = take_slots(shm, n, 1, &slot, &n_slots);
    if (code)
        return code;
    if (n)
        memcpy(shm->c + shm->slots_at + slot * shm->slot_bytes, bytes, n);
    uint64_t words[8] = {0, 0, 0, n, kind, 0, 0, 0};
    code = submit(shm, words, slot, n_slots, number);
    if (code)
        shm->used &= ~slot_mask(slot, n_slots);
    return code;
}

static void unlink_request(struct siding_shm *shm, struct request *request, struct siding_shm_outcome *outcome)
{
    struct request **at = &shm->requests;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    free(shm->codes);
    shm->codes = request->codes;
    *outcome = (struct siding_shm_outcome){request->number, request->code, request->n, request->n_failed,
                                           request->codes};
    if (request->code) {
        free(shm->status);
        shm->status = request->status;
        snprintf(shm->text, sizeof shm->text, "%s", siding_shm_code_name(request->code));
        if (shm->status)
            set_text(shm, shm->status->bytes, shm->status->n_bytes);
    } else {
        free(request->status);
    }
    free(request);
}

int siding_shm_wait(struct siding_shm *shm, uint64_t number, struct siding_shm_outcome *outcome)
{
    uint64_t end = deadline(shm);
    *outcome = (struct siding_shm_outcome){.number = number};
    for (;;) {
        int did, code = pump(shm, &did);
        struct request *request = find_request(shm, number);
        if (request && request->is_done) {
            unlink_request(shm, request, outcome);
            return outcome->code;
        }
        if (!code && !request)
            code = fail(shm, SIDING_SHM_INVALID_ARGUMENT, "no request has the number %llu", (unsigned long long)number);
        if (!code && !did)
            code = sleep_until(shm, end);
        if (code) {
            outcome->code = code;
            return code;
        }
    }
}

int siding_shm_poll(struct siding_shm *shm, struct siding_shm_outcome *outcome)
{
    int did, code = pump(shm, &did);
    *outcome = (struct siding_shm_outcome){0};
    struct request *oldest = NULL;
    for (struct request *request = shm->requests; request; request = request->next)
        if (request->is_done && (!oldest || request->number < oldest->number))
            oldest = request;
    if (oldest)
        unlink_request(shm, oldest, outcome);
    return oldest ? outcome->code : code;
}

/* --- records --- */

static int begin(struct siding_shm *shm, const struct siding_shm_table *table, enum siding_shm_op op, size_t n, int waits,
                 struct siding_shm_batch *batch)
{
    *batch = (struct siding_shm_batch){0};
    if (!table)
        return fail(shm, SIDING_SHM_INVALID_ARGUMENT, "there is no table");
    if (!table->record_bytes)
        return fail(shm, SIDING_SHM_UNIMPLEMENTED, "entries of `%s` cannot be records", table->name);
    if (n > SIZE_MAX / table->record_bytes)
        return fail(shm, SIDING_SHM_INVALID_ARGUMENT, "%zu are too many", n);
    *batch = (struct siding_shm_batch){.n = n, .table = table, .op = op};
    int code = take_slots(shm, n * table->record_bytes, waits, &batch->slot, &batch->n_slots);
    if (code)
        return code;
    batch->records = shm->c + shm->slots_at + batch->slot * shm->slot_bytes;
    memset(batch->records, 0, n * table->record_bytes);
    return 0;
}

int siding_shm_begin(struct siding_shm *shm, const struct siding_shm_table *table, enum siding_shm_op op, size_t n,
                     struct siding_shm_batch *batch)
{
    return begin(shm, table, op, n, 1, batch);
}

int siding_shm_try_begin(struct siding_shm *shm, const struct siding_shm_table *table, enum siding_shm_op op, size_t n,
                         struct siding_shm_batch *batch)
{
    return begin(shm, table, op, n, 0, batch);
}

void siding_shm_abandon(struct siding_shm *shm, struct siding_shm_batch *batch)
{
    shm->used &= ~slot_mask(batch->slot, batch->n_slots);
    *batch = (struct siding_shm_batch){0};
}

unsigned char *siding_shm_record(const struct siding_shm_batch *batch, size_t i)
{
    return batch->records && i < batch->n ? batch->records + i * batch->table->record_bytes : NULL;
}

static int put(unsigned char *to, const struct siding_shm_field *field, const unsigned char *value, size_t n)
{
    while (n && !*value) {
        value++;
        n--;
    }
    if (n > field->n_bytes)
        return -1;
    memset(to, 0, field->n_bytes);
    for (size_t i = 0; i < n; i++)
        to[i] = value[n - 1 - i];
    return 0;
}

static int put_number(unsigned char *to, const struct siding_shm_field *field, uint64_t value)
{
    if (field->n_bytes < 8 && value >> (8 * field->n_bytes))
        return -1;
    memset(to, 0, field->n_bytes);
    memcpy(to, &value, field->n_bytes < 8 ? field->n_bytes : 8);
    return 0;
}

int siding_shm_set(unsigned char *record, const struct siding_shm_field *field, uint64_t value)
{
    return record && field ? put_number(record + field->offset, field, value) : -1;
}

int siding_shm_set_bytes(unsigned char *record, const struct siding_shm_field *field, const void *value, size_t n)
{
    return record && field ? put(record + field->offset, field, value, n) : -1;
}

static int has_second(const unsigned char *record, const struct siding_shm_key *key)
{
    return record && key && key->second_at != SIDING_SHM_NONE;
}

int siding_shm_set_second(unsigned char *record, const struct siding_shm_key *key, uint64_t value)
{
    return has_second(record, key) ? put_number(record + key->second_at, &key->field, value) : -1;
}

int siding_shm_set_second_bytes(unsigned char *record, const struct siding_shm_key *key, const void *value, size_t n)
{
    return has_second(record, key) ? put(record + key->second_at, &key->field, value, n) : -1;
}

int siding_shm_set_prefix(unsigned char *record, const struct siding_shm_key *key, uint32_t prefix_bits)
{
    if (!has_second(record, key) || prefix_bits > key->field.n_bits)
        return -1;
    memset(record + key->second_at, 0, key->field.n_bytes);
    for (uint32_t i = key->field.n_bits - prefix_bits; i < key->field.n_bits; i++)
        record[key->second_at + i / 8] |= (unsigned char)(1u << i % 8);
    return 0;
}

static void put_action(unsigned char *record, const struct siding_shm_table *table, uint32_t action)
{
    memcpy(record + table->action_at, &action, table->action_bytes < 4 ? table->action_bytes : 4);
}

int siding_shm_set_action(unsigned char *record, const struct siding_shm_table *table,
                          const struct siding_shm_action *action)
{
    if (!record || !table || !action)
        return -1;
    put_action(record, table, action->index);
    return 0;
}

static int set_of_profile(unsigned char *record, const struct siding_shm_table *table, unsigned char kind, uint32_t id)
{
    if (!record || !table || table->kind_at == SIDING_SHM_NONE)
        return -1;
    record[table->kind_at] = kind;
    put_action(record, table, id);
    return 0;
}

int siding_shm_set_member(unsigned char *record, const struct siding_shm_table *table, uint32_t member)
{
    return set_of_profile(record, table, 1, member);
}

int siding_shm_set_group(unsigned char *record, const struct siding_shm_table *table, uint32_t group)
{
    return set_of_profile(record, table, 2, group);
}

static int put_at(unsigned char *record, uint32_t at, const void *value, size_t n)
{
    if (!record || at == SIDING_SHM_NONE)
        return -1;
    memcpy(record + at, value, n);
    return 0;
}

int siding_shm_set_priority(unsigned char *record, const struct siding_shm_table *table, int32_t priority)
{
    return table ? put_at(record, table->priority_at, &priority, 4) : -1;
}

int siding_shm_set_idle_timeout(unsigned char *record, const struct siding_shm_table *table, uint64_t timeout_ns)
{
    return table ? put_at(record, table->idle_timeout_at, &timeout_ns, 8) : -1;
}

int siding_shm_submit(struct siding_shm *shm, struct siding_shm_batch *batch, uint64_t *number)
{
    const struct siding_shm_table *table = batch->table;
    if (!table)
        return fail(shm, SIDING_SHM_INVALID_ARGUMENT, "the batch was not begun");
    uint64_t words[8] = {0,
                         table->program,
                         table->hash,
                         batch->n,
                         RECORDS | (uint64_t)batch->op << 32,
                         table->id | (uint64_t)table->parts << 32,
                         (uint64_t)table->record_bytes << 32,
                         3};
    int code = submit(shm, words, batch->slot, batch->n_slots, number);
    if (code)
        siding_shm_abandon(shm, batch);
    return code;
}

int siding_shm_reserve(struct siding_shm *shm, const struct siding_shm_table *table, uint64_t n_more)
{
    uint64_t words[8] = {0, table->program, 0, n_more, RESERVE, table->id, 0, 0}, number;
    struct siding_shm_outcome outcome;
    int code = submit(shm, words, 0, 0, &number);
    return code ? code : siding_shm_wait(shm, number, &outcome);
}

/* --- requests of P4Runtime --- */

int siding_shm_write(struct siding_shm *shm, const void *request, size_t n_bytes)
{
    uint64_t number;
    struct siding_shm_outcome outcome;
    int code = submit_bytes(shm, WRITE, request, n_bytes, &number);
    return code ? code : siding_shm_wait(shm, number, &outcome);
}

int siding_shm_send(struct siding_shm *shm, const void *message, size_t n_bytes)
{
    uint64_t number;
    struct siding_shm_outcome outcome;
    int code = submit_bytes(shm, STREAM, message, n_bytes, &number);
    return code ? code : siding_shm_wait(shm, number, &outcome);
}

const void *siding_shm_status(const struct siding_shm *shm, size_t *n_bytes)
{
    *n_bytes = shm->status ? shm->status->n_bytes : 0;
    return shm->status ? shm->status->bytes : NULL;
}

int siding_shm_read(struct siding_shm *shm, const void *request, size_t n_bytes,
                    void (*take)(void *context, const void *response, size_t n_bytes), void *context)
{
    uint64_t number, end;
    int did, code = submit_bytes(shm, READ, request, n_bytes, &number);
    for (end = deadline(shm); !code;) {
        code = pump(shm, &did);
        struct message *message;
        while (!code && (message = take_message(shm, ANSWER_READ, number))) {
            take(context, message->bytes, message->n_bytes);
            free(message);
            end = deadline(shm);
        }
        struct request *known = find_request(shm, number);
        if (!code && (!known || known->is_done)) {
            struct siding_shm_outcome outcome;
            return siding_shm_wait(shm, number, &outcome);
        }
        if (!code && !did)
            code = sleep_until(shm, end);
    }
    return code;
}

int siding_shm_receive(struct siding_shm *shm, uint32_t timeout_ms, const void **message, size_t *n_bytes)
{
    uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000;
    *message = NULL;
    *n_bytes = 0;
    for (;;) {
        int did, code = pump(shm, &did);
        if (code)
            return code;
        struct message *taken = take_message(shm, ANSWER_STREAM, 0);
        if (taken) {
            free(shm->taken);
            shm->taken = taken;
            *message = taken->bytes;
            *n_bytes = taken->n_bytes;
            return 0;
        }
        if (did)
            continue;
        code = sleep_until(shm, end);
        if (code)
            return code == SIDING_SHM_DEADLINE_EXCEEDED ? 0 : code;
    }
}

int siding_shm_fd(const struct siding_shm *shm)
{
    return shm->fd;
}

int siding_shm_arm(struct siding_shm *shm)
{
    drain(shm);
    return !shm->is_over && may_sleep(shm);
}

int siding_shm_is_primary(const struct siding_shm *shm)
{
    return shm->is_primary;
}

/* --- layouts --- */

struct reader {
    const unsigned char *at;
    size_t left;
    int is_bad;
};

static const unsigned char *take_bytes(struct reader *from, size_t n)
{
    static const unsigned char none[8];
    if (from->is_bad || n > from->left) {
        from->is_bad = 1;
        return none;
    }
    const unsigned char *bytes = from->at;
    from->at += n;
    from->left -= n;
    return bytes;
}

static uint32_t number(struct reader *from)
{
    uint32_t value;
    memcpy(&value, take_bytes(from, 4), 4);
    return value;
}

static uint64_t word(struct reader *from)
{
    uint64_t value;
    memcpy(&value, take_bytes(from, 8), 8);
    return value;
}

static char *name(struct reader *from)
{
    size_t n = number(from), filled = (n + 3) / 4 * 4;
    const unsigned char *bytes = take_bytes(from, filled);
    char *text = from->is_bad ? NULL : malloc(n + 1);
    if (!text) {
        from->is_bad = 1;
        return NULL;
    }
    memcpy(text, bytes, n);
    text[n] = 0;
    return text;
}

static void *array(struct reader *from, size_t n, size_t size)
{
    /* Each element takes some bytes, so no number is larger than what is left. */
    void *elements = from->is_bad || n > from->left ? NULL : calloc(n ? n : 1, size);
    if (!elements)
        from->is_bad = 1;
    return elements;
}

static struct siding_shm_field field(struct reader *from)
{
    struct siding_shm_field field = {0};
    field.id = number(from);
    field.offset = number(from);
    field.n_bytes = number(from);
    field.n_bits = number(from);
    field.name = name(from);
    return field;
}

static void free_table(struct siding_shm_table *table)
{
    for (uint32_t i = 0; table->keys && i < table->n_keys; i++)
        free(table->keys[i].field.name);
    for (uint32_t i = 0; table->actions && i < table->n_actions; i++) {
        struct siding_shm_action *action = &table->actions[i];
        for (uint32_t j = 0; action->params && j < action->n_params; j++)
            free(action->params[j].name);
        free(action->params);
        free(action->name);
    }
    free(table->keys);
    free(table->actions);
    free(table->name);
    free(table);
}

/* All positions of a field are within the record. */
static int fits(const struct siding_shm_table *table, uint32_t at, uint32_t n_bytes)
{
    return at == SIDING_SHM_NONE || (uint64_t)at + n_bytes <= table->record_bytes;
}

static int is_good(const struct siding_shm_table *table)
{
    if (!table->record_bytes)
        return 1;
    int good = fits(table, table->kind_at, 1) && fits(table, table->action_at, table->action_bytes) &&
               fits(table, table->priority_at, 4) && fits(table, table->idle_timeout_at, 8) &&
               fits(table, table->count_at, 16) && fits(table, table->rates_at, 48);
    for (uint32_t i = 0; i < table->n_keys; i++) {
        const struct siding_shm_field *of = &table->keys[i].field;
        good &= fits(table, of->offset, of->n_bytes) && fits(table, table->keys[i].second_at, of->n_bytes) &&
                of->n_bits <= 8 * of->n_bytes;
    }
    for (uint32_t i = 0; i < table->n_actions; i++)
        for (uint32_t j = 0; j < table->actions[i].n_params; j++)
            good &= fits(table, table->actions[i].params[j].offset, table->actions[i].params[j].n_bytes);
    return good;
}

static struct siding_shm_table *read_table(struct reader *from, uint64_t program)
{
    struct siding_shm_table *table = calloc(1, sizeof *table);
    if (!table) {
        from->is_bad = 1;
        return NULL;
    }
    size_t n_bytes = word(from);
    table->program = program;
    table->hash = word(from);
    struct reader body = {take_bytes(from, n_bytes), n_bytes, from->is_bad};
    if (!from->is_bad)
        take_bytes(from, (8 - n_bytes % 8) % 8);
    uint32_t *numbers[] = {&table->id,          &table->record_bytes, &table->parts,        &table->parts_available,
                           &table->kind_at,     &table->action_at,    &table->action_bytes, &table->priority_at,
                           &table->idle_timeout_at, &table->count_at, &table->rates_at};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = number(&body);
    uint32_t n_keys = number(&body), n_actions = number(&body);
    table->name = name(&body);
    table->keys = array(&body, n_keys, sizeof *table->keys);
    table->n_keys = table->keys ? n_keys : 0;
    for (uint32_t i = 0; i < table->n_keys && !body.is_bad; i++) {
        table->keys[i].kind = (enum siding_shm_match)number(&body);
        table->keys[i].second_at = number(&body);
        table->keys[i].field = field(&body);
    }
    table->actions = array(&body, n_actions, sizeof *table->actions);
    table->n_actions = table->actions ? n_actions : 0;
    for (uint32_t i = 0; i < table->n_actions && !body.is_bad; i++) {
        struct siding_shm_action *action = &table->actions[i];
        action->id = number(&body);
        action->index = number(&body);
        uint32_t n_params = number(&body);
        action->name = name(&body);
        action->params = array(&body, n_params, sizeof *action->params);
        action->n_params = action->params ? n_params : 0;
        for (uint32_t j = 0; j < action->n_params && !body.is_bad; j++)
            action->params[j] = field(&body);
    }
    from->is_bad |= body.is_bad || !is_good(table);
    if (from->is_bad) {
        free_table(table);
        return NULL;
    }
    return table;
}

static int ends_in(const char *full, const char *end)
{
    size_t n = strlen(full), n_end = strlen(end);
    return n == n_end ? !strcmp(full, end) : n > n_end && full[n - n_end - 1] == '.' && !strcmp(full + n - n_end, end);
}

/* The only element of n whose name ends in `wanted`, or the one that has just this name; n if there is none. */
static size_t find(const void *elements, size_t n, size_t size, size_t name_at, const char *wanted)
{
    size_t found = n, n_found = 0;
    for (size_t i = 0; i < n; i++) {
        const char *of = *(char *const *)(const void *)((const char *)elements + i * size + name_at);
        if (!strcmp(of, wanted))
            return i;
        if (ends_in(of, wanted)) {
            found = i;
            n_found++;
        }
    }
    return n_found == 1 ? found : n;
}

const struct siding_shm_key *siding_shm_key(const struct siding_shm_table *table, const char *name)
{
    if (!table || !name)
        return NULL;
    size_t i = find(table->keys, table->n_keys, sizeof *table->keys, offsetof(struct siding_shm_key, field.name), name);
    return i < table->n_keys ? &table->keys[i] : NULL;
}

const struct siding_shm_action *siding_shm_action(const struct siding_shm_table *table, const char *name)
{
    if (!table || !name)
        return NULL;
    size_t i =
        find(table->actions, table->n_actions, sizeof *table->actions, offsetof(struct siding_shm_action, name), name);
    return i < table->n_actions ? &table->actions[i] : NULL;
}

const struct siding_shm_field *siding_shm_param(const struct siding_shm_action *action, const char *name)
{
    if (!action || !name)
        return NULL;
    size_t i =
        find(action->params, action->n_params, sizeof *action->params, offsetof(struct siding_shm_field, name), name);
    return i < action->n_params ? &action->params[i] : NULL;
}

int siding_shm_table(struct siding_shm *shm, const char *name, uint32_t parts, const struct siding_shm_table **found)
{
    uint64_t words[8] = {0, 0, 0, 0, LAYOUT, (uint64_t)parts << 32, 0, 0}, request;
    struct siding_shm_outcome outcome;
    *found = NULL;
    int code = submit(shm, words, 0, 0, &request);
    if (!code)
        code = siding_shm_wait(shm, request, &outcome);
    if (code)
        return code;
    struct message *message = take_message(shm, ANSWER_LAYOUT, request);
    if (!message)
        return fail(shm, SIDING_SHM_INTERNAL, "the switch sends no layouts");
    struct reader from = {message->bytes, message->n_bytes, 0};
    uint64_t program = word(&from), n_tables = word(&from);
    struct siding_shm_table *best = NULL;
    int n_found = 0, is_exact = 0;
    for (uint64_t i = 0; i < n_tables && !from.is_bad; i++) {
        struct siding_shm_table *table = read_table(&from, program);
        int is_same = table && !strcmp(table->name, name);
        if (!table || is_exact || !ends_in(table->name, name)) {
            if (table)
                free_table(table);
            continue;
        }
        if (best)
            free_table(best);
        best = table;
        n_found = is_same ? 1 : n_found + 1;
        is_exact = is_same;
    }
    free(message);
    if (from.is_bad || n_found != 1) {
        if (best)
            free_table(best);
        if (from.is_bad)
            return fail(shm, SIDING_SHM_INTERNAL, "the switch sends layouts that cannot be read");
        return n_found ? fail(shm, SIDING_SHM_INVALID_ARGUMENT, "several names of tables end in `%s`", name)
                       : fail(shm, SIDING_SHM_NOT_FOUND, "there is no table `%s`", name);
    }
    best->next = shm->tables;
    shm->tables = best;
    *found = best;
    return 0;
}

/* --- the session --- */

static int read_all(int fd, unsigned char *bytes, size_t n, int timeout_ms)
{
    for (size_t i = 0; i < n;) {
        struct pollfd file = {.fd = fd, .events = POLLIN};
        if (poll(&file, 1, timeout_ms) <= 0)
            return -1;
        ssize_t got = recv(fd, bytes + i, n - i, 0);
        if (got <= 0)
            return -1;
        i += (size_t)got;
    }
    return 0;
}

/* Receives a welcome, and the descriptors that come with it. */
static int receive_welcome(struct siding_shm *shm, unsigned char welcome[WELCOME_BYTES], int files[2])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {welcome, WELCOME_BYTES};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct pollfd file = {.fd = shm->fd, .events = POLLIN};
    files[0] = files[1] = -1;
    if (poll(&file, 1, (int)shm->timeout_ms) <= 0)
        return -1;
    ssize_t n = recvmsg(shm->fd, &message, MSG_CMSG_CLOEXEC);
    if (n <= 0)
        return -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
            head->cmsg_len == CMSG_LEN(2 * sizeof(int)))
            memcpy(files, CMSG_DATA(head), 2 * sizeof(int));
    return read_all(shm->fd, welcome + n, WELCOME_BYTES - (size_t)n, (int)shm->timeout_ms);
}

static int greet(struct siding_shm *shm, const struct siding_shm_options *options)
{
    const char *role = options->role ? options->role : "";
    uint64_t role_bytes = strlen(role);
    if (role_bytes > 1024)
        return fail(shm, SIDING_SHM_INVALID_ARGUMENT, "the name of the role is too long");
    unsigned char hello[HELLO_BYTES + 1024], bytes[WELCOME_BYTES];
    uint64_t words[16] = {0,
                          VERSION | role_bytes << 32,
                          options->device_id,
                          options->election_id_high,
                          options->election_id_low,
                          options->has_election_id != 0,
                          options->n_slots | (uint64_t)options->slot_bytes << 32,
                          0};
    memcpy(words, MAGIC, 8);
    memcpy(hello, words, HELLO_BYTES);
    memcpy(hello + HELLO_BYTES, role, role_bytes);
    int files[2];
    if (send(shm->fd, hello, HELLO_BYTES + role_bytes, MSG_NOSIGNAL) != (ssize_t)(HELLO_BYTES + role_bytes) ||
        receive_welcome(shm, bytes, files))
        return fail(shm, SIDING_SHM_UNAVAILABLE, "the switch does not answer the greeting");
    memcpy(words, bytes, WELCOME_BYTES);
    if (memcmp(bytes, MAGIC, 8) || (uint32_t)words[1] != VERSION)
        return fail(shm, SIDING_SHM_FAILED_PRECONDITION, "the switch has another version");
    int code = (int)(words[1] >> 32);
    if (code) {
        size_t n = words[2] >> 32 < TEXT_BYTES - 1 ? words[2] >> 32 : TEXT_BYTES - 1;
        if (read_all(shm->fd, (unsigned char *)shm->text, n, (int)shm->timeout_ms))
            n = 0;
        shm->text[n] = 0;
        return code;
    }
    shm->is_primary = (uint32_t)words[2] == 0;
    shm->n_slots = (uint32_t)words[3];
    shm->slot_bytes = words[3] >> 32;
    shm->n_requests = (uint32_t)words[4];
    shm->answer_bytes = words[4] >> 32;
    size_t *sizes[] = {&shm->s_bytes,        &shm->c_bytes,    &shm->requests_at, &shm->slots_at,
                       &shm->completions_at, &shm->answers_at, &shm->codes_at,    &shm->codes_bytes};
    for (size_t i = 0; i < 8; i++)
        *sizes[i] = words[5 + i];
    void *s = MAP_FAILED, *c = MAP_FAILED;
    if (files[0] >= 0) {
        s = mmap(NULL, shm->s_bytes, PROT_READ, MAP_SHARED, files[0], 0);
        c = mmap(NULL, shm->c_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[1], 0);
        close(files[0]);
        close(files[1]);
    }
    shm->s = s == MAP_FAILED ? NULL : s;
    shm->c = c == MAP_FAILED ? NULL : c;
    if (!s || !c || s == MAP_FAILED || c == MAP_FAILED || shm->n_slots > N_SLOTS_MAX || !shm->n_requests)
        return fail(shm, SIDING_SHM_INTERNAL, "the memory of the switch cannot be mapped");
    return 0;
}

int siding_shm_open(struct siding_shm **opened, const char *path, const struct siding_shm_options *given)
{
    const struct siding_shm_options usual = {.election_id_low = 1, .has_election_id = 1};
    const struct siding_shm_options *options = given ? given : &usual;
    struct siding_shm *shm = *opened = calloc(1, sizeof *shm);
    if (!shm)
        return SIDING_SHM_RESOURCE_EXHAUSTED;
    shm->messages_end = &shm->messages;
    shm->next_number = 1;
    shm->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
    shm->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return fail(shm, SIDING_SHM_INVALID_ARGUMENT, "the path of the socket is too long");
    memcpy(address.sun_path, path, strlen(path));
    if (shm->fd < 0 || connect(shm->fd, (struct sockaddr *)&address, sizeof address))
        return fail(shm, SIDING_SHM_UNAVAILABLE, "cannot connect to %s: %s", path, strerror(errno));
    return greet(shm, options);
}

void siding_shm_close(struct siding_shm *shm)
{
    if (!shm)
        return;
    if (shm->s)
        munmap(shm->s, shm->s_bytes);
    if (shm->c)
        munmap(shm->c, shm->c_bytes);
    if (shm->fd >= 0)
        close(shm->fd);
    while (shm->requests) {
        struct request *request = shm->requests;
        shm->requests = request->next;
        free(request->codes);
        free(request->status);
        free(request);
    }
    while (shm->messages) {
        struct message *message = shm->messages;
        shm->messages = message->next;
        free(message);
    }
    while (shm->tables) {
        struct siding_shm_table *table = shm->tables;
        shm->tables = table->next;
        free_table(table);
    }
    free(shm->begun);
    free(shm->status);
    free(shm->taken);
    free(shm->codes);
    free(shm);
}
