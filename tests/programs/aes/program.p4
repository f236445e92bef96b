// AES on the payload, with everything else in a header: key, nonce, and what the call has given.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"
#include <siding_externs.p4>

header Request {
    /// 0 to 5: GCM, CBC, CTR, of each first encryption. Plus 16: of a key of 192 bits, plus 32: of 256.
    bit<8> operation;
    bit<16> offset;
    bit<8> result;
    bit<256> key;
    bit<128> nonce;
}

struct Headers {
    Request request;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        bit<16> offset = headers.request.offset;
        bit<128> key = headers.request.key[255:128];
        bit<192> key192 = headers.request.key[255:64];
        bit<256> key256 = headers.request.key;
        bit<128> nonce = headers.request.nonce;
        bit<96> short = nonce[127:32];
        bool done = false;
        // Something that is there after the call, too.
        headers.request.result = 0x10;
        switch (headers.request.operation) {
            0x00: {
                done = aes_gcm_encrypt(offset, key, short);
            }
            0x01: {
                done = aes_gcm_decrypt(offset, key, short);
            }
            0x02: {
                done = aes_cbc_encrypt(offset, key, nonce);
            }
            0x03: {
                done = aes_cbc_decrypt(offset, key, nonce);
            }
            0x04: {
                done = aes_ctr_encrypt(offset, key, nonce);
            }
            0x05: {
                done = aes_ctr_decrypt(offset, key, nonce);
            }
            0x10: {
                done = aes_gcm_encrypt(offset, key192, short);
            }
            0x11: {
                done = aes_gcm_decrypt(offset, key192, short);
            }
            0x12: {
                done = aes_cbc_encrypt(offset, key192, nonce);
            }
            0x13: {
                done = aes_cbc_decrypt(offset, key192, nonce);
            }
            0x14: {
                done = aes_ctr_encrypt(offset, key192, nonce);
            }
            0x15: {
                done = aes_ctr_decrypt(offset, key192, nonce);
            }
            0x20: {
                done = aes_gcm_encrypt(offset, key256, short);
            }
            0x21: {
                done = aes_gcm_decrypt(offset, key256, short);
            }
            0x22: {
                done = aes_cbc_encrypt(offset, key256, nonce);
            }
            0x23: {
                done = aes_cbc_decrypt(offset, key256, nonce);
            }
            0x24: {
                done = aes_ctr_encrypt(offset, key256, nonce);
            }
            0x25: {
                done = aes_ctr_decrypt(offset, key256, nonce);
            }
            default: {}
        }
        if (done) {
            headers.request.result = headers.request.result + 1;
        }
        standard.egress_spec = 1;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.request);
    }
}

#include "../include/switch.p4"
