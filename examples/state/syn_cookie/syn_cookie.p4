// Answers SYNs for a server with cookies, so that a flood of SYNs leaves no trace: an entry is there only after a client has
// proved with the third packet of the handshake that it receives what is sent to its address.
//
//     siding stf examples/state/syn_cookie
//
// Clients are at port 1, the server is at port 2. The sequence number of the answer is the cookie, a hash of the connection
// and of a secret. The third packet becomes the SYN to the server; the answer of the server is acknowledged here and gives
// the difference between its sequence numbers and those that the client knows. From then on numbers are translated.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../include/segments.p4"

#ifndef N_CONNECTIONS
#define N_CONNECTIONS 16384
#endif

const bit<9> CLIENTS = 1;
const bit<9> SERVER = 2;

// A power of two, so that the low bits of a number are the cell.
const bit<32> N_CELLS = 65536;

// Frames of Ethernet, IPv4 and TCP without options and data.
const bit<32> SEGMENT_BYTES = 54;
// One segment fits each receiver. The first packet of the client that is translated has the true window.
const bit<16> FIRST_WINDOW = 1460;

// Times that the profiles have unless the configuration changes them: 10, 60 and 43200 seconds.
const ExpireTimeProfileId_t PROFILE_OPENING = 0;
const ExpireTimeProfileId_t PROFILE_CLOSING = 2;
const ExpireTimeProfileId_t PROFILE_OPEN = 5;
// The configuration gives this profile no time at all: an entry with it has ended.
const ExpireTimeProfileId_t PROFILE_GONE = 255;

enum bit<8> State {
    // The cell belongs to another connection.
    LOST = 0,
    // The server has not answered.
    OPENING = 1,
    OPEN = 2,
    // One side has sent FIN or RST.
    CLOSING = 3
}

struct Connection {
    bit<32> id;
}

