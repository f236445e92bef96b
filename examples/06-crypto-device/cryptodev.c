/*
 * AES-GCM by a crypto device of DPDK, in the place of the built-in one: a batch device behind the interface of externs.
 *
 *     cc -O2 -shared -fPIC -I rt $(pkg-config --cflags libdpdk) -o cryptodev.so examples/06-crypto-device/cryptodev.c \
 *         $(pkg-config --libs libdpdk)
 *     siding stf --extern ./cryptodev.so examples/05-tunnel/tunnel.p4 examples/05-tunnel/tunnel.stf
 *
 * A library's externs come before built-in ones of the same name, so that programs stay as they are. The first device
 * that does AES-GCM is used; which there are is said by arguments of DPDK, in the place of those below, for each of the
 * two externs that a program calls:
 *
 *     --extern-option aes_gcm_encrypt="--no-huge --no-shconf --no-pci --vdev crypto_openssl"
 *
 * Each thread has a queue pair. What comes together is enqueued together; packets are not copied, the device works on them
 * where they lie. A device that reads memory by itself needs that memory registered, which this example does not do.
 */
#define _GNU_SOURCE
#define ALLOW_EXPERIMENTAL_API
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cryptodev.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "siding_extern.h"

#define TAG_BYTES 16u
#define NONCE_BYTES 12u
#define KEY_BYTES_MAX 32u
/* Operations under way in a thread. */
#define BURST 32u
#define N_QUEUE_PAIRS 16u
/* Keys whose sessions a thread keeps. */
#define N_SESSIONS 64u
#define PACKET_BYTES_MAX 9216u

static const char *const default_arguments = "--no-huge --no-shconf -m 128 --no-pci --no-telemetry --log-level=error "
                                             "--vdev crypto_aesni_gcm";

