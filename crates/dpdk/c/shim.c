/*
 * DPDK behind a table of functions: compiled on the machine that it runs on, because most of DPDK's packet path is
 * inline functions of its headers. The Rust side of every type here is in src/shim.rs.
 *
 * Functions return 0 or a negative errno value. Those that open, close or inspect devices are called by one thread at a
 * time; each queue is used by one thread at a time.
 */
#define _GNU_SOURCE
/* Functions for device arguments and interrupts, which became stable after 22.11. */
#define ALLOW_EXPERIMENTAL_API
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_version.h>

#define SD_DPDK_ABI 1u

/* Packets of one call, at most. */
#define SD_BURST_MAX 64u

/* Bytes between an mbuf and its headroom: with the headroom they hold the state of a suspended packet. */
#define SD_PRIVATE_BYTES 128u
_Static_assert(SD_PRIVATE_BYTES + RTE_PKTMBUF_HEADROOM >= 256, "room before the data");
_Static_assert(sizeof(struct rte_mbuf) % 64 == 0, "the storage of a packet is aligned");

#define SD_POOL_MBUFS 16383u
#define SD_POOL_CACHE 256u
#define SD_POOLS_MAX 64u
/* Packets of one queue that wait in the switch, or are in caches of threads. */
#define SD_MBUFS_IN_SWITCH 2048u
#define SD_DESCRIPTORS 1024u

/* The longest frame that is sent on devices which have no limit of their own, as on other ports. */
#define SD_FRAME_BYTES_MAX 9216u
#define SD_LINK_BYTES (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)

#define SD_LOG_BYTES 4096u

/* A received packet. With one segment its storage can be used as it is. */
struct sd_dpdk_rx {
    struct rte_mbuf *mbuf;
    /* Offset of the data in the storage. */
    uint32_t start;
    /* Length of all segments. */
    uint32_t len;
    /* Length of the storage; 0 if the packet has to be copied. */
    uint32_t capacity;
    uint32_t reserved;
};

/* A packet to be sent. */
struct sd_dpdk_tx {
    /* The first byte of the storage. */
    uint8_t *storage;
    uint32_t start;
    uint32_t len;
    /* The storage is that of an mbuf, which is sent without a copy. */
    uint32_t is_mbuf;
    uint32_t reserved;
};

struct sd_pool {
    struct rte_mempool *mempool;
    int socket;
    uint32_t n_reserved;
};

struct sd_dpdk_device;

/* Queues of devices whose driver frees memory on the interrupt thread while the queues are polled: see `run_events`. */
struct sd_dpdk_queue {
    uint16_t port;
    uint16_t queue;
    bool is_guarded;
    /* A burst is under way. */
    atomic_bool is_busy;
    struct sd_dpdk_device *device;
    struct sd_pool *pool;
    uint32_t n_reserved;
} __attribute__((aligned(64)));

struct sd_dpdk_device {
    uint16_t port;
    uint16_t n_queues;
    /* The longest frame that can be sent. */
    uint32_t tx_bytes_max;
    char driver[32];
    struct rte_device *device;
    /* Packets may be received and sent. Changed while all queues are idle. */
    atomic_bool is_started;
    bool is_guarded;
    bool is_client;
    bool is_memory_only;
    /* Its driver reports packets that it accepted and then dropped, and only those. */
    bool has_late_errors;
    /* When a client has tried to connect, in nanoseconds. */
    uint64_t tried_ns;
    /* The socket of a memif device. */
    char path[sizeof((struct sockaddr_un *)0)->sun_path + 1];
    struct sd_dpdk_device *next;
    struct sd_dpdk_queue *queues;
};

struct sd_dpdk_stats {
    uint64_t missed;
    uint64_t no_mbuf;
    uint64_t rx_errors;
    uint64_t tx_errors;
};

/* The step in which an operation has failed. */
struct sd_dpdk_failure {
    const char *step;
    /* For `too many queues`: those that the device has. */
    uint32_t n_queues_max;
    uint32_t reserved;
};

/* The log. */