control Guard(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    // The secret, and the one before it: the controller changes both from time to time.
    register<bit<64>>(2) secrets;
    // The number of the connection that owns the cell, and its state.
    register<bit<40>>(N_CELLS) states;
    // The sequence number of the client's handshake, which is the cookie.
    register<bit<32>>(N_CELLS) cookies;
    // The server's sequence number less the one that the client knows.
    register<bit<32>>(N_CELLS) differences;
    // 0: SYNs answered; 1: connections begun; 2: packets with a wrong cookie; 3: connections without room; 4: other drops.
    counter(5, CounterType.packets) events;

    Ipv4Address client = 0;
    Ipv4Address server = 0;
    bit<16> client_port = 0;
    bit<16> server_port = 0;

    bool is_known = false;
    bool may_add = false;
    bool is_added = false;
    bool restarts = false;
    bool changes_profile = false;
    ExpireTimeProfileId_t profile = PROFILE_OPENING;

    bit<32> number = 0;
    State state = State.LOST;
    bit<32> own_cookie = 0;
    bit<32> difference = 0;

    action connection(bit<32> id) {
        is_known = true;
        number = id;
        update_expire_info(restarts, changes_profile, profile);
    }

    action unknown() {
        is_known = false;
        if (may_add) {
            number = allocate_flow_id();
            is_added = add_entry("connection", (Connection){ id = number }, PROFILE_OPENING);
        }
    }

    table connections {
        key = {
            client: exact @name("client");
            client_port: exact @name("client_port");
            server: exact @name("server");
            server_port: exact @name("server_port");
        }
        actions = {
            @tableonly connection;
            @defaultonly unknown;
        }
        const default_action = unknown();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_CONNECTIONS;
    }

    action refuse(bit<32> reason) {
        events.count(reason);
        mark_to_drop(standard);
        exit;
    }

    action find_cookie(in bit<32> which, in bit<32> client_sequence, out bit<32> cookie) {
        bit<64> secret;
        secrets.read(secret, which);
        hash(
            cookie,
            HashAlgorithm.crc32,
            32w0,
            { secret, client, server, client_port, server_port, client_sequence },
            64w0x100000000
        );
    }

    // Says if the acknowledgement of the client repeats a cookie of the last two secrets.
    action check_cookie(out bool is_right) {
        bit<32> cookie;
        find_cookie(0, headers.tcp.sequence - 1, cookie);
        is_right = cookie == headers.tcp.acknowledgement - 1;
        if (!is_right) {
            find_cookie(1, headers.tcp.sequence - 1, cookie);
            is_right = cookie == headers.tcp.acknowledgement - 1;
        }
    }

    // A segment without options and data, with new checksums.
    action make_segment(bit<32> sequence, bit<32> acknowledgement, bit<8> flags) {
        headers.ipv4.dscp = 0;
        headers.ipv4.ecn = 0;
        headers.ipv4.total_bytes = 40;
        headers.ipv4.identification = 0;
        headers.ipv4.flags = 2;
        headers.ipv4.ttl = 64;
        headers.tcp.sequence = sequence;
        headers.tcp.acknowledgement = acknowledgement;
        headers.tcp.words = 5;
        headers.tcp.reserved = 0;
        headers.tcp.flags = flags;
        headers.tcp.urgent = 0;
        meta.is_new_segment = true;
        truncate(SEGMENT_BYTES);
    }

    action send_back() {
        MacAddress station = headers.ethernet.source;
        headers.ethernet.source = headers.ethernet.destination;
        headers.ethernet.destination = station;
        Ipv4Address address = headers.ipv4.source;
        headers.ipv4.source = headers.ipv4.destination;
        headers.ipv4.destination = address;
        bit<16> port = headers.tcp.source;
        headers.tcp.source = headers.tcp.destination;
        headers.tcp.destination = port;
        standard.egress_spec = standard.ingress_port;
    }

    action begin_at_server() {
        make_segment(headers.tcp.sequence - 1, 0, TCP_SYN);
        standard.egress_spec = SERVER;
    }

    action write_state(State next) {
        states.write(number & (N_CELLS - 1), number ++ (bit<8>)next);
    }

    apply {
        if (!headers.tcp.isValid()) {
            refuse(4);
        }
        bool from_client = standard.ingress_port == CLIENTS;
        bit<8> flags = headers.tcp.flags & (TCP_SYN | TCP_ACK | TCP_FIN | TCP_RST);
        if (from_client) {
            client = headers.ipv4.source;
            client_port = headers.tcp.source;
            server = headers.ipv4.destination;
            server_port = headers.tcp.destination;
        } else {
            client = headers.ipv4.destination;
            client_port = headers.tcp.destination;
            server = headers.ipv4.source;
            server_port = headers.tcp.source;
        }

        if (from_client && flags & TCP_SYN != 0) {
            if (flags != TCP_SYN) {
                refuse(4);
            }
            // Anybody can send a SYN, so it must not touch an entry either.
            bit<32> cookie;
            find_cookie(0, headers.tcp.sequence, cookie);
            make_segment(cookie, headers.tcp.sequence + 1, TCP_SYN | TCP_ACK);
            send_back();
            events.count(0);
            exit;
        }

        restarts = true;
        connections.apply();
        if (is_known) {
            bit<40> cell;
            states.read(cell, number & (N_CELLS - 1));
            cookies.read(own_cookie, number & (N_CELLS - 1));
            differences.read(difference, number & (N_CELLS - 1));
            if (cell[39:8] == number) {
                state = (State)cell[7:0];
            }
        }

        bool begins = false;
        bool is_own = false;
        if (from_client && flags == TCP_ACK && (!is_known || state != State.OPEN)) {
            check_cookie(begins);
            if (!begins && !is_known) {
                refuse(2);
            }
            is_own =
                is_known && state != State.LOST && own_cookie == headers.tcp.acknowledgement - 1;
        }
        if (begins && !is_own) {
            if (is_known) {
                // The client uses the port of a connection that is over, or whose cell another has taken.
                changes_profile = true;
                profile = PROFILE_GONE;
                connections.apply();
            }
            may_add = true;
            connections.apply();
            if (!is_added) {
                refuse(3);
            }
            write_state(State.OPENING);
            cookies.write(number & (N_CELLS - 1), headers.tcp.acknowledgement - 1);
            events.count(1);
        }

        if (begins && (!is_own || state == State.OPENING)) {
            // The first SYN to the server, or the same again because that one was lost.
            begin_at_server();
        } else if (!is_known || state == State.LOST) {
            refuse(4);
        } else if (state == State.OPENING) {
            if (!from_client && flags == TCP_SYN | TCP_ACK) {
                write_state(State.OPEN);
                differences.write(number & (N_CELLS - 1), headers.tcp.sequence - own_cookie);
                changes_profile = true;
                profile = PROFILE_OPEN;
                connections.apply();
                send_back();
                make_segment(headers.tcp.acknowledgement, headers.tcp.sequence + 1, TCP_ACK);
                headers.tcp.window = FIRST_WINDOW;
            } else if (!from_client && flags & TCP_RST != 0) {
                // The server does not want the connection. The client expects the number after the cookie.
                write_state(State.CLOSING);
                differences.write(number & (N_CELLS - 1), headers.tcp.sequence - own_cookie - 1);
                make_segment(own_cookie + 1, headers.tcp.acknowledgement, TCP_RST | TCP_ACK);
                headers.tcp.window = 0;
                standard.egress_spec = CLIENTS;
            } else {
                refuse(4);
            }
        } else {
            if (flags & (TCP_FIN | TCP_RST) != 0) {
                write_state(State.CLOSING);
                changes_profile = true;
                profile = PROFILE_CLOSING;
                connections.apply();
            }
            if (from_client) {
                if (flags & TCP_ACK != 0) {
                    bit<32> before = headers.tcp.acknowledgement;
                    headers.tcp.acknowledgement = before + difference;
                    headers.tcp.checksum = adjusted_by_32(
                        headers.tcp.checksum,
                        before,
                        before + difference
                    );
                }
                standard.egress_spec = SERVER;
            } else if (flags & TCP_SYN != 0) {
                // The acknowledgement of the server's SYN was lost.
                send_back();
                make_segment(headers.tcp.acknowledgement, headers.tcp.sequence + 1, TCP_ACK);
                headers.tcp.window = FIRST_WINDOW;
            } else {
                bit<32> before = headers.tcp.sequence;
                headers.tcp.sequence = before - difference;
                headers.tcp.checksum = adjusted_by_32(
                    headers.tcp.checksum,
                    before,
                    before - difference
                );
                standard.egress_spec = CLIENTS;
            }
        }
    }
}

control Complete(inout Headers headers, inout Metadata meta) {
    apply {
        update_checksum(
            meta.is_new_segment,
            {
                headers.ipv4.version,
                headers.ipv4.header_words,
                headers.ipv4.dscp,
                headers.ipv4.ecn,
                headers.ipv4.total_bytes,
                headers.ipv4.identification,
                headers.ipv4.flags,
                headers.ipv4.fragment_offset,
                headers.ipv4.ttl,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16
        );
        update_checksum(
            meta.is_new_segment,
            {
                headers.ipv4.source,
                headers.ipv4.destination,
                8w0,
                headers.ipv4.protocol,
                16w20,
                headers.tcp.source,
                headers.tcp.destination,
                headers.tcp.sequence,
                headers.tcp.acknowledgement,
                headers.tcp.words,
                headers.tcp.reserved,
                headers.tcp.flags,
                headers.tcp.window,
                headers.tcp.urgent
            },
            headers.tcp.checksum,
            HashAlgorithm.csum16
        );
    }
}

V1Switch(ReadSegment(), NoVerify(), Guard(), NoEgress(), Complete(), WriteSegment()) main;
