/*
 * Bytes that grow: what the deparser emits, values packed for hashes, digests.
 *
 * A buffer of zeros is empty and good to begin with; `sd_buffer_free` gives its bytes back. Bits are appended
 * the most significant first; between calls what follows the last bit in its byte is zeros.
 *
 * A write that finds no memory, or exceeds the bound of its buffer, does nothing: the buffer does not change, and
 * SD_FAILED_* is set in `worker->failed`. The user of the bytes checks the flag, drops the packet with that reason,
 * and clears the flag; sd_emit_begin clears that of the emitted bytes.
 */
#ifndef SD_BUFFER_H
#define SD_BUFFER_H

#include "sd_abi.h"

#define SD_EMIT_BYTES_MAX (1u << 20)
#define SD_PACK_BYTES_MAX (1u << 24)
#define SD_DIGEST_BYTES_MAX (1u << 24)

enum sd_failed { SD_FAILED_EMIT = 1, SD_FAILED_PACK = 2, SD_FAILED_DIGEST = 4 };

/* Bytes allocated beyond the capacity, so that 8 bytes can be stored wherever one fits. */
#define SD_BUFFER_SLACK_BYTES 8u

/* Grows to `size` bytes, which is above the capacity. False: the buffer has not changed. */
SD_COLD bool sd_buffer_grow(struct sd_buffer *buffer, uint64_t size, uint32_t size_max)
{
    if (size > size_max)
        return false;
    uint64_t capacity = (uint64_t)buffer->capacity * 2;
    if (capacity < 512)
        capacity = 512;
    if (capacity < size)
        capacity = size;
    if (capacity > size_max)
        capacity = size_max;
    uint8_t *bytes = realloc(buffer->bytes, capacity + SD_BUFFER_SLACK_BYTES);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = (uint32_t)capacity;
    return true;
}

/* Makes room for `n_bytes` more. */
SD_INLINE bool sd_buffer_reserve(struct sd_buffer *buffer, uint64_t n_bytes, uint32_t size_max)
{
    uint64_t size = buffer->length + n_bytes;
    return SD_LIKELY(size <= buffer->capacity) || sd_buffer_grow(buffer, size, size_max);
}

SD_INLINE void sd_buffer_free(struct sd_buffer *buffer)
{
    free(buffer->bytes);
    buffer->bytes = NULL;
    buffer->length = 0;
    buffer->capacity = 0;
}

/* --- Appending bits to one of a worker's buffers --- */

struct sd_writer {
    struct sd_buffer *to;
    /* Bits used of the last byte, 0 when it is full. */
    uint32_t *tail_bits;
    uint32_t *failed;
    uint32_t failed_flag;
    uint32_t size_max;
};

SD_INLINE struct sd_writer sd_emitter(struct sd_worker *w)
{
    struct sd_writer out = {
        &w->emitted, &w->emitted_tail_bits, &w->failed, SD_FAILED_EMIT, SD_EMIT_BYTES_MAX,
    };
    return out;
}

SD_INLINE struct sd_writer sd_packer(struct sd_worker *w)
{
    struct sd_writer out = {
        &w->scratch, &w->scratch_tail_bits, &w->failed, SD_FAILED_PACK, SD_PACK_BYTES_MAX,
    };
    return out;
}

SD_INLINE bool sd_writer_reserve(struct sd_writer out, uint64_t n_bytes)
{
    if (SD_LIKELY(sd_buffer_reserve(out.to, n_bytes, out.size_max)))
        return true;
    *out.failed |= out.failed_flag;
    return false;
}

/* At most 64 bits together with those used of the last byte; there is room for them. */
SD_INLINE void sd_writer_put_word(struct sd_buffer *to, uint32_t *tail_bits, unsigned width, uint64_t value)
{
    unsigned used = *tail_bits;
    uint32_t at = to->length - (used != 0);
    uint64_t word = (value & SD_MASK64(width)) << (64 - used - width);
    if (used != 0)
        word |= (uint64_t)to->bytes[at] << 56;
    sd_store_be64(to->bytes + at, word);
    to->length = at + (used + width + 7) / 8;
    *tail_bits = (used + width) % 8;
}

/* One copy for all fields that do not begin and end with whole bytes. */
__attribute__((noinline)) static SD_UNUSED void sd_writer_put_bits(struct sd_buffer *to, uint32_t *tail_bits,
                                                                   unsigned width, uint64_t value)
{
    if (*tail_bits + width > 64) {
        sd_writer_put_word(to, tail_bits, width - 32, value >> 32);
        width = 32;
    }
    sd_writer_put_word(to, tail_bits, width, value);
}