static struct {
    pthread_mutex_t mutex;
    char text[SD_LOG_BYTES];
    size_t n_bytes;
} log_lines = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Keeps warnings and errors, until the buffer is full; what comes later matters less than the first cause. */
static ssize_t log_write(void *cookie, const char *text, size_t n_bytes)
{
    (void)cookie;
    if (rte_log_cur_msg_loglevel() > (int)RTE_LOG_WARNING)
        return (ssize_t)n_bytes;
    pthread_mutex_lock(&log_lines.mutex);
    size_t n = RTE_MIN(n_bytes, sizeof(log_lines.text) - log_lines.n_bytes);
    memcpy(log_lines.text + log_lines.n_bytes, text, n);
    log_lines.n_bytes += n;
    pthread_mutex_unlock(&log_lines.mutex);
    return (ssize_t)n_bytes;
}

/* Moves the text of the log into a buffer; gives its length. */
static uint32_t take_log(char *to, uint32_t n_bytes_max)
{
    pthread_mutex_lock(&log_lines.mutex);
    uint32_t n = (uint32_t)RTE_MIN(log_lines.n_bytes, (size_t)n_bytes_max);
    memcpy(to, log_lines.text, n);
    log_lines.n_bytes = 0;
    pthread_mutex_unlock(&log_lines.mutex);
    return n;
}

/* EAL. */

/* Called once, on a thread that does nothing else, since EAL changes the affinity of its caller. */
static int start(int argc, char **argv)
{
    static const cookie_io_functions_t functions = {.write = log_write};
    FILE *stream = fopencookie(NULL, "w", functions);
    if (stream == NULL)
        return -ENOMEM;
    setvbuf(stream, NULL, _IOLBF, 0);
    rte_openlog_stream(stream);
    if (rte_eal_init(argc, argv) < 0)
        return rte_errno > 0 ? -rte_errno : -EINVAL;
    return 0;
}

/* Gives the thread a number, and with it caches of free mbufs. Fails if too many threads have one; it works without. */
static int enter_thread(void)
{
    if (rte_lcore_id() != LCORE_ID_ANY)
        return -EEXIST;
    return rte_thread_register() == 0 ? 0 : -rte_errno;
}

static void leave_thread(void)
{
    rte_thread_unregister();
}

/* Returns 0 if a bus knows a driver for a device of that name. */
static int find_driver(const char *device)
{
    struct rte_devargs devargs;
    memset(&devargs, 0, sizeof devargs);
    int result = rte_devargs_parse(&devargs, device);
    rte_devargs_reset(&devargs);
    return result;
}

/* Mbufs. */

static struct sd_pool pools[SD_POOLS_MAX];

/* A pool with so many free mbufs, made if there is none. Pools stay: mbufs of closed devices may be anywhere. */
static struct sd_pool *reserve_mbufs(int socket, uint32_t n)
{
    for (uint32_t i = 0; i < SD_POOLS_MAX; i++) {
        struct sd_pool *pool = &pools[i];
        if (pool->mempool == NULL) {
            char name[RTE_MEMPOOL_NAMESIZE];
            snprintf(name, sizeof name, "siding_%u", i);
            pool->mempool = rte_pktmbuf_pool_create(name, RTE_MAX(SD_POOL_MBUFS, n), SD_POOL_CACHE, SD_PRIVATE_BYTES,
                                                    RTE_MBUF_DEFAULT_BUF_SIZE, socket);
            if (pool->mempool == NULL)
                return NULL;
            pool->socket = socket;
        }
        if (pool->socket == socket && pool->n_reserved + n <= pool->mempool->size) {
            pool->n_reserved += n;
            return pool;
        }
    }
    rte_errno = ENOMEM;
    return NULL;
}

static uint32_t n_free_mbufs(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SD_POOLS_MAX && pools[i].mempool != NULL; i++)
        n += rte_mempool_avail_count(pools[i].mempool);
    return n;
}

static inline struct rte_mbuf *mbuf_of(uint8_t *storage)
{
    return (struct rte_mbuf *)(void *)(storage - sizeof(struct rte_mbuf));
}

static inline uint8_t *storage_of(struct rte_mbuf *mbuf)
{
    return (uint8_t *)(mbuf + 1);
}

/* Frees mbufs of one segment by the first bytes of their storages. */
static void free_storages(uint8_t *const *storages, uint32_t n)
{
    struct rte_mbuf *mbufs[SD_BURST_MAX];
    while (n > 0) {
        uint32_t n_now = RTE_MIN(n, SD_BURST_MAX);
        for (uint32_t i = 0; i < n_now; i++)
            mbufs[i] = mbuf_of(storages[i]);
        rte_pktmbuf_free_bulk(mbufs, n_now);
        storages += n_now;
        n -= n_now;
    }
}