/* Of the process; made by the first thread that opens a state. */
static struct {
    pthread_mutex_t lock;
    bool is_tried;
    const char *failure;
    uint8_t device;
    struct rte_mempool *sessions;
    struct rte_mempool *operations;
    struct rte_mempool *packets;
    bool is_used[N_QUEUE_PAIRS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- The device --- */

static bool has_gcm(uint8_t device)
{
    struct rte_cryptodev_sym_capability_idx wanted = {.type = RTE_CRYPTO_SYM_XFORM_AEAD,
                                                      .algo.aead = RTE_CRYPTO_AEAD_AES_GCM};
    return rte_cryptodev_sym_capability_get(device, &wanted) != NULL;
}

/* Gives why not, or NULL. */
static const char *start_device(void)
{
    struct rte_cryptodev_info info;
    uint8_t n_devices = rte_cryptodev_count();
    for (all.device = 0; all.device < n_devices && !has_gcm(all.device); all.device++)
        continue;
    if (all.device == n_devices)
        return "there is no crypto device with AES-GCM";
    rte_cryptodev_info_get(all.device, &info);
    uint16_t n_pairs = info.max_nb_queue_pairs < N_QUEUE_PAIRS ? (uint16_t)info.max_nb_queue_pairs : N_QUEUE_PAIRS;
    for (uint32_t i = n_pairs; i < N_QUEUE_PAIRS; i++)
        all.is_used[i] = true;
    uint32_t n_sessions = n_pairs * N_SESSIONS * 2;
    all.sessions = rte_cryptodev_sym_session_pool_create(
        "siding sessions", n_sessions, rte_cryptodev_sym_get_private_session_size(all.device), 0, 0, SOCKET_ID_ANY);
    all.operations = rte_crypto_op_pool_create("siding operations", RTE_CRYPTO_OP_TYPE_SYMMETRIC, 4096, 64,
                                               NONCE_BYTES + 4, SOCKET_ID_ANY);
    all.packets = rte_pktmbuf_pool_create("siding packets", 4095, 64, 0, 0, SOCKET_ID_ANY);
    if (!all.sessions || !all.operations || !all.packets)
        return "there is not enough memory for sessions, operations and packets";
    struct rte_cryptodev_config config = {.socket_id = SOCKET_ID_ANY, .nb_queue_pairs = n_pairs};
    struct rte_cryptodev_qp_conf pair = {.nb_descriptors = 2048, .mp_session = all.sessions};
    if (rte_cryptodev_configure(all.device, &config) != 0)
        return "the crypto device cannot be configured";
    for (uint16_t i = 0; i < n_pairs; i++)
        if (rte_cryptodev_queue_pair_setup(all.device, i, &pair, SOCKET_ID_ANY) != 0)
            return "a queue pair of the crypto device cannot be set up";
    return rte_cryptodev_start(all.device) == 0 ? NULL : "the crypto device does not start";
}

/* The same with DPDK, which binds the thread that starts it to a core: this one stays where it was. */
static const char *start(const char *arguments)
{
    char *words[64] = {"siding"}, *copy = strdup(arguments), *rest = copy;
    int n_words = 1;
    cpu_set_t cores;
    if (!copy)
        return "there is not enough memory";
    for (char *word; n_words < 63 && (word = strtok_r(rest, " ", &rest)) != NULL;)
        words[n_words++] = word;
    bool has_cores = pthread_getaffinity_np(pthread_self(), sizeof cores, &cores) == 0;
    int status = rte_eal_init(n_words, words);
    if (has_cores)
        pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
    /* DPDK keeps words of its command line. */
    return status < 0 ? "DPDK does not start with these arguments" : start_device();
}

/* --- What a thread has --- */

struct session {
    void *session;
    uint32_t key_bytes, offset;
    enum rte_crypto_aead_operation operation;
    uint8_t key[KEY_BYTES_MAX];
    uint64_t used;
};

struct thread {
    uint16_t pair;
    uint64_t clock;
    struct session sessions[N_SESSIONS];
    struct rte_mbuf_ext_shared_info shared;
    /* Texts as they were before they were decrypted. */
    uint8_t before[BURST][PACKET_BYTES_MAX];
};

/* Packets are freed by whoever has them. */
static void free_nothing(void *address, void *context)
{
    (void)address;
    (void)context;
}

static void *thread_open(const struct siding_opening *opening)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread) {
        snprintf(opening->message, opening->message_bytes, "there is not enough memory");
        return NULL;
    }
    pthread_mutex_lock(&all.lock);
    if (!all.is_tried)
        all.failure = start(opening->option ? opening->option : default_arguments);
    all.is_tried = true;
    const char *failure = all.failure;
    uint16_t pair = 0;
    while (!failure && pair < N_QUEUE_PAIRS && all.is_used[pair])
        pair++;
    if (!failure && pair == N_QUEUE_PAIRS)
        failure = "all queue pairs of the crypto device are in use";
    if (!failure)
        all.is_used[pair] = true;
    pthread_mutex_unlock(&all.lock);
    if (failure) {
        snprintf(opening->message, opening->message_bytes, "%s", failure);
        free(thread);
        return NULL;
    }
    thread->pair = pair;
    thread->shared.free_cb = free_nothing;
    rte_mbuf_ext_refcnt_set(&thread->shared, 1);
    return thread;
}

static void thread_close(void *state)
{
    struct thread *thread = state;
    for (uint32_t i = 0; i < N_SESSIONS; i++)
        if (thread->sessions[i].session)
            rte_cryptodev_sym_session_free(all.device, thread->sessions[i].session);
    pthread_mutex_lock(&all.lock);
    all.is_used[thread->pair] = false;
    pthread_mutex_unlock(&all.lock);
    free(thread);
}

