/* What functions do to packets, by the number of a way. */
#include "siding_extern.h"

struct tool_args {
    uint8_t way;
    uint16_t amount;
} __attribute__((packed));

static uint32_t tool(struct siding_call *call)
{
    const struct tool_args *args = (const struct tool_args *)call->args;
    struct siding_packet *p = call->packet;
    uint32_t n = args->amount;
    siding_set_result(call, p->length_bytes - p->payload_at);
    switch (args->way) {
    case 1: /* appends */
        if (n > p->tailroom_bytes)
            break;
        memset(p->data + p->length_bytes, 0xaa, n);
        p->length_bytes += n;
        break;
    case 2: /* takes from the end */
        p->length_bytes -= n;
        break;
    case 3: /* lets the payload begin later */
        p->payload_at += n;
        break;
    case 4: /* puts bytes in front of the payload, where headers were */
        p->data -= n;
        p->length_bytes += n;
        memset(p->data + p->payload_at, 0xbb, n);
        break;
    case 5: /* writes over the headers */
        memset(p->data, 0xcc, p->payload_at);
        break;
    case 6: /* leaves a packet that begins in front of its buffer */
        p->data -= p->headroom_bytes + 1;
        break;
    case 7: /* or ends behind it */
        p->length_bytes += 1u << 20;
        break;
    case 8: /* or has a payload that begins behind its end */
        p->payload_at = p->length_bytes + 1;
        break;
    case 9: /* or whose headers have no room */
        p->data -= p->headroom_bytes;
        p->payload_at = 0;
        break;
    case 10:
        return SIDING_DROP;
    case 11: /* tells its port */
        siding_set_result(call, p->ingress_port);
        break;
    default:
        break;
    }
    return SIDING_OK;
}

static uint32_t n_batches, n_in_batches;

static void tool_batch(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    n_batches++;
    n_in_batches += n;
    for (uint32_t i = 0; i < n; i++)
        status[i] = tool(&calls[i]);
}

static uint32_t told(struct siding_call *call)
{
    siding_set_result(call, n_batches << 16 | n_in_batches);
    return SIDING_OK;
}

static const struct siding_extern externs[] = {
    {
        .name = "tool",
        .declaration = "bit<16> tool(in bit<8> way, in bit<16> amount)",
        .packet = SIDING_PACKET_CHANGED,
        .run = tool,
        .run_batch = tool_batch,
    },
    {.name = "told", .declaration = "bit<32> told()", .run = told},
};

const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
