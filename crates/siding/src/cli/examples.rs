//! Examples that `--help` of each command shows. A test parses each one with the command's own parser.

/// A command line as people type it, and what it is for.
pub type Example = (&'static str, &'static str);

/// The examples of a command, by its path (`entries check`); the empty path is `siding` itself.
pub fn of(path: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == path).map_or(&[], |(_, examples)| examples)
}

pub const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("siding check router.p4", "find faults"),
            ("siding why router.p4 -p 'eth/ipv4(dst=10.0.2.2)/udp' --brief", "what becomes of a packet"),
            ("siding run router.p4 test.stf", "run a test"),
            ("siding switch router.p4 -i 1@veth0 -i 2@veth2", "run on live traffic"),
        ],
    ),
    (
        "check",
        &[
            ("siding check router.p4", "all faults and warnings"),
            ("siding check -I include -D WITH_VLAN=1 router.p4", "with an include directory and a macro"),
            ("siding check --Werror --error-format short *.p4", "for scripts and CI"),
        ],
    ),
    (
        "build",
        &[
            ("siding build router.p4", "makes router.sdp"),
            ("siding build --emit c -o - router.p4", "shows the generated C"),
            ("siding build --p4runtime-files router.p4info.txtpb router.p4", "with P4Info for a controller"),
        ],
    ),
    (
        "arch",
        &[
            ("siding arch", "the architectures that are known"),
            ("siding arch v1model", "blocks, metadata and the way of packets"),
        ],
    ),
    (
        "entries",
        &[
            ("siding entries check router.p4 s1-runtime.json", "find faults in entries"),
            ("siding entries convert router.p4 s1-runtime.json s1.stf", "change the format"),
        ],
    ),
    (
        "entries check",
        &[
            ("siding entries check router.p4 s1-runtime.json", ""),
            ("siding entries check router.p4info.txtpb --from bmv2 commands.txt", "P4Info is enough"),
        ],
    ),
    (
        "entries convert",
        &[
            ("siding entries convert router.p4 s1-runtime.json s1.txtpb", "for a P4Runtime controller"),
            ("siding entries convert router.p4 commands.txt --to script", "to standard output"),
        ],
    ),
    (
        "shims",
        &[
            ("siding shims ~/p4/bin", "makes simple_switch_grpc, p4c and others"),
            ("siding shims --remove ~/p4/bin", "removes them"),
        ],
    ),
    (
        "extern",
        &[
            ("siding extern new mix", "makes the folder mix: C, a program, a test, a Makefile"),
            ("siding stf --extern mix/mix.so mix/mix.p4 mix/mix.stf", "runs its test, after make -C mix"),
        ],
    ),
    (
        "extern new",
        &[
            ("siding extern new mix", "a function"),
            (
                "siding extern new sequence --kind object --dir work/sequence",
                "a type with a method and state",
            ),
        ],
    ),
    (
        "extern header",
        &[
            ("siding extern header -o .", "writes siding_extern.h"),
            ("siding extern header", "to read what externs get and give"),
        ],
    ),
    (
        "p4info",
        &[
            ("siding p4info router.p4", "as text, to standard output"),
            ("siding p4info router.p4 -o router.json --entries entries.txtpb", "with the initial entries"),
        ],
    ),
    (
        "run",
        &[
            ("siding run router.p4 test.stf", "runs a test script"),
            ("siding run router.p4 --pcap 1=in.pcap --entries s1.stf -o out", "runs a capture"),
            ("siding run router.p4 --pcap 1=in.pcap --expect 2=expected.pcap", "compares what leaves port 2"),
            ("siding run router.p4 test.stf --backend both -q", "interpreter and compiled code"),
        ],
    ),
    (
        "switch",
        &[
            ("siding switch router.p4 -i 1@veth0 -i 2@veth2 --entries s1.stf", "on two interfaces"),
            ("siding switch -i 1@tap:p1", "on a new TAP device; `siding ctl replace` brings a program"),
            ("siding switch router.p4 --use-files 0 -i 1@in --pcap", "packets of in_in.pcap"),
            (
                "siding switch router.p4 -i 1@veth0 -i 2@veth2 --workers 2 --cores 0,1 --queues auto --wait busy",
                "two workers that never sleep, each with a queue of both ports",
            ),
        ],
    ),
    (
        "migrate",
        &[
            ("siding migrate 127.0.0.1:9559 127.0.0.1:9560", "to a second switch"),
            ("siding migrate 127.0.0.1:9559 127.0.0.1:9560 --keep-up", "with all changes, until Ctrl-C"),
            ("siding migrate 127.0.0.1:9559 entries.bulk", "to a file"),
            ("siding migrate entries.bulk 127.0.0.1:9560", "from a file"),
        ],
    ),
    (
        "p4rt",
        &[
            ("siding p4rt set router.p4", "runs a program"),
            ("siding p4rt read routes", "the entries of one table, as `write` takes them"),
            ("siding p4rt --server switch1:9559 --device-id 1 write s1-runtime.json", "on another machine"),
        ],
    ),
    (
        "p4rt capabilities",
        &[
            ("siding p4rt capabilities", "the version of P4Runtime"),
            ("siding p4rt capabilities --server 10.0.0.1:9559", "of a switch elsewhere"),
        ],
    ),
    (
        "p4rt get",
        &[
            ("siding p4rt get > router.p4info.txtpb", "the P4Info of the program that runs"),
            ("siding p4rt get --cookie", "the number that `set --cookie` gave it"),
        ],
    ),
    (
        "p4rt set",
        &[
            ("siding p4rt set router.p4 --cookie 7", "runs a program"),
            ("siding p4rt set router.sdp --action reconcile-and-commit", "keeps the entries"),
            ("siding p4rt set --p4info bmv2.p4info.txtpb bmv2.json", "for a switch of another kind"),
        ],
    ),
    (
        "p4rt read",
        &[
            ("siding p4rt read", "everything that was written"),
            ("siding p4rt read routes 10.0.0.0/8", "one entry"),
            ("siding p4rt read acl priority=10 action=drop", "entries with a priority and an action"),
            ("siding p4rt read counters registers --format p4runtime-text", "cells"),
        ],
    ),
    (
        "p4rt write",
        &[
            ("siding p4rt write s1-runtime.json", "as the file says"),
            ("siding p4rt write --as upsert routes.stf", "inserts what is new, modifies the others"),
            ("siding p4rt write --atomicity rollback routes.stf", "all or nothing"),
        ],
    ),
    (
        "p4rt delete-all",
        &[
            ("siding p4rt delete-all", "an empty switch"),
            ("siding p4rt delete-all --role routing", "the entries of a role alone"),
        ],
    ),
    (
        "p4rt watch",
        &[
            ("siding p4rt watch --ack", "packets, digests and idle entries, until Ctrl-C"),
            ("siding p4rt watch --count 1 --timeout 5", "waits for one message"),
        ],
    ),
    (
        "p4rt packet-out",
        &[
            (
                "siding p4rt packet-out 'eth/ipv4(dst=10.0.2.2)/udp' egress_port=1",
                "with a field of its header",
            ),
            ("siding p4rt packet-out capture.pcap:3 egress_port=1", "a packet of a capture"),
        ],
    ),
    (
        "ctl",
        &[
            ("siding ctl show entries", "what the tables hold"),
            ("siding ctl add ipv4_lpm 10.0.2.0/24 'forward(2)'", "adds an entry"),
            ("siding ctl trace --match port==1", "the story of the next packet on port 1"),
        ],
    ),
    (
        "ctl show",
        &[
            ("siding ctl show ports", "packets in and out of each port"),
            ("siding ctl show entries ipv4_lpm", "the entries of one table"),
            ("siding ctl --device-id 1 show drops", "of another switch"),
        ],
    ),
    (
        "ctl add",
        &[
            ("siding ctl add ipv4_lpm 10.0.2.0/24 'forward(2)'", ""),
            ("siding ctl add acl 10 'dst:10.0.0.0&&&255.0.0.0' 'drop()'", "with a priority and a mask"),
        ],
    ),
    (
        "ctl modify",
        &[
            ("siding ctl modify ipv4_lpm 10.0.2.0/24 'forward(3)'", ""),
            ("siding ctl modify ipv4_lpm 10.0.2.0/24 'drop()'", ""),
            ("siding ctl modify --keep-state flows 10.0.0.1 'count(3)'", ""),
        ],
    ),
    (
        "ctl delete",
        &[
            ("siding ctl delete ipv4_lpm 10.0.2.0/24", ""),
            ("siding ctl delete acl 10 'dst:10.0.0.0&&&255.0.0.0'", "with its priority"),
        ],
    ),
    (
        "ctl setdefault",
        &[
            ("siding ctl setdefault ipv4_lpm 'drop()'", ""),
            ("siding ctl setdefault ipv4_lpm 'forward(1)'", ""),
        ],
    ),
    (
        "ctl mc-group",
        &[
            ("siding ctl mc-group 1 2 3 4", "group 1 is ports 2, 3 and 4"),
            ("siding ctl show pre", "all groups"),
        ],
    ),
    (
        "ctl do",
        &[
            ("siding ctl do register_read flows 5", ""),
            ("siding ctl do mirroring_add 100 3", "copies of session 100 leave port 3"),
        ],
    ),
    (
        "ctl write",
        &[
            ("siding ctl write s1-runtime.json", ""),
            ("siding ctl write - < commands.txt", "from standard input"),
        ],
    ),
    (
        "ctl trace",
        &[
            ("siding ctl trace --count 3", "the next three packets"),
            ("siding ctl trace --match 'port==1 && ipv4.dstAddr==10.0.2.2'", ""),
            ("siding ctl trace --match port==1 --timeout 5", "gives up after 5 seconds"),
        ],
    ),
    (
        "ctl packet-in",
        &[
            ("siding ctl packet-in", "what has come for the controller"),
            ("siding ctl packet-in --count 1 --json", ""),
        ],
    ),
    (
        "ctl packet-out",
        &[
            ("siding ctl packet-out 'eth/ipv4(dst=10.0.2.2)/udp' --port 1", "as if it had arrived at port 1"),
            ("siding ctl packet-out 0001ffffffffffff", "with the program's packet_out header"),
        ],
    ),
    ("ctl digests", &[("siding ctl digests", ""), ("siding ctl digests --json", "for scripts")]),
    ("ctl expired", &[("siding ctl expired", ""), ("siding ctl expired --json", "for scripts")]),
    (
        "ctl replace",
        &[
            ("siding ctl replace router2.p4", "with empty tables"),
            ("siding ctl replace router2.p4 --keep-entries", "with the entries that fit"),
        ],
    ),
    (
        "ctl port",
        &[
            ("siding ctl port add 3@veth4", ""),
            ("siding ctl port down 3", "drop what comes to port 3 and leaves it"),
        ],
    ),
    (
        "ctl port add",
        &[("siding ctl port add 3@veth4", ""), ("siding ctl port add 4@tap:p4", "a new TAP device")],
    ),
    ("ctl port remove", &[("siding ctl port remove 3", ""), ("siding ctl show ports", "what is left")]),
    ("ctl port up", &[("siding ctl port up 3", ""), ("siding ctl show ports", "which ports are up")]),
    ("ctl port down", &[("siding ctl port down 3", ""), ("siding ctl show ports", "which ports are up")]),
    (
        "ctl set-rate",
        &[
            ("siding ctl set-rate 1 1000", "1000 packets a second"),
            ("siding ctl set-rate 1", "no limit again"),
        ],
    ),
    (
        "ctl expire",
        &[
            ("siding ctl expire flows", "the timeouts of all profiles"),
            ("siding ctl expire flows 1 30", "entries of profile 1 end 30 seconds after their last packet"),
        ],
    ),
    (
        "ctl wait-ready",
        &[
            ("siding ctl wait-ready", ""),
            ("siding ctl wait-ready --timeout 10 --pid 4711", "gives up when process 4711 ends"),
        ],
    ),
    (
        "ctl wait-entries",
        &[
            ("siding ctl wait-entries hosts 50000", ""),
            ("siding ctl wait-entries hosts 1000 --below --timeout 600", "until fewer are left"),
        ],
    ),
    ("ctl shutdown", &[("siding ctl shutdown", ""), ("siding ctl --device-id 1 shutdown", "another switch")]),
    (
        "trace",
        &[
            ("siding trace router.p4 -p 'eth/ipv4(dst=10.0.2.2)/udp' --entries s1.stf", ""),
            ("siding trace router.p4 -p in.pcap:17 --port 1", "the 17th packet of a capture, at port 1"),
            ("siding trace router.p4 -p 0800 --json", "hexadecimal digits; the story as JSON"),
        ],
    ),
    (
        "why",
        &[
            ("siding why router.p4 -p 'eth/ipv4(dst=10.0.2.2)/udp' --entries s1.stf", ""),
            ("siding why router.p4 -p in.pcap:17 --brief", "one line for the 17th packet of a capture"),
        ],
    ),
    (
        "stf",
        &[
            ("siding stf router.p4 a.stf b.stf", ""),
            ("siding stf tests --all", "all scripts below a directory"),
            ("siding stf tests --backend both --story", "both backends; tells the packets of failed tests"),
        ],
    ),
    ("ir", &[("siding ir router.p4", ""), ("siding ir router.p4 -o router.ir", "to a file")]),
    (
        "sim",
        &[
            ("siding sim counter.p4 --explain", "the stateful actions and their cycles"),
            ("siding sim counter.p4 --trace in.pcap --cycles 1..10", "on your own traffic"),
            ("siding sim --figure flow --points 2.jsonl --shard 2/4", "a quarter of a published figure"),
            ("siding sim --budget 0.01%,1% --profile facebook", "how long an action may be"),
        ],
    ),
    (
        "merge",
        &[
            ("siding merge 1.jsonl 2.jsonl -o flow.jsonl", "the points of two shards"),
            ("siding merge --partial 1.jsonl -o flow.jsonl", "what is there"),
        ],
    ),
    (
        "model",
        &[
            ("siding model extern --cost 100,1000", ""),
            ("siding model extern --share 10 --workers 4 --json", "for scripts"),
            ("siding model asic router.p4", "whether the program fits a chip of twelve stages"),
            ("siding model latency --cycles 300 --load 80", "delays of packets"),
        ],
    ),
    (
        "model latency",
        &[
            (
                "siding model latency router.p4 router.stf --load 60",
                "cycles are predicted, 60 % of what a core takes",
            ),
            ("siding model latency --cycles 200:0.9,1500:0.1 --arrivals poisson", "two kinds of packets"),
            (
                "siding model latency --cycles 300 --trace in.pcap --stall 4000 --port 10",
                "a capture, stalls of 4 ms, a port",
            ),
            ("siding model latency --check --quick", "the model beside measurements of this machine"),
        ],
    ),
    (
        "model extern",
        &[
            ("siding model extern --cost 100,1000", "two costs, compared"),
            ("siding model extern --share 10 --workers 4", "one packet in ten; four workers"),
            ("siding model extern --points costs.jsonl", "keeps results; an interrupted run goes on"),
        ],
    ),
    (
        "model asic",
        &[
            ("siding model asic router.p4", "blocks and stages, or what the program runs out of"),
            (
                "siding model asic router.p4 --entries routes=1e6 --chip generic-20",
                "a larger table on a larger chip",
            ),
            ("siding model asic router.p4 --max routes --svg stages.svg", "the largest size; a picture"),
            ("siding model asic --print-chip > mine.toml", "a description to begin with"),
        ],
    ),
    (
        "model calibrate",
        &[
            ("siding model calibrate --quick", "some two minutes; writes siding-profile.json"),
            (
                "siding model calibrate -o big.json --compare siding-profile.json",
                "against an earlier profile",
            ),
        ],
    ),
    (
        "model cpu",
        &[
            ("siding model cpu router.p4 router.stf", "cycles by component, of packets as in the script"),
            ("siding model cpu router.p4 router.stf --what-if routes=1e3:1e5:1e7", "with larger tables"),
            ("siding model cpu router.p4 router.stf --pcap 1=in.pcap", "packets go as those of a capture"),
        ],
    ),
    (
        "model targets",
        &[
            ("siding model targets", "a table, with its sources"),
            ("siding model targets | less", "page by page"),
        ],
    ),
    (
        "model formula",
        &[
            ("siding model formula", "of the profile in siding-profile.json"),
            ("siding model formula --svg formula.svg", "over what was measured"),
        ],
    ),
    (
        "model check",
        &[
            ("siding model check --quick", "calibrates first"),
            ("siding model check --profile siding-profile.json --predictions before.json", ""),
        ],
    ),
    (
        "graph",
        &[
            ("siding graph router.p4 --parser -o parser.svg", ""),
            ("siding graph router.p4 --tables -o tables.svg", "dependencies between tables"),
            ("siding graph router.p4 --segments", "what packets keep while they wait"),
        ],
    ),
    (
        "fmt",
        &[
            ("siding fmt -w *.p4", "formats files in place"),
            ("siding fmt --check *.p4", "for CI"),
            ("siding fmt --diff router.p4", "shows what would change"),
        ],
    ),
    ("explain", &[("siding explain P1308", "one code"), ("siding explain", "all codes")]),
    (
        "conformance",
        &[
            ("siding conformance --p4c ~/p4c all", "every suite"),
            ("siding conformance --p4c ~/p4c stf --backend native --filter lpm", "some tests, compiled"),
            ("siding conformance --programs ~/my-programs", "programs of your own"),
            ("siding conformance psa-model pna-model", "packet paths, against models"),
        ],
    ),
    (
        "reproduce",
        &[
            ("siding reproduce --quick", "all figures in ten minutes"),
            (
                "siding reproduce --quick --only hazards,async-3 -o page.html",
                "one line of research and one part",
            ),
            (
                "siding reproduce --shard 1/2 --state results",
                "half of the parts; another machine makes the others",
            ),
        ],
    ),
    (
        "traffic",
        &[
            ("siding traffic --tx veth0 --rx veth1 --rate 100k --duration 10s", "loss and latency"),
            ("siding traffic --tx veth0 --size imix --flows 10000 --order zipf", "a generator alone"),
            ("siding traffic --rx veth1 --json", "a sink alone, in another process"),
            (
                "siding traffic --tx 0@veth0 --rx 1@veth1 --bidirectional --count 1000000 --fail-on-loss",
                "a test",
            ),
        ],
    ),
    (
        "traffic search",
        &[
            ("siding traffic search --tx veth0 --rx veth1 --sizes 64,imix", "the highest rates"),
            ("siding traffic search --tx veth0 --rx veth1 --trial 60s --markdown rates.md", "RFC 2544"),
            ("siding traffic search --tx veth0 --rx veth1 --loss-max 0.01% --json", "for scripts"),
        ],
    ),
    (
        "traffic replay",
        &[
            ("siding traffic replay in.pcap --tx veth0", "at the capture's pace"),
            ("siding traffic replay in.pcap --tx veth0 --rate 10k --loop 100", "faster, and many times"),
            ("siding traffic replay in.pcap --tx veth0 --rx veth1 --write out.pcap", "with the answers"),
        ],
    ),
    (
        "bench",
        &[
            ("siding bench forward --quick", ""),
            ("siding bench async --figure 3 --quick --svg figure3.svg", "a published figure"),
        ],
    ),
    (
        "bench frontend",
        &[
            ("siding bench frontend --p4c ~/p4c", ""),
            ("siding bench frontend --p4c ~/p4c --runs 3 --json", "for scripts"),
        ],
    ),
    (
        "bench interp",
        &[("siding bench interp", ""), ("siding bench interp --entries 10 --runs 3", "small and short")],
    ),
    (
        "bench compile",
        &[("siding bench compile", ""), ("siding bench compile -O 1 --runs 3", "with less optimisation")],
    ),
    (
        "bench native",
        &[("siding bench native", ""), ("siding bench native --cc clang --runs 3", "with another compiler")],
    ),
    (
        "bench forward",
        &[("siding bench forward", ""), ("siding bench forward --lengths imix --burst 32", "other packets")],
    ),
    (
        "bench l2",
        &[
            ("siding bench l2 --quick", ""),
            ("siding bench l2 --entries 1000 --flows zipf", "one size of tables"),
        ],
    ),
    (
        "bench exact",
        &[("siding bench exact --quick", ""), ("siding bench exact --svg exact.svg", "draws the figure")],
    ),
    (
        "bench table",
        &[("siding bench table --quick", ""), ("siding bench table --svg table.svg", "draws the figure")],
    ),
    (
        "bench lpm",
        &[("siding bench lpm --quick", ""), ("siding bench lpm --svg lpm.svg", "draws the figure")],
    ),
    (
        "bench ternary",
        &[
            ("siding bench ternary --quick", ""),
            ("siding bench ternary --svg ternary.svg", "draws the figure"),
        ],
    ),
    (
        "bench state",
        &[
            ("siding bench state --quick", ""),
            ("siding bench state --flows 1000000 --burst 1", "a million flows, packets one by one"),
            ("siding bench state --figure latency --svg latency.svg", "draws the figures"),
            ("siding bench state --app firewall --quick", "verdicts and rates beside the kernel's"),
        ],
    ),
    (
        "bench acl",
        &[("siding bench acl --quick", ""), ("siding bench acl --svg acl.svg", "draws the figure")],
    ),
    (
        "bench programs",
        &[
            ("siding bench programs --quick", ""),
            ("siding bench programs --program srv6 --program gtpu", "two of them"),
        ],
    ),
    (
        "bench instructions",
        &[
            ("siding bench instructions --quick", ""),
            ("siding bench instructions --record figures.json", "keep the figures to compare with"),
        ],
    ),
    (
        "bench async",
        &[
            ("siding bench async", "cost of suspending and resuming a packet"),
            ("siding bench async --figure 3 --quick --svg figure3.svg", "a published figure"),
            ("siding bench async --figure 6 --over memif --quick", "through real ports, too (DPDK, root)"),
        ],
    ),
    (
        "bench registers",
        &[("siding bench registers --quick", ""), ("siding bench registers --steps 0,10", "two lengths")],
    ),
    (
        "bench control",
        &[
            ("siding bench control --quick", "small sizes"),
            ("siding bench control --figure plain --json", "P4Runtime over TCP and a Unix socket"),
        ],
    ),
    (
        "bench live",
        &[
            ("siding bench live --quick", "over veth: this switch, testpmd, the kernel's bridge"),
            ("siding bench live --over memif --circulate", "no generator"),
            ("siding bench live --program nat --zero-loss", "address translation, rates without loss"),
            ("siding bench live --only siding --size 64 --entries 10", "this switch alone"),
        ],
    ),
    ("bench sim", &[("siding bench sim", ""), ("siding bench sim -n 100000 --runs 3", "small and short")]),
    ("doctor", &[("siding doctor", ""), ("siding doctor --cc clang", "with another compiler")]),
    (
        "completions",
        &[
            ("siding completions bash > ~/.local/share/bash-completion/completions/siding", ""),
            ("siding completions zsh > ~/.zfunc/_siding", ""),
            ("siding completions fish > ~/.config/fish/completions/siding.fish", ""),
        ],
    ),
    (
        "man",
        &[
            ("siding man check | man -l -", "reads siding-check(1)"),
            ("siding man --dir ~/.local/share/man/man1", "writes the pages of all commands"),
        ],
    ),
    (
        "help",
        &[
            ("siding help switch", ""),
            ("siding help ctl show", "a command of a command"),
            ("siding help compiler-options", "options of all commands that read programs"),
        ],
    ),
];
