// An architecture of one's own: a filter that reads packets and says yes or no. Siding checks programs for
// any architecture; what a package means is up to its target.

#include <core.p4>
#include "../include/headers.p4"

const bit<16> ETHER_TYPE_IPV4 = 0x0800;

match_kind {
    // Matches the entry with the longest mask of leading ones among those that fit.
    prefix
}

extern Sampler {
    Sampler(bit<16> one_in);
    bool sample();
}

parser Dissector<H>(packet_in packet, out H headers);
control Judge<H>(in H headers, out bool accepted);
package Filter<H>(Dissector<H> dissector, Judge<H> judge, @optional bit<32> queue_bytes);

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
}

parser Ipv4Dissector(packet_in packet, out Headers headers) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control Sample(in Headers headers, out bool accepted)(bit<16> one_in) {
    Sampler(one_in) sampler;

    action choose(bool always) {
        accepted = always || sampler.sample();
    }

    table watched {
        key = {
            headers.ipv4.source: prefix;
        }
        actions = {
            choose;
        }
        default_action = choose(false);
        const entries = {
            0x0a000000 &&& 0xff000000: choose(true);
        }
    }

    apply {
        accepted = false;
        if (headers.ipv4.isValid()) {
            watched.apply();
        }
    }
}

Filter(dissector = Ipv4Dissector(), judge = Sample(1000)) main;
