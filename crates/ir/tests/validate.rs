//! For each rule a program that breaks it: a change to a valid one, and what is said about it.

use ir::{Program, text, validate};

const ROUTER: &str = include_str!("text/router.ir");

fn messages(program: &Program) -> Vec<String> {
    match validate(program) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_router_is_valid() {
    assert_eq!(messages(&text::parse(ROUTER).unwrap()), Vec::<String>::new());
}

/// Text of the router, what stands there instead, and a violation.
const BROKEN: &[(&str, &str, &str)] = &[
    // Types.
    (
        "errors NoError, PacketTooShort,",
        "errors PacketTooShort, NoError,",
        "program: its errors do not begin with those of core.p4",
    ),
    (
        "    ipv4 = 16w0x800",
        "    ipv4 = 8w0x8",
        "enum EtherType: its members have values of different widths",
    ),
    ("header vlan_t {", "header vlan_t {\n inner: ethernet_t", "vlan_t, `inner`: headers contain no headers"),
    (
        "struct metadata_t {",
        "union u_t { x: bit<8> }\nstruct metadata_t {",
        "u_t, `x`: unions contain headers only",
    ),
    (
        "struct metadata_t {",
        "struct metadata_t {\n m: metadata_t",
        "metadata_t: it contains itself, or more values than can be numbered",
    ),
    (
        "seen: array<bit<8>, 4>",
        "seen: array<bit<8>, 4294967295>",
        "metadata_t: it contains itself, or more values than can be numbered",
    ),
    ("color: HashAlgorithm", "color: enum @7", "metadata_t, `color`: its type does not exist"),
    (
        "color: HashAlgorithm",
        "color: stack<metadata_t, 3>",
        "metadata_t, `color`: stacks are of headers or unions",
    ),
    ("@ EtherType", "@ @9", "ethernet_t, `etherType`: its enum does not exist"),
    ("struct metadata_t {", "struct vlan_t#1 { }\nstruct metadata_t {", "vlan_t#1: its name is not its own"),
    // Declarations.
    (
        "pipeline Ingress = MyIngress",
        "pipeline Egress = MyIngress",
        "program: the pipeline's Egress is no block of that role, or is there twice",
    ),
    (
        "pipeline Ingress = MyIngress",
        "pipeline Ingress = @9",
        "program: the pipeline's Ingress does not exist",
    ),
    ("pipeline Ingress = MyIngress", "", "program: there is a block that the pipeline lacks"),
    (
        "shared Metadata = meta",
        "shared Metadata = hdr",
        "program: the shared variable Metadata is none of that role, or is there twice",
    ),
    ("shared Metadata = meta", "", "variable meta: what it belongs to does not exist"),
    (
        "= standard_metadata.ingress_port\n",
        "= standard_metadata\n",
        "program: the field IngressPort is no single value",
    ),
    (
        "field_list 3 (meta.hash",
        "field_list 3 (meta.@9",
        "program: the field list 3 does not fit, or is there twice",
    ),
    ("in procedure MyIngress.forward", "in procedure @9", "variable port: what it belongs to does not exist"),
    ("var $hit: bool", "var $hit: stack<metadata_t, 2>", "variable $hit: stacks are of headers or unions"),
    ("type = member packets", "type = object @9", "object MyIngress.hits: an argument does not exist"),
    (
        "value_set MyParser.pvs in MyParser",
        "value_set MyParser.pvs in MyIngress",
        "value set MyParser.pvs: it belongs to no parser",
    ),
    (
        "    etherType: bit<16> exact",
        "    etherType: ipv4_t exact",
        "value set MyParser.pvs: its fields are no single values",
    ),
    (
        "procedure NoAction: action() in MyIngress",
        "procedure NoAction: action() in MyParser",
        "procedure NoAction: it is of a kind that its block cannot have",
    ),
    (
        "forward: action(port)",
        "forward: action($hit)",
        "procedure MyIngress.forward: a parameter is no variable of its own",
    ),
    ("error $error {", "{", "block MyParser: it has no variable for its error"),
    ("var $error: error", "var $error: bit<32>", "block MyParser: it has no variable for its error"),
    (
        "block MyDeparser: Deparser(packet, hdr = hdr)",
        "block MyDeparser: Deparser(packet, hdr = $hit)",
        "block MyDeparser: a parameter is not shared by the pipeline",
    ),
    (
        "block MyDeparser: Deparser(packet, hdr = hdr)",
        "block MyDeparser: Deparser(packet) error $error",
        "block MyDeparser: it has no variable for its error",
    ),
    // Tables.
    (
        "table MyIngress.routes in MyIngress",
        "table MyIngress.routes in MyParser",
        "table MyIngress.routes: it belongs to no control",
    ),
    (
        "bit<8> ternary",
        "ipv4_t ternary",
        "table MyIngress.routes, `key hdr.ipv4.proto`: it is no single value",
    ),
    (
        "action NoAction = NoAction",
        "action NoAction = @9",
        "table MyIngress.routes, `action NoAction`: it is no action of the table's block",
    ),
    (
        "const default NoAction()",
        "const default @9()",
        "table MyIngress.routes, `default`: the table lists no such action",
    ),
    (
        "const default NoAction()",
        "const default NoAction(8w0x1)",
        "table MyIngress.routes, `default`: the data are not what the action takes",
    ),
    (
        "-> MyIngress.forward(9w0x1)",
        "-> MyIngress.forward(8w0x1)",
        "table MyIngress.routes, `entry 0`: the data are not what the action takes",
    ),
    (
        "NoAction default_only",
        "NoAction table_only",
        "table MyIngress.routes, `default`: the action is for entries only",
    ),
    (
        "NoAction default_only",
        "NoAction group_action",
        "table MyIngress.routes, `default`: the action is for groups only",
    ),
    (
        "-> MyIngress.forward(9w0x1)",
        "-> NoAction()",
        "table MyIngress.routes, `entry 0`: the action is for the default only",
    ),
    (
        "entry (_, _)",
        "entry (_)",
        "table MyIngress.routes, `entry 1`: it does not have one match for each key",
    ),
    (
        "32w0xa000000 / 8",
        "32w0xa000000 / 33",
        "table MyIngress.routes, `entry 0`: its match of `hdr.ipv4.dst` does not fit the key",
    ),
    (
        "8w0x6 &&& 8w0xff",
        "8w0x6",
        "table MyIngress.routes, `entry 0`: its match of `hdr.ipv4.proto` does not fit the key",
    ),
    (
        "bit<8> ternary",
        "bit<8> exact",
        "table MyIngress.routes, `entry 0`: it has a priority where none is needed",
    ),
    (
        "direct_counter MyIngress.hits",
        "direct_counter @9",
        "table MyIngress.routes: one of its objects does not exist",
    ),
    // Code.
    (
        "    entry n0\n    n0: state start",
        "    entry n99\n    n0: state start",
        "block MyParser: its entry does not exist",
    ),
    (
        "call NoAction then n4 exit n4",
        "call NoAction then n4 exit n9",
        "block MyIngress, n3, `call NoAction then n4 exit n9`: a successor does not exist",
    ),
    ("call NoAction then", "call @9 then", "the procedure does not exist"),
    (
        "n4: state parse_ipv4\n",
        "n4: state parse_ipv4\n        $hit = true\n",
        "block MyParser, n4, `$hit = true`: `$hit` belongs to another block",
    ),
    (
        "= hdr.ipv4.ttl |-| 8w0x1",
        "= hdr.ipv4.dst |-| 32w0x1",
        "`hdr.ipv4.ttl = hdr.ipv4.dst |-| 32w0x1`: the value is `bit<32>`, not `bit<8>`",
    ),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= hdr.ipv4.ttl |-| 9w0x1", "`hdr.ipv4.ttl |-| 9w0x1` cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= (hdr.ipv4.dst)[32:25]", "`(hdr.ipv4.dst)[32:25]` cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= 8s0x1 / 8s0x1", "`8s0x1 / 8s0x1` cannot be `int<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= bit<8>(error.NoError)", "`bit<8>(error.NoError)` cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= bit<8>(true)", "`bit<8>(true)` cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= 8w0x1 ? 8w0x1 : 8w0x2", "`8w0x1 ? 8w0x1 : 8w0x2` cannot be `bit<8>`"),
    (
        "= hdr.ipv4.ttl |-| 8w0x1",
        "= (hdr.ipv4.ttl)[hdr.ipv4.$valid +: 8]",
        "`(hdr.ipv4.ttl)[hdr.ipv4.$valid +: 8]` cannot be `bit<8>`",
    ),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= -(8w0x1 : int<8>)", "the value is `int<8>`, not `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= (9w0x1 : bit<8>)", "`(9w0x1 : bit<8>)` cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= 8w0x1 << 8s0x1", "`8w0x1 << 8s0x1` cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= ($packet_length : bit<8>)", "cannot be `bit<8>`"),
    ("= hdr.ipv4.ttl |-| 8w0x1", "= (hdr.ipv4.dst : bit<8>)", "cannot be `bit<8>`"),
    ("if hdr.ipv4.$valid && (", "if !hdr.ipv4.ttl && (", "`!hdr.ipv4.ttl` cannot be `bit<8>`"),
    (
        "if hdr.ipv4.$valid && (hdr.ipv4.ttl != 8w0x0)",
        "if hdr.ipv4 == hdr.ipv4",
        "`hdr.ipv4 == hdr.ipv4` cannot be `bool`",
    ),
    (
        "if hdr.ipv4.$valid && (hdr.ipv4.ttl != 8w0x0)",
        "if hdr.ipv4.ttl",
        "block MyIngress, n0, `if hdr.ipv4.ttl then n1 else n4`: the condition is `bit<8>`, not `bool`",
    ),
    (
        "= (hdr.ipv4.ihl < 4w0x5) ? error.HeaderTooShort",
        "= (hdr.ipv4.ihl < 4w0x5) ? (32w0x9 : error)",
        "`(32w0x9 : error)` cannot be `error`",
    ),
    (
        "hash, HashAlgorithm.crc16",
        "hash, (32w0x2 : HashAlgorithm)",
        "`(32w0x2 : HashAlgorithm)` cannot be `HashAlgorithm`",
    ),
    (
        "        hdr.vlan[0] = hdr.vlan[1]",
        "        hdr.vlan[0] = (hdr.vlan[2] : vlan_t)",
        "there is no `hdr.vlan[2]`: step 2 does not fit",
    ),
    (
        "        hdr.vlan[0] = hdr.vlan[1]",
        "        hdr.vlan[hdr.ipv4.$valid] = hdr.vlan[1]",
        "an index is no number",
    ),
    (
        "        hdr.vlan[0] = hdr.vlan[1]",
        "        hdr.ipv4.dst[7:0][3:0] = 4w0x1",
        "there is no `hdr.ipv4.dst[7:0][3:0]`: step 3 does not fit",
    ),
    (
        "        hdr.vlan[0] = hdr.vlan[1]",
        "        meta.$valid = true",
        "there is no `meta.$valid`: step 1 does not fit",
    ),
    (
        "        hdr.vlan[0] = hdr.vlan[1]",
        "        hdr.ipv4.$next = 32w0x1",
        "there is no `hdr.ipv4.$next`: step 2 does not fit",
    ),
    (
        "        hdr.vlan[0] = hdr.vlan[1]",
        "        hdr.ipv4.dst[35:0] = 36w0x1",
        "there is no `hdr.ipv4.dst[35:0]`: step 3 does not fit",
    ),
    (
        "hdr.ethernet.dst[hdr.ipv4.ihl +: 8]",
        "hdr.ethernet.dst[hdr.ipv4.$valid +: 8]",
        "the place of a slice is no number",
    ),
    ("        hdr.vlan[0] = hdr.vlan[1]", "        emit hdr.vlan[1]", "only deparsers emit"),
    ("        emit hdr.vlan[0]", "        emit hdr.vlan", "only headers are emitted"),
    ("        hdr.vlan[0] = hdr.vlan[1]", "        zero_if_invalid hdr.vlan", "only headers can be invalid"),
    ("counter.count on MyIngress.hits", "counter.count on @9", "the object does not exist"),
    ("16w0x0, {hdr.ipv4.dst, hdr.ipv4.proto}", "16w0x0, {hdr.ipv4}", "an argument is no single value"),
    ("            32w0x0: n3", "            16w0x0: n3", "a case has another width than the subject"),
    ("            32w0x0: n3", "            32w0x0: n3\n 32w0x0: n4", "two cases have one value"),
    ("switch $action {", "switch hdr.ipv4 {", "the subject is no single value"),
    ("select (hdr.ethernet.etherType, ", "select (hdr.ethernet, ", "a key is no single value"),
    ("(16w0x800, _): n4", "(16w0x800): n4", "a case does not have one set for each key"),
    ("(16w0x800, _): n4", "(8w0x8, _): n4", "a set of values is `bit<8>`, not `bit<16>`"),
    ("(16w0x800, _): n4", "(value_set @9, _): n4", "the value set does not exist"),
    (
        "(16w0x800, _): n4",
        "(_, value_set MyParser.pvs): n4",
        "the fields of the value set are not of the types of the keys",
    ),
    (
        "            value_set MyParser.pairs: n6\n",
        "            value_set MyParser.pvs: n6\n",
        "block MyParser, n1, ",
    ),
    (
        "(hdr.ethernet.etherType, standard_metadata.ingress_port) {",
        "(hdr.ethernet.etherType, standard_metadata.parser_error) {",
        "only numbers have ranges",
    ),
    (
        "    n4:\n        return\n}\nblock MyDeparser",
        "    n4:\n        accept\n}\nblock MyDeparser",
        "block MyIngress, n4, `accept`: only parsers do that",
    ),
    (
        "    n4:\n        return\n}\nblock MyDeparser",
        "    n4:\n        select () { else: n4 }\n}\nblock MyDeparser",
        "only parsers do that",
    ),
    (
        "    n4:\n        return\n}\nblock MyDeparser",
        "    n4:\n        advance 32w0x8 then n4 fail n4\n}\nblock MyDeparser",
        "only parsers do that",
    ),
    (
        "    n4:\n        return\n}\nblock MyDeparser",
        "    n4:\n        exit\n}\nblock MyDeparser",
        "block MyIngress, n4, `exit`: only procedures exit",
    ),
    (
        "    n7:\n        reject",
        "    n7:\n        return",
        "block MyParser, n7, `return`: parsers end in `accept` or `reject`",
    ),
    (
        "    n7:\n        reject",
        "    n7:\n        advance 16w0x8 then n7 fail n7",
        "the distance is `bit<16>`, not `bit<32>`",
    ),
    (
        "    n7:\n        reject",
        "    n7:\n        lookahead hdr.ipv4 then n7 fail n7",
        "the value has no fixed size",
    ),
    (
        "    n7:\n        reject",
        "    n7:\n        call NoAction then n7 exit n7",
        "the procedure belongs to another block",
    ),
    (
        "    n7:\n        reject",
        "    n7:\n        apply MyIngress.routes(32w0x1, 8w0x1) then n7 exit n7",
        "only controls apply tables",
    ),
    ("extract hdr.ethernet then", "extract hdr then", "only headers are extracted"),
    (
        "extract hdr.ethernet then",
        "extract hdr.ethernet size 32w0x8 then",
        "a size is given if and only if there is a `varbit`",
    ),
    (
        "extract hdr.ipv4 size (bit<32>(hdr.ipv4.ihl) - 32w0x5) << 8w0x5 then",
        "extract hdr.ipv4 then",
        "a size is given if and only if there is a `varbit`",
    ),
    (
        "options: varbit<320>",
        "options: varbit<320>\n more: varbit<8>",
        "the header has more than one `varbit`",
    ),
    (
        "size (bit<32>(hdr.ipv4.ihl) - 32w0x5) << 8w0x5 then",
        "size hdr.ipv4.ihl then",
        "the size is `bit<4>`, not `bit<32>`",
    ),
    ("extract next hdr.vlan then", "extract next hdr.ipv4 then", "`next` is of stacks"),
    (
        "routes(hdr.ipv4.dst, hdr.ipv4.proto)",
        "routes(hdr.ipv4.dst)",
        "it does not have one value for each key",
    ),
    (
        "routes(hdr.ipv4.dst, hdr.ipv4.proto)",
        "routes(hdr.ipv4.dst, hdr.ipv4.ihl)",
        "the key `hdr.ipv4.proto` is `bit<4>`, not `bit<8>`",
    ),
    ("hit $hit action $action", "hit $action action $action", "the result has another type"),
    ("apply MyIngress.routes(hdr", "apply @9(hdr", "the table does not exist"),
    // Recursion.
    (
        "procedure NoAction: action() in MyIngress {\n    entry n0\n    n0:\n        return",
        "procedure NoAction: action() in MyIngress {\n n0:\n call NoAction then n1 exit n1 n1: return",
        "procedure NoAction: it calls `NoAction`, which is still running then",
    ),
    (
        "procedure NoAction: action() in MyIngress {\n    entry n0\n    n0:\n        return",
        "procedure NoAction: control() in MyIngress {\n n0:\n apply MyIngress.routes(32w0x1, 8w0x1) then n1 exit n1 n1: return",
        "procedure NoAction: it calls `NoAction`, which is still running then",
    ),
];

#[test]
fn every_rule_is_kept() {
    let mut missed = Vec::new();
    for (from, to, expected) in BROKEN {
        assert!(ROUTER.contains(from), "the router has no {from:?}");
        let text = ROUTER.replacen(from, to, 1);
        let found = match text::parse(&text) {
            Ok(program) => messages(&program),
            Err(e) => vec![format!("text {e}")],
        };
        if !found.iter().any(|m| m.contains(expected)) {
            missed.push(format!("{to:?}\nexpected {expected:?}\nfound {found:#?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn odd_programs_do_no_harm() {
    let program = text::parse(include_str!("text/odd.ir")).unwrap();
    assert!(validate(&program).is_err());
}