static void free_packet(struct rte_mbuf *mbuf)
{
    rte_pktmbuf_free(mbuf);
}

/* Copies the data of all segments, for which there is room. */
static void read_packet(const struct rte_mbuf *mbuf, uint8_t *to)
{
    for (; mbuf != NULL; mbuf = mbuf->next) {
        memcpy(to, rte_pktmbuf_mtod(mbuf, const void *), rte_pktmbuf_data_len(mbuf));
        to += rte_pktmbuf_data_len(mbuf);
    }
}

/* Queues whose devices change on the interrupt thread. */

static void pause_briefly(void)
{
    struct timespec moment = {.tv_nsec = 1000};
    nanosleep(&moment, NULL);
}

/* `run_events` has the queues for itself. */
static atomic_bool is_excluding;

static inline bool begin_burst(struct sd_dpdk_queue *queue)
{
    if (likely(!queue->is_guarded))
        return true;
    atomic_store_explicit(&queue->is_busy, true, memory_order_relaxed);
    /* Pairs with the fence in `exclude`: one of the two threads sees what the other has written. */
    atomic_thread_fence(memory_order_seq_cst);
    if (likely(!atomic_load_explicit(&is_excluding, memory_order_relaxed)
               && atomic_load_explicit(&queue->device->is_started, memory_order_relaxed)))
        return true;
    atomic_store_explicit(&queue->is_busy, false, memory_order_release);
    return false;
}

/* Begins a burst, too, but waits: without it packets would be lost. Sleeps, so that a thread of lower priority can end its turn. */
static bool wait_for_burst(struct sd_dpdk_queue *queue)
{
    while (!begin_burst(queue)) {
        if (!atomic_load_explicit(&queue->device->is_started, memory_order_relaxed))
            return false;
        pause_briefly();
    }
    return true;
}

static inline void end_burst(struct sd_dpdk_queue *queue)
{
    if (unlikely(queue->is_guarded))
        atomic_store_explicit(&queue->is_busy, false, memory_order_release);
}

/* Receives up to `n` packets, at most SD_BURST_MAX. */
static uint32_t rx(struct sd_dpdk_queue *queue, struct sd_dpdk_rx *packets, uint32_t n)
{
    struct rte_mbuf *mbufs[SD_BURST_MAX];
    if (!begin_burst(queue))
        return 0;
    n = rte_eth_rx_burst(queue->port, queue->queue, mbufs, (uint16_t)RTE_MIN(n, SD_BURST_MAX));
    end_burst(queue);
    for (uint32_t i = 0; i < n; i++) {
        struct rte_mbuf *mbuf = mbufs[i];
        uint8_t *storage = storage_of(mbuf);
        bool is_ours = mbuf->nb_segs == 1 && RTE_MBUF_DIRECT(mbuf) && rte_mbuf_refcnt_read(mbuf) == 1
                       && mbuf->buf_addr == storage + SD_PRIVATE_BYTES;
        packets[i].mbuf = mbuf;
        packets[i].start = SD_PRIVATE_BYTES + mbuf->data_off;
        packets[i].len = mbuf->pkt_len;
        packets[i].capacity = likely(is_ours) ? SD_PRIVATE_BYTES + mbuf->buf_len : 0;
        rte_prefetch0(rte_pktmbuf_mtod(mbuf, void *));
    }
    return n;
}

/* Makes a packet in the storage of an mbuf ready to be sent; false if it does not fit without the private bytes. */
static inline bool finish_storage(struct sd_dpdk_tx *packet)
{
    struct rte_mbuf *mbuf = mbuf_of(packet->storage);
    if (unlikely(packet->start < SD_PRIVATE_BYTES)) {
        if (packet->len > mbuf->buf_len)
            return false;
        memmove(packet->storage + SD_PRIVATE_BYTES, packet->storage + packet->start, packet->len);
        packet->start = SD_PRIVATE_BYTES;
    }
    mbuf->data_off = (uint16_t)(packet->start - SD_PRIVATE_BYTES);
    mbuf->data_len = (uint16_t)packet->len;
    mbuf->pkt_len = packet->len;
    mbuf->ol_flags = 0;
    mbuf->tx_offload = 0;
    mbuf->vlan_tci = 0;
    return true;
}

