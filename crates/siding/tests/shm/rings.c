/* The rings of siding_shm.c against a model of the switch in a thread, for ThreadSanitizer: both ends use one mapping, and the model
 * reads what was published with plain loads. Argument: a path for the socket. */
#define _GNU_SOURCE
#include <sys/mman.h>

static unsigned char *mapped[2]; /* S and C */
static int n_mapped;

static void *model_mmap(void *at, size_t n, int protection, int flags, int file, long offset)
{
    (void)at, (void)n, (void)protection, (void)flags, (void)file, (void)offset;
    return mapped[n_mapped++ % 2];
}

static int model_munmap(void *at, size_t n)
{
    (void)at, (void)n;
    return 0;
}

#define mmap model_mmap
#define munmap model_munmap
#include "siding_shm.c"
#undef mmap
#undef munmap

#include <pthread.h>

enum { REQUESTS = 8, SLOTS = 4, SLOT = 4096, RECORD = 16, ANSWERS = 4096, ROUNDS = 20000 };
enum { AT = 4096, SLOTS_AT = AT + REQUESTS * 64, ANSWERS_AT = AT + REQUESTS * 64, CODES_AT = ANSWERS_AT + ANSWERS };
enum { SLOT_CODES = SLOT / 8, S_BYTES = CODES_AT + SLOTS * SLOT_CODES, C_BYTES = SLOTS_AT + SLOTS * SLOT };

static int listener;

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void nap(int fd, uint64_t head)
{
    unsigned char *s = mapped[0], *c = mapped[1];
    __atomic_store_n((uint64_t *)(void *)(s + SERVER_SLEEPS), 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n((uint64_t *)(void *)(c + REQUEST_TAIL), __ATOMIC_SEQ_CST) == head) {
        struct pollfd file = {.fd = fd, .events = POLLIN};
        char bytes[64];
        poll(&file, 1, 10000);
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) == 0)
            pthread_exit(NULL);
    }
    __atomic_store_n((uint64_t *)(void *)(s + SERVER_SLEEPS), 0, __ATOMIC_SEQ_CST);
}

static void wake_client(int fd)
{
    if (__atomic_load_n((uint64_t *)(void *)(mapped[1] + CLIENT_SLEEPS), __ATOMIC_SEQ_CST))
        send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Each record has the number of its request in all bytes; the first one of every other request fails, with a status. */
static void *model(void *unused)
{
    unsigned char hello[HELLO_BYTES];
    int fd = accept(listener, NULL, NULL);
    (void)unused;
    expect(recv(fd, hello, sizeof hello, MSG_WAITALL) == sizeof hello, "greeting");
    uint64_t words[16] = {0,       VERSION, 0,  SLOTS | (uint64_t)SLOT << 32, REQUESTS | (uint64_t)ANSWERS << 32, S_BYTES, C_BYTES, AT,
                          SLOTS_AT, AT,      ANSWERS_AT, CODES_AT,              SLOT_CODES};
    memcpy(words, MAGIC, 8);
    int files[2] = {dup(0), dup(0)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {{.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.head), files, sizeof files);
    struct iovec part = {words, sizeof words};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    expect(sendmsg(fd, &message, 0) == sizeof words, "welcome");
    unsigned char *s = mapped[0], *c = mapped[1];
    uint64_t answer_tail = 0;
    for (uint64_t head = 0;;) {
        if (load_acquire(c, REQUEST_TAIL) == head) {
            nap(fd, head);
            continue;
        }
        const uint64_t *request = (const uint64_t *)(const void *)(c + AT + head % REQUESTS * 64);
        uint64_t number = request[0], n = request[3];
        uint32_t slot = (uint32_t)request[6];
        int fails = number % 2;
        for (size_t i = 0; i < n * RECORD; i++)
            expect(c[SLOTS_AT + slot * SLOT + i] == (unsigned char)number, "a record that was not written yet");
        for (size_t i = 0; i < n && fails; i++)
            s[CODES_AT + slot * SLOT_CODES + i] = i == 0 ? 6 : 0;
        if (fails) {
            while (answer_tail + 24 - load_acquire(c, ANSWER_HEAD) > ANSWERS)
                sched_yield();
            uint64_t piece[3] = {4 | (uint64_t)ANSWER_STATUS << 32, number, 0};
            memcpy(&piece[2], "\x12\x02no", 4);
            for (int i = 0; i < 3; i++)
                *(uint64_t *)(void *)(s + ANSWERS_AT + (answer_tail + 8 * (uint64_t)i) % ANSWERS) = piece[i];
            answer_tail += 24;
            store_release(s, ANSWER_TAIL, answer_tail);
        }
        uint64_t *done = (uint64_t *)(void *)(s + AT + head % REQUESTS * 64);
        done[0] = number;
        done[1] = fails ? 2 | UINT64_C(1) << 32 : 0;
        done[2] = n;
        done[3] = fails;
        store_release(s, COMPLETION_TAIL, ++head);
        wake_client(fd);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    expect(argc == 2 && strlen(argv[1]) < sizeof address.sun_path, "a path");
    strcpy(address.sun_path, argv[1]);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    expect(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0, "listen");
    mapped[0] = aligned_alloc(4096, (S_BYTES + 4095) / 4096 * 4096);
    mapped[1] = aligned_alloc(4096, (C_BYTES + 4095) / 4096 * 4096);
    memset(mapped[0], 0, S_BYTES);
    memset(mapped[1], 0, C_BYTES);
    pthread_t thread;
    pthread_create(&thread, NULL, model, NULL);
    struct siding_shm *shm;
    int code = siding_shm_open(&shm, argv[1], NULL);
    expect(code == 0, siding_shm_error(shm));
    const struct siding_shm_table table = {.record_bytes = RECORD, .name = "table"};
    uint64_t waiting[SLOTS] = {0};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct siding_shm_batch batch;
        uint64_t number, *oldest = &waiting[round % SLOTS];
        struct siding_shm_outcome outcome;
        if (*oldest) {
            int fails = *oldest % 2;
            code = siding_shm_wait(shm, *oldest, &outcome);
            expect(code == (fails ? 2 : 0) && outcome.n_failed == (uint64_t)fails, "outcome");
            expect(!fails || (outcome.codes[0] == 6 && !strcmp(siding_shm_error(shm), "no")), "code");
        }
        expect(siding_shm_begin(shm, &table, SIDING_SHM_INSERT, 1 + round % 100, &batch) == 0, "begin");
        memset(batch.records, (int)(round & 0xff), batch.n * RECORD);
        expect(siding_shm_submit(shm, &batch, &number) == 0 && number == round, "submit");
        *oldest = number;
        if (round % 64 == 0)
            poll(NULL, 0, 1); /* lets the other end sleep */
    }
    siding_shm_close(shm);
    pthread_join(thread, NULL);
    puts("good");
    return 0;
}
