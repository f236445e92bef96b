/*
 * Reading a packet, and how code ends.
 */
#ifndef SD_PACKET_H
#define SD_PACKET_H

#include "sd_abi.h"

/* A procedure that exits ends what called it, too. No value of enum sd_end. */
#define SD_EXIT 0xffffu

/* Error codes of core.p4, in the order of its declaration. */
enum {
    SD_ERROR_PACKET_TOO_SHORT = 1,
    SD_ERROR_STACK_OUT_OF_BOUNDS = 3,
    SD_ERROR_HEADER_TOO_SHORT = 4,
    SD_ERROR_PARSER_INVALID_ARGUMENT = 6
};

SD_INLINE uint64_t sd_bits_left(const struct sd_packet *p)
{
    return (uint64_t)p->length_bytes * 8 - p->cursor_bits;
}

/* Gives an error code. */
SD_INLINE uint32_t sd_advance(struct sd_packet *p, uint64_t bits)
{
    if (SD_UNLIKELY(bits > sd_bits_left(p)))
        return SD_ERROR_PACKET_TOO_SHORT;
    if (SD_UNLIKELY(bits % 8 != 0))
        return SD_ERROR_PARSER_INVALID_ARGUMENT;
    p->cursor_bits += bits;
    return 0;
}

/* The payload: from the first whole byte that the parser has not read. */
SD_INLINE const uint8_t *sd_payload(const struct sd_packet *p)
{
    return p->data + (p->cursor_bits + 7) / 8;
}

SD_INLINE uint32_t sd_payload_bytes(const struct sd_packet *p)
{
    return p->length_bytes - (uint32_t)((p->cursor_bits + 7) / 8);
}

/* False where a valid header lies elsewhere than at `*at - 1` of the packet; moves `*at` behind it. */
SD_INLINE bool sd_header_stays(uint8_t is_valid, uint32_t sd_at, uint32_t n_bytes, uint32_t *at)
{
    if (!is_valid)
        return true;
    if (sd_at != *at)
        return false;
    *at += n_bytes;
    return true;
}

/* How a block has ended, where one of the worker's buffers may have been too small. */
SD_INLINE uint32_t sd_block_end(struct sd_worker *w, uint32_t end)
{
    if (SD_LIKELY(!w->failed))
        return end;
    w->failed = 0;
    return SD_END_TOO_LONG;
}

/*
 * Puts what the deparser wrote in front of the payload. False when there is no room: then the packet is as it
 * was.
 */
SD_INLINE bool sd_packet_rebuild(struct sd_packet *p, const struct sd_worker *w)
{
    uint32_t parsed = (uint32_t)((p->cursor_bits + 7) / 8);
    uint32_t emitted = w->emitted.length;
    if (SD_UNLIKELY(emitted > parsed + p->headroom_bytes))
        return false;
    p->data += (int64_t)parsed - emitted;
    p->headroom_bytes = p->headroom_bytes + parsed - emitted;
    p->length_bytes = p->length_bytes - parsed + emitted;
    if (emitted > 0)
        memcpy(p->data, w->emitted.bytes, emitted);
    return true;
}

/* sd_packet_rebuild for a packet that another block will read: the payload begins where the new headers end. */
SD_INLINE bool sd_packet_put_back(struct sd_packet *p, struct sd_worker *w)
{
    if (!sd_packet_rebuild(p, w))
        return false;
    p->cursor_bits = (uint64_t)w->emitted.length * 8;
    w->emitted.length = 0;
    w->emitted_tail_bits = 0;
    return true;
}

#endif