/* Copies a packet into as many mbufs as it needs; NULL if there are not so many. */
static struct rte_mbuf *copy_packet(struct rte_mempool *mempool, const uint8_t *data, uint32_t n_bytes)
{
    struct rte_mbuf *first = rte_pktmbuf_alloc(mempool), *last = first;
    if (unlikely(first == NULL))
        return NULL;
    for (;;) {
        uint32_t n_now = RTE_MIN(n_bytes, (uint32_t)rte_pktmbuf_tailroom(last));
        memcpy(rte_pktmbuf_mtod(last, void *), data, n_now);
        last->data_len = (uint16_t)n_now;
        first->pkt_len += n_now;
        data += n_now;
        n_bytes -= n_now;
        if (likely(n_bytes == 0))
            return first;
        last->next = rte_pktmbuf_alloc(mempool);
        if (unlikely(last->next == NULL)) {
            rte_pktmbuf_free(first);
            return NULL;
        }
        last = last->next;
        first->nb_segs++;
    }
}

/*
 * Sends packets in order and returns how many were taken; of these the mbufs belong to the driver. Tries again as long as the
 * device takes any. `start` of packets that were not taken may have changed, with their data.
 */
static uint32_t tx(struct sd_dpdk_queue *queue, struct sd_dpdk_tx *packets, uint32_t n)
{
    struct rte_mbuf *mbufs[SD_BURST_MAX];
    bool is_copy[SD_BURST_MAX];
    uint32_t n_ready = 0, n_sent = 0;
    if (!wait_for_burst(queue))
        return 0;
    for (n = RTE_MIN(n, SD_BURST_MAX); n_ready < n; n_ready++) {
        struct sd_dpdk_tx *packet = &packets[n_ready];
        is_copy[n_ready] = !packet->is_mbuf || !finish_storage(packet);
        if (likely(!is_copy[n_ready])) {
            mbufs[n_ready] = mbuf_of(packet->storage);
            continue;
        }
        mbufs[n_ready] = copy_packet(queue->pool->mempool, packet->storage + packet->start, packet->len);
        if (mbufs[n_ready] == NULL)
            break;
    }
    while (n_sent < n_ready) {
        uint16_t n_now =
            rte_eth_tx_burst(queue->port, queue->queue, mbufs + n_sent, (uint16_t)(n_ready - n_sent));
        if (n_now == 0)
            break;
        n_sent += n_now;
    }
    end_burst(queue);
    for (uint32_t i = n_sent; i < n_ready; i++)
        if (is_copy[i])
            rte_pktmbuf_free(mbufs[i]);
    /* An mbuf whose packet was copied all the same is no longer needed. */
    for (uint32_t i = 0; i < n_sent; i++)
        if (unlikely(is_copy[i] && packets[i].is_mbuf))
            rte_pktmbuf_free(mbuf_of(packets[i].storage));
    return n_sent;
}

/*
 * The guard. The memif driver unmaps its rings on EAL's interrupt thread when the peer goes, and does not wait for threads that
 * poll them. So the interrupt thread is held in a callback of ours, whose descriptor is always ready, and let go for one turn of its
 * loop at a time while no burst is under way.
 */

/* A turn is under way, or none may begin. Locked before the other one. */
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t guard_changed = PTHREAD_COND_INITIALIZER;
static struct sd_dpdk_device *guarded;
static uint64_t n_turns_allowed, n_turns_begun;
/* The descriptor is ready, so that the interrupt thread is in the callback or on its way. */
static bool is_holding;
static int hold_fd = -1;

static void hold_interrupts(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard_mutex);
    n_turns_begun++;
    pthread_cond_broadcast(&guard_changed);
    while (n_turns_allowed < n_turns_begun && guarded != NULL)
        pthread_cond_wait(&guard_changed, &guard_mutex);
    if (guarded == NULL && is_holding) {
        eventfd_t count;
        eventfd_read(hold_fd, &count);
        is_holding = false;
        pthread_cond_broadcast(&guard_changed);
    }
    pthread_mutex_unlock(&guard_mutex);
}

static int register_hold(void)
{
    hold_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    if (hold_fd < 0 || handle == NULL || rte_intr_fd_set(handle, hold_fd) != 0
        || rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) != 0)
        return -ENOMEM;
    return rte_intr_callback_register(handle, hold_interrupts, NULL);
}

