/*
 * The shim under sanitizers: packets of all sizes through a ring device, as the Rust side handles them. Storages of mbufs are copied to
 * and from blocks of the heap, so that every access outside of a packet is seen there.
 */
#include "shim.c"

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                           \
        }                                                                                                      \
    } while (0)

static const struct sd_dpdk_shim *const shim = &sd_dpdk_shim;

static void fill(uint8_t *bytes, uint32_t n, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 7 + seed);
}

static bool is_filled(const uint8_t *bytes, uint32_t n, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        if (bytes[i] != (uint8_t)(i * 7 + seed))
            return false;
    return true;
}

static struct sd_dpdk_rx receive(struct sd_dpdk_queue *queue)
{
    struct sd_dpdk_rx packet;
    CHECK(shim->rx(queue, &packet, 1) == 1);
    return packet;
}

/* From the heap, and back to it. */
static void test_copies(struct sd_dpdk_queue *queue)
{
    for (uint32_t size = 60; size <= 9216; size += size < 2200 ? 1 : 61) {
        uint8_t *bytes = malloc(size);
        fill(bytes, size, size);
        struct sd_dpdk_tx sent = {.storage = bytes, .len = size};
        CHECK(shim->tx(queue, &sent, 1) == 1);
        memset(bytes, 0, size);
        struct sd_dpdk_rx packet = receive(queue);
        CHECK(packet.len == size && (packet.capacity != 0) == (size <= RTE_MBUF_DEFAULT_DATAROOM));
        shim->read_packet(packet.mbuf, bytes);
        CHECK(is_filled(bytes, size, size));
        shim->free_packet(packet.mbuf);
        free(bytes);
    }
}

/* Packets that begin anywhere in the storage of an mbuf, also in the private bytes. */
static void test_starts(struct sd_dpdk_queue *queue)
{
    uint8_t *bytes = malloc(2048);
    fill(bytes, 2048, 3);
    for (uint32_t start = 0; start < 512; start += 13) {
        for (uint32_t size = 60; size <= 2304 - start; size += 97) {
            struct sd_dpdk_tx sent = {.storage = bytes, .len = 100};
            CHECK(shim->tx(queue, &sent, 1) == 1);
            struct sd_dpdk_rx packet = receive(queue);
            struct sd_dpdk_tx again = {.storage = storage_of(packet.mbuf), .start = start, .len = size, .is_mbuf = 1};
            fill(again.storage + start, size, start + size);
            CHECK(shim->tx(queue, &again, 1) == 1);
            packet = receive(queue);
            uint8_t *copy = malloc(size);
            CHECK(packet.len == size);
            shim->read_packet(packet.mbuf, copy);
            CHECK(is_filled(copy, size, start + size));
            free(copy);
            shim->free_packet(packet.mbuf);
        }
    }
    free(bytes);
}

/* A full ring leaves packets with their owner, and their data where the packet says. */
static void test_full(struct sd_dpdk_queue *queue)
{
    enum { N = SD_BURST_MAX };
    struct sd_dpdk_tx packets[N];
    struct sd_dpdk_rx received[N];
    uint8_t bytes[100];
    uint8_t *storages[N];
    fill(bytes, sizeof bytes, 1);
    uint32_t n_sent = 0, n;
    do {
        for (uint32_t i = 0; i < N; i++)
            packets[i] = (struct sd_dpdk_tx){.storage = bytes, .len = sizeof bytes};
        n_sent += n = shim->tx(queue, packets, N);
    } while (n == N);
    CHECK(shim->rx(queue, received, N) == N);
    uint32_t n_held = N;
    for (uint32_t i = 0; i < N; i++) {
        packets[i] = (struct sd_dpdk_tx){.storage = storage_of(received[i].mbuf), .start = 100, .len = 100, .is_mbuf = 1};
        fill(packets[i].storage + 100, 100, i);
    }
    /* Fills the ring again. */
    n = shim->tx(queue, packets, N);
    for (uint32_t i = n; i < N; i++) {
        CHECK(packets[i].start == 100 || packets[i].start == SD_PRIVATE_BYTES);
        CHECK(is_filled(packets[i].storage + packets[i].start, 100, i));
        storages[i] = packets[i].storage;
    }
    shim->free_storages(storages + n, N - n);
    n_held = n_sent - N + n;
    while (n_held > 0) {
        n = shim->rx(queue, received, N);
        CHECK(n > 0 && n <= n_held);
        for (uint32_t i = 0; i < n; i++)
            storages[i] = storage_of(received[i].mbuf);
        shim->free_storages(storages, n);
        n_held -= n;
    }
    CHECK(shim->rx(queue, received, N) == 0);
}

/* A thread gets a number once, and its caches with it. */
static void *test_thread(void *queue)
{
    CHECK(shim->enter_thread() == 0 && shim->enter_thread() == -EEXIST);
    test_copies(queue);
    shim->leave_thread();
    CHECK(rte_lcore_id() == LCORE_ID_ANY);
    return NULL;
}

int main(void)
{
    char *args[] = {"test", "--no-huge", "-m", "128", "--no-shconf", "--no-telemetry", "--no-pci", "--lcores=0", NULL};
    CHECK(shim->start(8, args) == 0);
    struct sd_dpdk_device *device;
    struct sd_dpdk_failure failure;
    char log[100];
    CHECK(shim->find_driver("net_no_such0") != 0 && shim->find_driver("net_ring0") == 0);
    CHECK(shim->open_device("net_memif0,role=x", "net_memif0", 1, &device, &failure) != 0);
    uint32_t n_log = shim->take_log(log, sizeof log);
    CHECK(n_log > 0 && n_log <= sizeof log && shim->take_log(log, sizeof log) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(shim->open_device("net_ring0", "net_ring0", 1, &device, &failure) == 0);
        uint32_t n_free = shim->n_free_mbufs();
        struct sd_dpdk_queue *queue = shim->queue_of(device, 0);
        CHECK(shim->is_link_up(device) && shim->tx_limit(device) == SD_FRAME_BYTES_MAX);
        test_copies(queue);
        test_starts(queue);
        test_full(queue);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, test_thread, queue) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(shim->n_free_mbufs() == n_free);
        /* Packets that are left in the ring are freed with it. */
        uint8_t bytes[60] = {0};
        struct sd_dpdk_tx sent = {.storage = bytes, .len = sizeof bytes};
        CHECK(shim->tx(queue, &sent, 1) == 1);
        shim->close_device(device);
        CHECK(shim->n_free_mbufs() == n_free);
    }
    return 0;
}