/* 1 to 64 bits for which there is room. */
SD_INLINE void sd_writer_put(struct sd_writer out, unsigned width, uint64_t value)
{
    if (width % 8 != 0 || SD_UNLIKELY(*out.tail_bits != 0)) {
        sd_writer_put_bits(out.to, out.tail_bits, width, value);
        return;
    }
    sd_store_be64(out.to->bytes + out.to->length, value << (64 - width));
    out.to->length += width / 8;
}

/* Makes room for `n_bits` more. */
SD_INLINE bool sd_writer_reserve_bits(struct sd_writer out, uint64_t n_bits)
{
    /* An upper bound: one byte less is enough if the last byte is not full. */
    if (SD_LIKELY(out.to->length + (n_bits + 7) / 8 <= out.to->capacity))
        return true;
    unsigned used = *out.tail_bits;
    return sd_writer_reserve(out, (used + n_bits + 7) / 8 - (used != 0));
}

SD_INLINE void sd_writer_bits(struct sd_writer out, unsigned width, uint64_t value)
{
    if (sd_writer_reserve_bits(out, width))
        sd_writer_put(out, width, value);
}

SD_INLINE void sd_writer_bits128(struct sd_writer out, unsigned width, sd_u128 value)
{
    if (!sd_writer_reserve_bits(out, width))
        return;
    if (width > 64) {
        sd_writer_put(out, width - 64, (uint64_t)(value >> 64));
        width = 64;
    }
    sd_writer_put(out, width, (uint64_t)value);
}

SD_INLINE void sd_writer_wide(struct sd_writer out, unsigned width, const uint64_t *value)
{
    if (!sd_writer_reserve_bits(out, width))
        return;
    unsigned limb = SD_LIMBS(width) - 1;
    sd_writer_put(out, (width - 1) % 64 + 1, value[limb]);
    while (limb-- > 0)
        sd_writer_put(out, 64, value[limb]);
}

SD_INLINE void sd_writer_bytes(struct sd_writer out, const uint8_t *bytes, uint32_t n_bits)
{
    if (n_bits == 0 || !sd_writer_reserve_bits(out, n_bits))
        return;
    uint32_t n_whole = n_bits / 8;
    if (*out.tail_bits == 0) {
        memcpy(out.to->bytes + out.to->length, bytes, n_whole);
        out.to->length += n_whole;
    } else {
        uint32_t i = 0;
        for (; i + 8 <= n_whole; i += 8)
            sd_writer_put(out, 64, sd_load_be64(bytes + i));
        for (; i < n_whole; i++)
            sd_writer_put(out, 8, bytes[i]);
    }
    if (n_bits % 8 != 0)
        sd_writer_put(out, n_bits % 8, bytes[n_whole] >> (8 - n_bits % 8));
}

/* --- What the deparser emits --- */

SD_INLINE void sd_emit_begin(struct sd_worker *w)
{
    w->emitted.length = 0;
    w->emitted_tail_bits = 0;
    w->failed &= ~(uint32_t)SD_FAILED_EMIT;
}

/* 1 to 64 bits. */
SD_INLINE void sd_emit_bits(struct sd_worker *w, unsigned width, uint64_t value)
{
    sd_writer_bits(sd_emitter(w), width, value);
}

/* 1 to 128 bits. */
SD_INLINE void sd_emit_bits128(struct sd_worker *w, unsigned width, sd_u128 value)
{
    sd_writer_bits128(sd_emitter(w), width, value);
}

SD_INLINE void sd_emit_wide(struct sd_worker *w, unsigned width, const uint64_t *value)
{
    sd_writer_wide(sd_emitter(w), width, value);
}

/* Emits 0 or more bits, in the order of a packet. */
SD_INLINE void sd_emit_bytes(struct sd_worker *w, const uint8_t *bytes, uint32_t n_bits)
{
    sd_writer_bytes(sd_emitter(w), bytes, n_bits);
}

/*
 * 1 or more whole bytes that the caller writes, at once: they count as emitted. NULL where the last byte is not
 * full, which is no failure: then the fields have to be emitted one after the other; and NULL, with the flag,
 * where there is no room.
 */
