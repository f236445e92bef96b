// Externs of PSA: each packet names what is done with its data, and gets the result.

#include "../include/psa.p4"

header Request {
    bit<8> operation;
    bit<8> index;
    bit<16> argument;
    bit<64> result;
}

// "123456789", of which catalogues of checks give the results.
header Digits {
    bit<32> first;
    bit<24> second;
    bit<16> third;
}

header Pair {
    bit<8> left;
    bit<12> right;
    bit<4> rest;
}

struct Cell {
    bit<8> left;
    bit<12> right;
    bool flag;
}

struct Message {
    bit<8> index;
    bit<16> argument;
}

struct Headers {
    Request request;
    Digits digits;
}

struct Meta {}

parser ReadRequest(
    packet_in packet,
    out Headers headers,
    inout Meta meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Nothing resubmitted,
    in Nothing recirculated
) {
    state start {
        packet.extract(headers.request);
        packet.extract(headers.digits);
        transition accept;
    }
}

// A checksum of its own in a control that runs twice.
control SumOfDigits(in Digits digits, out bit<16> sum) {
    InternetChecksum() checksum;
    apply {
        checksum.add({ digits.first, digits.second, digits.third, 8w0 });
        sum = checksum.get();
    }
}

control Work(
    inout Headers headers,
    inout Meta meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;
    Hash<bit<16>>(PSA_HashAlgorithm_t.TARGET_DEFAULT) usual;
    Hash<bit<64>>(PSA_HashAlgorithm_t.IDENTITY) identity;
    Hash<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) ones;
    Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) pieces32;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) pieces16;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) pieces_ones;
    InternetChecksum() internet;
    InternetChecksum() other;
    Random<bit<16>>(7, 7) always_seven;
    Random<bit<8>>(10, 13) some;
    Register<bit<16>, bit<8>>(4, 0x1234) numbers;
    Register<Cell, bit<8>>(2, { 0xab, 0xcde, true }) cells;
    Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) packets;
    Meter<bit<8>>(4, PSA_MeterType_t.BYTES) octets;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    SumOfDigits() sum;

    action counted() {
        hits.count();
        headers.request.result = 1;
    }

    // The counter does not count where nobody calls it.
    action not_counted() {
        headers.request.result = 2;
    }

    action counted_twice() {
        hits.count();
        hits.count();
        headers.request.result = 3;
    }

    table counters {
        key = {
            headers.request.index: exact;
        }
        actions = {
            counted;
            not_counted;
            counted_twice;
        }
        default_action = counted();
        psa_direct_counter = hits;
    }

    action metered() {
        PSA_MeterColor_t colour = rate.execute();
        headers.request.result =
            colour == PSA_MeterColor_t.RED ? 64w3 : colour == PSA_MeterColor_t.YELLOW ? 64w2 : 1;
    }

    action metered_yellow() {
        PSA_MeterColor_t colour = rate.execute(PSA_MeterColor_t.YELLOW);
        headers.request.result =
            colour == PSA_MeterColor_t.RED ? 64w3 : colour == PSA_MeterColor_t.YELLOW ? 64w2 : 1;
    }

    table meters {
        key = {
            headers.request.index: exact;
        }
        actions = {
            metered;
            metered_yellow;
            NoAction;
        }
        default_action = NoAction();
        psa_direct_meter = rate;
    }

    apply {
        send_to_port(ostd, (PortId_t)2);
        bit<16> argument = headers.request.argument;
        bit<8> index = headers.request.index;
        Digits digits = headers.digits;
        if (headers.request.operation == 0) {
            headers.request.result = (bit<64>)crc32.get_hash(
                { digits.first, digits.second, digits.third }
            );
        } else if (headers.request.operation == 1) {
            headers.request.result = (bit<64>)crc16.get_hash(digits);
        } else if (headers.request.operation == 2) {
            // 10 + 0xbb3d mod 7
            headers.request.result = (bit<64>)usual.get_hash(
                16w10,
                { digits.first, digits.second, digits.third },
                16w7
            );
        } else if (headers.request.operation == 3) {
            headers.request.result = (bit<64>)usual.get_hash(16w10, { digits.first }, 16w0);
        } else if (headers.request.operation == 4) {
            headers.request.result = identity.get_hash({ digits.first, digits.second });
        } else if (headers.request.operation == 5) {
            headers.request.result = (bit<64>)ones.get_hash({ 16w0x4500, argument });
        } else if (headers.request.operation == 6) {
            pieces32.update({ digits.first });
            if (index == 1) {
                pieces32.clear();
                pieces32.update({ digits.first });
            }
            pieces32.update({ digits.second, digits.third });
            headers.request.result = (bit<64>)pieces32.get();
        } else if (headers.request.operation == 7) {
            pieces16.update(digits.first);
            pieces16.update(digits.second);
            pieces16.update(digits.third);
            headers.request.result = (bit<64>)pieces16.get();
        } else if (headers.request.operation == 8) {
            pieces_ones.update({ 16w0x4500 });
            pieces_ones.update({ argument });
            headers.request.result = (bit<64>)pieces_ones.get();
        } else if (headers.request.operation == 9) {
            internet.add({ 16w0x4500, argument, digits.first });
            internet.subtract({ argument });
            internet.add({ 16w1 });
            headers.request.result = (bit<64>)internet.get();
        } else if (headers.request.operation == 10) {
            internet.add({ argument });
            other.set_state(internet.get_state());
            other.add({ 16w0xffff });
            internet.clear();
            headers.request.result = (bit<32>)0 ++ other.get() ++ internet.get();
        } else if (headers.request.operation == 11) {
            headers.request.result = (bit<64>)always_seven.read();
        } else if (headers.request.operation == 12) {
            bit<8> number = some.read();
            headers.request.result = number >= 10 && number <= 13 ? 64w1 : 0;
        } else if (headers.request.operation == 13) {
            headers.request.result = (bit<64>)numbers.read(index);
            numbers.write(index, argument);
        } else if (headers.request.operation == 14) {
            Cell cell = cells.read(index);
            headers.request.result = (bit<43>)0 ++ cell.left ++ cell.right ++ (cell.flag ? 1w1 : 0);
            cells.write(index, { cell.left + 1, cell.right - 1, !cell.flag });
        } else if (headers.request.operation == 15) {
            PSA_MeterColor_t colour = packets.execute(index);
            headers.request.result =
                colour == PSA_MeterColor_t.RED
                ? 64w3
                : colour == PSA_MeterColor_t.YELLOW
                ? 64w2
                : 1;
        } else if (headers.request.operation == 16) {
            PSA_MeterColor_t before =
                argument == 3 ? PSA_MeterColor_t.RED : PSA_MeterColor_t.YELLOW;
            PSA_MeterColor_t colour = octets.execute(index, before);
            headers.request.result =
                colour == PSA_MeterColor_t.RED
                ? 64w3
                : colour == PSA_MeterColor_t.YELLOW
                ? 64w2
                : 1;
        } else if (headers.request.operation == 17) {
            counters.apply();
        } else if (headers.request.operation == 18) {
            meters.apply();
        } else if (headers.request.operation == 19) {
            bit<16> first;
            bit<16> second;
            sum.apply(digits, first);
            sum.apply(digits, second);
            headers.request.result = first == second ? (bit<64>)first : 0;
        }
    }
}

control WriteRequest(
    packet_out packet,
    out Nothing cloned,
    out Nothing resubmitted,
    out Nothing normal,
    inout Headers headers,
    in Meta meta,
    in psa_ingress_output_metadata_t istd
) {
    Digest<Message>() messages;

    apply {
        if (headers.request.operation == 20) {
            messages.pack({ headers.request.index, headers.request.argument });
            messages.pack({ headers.request.index + 1, headers.request.argument });
        }
        packet.emit(headers.request);
        packet.emit(headers.digits);
    }
}

IngressPipeline(ReadRequest(), Work(), WriteRequest()) ingress;
EgressPipeline(NoEgressParser(), NoEgress(), NoEgressDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