/* The session of a key, for texts behind `offset` bytes that are authenticated only; NULL where the device has none. */
static void *session_of(struct thread *thread, enum rte_crypto_aead_operation operation, const uint8_t *key,
                        uint32_t key_bytes, uint32_t offset)
{
    struct session *oldest = &thread->sessions[0];
    for (struct session *s = thread->sessions; s < thread->sessions + N_SESSIONS; s++) {
        if (s->session && s->operation == operation && s->key_bytes == key_bytes && s->offset == offset &&
            memcmp(s->key, key, key_bytes) == 0) {
            s->used = ++thread->clock;
            return s->session;
        }
        if (s->used < oldest->used)
            oldest = s;
    }
    struct rte_crypto_sym_xform transform = {
        .type = RTE_CRYPTO_SYM_XFORM_AEAD,
        .aead = {.op = operation,
                 .algo = RTE_CRYPTO_AEAD_AES_GCM,
                 .key = {.data = key, .length = (uint16_t)key_bytes},
                 .iv = {.offset = sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op),
                        .length = NONCE_BYTES},
                 .digest_length = TAG_BYTES,
                 .aad_length = (uint16_t)offset},
    };
    if (oldest->session)
        rte_cryptodev_sym_session_free(all.device, oldest->session);
    oldest->session = rte_cryptodev_sym_session_create(all.device, &transform, all.sessions);
    oldest->operation = operation;
    oldest->key_bytes = key_bytes;
    oldest->offset = offset;
    memcpy(oldest->key, key, key_bytes);
    oldest->used = oldest->session ? ++thread->clock : 0;
    return oldest->session;
}

/* --- Calls --- */

/* The bytes of a value as they stand in packets; gives how many, at most `n_max`. */
static uint32_t big_endian(const struct siding_call *call, uint32_t arg, uint8_t *to, uint32_t n_max)
{
    const struct siding_value *value = call->signature->args[arg].values;
    uint32_t n = (value->width_bits + 7) / 8;
    n = n < n_max ? n : n_max;
    for (uint32_t i = 0; i < n; i++)
        to[i] = call->args[value->offset + n - 1 - i];
    return n;
}

/* The text: what is not parsed, behind the bytes that are authenticated only. */
struct text {
    uint8_t *authenticated, *first;
    uint32_t offset, n_bytes;
};

/* False where there is nothing to do it with: no text, no room, no session. */
static bool prepare(struct siding_call *call, enum rte_crypto_aead_operation operation, struct rte_crypto_op *op,
                    struct text *text)
{
    struct thread *thread = call->state;
    struct siding_packet *packet = call->packet;
    bool encrypts = operation == RTE_CRYPTO_AEAD_OP_ENCRYPT;
    uint64_t offset = siding_get(call, 0);
    uint32_t n = packet->length_bytes - packet->payload_at;
    uint32_t needed = encrypts ? 0 : TAG_BYTES;
    if (offset > n || n - offset < needed || (encrypts && packet->tailroom_bytes < TAG_BYTES) || offset > UINT16_MAX)
        return false;
    *text = (struct text){packet->data + packet->payload_at, packet->data + packet->payload_at + offset,
                          (uint32_t)offset, n - (uint32_t)offset - needed};
    uint8_t key[KEY_BYTES_MAX];
    uint32_t key_bytes = big_endian(call, 1, key, KEY_BYTES_MAX);
    void *session = session_of(thread, operation, key, key_bytes, text->offset);
    if (!session || rte_crypto_op_attach_sym_session(op, session) != 0)
        return false;
    uint8_t *nonce = rte_crypto_op_ctod_offset(op, uint8_t *,
                                               sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op));
    big_endian(call, 2, nonce, NONCE_BYTES);
    struct rte_mbuf *mbuf = op->sym->m_src;
    rte_pktmbuf_attach_extbuf(mbuf, text->first, (rte_iova_t)(uintptr_t)text->first,
                              (uint16_t)(text->n_bytes + TAG_BYTES), &thread->shared);
    mbuf->data_off = 0;
    mbuf->data_len = (uint16_t)(text->n_bytes + TAG_BYTES);
    mbuf->pkt_len = mbuf->data_len;
    op->sym->aead.data.offset = 0;
    op->sym->aead.data.length = text->n_bytes;
    op->sym->aead.digest.data = text->first + text->n_bytes;
    op->sym->aead.digest.phys_addr = (rte_iova_t)(uintptr_t)op->sym->aead.digest.data;
    op->sym->aead.aad.data = text->authenticated;
    op->sym->aead.aad.phys_addr = (rte_iova_t)(uintptr_t)text->authenticated;
    return true;
}