SD_INLINE uint8_t *sd_emit_reserve(struct sd_worker *w, uint32_t n_bytes)
{
    if (SD_UNLIKELY(w->emitted_tail_bits != 0) || !sd_writer_reserve(sd_emitter(w), n_bytes))
        return NULL;
    uint8_t *at = w->emitted.bytes + w->emitted.length;
    w->emitted.length += n_bytes;
    return at;
}

/*
 * sd_emit_reserve, filled with the bytes of a header that lies at `sd_at - 1` of the packet, or with zeros where that is 0.
 */
SD_INLINE uint8_t *sd_emit_header(struct sd_worker *w, const struct sd_packet *p, uint32_t sd_at, uint32_t n_bytes)
{
    uint8_t *at = sd_emit_reserve(w, n_bytes);
    if (SD_UNLIKELY(!at))
        return NULL;
    if (sd_at)
        memcpy(at, p->data + sd_at - 1, n_bytes);
    else
        memset(at, 0, n_bytes);
    return at;
}

/* --- Values packed for hashes --- */

SD_INLINE void sd_pack_begin(struct sd_worker *w)
{
    w->scratch.length = 0;
    w->scratch_tail_bits = 0;
}

SD_INLINE void sd_pack_bits(struct sd_worker *w, unsigned width, uint64_t value)
{
    sd_writer_bits(sd_packer(w), width, value);
}

SD_INLINE void sd_pack_bits128(struct sd_worker *w, unsigned width, sd_u128 value)
{
    sd_writer_bits128(sd_packer(w), width, value);
}

SD_INLINE void sd_pack_wide(struct sd_worker *w, unsigned width, const uint64_t *value)
{
    sd_writer_wide(sd_packer(w), width, value);
}

SD_INLINE void sd_pack_bytes(struct sd_worker *w, const uint8_t *bytes, uint32_t n_bits)
{
    sd_writer_bytes(sd_packer(w), bytes, n_bits);
}

/*
 * Each value in as many whole bytes as it needs, the least significant first: as values lie in the memory of a
 * little-endian machine, one after the other without gaps. Not to be mixed with those above.
 */
SD_INLINE void sd_pack_little_wide(struct sd_worker *w, unsigned width, const uint64_t *value)
{
    uint32_t n = (width + 7) / 8;
    if (!sd_writer_reserve(sd_packer(w), n))
        return;
    memcpy(w->scratch.bytes + w->scratch.length, value, n);
    w->scratch.length += n;
}

SD_INLINE void sd_pack_little_bits(struct sd_worker *w, unsigned width, uint64_t value)
{
    value &= SD_MASK64(width);
    sd_pack_little_wide(w, width, &value);
}

SD_INLINE void sd_pack_little_bits128(struct sd_worker *w, unsigned width, sd_u128 value)
{
    value &= SD_MASK128(width);
    uint64_t limbs[2] = {(uint64_t)value, (uint64_t)(value >> 64)};
    sd_pack_little_wide(w, width, limbs);
}

/* Bits as they lie in a packet, as one number. */
SD_INLINE void sd_pack_little_bytes(struct sd_worker *w, const uint8_t *bytes, uint32_t n_bits)
{
    uint32_t n = n_bits / 8 + (n_bits % 8 != 0);
    if (n == 0 || !sd_writer_reserve(sd_packer(w), n))
        return;
    uint8_t *to = w->scratch.bytes + w->scratch.length;
    uint32_t left = n_bits;
    for (uint32_t i = 0; i < n; i++) {
        unsigned width = left < 8 ? left : 8;
        left -= width;
        to[i] = (uint8_t)sd_read_bits(bytes, left, width);
    }
    w->scratch.length += n;
}

/* --- Digests --- */

/* A whole digest or, where there is no room, nothing of it. */
SD_INLINE void sd_digest(struct sd_worker *w, uint32_t call, const void *args, uint32_t n_bytes)
{
    uint32_t head[2] = {call, n_bytes};
    if (!sd_buffer_reserve(&w->digests, sizeof head + (uint64_t)n_bytes, SD_DIGEST_BYTES_MAX)) {
        w->failed |= SD_FAILED_DIGEST;
        return;
    }
    uint8_t *to = w->digests.bytes + w->digests.length;
    memcpy(to, head, sizeof head);
    if (n_bytes > 0)
        memcpy(to + sizeof head, args, n_bytes);
    w->digests.length += (uint32_t)sizeof head + n_bytes;
    w->requests.flags |= SD_REQUEST_DIGEST;
}

#endif
