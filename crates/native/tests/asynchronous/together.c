/* What an extern that takes several calls at once does to packets, by the number in `what`. */
#include "siding_extern.h"

struct work_args {
    uint8_t what;
    uint32_t value;
} __attribute__((packed));

/* Of all calls in this thread: what they give depends on their order. */
struct state {
    uint32_t n_calls;
};

static void *open_state(const struct siding_opening *opening)
{
    (void)opening;
    static _Thread_local struct state state;
    state.n_calls = 0;
    return &state;
}

static uint32_t work(struct siding_call *call)
{
    struct state *state = call->state;
    struct work_args *args = (struct work_args *)call->args;
    struct siding_packet *p = call->packet;
    const uint32_t n_bytes = p->length_bytes - p->payload_at;
    state->n_calls++;
    args->value = args->value * 31 + n_bytes;
    siding_set_result(call, n_bytes);
    switch (args->what & 15) {
    case 1: /* longer */
        if (p->tailroom_bytes < 4)
            break;
        memset(p->data + p->length_bytes, 0xaa, 4);
        p->length_bytes += 4;
        break;
    case 2: /* shorter */
        if (n_bytes > 0)
            p->length_bytes--;
        break;
    case 3: /* bytes in front of the payload */
        p->data -= 2;
        p->length_bytes += 2;
        memset(p->data + p->payload_at, 0xbb, 2);
        break;
    case 4: /* a packet that is none */
        p->length_bytes += 1u << 20;
        break;
    case 5:
        return SIDING_DROP;
    case 6: /* other bytes, headers too */
        for (uint32_t i = 0; i < p->length_bytes; i++)
            p->data[i] ^= 0x55;
        break;
    case 7:
        args->value ^= state->n_calls;
        break;
    default:
        break;
    }
    return SIDING_OK;
}

static void work_together(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        status[i] = work(&calls[i]);
}

static uint32_t count(struct siding_call *call)
{
    struct state *state = call->state;
    state->n_calls++;
    return SIDING_OK;
}

static void count_together(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        status[i] = count(&calls[i]);
}

static const struct siding_extern externs[] = {
    {
        .name = "work",
        .declaration = "bit<16> work(in bit<8> what, inout bit<32> value)",
        .packet = SIDING_PACKET_CHANGED,
        .open = open_state,
        .run = work,
        .run_batch = work_together,
    },
    {
        .name = "count",
        .declaration = "void count()",
        .open = open_state,
        .run = count,
        .run_batch = count_together,
    },
    {
        .name = "alone",
        .declaration = "bit<16> alone(in bit<8> what, inout bit<32> value)",
        .packet = SIDING_PACKET_CHANGED,
        .open = open_state,
        .run = work,
    },
};

const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
