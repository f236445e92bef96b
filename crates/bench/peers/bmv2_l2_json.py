#!/usr/bin/env python3
"""Writes l2.p4 in BMv2's JSON format (its docs/JSON_format.md), as its compiler lays programs out.

    bmv2_l2_json.py > l2.json

All of v1model's standard metadata is there, with the queueing and intrinsic metadata that v1model adds: BMv2 fills
in what it finds, and any program that its compiler translates carries them.
"""

import json

STANDARD_METADATA = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("enq_timestamp", 32),
    ("enq_qdepth", 19),
    ("deq_timedelta", 32),
    ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("checksum_error", 1),
    ("parser_error", 32),
    ("priority", 3),
    ("_padding", 3),
]
ETHERNET = [("dstAddr", 48), ("srcAddr", 48), ("etherType", 16)]
SCALARS = [("userMetadata.learn", 1), ("_padding", 7)]

# What BMv2 calls these fields, where that is not their place in the standard metadata.
ALIASES = {
    "queueing_metadata": ["enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth"],
    "intrinsic_metadata": [
        "ingress_global_timestamp",
        "egress_global_timestamp",
        "mcast_grp",
        "egress_rid",
        "priority",
    ],
}

MAC_LEARN, NO_ACTION, FORWARD, DROP = range(4)


def header_type(name, number, fields):
    return {"name": name, "id": number, "fields": [[field, width, False] for field, width in fields]}


def header(name, number, kind, metadata):
    return {
        "name": name,
        "id": number,
        "header_type": kind,
        "metadata": metadata,
        "pi_omit": metadata,
    }


def assign(field, value):
    target = {"type": "field", "value": field}
    return {"op": "assign", "parameters": [target, value]}


def action(name, number, parameters, primitives):
    runtime_data = [{"name": parameter, "bitwidth": width} for parameter, width in parameters]
    return {"name": name, "id": number, "runtime_data": runtime_data, "primitives": primitives}


def exact_table(name, number, field, actions, default, following):
    names = {
        MAC_LEARN: "L2Ingress.mac_learn",
        NO_ACTION: "NoAction",
        FORWARD: "L2Ingress.forward",
        DROP: "L2Ingress.drop",
    }
    return {
        "name": name,
        "id": number,
        "key": [{"match_type": "exact", "name": f"hdr.ethernet.{field}", "target": ["ethernet", field], "mask": None}],
        "match_type": "exact",
        "type": "simple",
        "max_size": 131072,
        "with_counters": False,
        "support_timeout": False,
        "direct_meters": None,
        "action_ids": actions,
        "actions": [names[a] for a in actions],
        "base_default_next": following,
        "next_tables": {names[a]: following for a in actions},
        "default_entry": {
            "action_id": default,
            "action_const": True,
            "action_data": [],
            "action_entry_const": True,
        },
    }


def pipeline(name, number, first, tables):
    return {
        "name": name,
        "id": number,
        "init_table": first,
        "tables": tables,
        "action_profiles": [],
        "conditionals": [],
    }


def program():
    learn = assign(["scalars", "userMetadata.learn"], {"type": "hexstr", "value": "0x01"})
    forward = assign(["standard_metadata", "egress_spec"], {"type": "runtime_data", "value": 0})
    drop = {"op": "mark_to_drop", "parameters": [{"type": "header", "value": "standard_metadata"}]}
    start = {
        "name": "start",
        "id": 0,
        "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "ethernet"}]}],
        "transitions": [{"type": "default", "value": None, "mask": None, "next_state": None}],
        "transition_key": [],
    }
    smac = exact_table("L2Ingress.smac", 0, "srcAddr", [MAC_LEARN, NO_ACTION], MAC_LEARN, "L2Ingress.dmac")
    dmac = exact_table("L2Ingress.dmac", 1, "dstAddr", [FORWARD, DROP], DROP, None)
    empty = [
        "header_stacks",
        "header_union_types",
        "header_unions",
        "header_union_stacks",
        "errors",
        "enums",
        "parse_vsets",
        "meter_arrays",
        "counter_arrays",
        "register_arrays",
        "calculations",
        "checksums",
        "learn_lists",
        "field_lists",
        "extern_instances",
        "force_arith",
    ]
    return {
        "__meta__": {"version": [2, 23], "compiler": "written by hand"},
        "program": "l2.p4",
        "header_types": [
            header_type("scalars_0", 0, SCALARS),
            header_type("standard_metadata", 1, STANDARD_METADATA),
            header_type("ethernet_t", 2, ETHERNET),
        ],
        "headers": [
            header("scalars", 0, "scalars_0", True),
            header("standard_metadata", 1, "standard_metadata", True),
            header("ethernet", 2, "ethernet_t", False),
        ],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [start]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["ethernet"]}],
        "actions": [
            action("L2Ingress.mac_learn", MAC_LEARN, [], [learn]),
            action("NoAction", NO_ACTION, [], []),
            action("L2Ingress.forward", FORWARD, [("port", 9)], [forward]),
            action("L2Ingress.drop", DROP, [], [drop]),
        ],
        "pipelines": [
            pipeline("ingress", 0, "L2Ingress.smac", [smac, dmac]),
            pipeline("egress", 1, None, []),
        ],
        "field_aliases": [
            [f"{group}.{field}", ["standard_metadata", field]] for group, fields in ALIASES.items() for field in fields
        ],
        **{name: [] for name in empty},
    }


if __name__ == "__main__":
    print(json.dumps(program(), indent=1))