/* Up to BURST calls; what cannot be done gives false, and leaves the packet as it was. */
static void burst(struct siding_call *calls, uint32_t n, enum rte_crypto_aead_operation operation)
{
    struct thread *thread = calls[0].state;
    struct rte_crypto_op *ops[BURST], *sent[BURST];
    struct rte_mbuf *mbufs[BURST];
    struct text texts[BURST];
    uint16_t n_sent = 0, at = 0;
    for (uint32_t i = 0; i < n; i++)
        siding_set_result(&calls[i], 0);
    if (rte_crypto_op_bulk_alloc(all.operations, RTE_CRYPTO_OP_TYPE_SYMMETRIC, ops, (uint16_t)n) == 0)
        return;
    if (rte_pktmbuf_alloc_bulk(all.packets, mbufs, n) != 0) {
        rte_mempool_put_bulk(all.operations, (void *const *)ops, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        ops[i]->sym->m_src = mbufs[i];
        if (!prepare(&calls[i], operation, ops[i], &texts[i]))
            continue;
        if (operation == RTE_CRYPTO_AEAD_OP_DECRYPT)
            memcpy(thread->before[i], texts[i].first, texts[i].n_bytes);
        sent[n_sent++] = ops[i];
        ops[i]->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
    }
    while (at < n_sent)
        at += rte_cryptodev_enqueue_burst(all.device, thread->pair, sent + at, n_sent - at);
    /* In whatever order. */
    for (at = 0; at < n_sent;)
        at += rte_cryptodev_dequeue_burst(all.device, thread->pair, sent + at, n_sent - at);
    for (uint32_t i = 0; i < n; i++) {
        bool was_sent = RTE_MBUF_HAS_EXTBUF(mbufs[i]);
        bool is_done = was_sent && ops[i]->status == RTE_CRYPTO_OP_STATUS_SUCCESS;
        if (is_done) {
            int32_t longer = operation == RTE_CRYPTO_AEAD_OP_ENCRYPT ? (int32_t)TAG_BYTES : -(int32_t)TAG_BYTES;
            calls[i].packet->length_bytes += (uint32_t)longer;
            siding_set_result(&calls[i], 1);
        } else if (was_sent && operation == RTE_CRYPTO_AEAD_OP_DECRYPT) {
            memcpy(texts[i].first, thread->before[i], texts[i].n_bytes);
        }
    }
    rte_pktmbuf_free_bulk(mbufs, n);
    rte_mempool_put_bulk(all.operations, (void *const *)ops, n);
}

static void batch(struct siding_call *calls, uint32_t *status, uint32_t n, enum rte_crypto_aead_operation operation)
{
    for (uint32_t at = 0; at < n; at += BURST)
        burst(calls + at, n - at < BURST ? n - at : BURST, operation);
    for (uint32_t i = 0; i < n; i++)
        status[i] = SIDING_OK;
}

static void encrypt_batch(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    batch(calls, status, n, RTE_CRYPTO_AEAD_OP_ENCRYPT);
}

static void decrypt_batch(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    batch(calls, status, n, RTE_CRYPTO_AEAD_OP_DECRYPT);
}

static uint32_t encrypt(struct siding_call *call)
{
    burst(call, 1, RTE_CRYPTO_AEAD_OP_ENCRYPT);
    return SIDING_OK;
}

static uint32_t decrypt(struct siding_call *call)
{
    burst(call, 1, RTE_CRYPTO_AEAD_OP_DECRYPT);
    return SIDING_OK;
}

static const struct siding_extern externs[] = {
    {
        .name = "aes_gcm_encrypt",
        .declaration = "bool aes_gcm_encrypt(in bit<16> offset, in bit<128|192|256> key, in bit<96> nonce)",
        .packet = SIDING_PACKET_CHANGED,
        .open = thread_open,
        .close = thread_close,
        .run = encrypt,
        .run_batch = encrypt_batch,
    },
    {
        .name = "aes_gcm_decrypt",
        .declaration = "bool aes_gcm_decrypt(in bit<16> offset, in bit<128|192|256> key, in bit<96> nonce)",
        .packet = SIDING_PACKET_CHANGED,
        .open = thread_open,
        .close = thread_close,
        .run = decrypt,
        .run_batch = decrypt_batch,
    },
};

const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
