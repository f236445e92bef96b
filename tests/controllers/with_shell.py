"""p4runtime-shell drives a switch: the program, every kind of entity of the router, faults.

usage: with_shell.py ADDRESS P4INFO.txtpb PROGRAM.sdp
"""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException


def main(address, p4info, program):
    config = sh.FwdPipeConfig(p4info, program)
    sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=config)
    assert sh.APIVersion() is not None

    tables = {table.name for table in sh.P4Objects(sh.P4Type.table)}
    assert "Router.routes" in tables, tables

    route = sh.TableEntry("Router.routes")(action="Router.set_next_hop")
    route.match["headers.ipv4.destination"] = "10.0.0.0/8"
    route.action["next_hop"] = "1"
    route.insert()
    try:
        route.insert()
        raise AssertionError("the entry is there twice")
    except P4RuntimeWriteException as error:
        assert "ALREADY_EXISTS" in str(error), error
    route.action["next_hop"] = "2"
    route.modify()
    found = list(sh.TableEntry("Router.routes").read())
    assert len(found) == 1 and found[0].action["next_hop"].value == b"\x02", found
    assert found[0].counter_data is not None

    default = sh.TableEntry("Router.routes")
    default.is_default = True
    assert len(list(default.read())) == 1

    group = sh.MulticastGroupEntry(1)
    group.add(1, 1).add(2, 1)
    group.insert()
    assert len(list(sh.MulticastGroupEntry(1).read())) == 1
    group.delete()

    session = sh.CloneSessionEntry(5)
    session.add(3, 1)
    session.insert()
    assert len(list(sh.CloneSessionEntry(5).read())) == 1
    session.delete()

    cells = list(sh.CounterEntry("Router.received").read())
    assert cells and all(cell.packet_count == 0 for cell in cells), cells[:1]

    route.delete()
    assert not list(sh.TableEntry("Router.routes").read())
    sh.teardown()
    print("p4runtime-shell: every step as expected")


main(*sys.argv[1:])