/* Waits until no burst is under way, and lets none begin. The mutex is locked. */
static void exclude(void)
{
    atomic_store_explicit(&is_excluding, true, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    for (struct sd_dpdk_device *device = guarded; device != NULL; device = device->next)
        for (uint32_t i = 0; i < device->n_queues; i++)
            while (atomic_load_explicit(&device->queues[i].is_busy, memory_order_acquire))
                pause_briefly();
}

static void readmit(void)
{
    atomic_store_explicit(&is_excluding, false, memory_order_release);
}

/*
 * Gives peers the buffers of clients, which the memif driver does only when it is asked for packets. A peer whose link comes up
 * could lose what it sends before. All queues are idle.
 */
static void offer_buffers(void)
{
    for (struct sd_dpdk_device *device = guarded; device != NULL; device = device->next) {
        if (!device->is_client || !atomic_load_explicit(&device->is_started, memory_order_relaxed))
            continue;
        for (uint16_t i = 0; i < device->n_queues; i++) {
            struct rte_mbuf *none[1];
            rte_eth_rx_burst(device->port, i, none, 0);
        }
    }
}

/* Lets the interrupt thread do what is due. Called often while there are guarded devices. */
static void run_events(void)
{
    pthread_mutex_lock(&turn_mutex);
    pthread_mutex_lock(&guard_mutex);
    if (guarded != NULL && is_holding && n_turns_begun > n_turns_allowed) {
        exclude();
        uint64_t turn = n_turns_begun;
        n_turns_allowed = turn;
        pthread_cond_broadcast(&guard_changed);
        while (n_turns_begun == turn && is_holding)
            pthread_cond_wait(&guard_changed, &guard_mutex);
        offer_buffers();
        readmit();
    }
    pthread_mutex_unlock(&guard_mutex);
    pthread_mutex_unlock(&turn_mutex);
}

static int guard(struct sd_dpdk_device *device)
{
    int result = 0;
    pthread_mutex_lock(&guard_mutex);
    device->next = guarded;
    guarded = device;
    if (hold_fd < 0)
        result = register_hold();
    if (result == 0 && !is_holding) {
        is_holding = true;
        eventfd_write(hold_fd, 1);
    }
    pthread_mutex_unlock(&guard_mutex);
    return result;
}

static void unguard(struct sd_dpdk_device *device)
{
    pthread_mutex_lock(&guard_mutex);
    for (struct sd_dpdk_device **place = &guarded; *place != NULL; place = &(*place)->next)
        if (*place == device) {
            *place = device->next;
            break;
        }
    /* The last one lets the interrupt thread go. */
    pthread_cond_broadcast(&guard_changed);
    pthread_mutex_unlock(&guard_mutex);
}

/* Devices. */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_one_of(const char *driver, const char *const *drivers)
{
    for (; *drivers != NULL; drivers++)
        if (strcmp(driver, *drivers) == 0)
            return true;
    return false;
}

/* Pure memory between programs or within one: no packet of theirs is on a wire. */
static const char *const memory_drivers[] = {"net_memif", "net_ring", "net_null", "net_vhost", "net_pcap", NULL};
/* Interfaces of the kernel, whose MTU is not ours to set. */
static const char *const kernel_drivers[] = {"net_af_packet", "net_af_xdp", "net_tap", "net_tun", NULL};
static const char *const late_error_drivers[] = {"net_af_packet", "net_pcap", NULL};

static int find_port(const char *name, uint16_t *port)
{
    if (rte_eth_dev_get_port_by_name(name, port) == 0)
        return 0;
    uint16_t candidate;
    RTE_ETH_FOREACH_DEV(candidate) {
        struct rte_eth_dev_info info;
        if (rte_eth_dev_info_get(candidate, &info) == 0 && info.device != NULL
            && strcmp(rte_dev_name(info.device), name) == 0) {
            *port = candidate;
            return 0;
        }
    }
    return -ENODEV;
}

static int configure(struct sd_dpdk_device *device, const struct rte_eth_dev_info *info, uint32_t mtu)
{
    struct rte_eth_conf conf;
    memset(&conf, 0, sizeof conf);
    conf.rxmode.mtu = mtu;
    conf.rxmode.offloads = info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    conf.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    uint64_t hashes = info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
    if (device->n_queues > 1 && hashes != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = hashes;
    }
    return rte_eth_dev_configure(device->port, device->n_queues, device->n_queues, &conf);
}

static int set_up_queues(struct sd_dpdk_device *device, struct sd_dpdk_failure *failure)
{
    uint16_t n_rx = SD_DESCRIPTORS, n_tx = SD_DESCRIPTORS;
    int result = rte_eth_dev_adjust_nb_rx_tx_desc(device->port, &n_rx, &n_tx);
    if (result != 0 && result != -ENOTSUP) {
        failure->step = "size its queues";
        return result;
    }
    int socket = rte_eth_dev_socket_id(device->port);
    for (uint16_t i = 0; i < device->n_queues; i++) {
        struct sd_dpdk_queue *queue = &device->queues[i];
        uint32_t n_mbufs = n_rx + n_tx + SD_MBUFS_IN_SWITCH;
        queue->port = device->port;
        queue->queue = i;
        queue->device = device;
        queue->is_guarded = device->is_guarded;
        queue->pool = reserve_mbufs(socket, n_mbufs);
        if (queue->pool == NULL) {
            failure->step = "make buffers";
            return -rte_errno;
        }
        queue->n_reserved = n_mbufs;
        result = rte_eth_rx_queue_setup(device->port, i, n_rx, (unsigned int)socket, NULL, queue->pool->mempool);
        if (result == 0)
            result = rte_eth_tx_queue_setup(device->port, i, n_tx, (unsigned int)socket, NULL);
        if (result != 0) {
            failure->step = "set up its queues";
            return result;
        }
    }
    return 0;
}

/* The longest frame that the device sends. */
static uint32_t tx_bytes_max(const struct sd_dpdk_device *device, const struct rte_eth_dev_info *info)
{
    uint32_t bytes = SD_FRAME_BYTES_MAX;
    uint16_t mtu = 0;
    if (!device->is_memory_only && rte_eth_dev_get_mtu(device->port, &mtu) == 0)
        bytes = RTE_MIN(bytes, mtu + SD_LINK_BYTES);
    if ((info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0)
        bytes = RTE_MIN(bytes, RTE_MBUF_DEFAULT_DATAROOM);
    return bytes;
}

/* Connects clients of memif that have no peer, at most once a second. Called by the thread that may close devices. */
static void reconnect(void)
{
    pthread_mutex_lock(&guard_mutex);
    for (struct sd_dpdk_device *device = guarded; device != NULL; device = device->next) {
        struct rte_eth_link link;
        if (!device->is_client || now_ns() - device->tried_ns < 1000000000u)
            continue;
        if (atomic_load(&device->is_started) && rte_eth_link_get_nowait(device->port, &link) == 0
            && link.link_status == RTE_ETH_LINK_UP)
            continue;
        exclude();
        rte_eth_dev_stop(device->port);
        atomic_store(&device->is_started, rte_eth_dev_start(device->port) == 0);
        readmit();
        device->tried_ns = now_ns();
    }
    pthread_mutex_unlock(&guard_mutex);
}

/* The path of the socket that a memif device is an end of. */
static void memif_socket_path(const char *devargs, char *path, size_t n_bytes)
{
    const char *argument = strstr(devargs, ",socket=");
    const char *value = argument != NULL ? argument + strlen(",socket=") : "/run/memif.sock";
    snprintf(path, n_bytes, "%.*s", (int)strcspn(value, ","), value);
}

/*
 * The memif driver frees a server's socket and leaves its descriptor open and with the interrupt thread, whose callback would use
 * the freed memory. So an eventfd that is never ready takes its place: nobody calls, and the address is free again.
 */
static void replace_listener(const char *path)
{
    DIR *descriptors = opendir("/proc/self/fd");
    int silent = eventfd(0, EFD_CLOEXEC);
    const struct dirent *entry;
    while (descriptors != NULL && silent >= 0 && (entry = readdir(descriptors)) != NULL) {
        struct sockaddr_un address;
        socklen_t n_bytes = sizeof address;
        int fd = atoi(entry->d_name), is_listening = 0;
        socklen_t n_option = sizeof is_listening;
        memset(&address, 0, sizeof address);
        if (fd <= 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &n_option) != 0 || !is_listening)
            continue;
        if (getsockname(fd, (struct sockaddr *)&address, &n_bytes) != 0 || address.sun_family != AF_UNIX)
            continue;
        /* The name of an abstract address begins behind a zero. */
        const char *name = address.sun_path[0] == 0 ? address.sun_path + 1 : address.sun_path;
        if (strncmp(name, path, sizeof address.sun_path - 1) == 0)
            dup3(silent, fd, O_CLOEXEC);
    }
    if (silent >= 0)
        close(silent);
    if (descriptors != NULL)
        closedir(descriptors);
}

static bool is_path_shared(const struct sd_dpdk_device *device)
{
    bool is_shared = false;
    pthread_mutex_lock(&guard_mutex);
    for (const struct sd_dpdk_device *other = guarded; other != NULL; other = other->next)
        is_shared |= other != device && strcmp(other->path, device->path) == 0;
    pthread_mutex_unlock(&guard_mutex);
    return is_shared;
}

/* Closes the device and removes it from its bus. Its queues are used no more. */
static void close_device(struct sd_dpdk_device *device)
{
    struct rte_mbuf *mbufs[SD_BURST_MAX];
    for (uint32_t i = 0; i < device->n_queues; i++) {
        struct sd_dpdk_queue *queue = &device->queues[i];
        /* A ring that is freed does not free what is in it. */
        for (uint16_t n = 1; n > 0 && strcmp(device->driver, "net_ring") == 0 && atomic_load(&device->is_started);) {
            n = rte_eth_rx_burst(device->port, queue->queue, mbufs, SD_BURST_MAX);
            rte_pktmbuf_free_bulk(mbufs, n);
        }
        if (queue->pool != NULL)
            queue->pool->n_reserved -= queue->n_reserved;
    }
    if (device->is_guarded)
        pthread_mutex_lock(&turn_mutex);
    if (atomic_load(&device->is_started))
        rte_eth_dev_stop(device->port);
    if (rte_dev_remove(device->device) != 0)
        rte_eth_dev_close(device->port);
    if (device->is_guarded && !device->is_client && !is_path_shared(device))
        replace_listener(device->path);
    /* Last, so that the interrupt thread does not look after a device that is being closed. */
    if (device->is_guarded) {
        unguard(device);
        pthread_mutex_unlock(&turn_mutex);
    }
    free(device->queues);
    free(device);
}

/* Plugs a device in and starts it with so many queues. `devargs` is DPDK's syntax, `name` its part before the arguments. */
static int open_device(const char *devargs, const char *name, uint32_t n_queues, struct sd_dpdk_device **opened,
                       struct sd_dpdk_failure *failure)
{
    struct rte_eth_dev_info info;
    uint16_t port;
    if (find_port(name, &port) == 0) {
        failure->step = "open it twice";
        return -EEXIST;
    }
    int result = rte_dev_probe(devargs);
    if (result != 0) {
        failure->step = "plug it in";
        return result;
    }
    result = find_port(name, &port);
    if (result == 0)
        result = rte_eth_dev_info_get(port, &info);
    if (result != 0) {
        failure->step = "find its port";
        return result;
    }
    struct sd_dpdk_device *device = calloc(1, sizeof *device);
    struct sd_dpdk_queue *queues = aligned_alloc(64, n_queues * sizeof *queues);
    if (device == NULL || queues == NULL) {
        free(device);
        free(queues);
        rte_dev_remove(info.device);
        failure->step = "get memory";
        return -ENOMEM;
    }
    memset(queues, 0, n_queues * sizeof *queues);
    device->port = port;
    device->n_queues = (uint16_t)n_queues;
    device->device = info.device;
    device->queues = queues;
    snprintf(device->driver, sizeof device->driver, "%s", info.driver_name);
    device->is_memory_only = is_one_of(device->driver, memory_drivers);
    device->has_late_errors = is_one_of(device->driver, late_error_drivers);
    bool is_memif = strcmp(device->driver, "net_memif") == 0;
    device->is_guarded = is_memif;
    device->is_client = is_memif && strstr(devargs, ",role=server") == NULL;
    if (is_memif)
        memif_socket_path(devargs, device->path, sizeof device->path);
    uint32_t n_max = RTE_MIN(info.max_rx_queues, info.max_tx_queues);
    if (n_queues > n_max) {
        failure->step = "use so many queues";
        failure->n_queues_max = n_max;
        close_device(device);
        return -ERANGE;
    }
    uint32_t mtu = 0;
    if (!device->is_memory_only && !is_one_of(device->driver, kernel_drivers))
        mtu = RTE_MIN(SD_FRAME_BYTES_MAX - SD_LINK_BYTES, (uint32_t)info.max_mtu);
    failure->step = "configure it";
    result = configure(device, &info, mtu);
    if (result != 0 && mtu != 0)
        result = configure(device, &info, 0);
    if (result == 0)
        result = set_up_queues(device, failure);
    if (result == 0) {
        failure->step = "start it";
        result = rte_eth_dev_start(port);
        device->tried_ns = now_ns();
        atomic_store(&device->is_started, result == 0);
        /* Its peer may come later. */
        if (device->is_client)
            result = 0;
    }
    if (result == 0) {
        rte_eth_promiscuous_enable(port);
        rte_eth_allmulticast_enable(port);
        device->tx_bytes_max = tx_bytes_max(device, &info);
        if (device->is_guarded)
            result = guard(device);
    }
    if (result != 0) {
        close_device(device);
        return result;
    }
    *opened = device;
    return 0;
}

static struct sd_dpdk_queue *queue_of(struct sd_dpdk_device *device, uint32_t queue)
{
    return &device->queues[queue];
}

static uint32_t tx_limit(const struct sd_dpdk_device *device)
{
    return device->tx_bytes_max;
}

static int is_link_up(const struct sd_dpdk_device *device)
{
    struct rte_eth_link link;
    memset(&link, 0, sizeof link);
    if (!atomic_load_explicit(&device->is_started, memory_order_relaxed))
        return 0;
    return rte_eth_link_get_nowait(device->port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static int get_stats(const struct sd_dpdk_device *device, struct sd_dpdk_stats *stats)
{
    struct rte_eth_stats all;
    int result = rte_eth_stats_get(device->port, &all);
    if (result != 0)
        return result;
    stats->missed = all.imissed;
    stats->no_mbuf = all.rx_nombuf;
    stats->rx_errors = all.ierrors;
    stats->tx_errors = device->has_late_errors ? all.oerrors : 0;
    return 0;
}

struct sd_dpdk_shim {
    uint32_t abi;
    uint32_t n_bytes;
    const char *(*version)(void);
    int (*start)(int argc, char **argv);
    uint32_t (*take_log)(char *to, uint32_t n_bytes_max);
    int (*enter_thread)(void);
    void (*leave_thread)(void);
    int (*find_driver)(const char *device);
    int (*open_device)(const char *devargs, const char *name, uint32_t n_queues, struct sd_dpdk_device **opened,
                       struct sd_dpdk_failure *failure);
    void (*close_device)(struct sd_dpdk_device *device);
    struct sd_dpdk_queue *(*queue_of)(struct sd_dpdk_device *device, uint32_t queue);
    uint32_t (*tx_limit)(const struct sd_dpdk_device *device);
    int (*is_link_up)(const struct sd_dpdk_device *device);
    int (*get_stats)(const struct sd_dpdk_device *device, struct sd_dpdk_stats *stats);
    uint32_t (*rx)(struct sd_dpdk_queue *queue, struct sd_dpdk_rx *packets, uint32_t n);
    uint32_t (*tx)(struct sd_dpdk_queue *queue, struct sd_dpdk_tx *packets, uint32_t n);
    void (*read_packet)(const struct rte_mbuf *mbuf, uint8_t *to);
    void (*free_packet)(struct rte_mbuf *mbuf);
    void (*free_storages)(uint8_t *const *storages, uint32_t n);
    uint32_t (*n_free_mbufs)(void);
    void (*run_events)(void);
    void (*reconnect)(void);
};

extern const struct sd_dpdk_shim sd_dpdk_shim;

__attribute__((visibility("default"))) const struct sd_dpdk_shim sd_dpdk_shim = {
    .abi = SD_DPDK_ABI,
    .n_bytes = sizeof(struct sd_dpdk_shim),
    .version = rte_version,
    .start = start,
    .take_log = take_log,
    .enter_thread = enter_thread,
    .leave_thread = leave_thread,
    .find_driver = find_driver,
    .open_device = open_device,
    .close_device = close_device,
    .queue_of = queue_of,
    .tx_limit = tx_limit,
    .is_link_up = is_link_up,
    .get_stats = get_stats,
    .rx = rx,
    .tx = tx,
    .read_packet = read_packet,
    .free_packet = free_packet,
    .free_storages = free_storages,
    .n_free_mbufs = n_free_mbufs,
    .run_events = run_events,
    .reconnect = reconnect,
};
