"""finsy drives a switch: every kind of entity, two controllers, packets, digests, idle notices.

usage: with_finsy.py ADDRESS P4INFO.txtpb PROGRAM.sdp INTERFACE1 INTERFACE2
"""

import asyncio
import dataclasses
import logging
import socket
import sys
from pathlib import Path

import finsy as fy
from finsy.p4entity import P4ValueSetMember

ETH_P_ALL = 3
STATION = 0x0200_0000_0001
CONTROLLED = 0x0200_0000_0002


def frame(destination, source, ether_type=0x0800):
    return destination.to_bytes(6, "big") + source.to_bytes(6, "big") + ether_type.to_bytes(2, "big") + bytes(46)


def wire(interface):
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    found.bind((interface, 0))
    found.setblocking(False)
    return found


async def arrives(found, wanted, seconds=10):
    """Waits for a frame, and leaves out those of others on the interface."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        while await loop.sock_recv(found, 2048) != wanted:
            pass


def entities():
    """One of each kind that can be inserted, those that others need before them."""
    forward = fy.Action("forward", port=1)
    return [
        fy.P4TableEntry(
            "stations", match=fy.Match(station=STATION), action=fy.Action("forward_and_count", port=1), metadata=b"one"
        ),
        fy.P4TableEntry(
            "stations", match=fy.Match(station=CONTROLLED), action=fy.Action("to_controller", reason=3)
        ),
        fy.P4TableEntry(
            "limited",
            match=fy.Match(source=5),
            action=fy.Action("limit"),
            meter_config=fy.P4MeterConfig(cir=10, cburst=20, pir=30, pburst=40),
        ),
        fy.P4TableEntry("vendors", match=fy.Match(prefix=(0x0A00_0000_0000, 24)), action=forward),
        fy.P4TableEntry(
            "guards",
            match=fy.Match(source=(0x0200_0000_0000, 0xFF00_0000_0000), type=(0x800, 0x806), port=1),
            action=fy.Action("drop"),
            priority=7,
        ),
        fy.P4ActionProfileMember("choices", member_id=1, action=forward),
        fy.P4ActionProfileMember("choices", member_id=2, action=fy.Action("forward", port=2)),
        fy.P4ActionProfileGroup("choices", group_id=1, max_size=4, members=[fy.P4Member(1, weight=2), fy.P4Member(2, weight=1)]),
        fy.P4TableEntry("balanced", match=fy.Match(type=0x86DD), action=fy.IndirectAction(group_id=1)),
        fy.P4MulticastGroupEntry(1, replicas=[(1, 1), (2, 1)]),
        fy.P4CloneSessionEntry(5, class_of_service=1, packet_length_bytes=64, replicas=[(2, 1)]),
        fy.P4DigestEntry("Seen", max_list_size=1, max_timeout_ns=0, ack_timeout_ns=10**9),
    ]


def cells():
    """Those that always exist, modified."""
    return [
        fy.P4RegisterEntry("memory", index=3, data=0xABCD),
        fy.P4CounterEntry("arrived", index=2, data=fy.P4CounterData(byte_count=100, packet_count=2)),
        fy.P4MeterEntry("rates", index=4, config=fy.P4MeterConfig(cir=1, cburst=2, pir=3, pburst=4)),
        fy.P4ValueSetEntry("allowed_types", members=[P4ValueSetMember(0x0800)]),
        fy.P4TableEntry("stations", is_default_action=True, action=fy.Action("flood", group=1)),
        fy.P4DirectCounterEntry(
            "hits",
            table_entry=fy.P4TableEntry("stations", match=fy.Match(station=STATION)),
            data=fy.P4CounterData(packet_count=9),
        ),
        fy.P4DirectMeterEntry(
            table_entry=fy.P4TableEntry("limited", match=fy.Match(source=5)),
            config=fy.P4MeterConfig(cir=11, cburst=21, pir=31, pburst=41),
        ),
    ]


async def one(switch, entity):
    if isinstance(entity, fy.P4TableEntry):
        # An action would be a condition.
        entity = dataclasses.replace(entity, action=None, metadata=b"", idle_timeout_ns=0)
    return [found async for found in switch.read(entity)]


async def comes_back(switch, entity):
    found = await one(switch, entity)
    schema = switch.p4info
    assert [other.encode(schema) for other in found] == [entity.encode(schema)], (entity, found)


async def main(address, p4info, program, first, second):
    options = fy.SwitchOptions(p4info=Path(p4info), p4blob=Path(program), device_id=1)
    ports = [wire(first), wire(second)]
    async with fy.Switch("s1", address, options) as switch:
        assert switch.is_primary and switch.election_id == 10, switch
        assert str(switch.p4runtime_version) == "1.5.0", switch.p4runtime_version
        await switch.delete_all()
        for entity in entities():
            await switch.insert([entity])
            await comes_back(switch, entity)
        for entity in cells():
            await switch.modify([entity])
            await comes_back(switch, entity)
        try:
            await switch.insert(entities()[:2] + [fy.P4TableEntry("vendors", match=fy.Match(prefix=(0x0300_0000_0000, 24)), action=fy.Action("forward", port=1))])
            raise AssertionError("entries are there twice")
        except fy.P4ClientError as error:
            codes = {place: detail.canonical_code for place, detail in error.details.items()}
            assert codes == {0: fy.GRPCStatusCode.ALREADY_EXISTS, 1: fy.GRPCStatusCode.ALREADY_EXISTS}, codes

        packets = switch.read_packets()
        digests = switch.read_digests("Seen")
        waiting = [asyncio.ensure_future(anext(packets)), asyncio.ensure_future(anext(digests))]
        await asyncio.sleep(0)
        sent = frame(CONTROLLED, 0x0200_0000_0007)
        ports[1].send(sent)
        async with asyncio.timeout(10):
            packet, digest = await asyncio.gather(*waiting)
        assert packet.payload == sent and packet.metadata == {"ingress_port": 2, "reason": 3}, packet
        assert digest.data == [{"source": 0x0200_0000_0007, "port": 2}], digest
        await switch.write([digest.ack()])
        ports[1].send(frame(STATION, 0x0200_0000_0001))
        await arrives(ports[0], frame(STATION, 0x0200_0000_0001))
        out = frame(0x0200_0000_0009, 0x0200_0000_0008)
        await switch.write([fy.P4PacketOut(out, egress_port=1, _pad=0)])
        await arrives(ports[0], out)
        hits = await one(switch, fy.P4DirectCounterEntry("hits", table_entry=fy.P4TableEntry("stations", match=fy.Match(station=STATION))))
        assert [found.data.packet_count for found in hits] == [10], hits

        idle = switch.read_idle_timeouts()
        waiting = asyncio.ensure_future(anext(idle))
        await asyncio.sleep(0)
        aged = fy.P4TableEntry("stations", match=fy.Match(station=3), action=fy.Action("drop"), idle_timeout_ns=50_000_000)
        await switch.insert([aged])
        async with asyncio.timeout(10):
            notice = await waiting
        assert [entry.match for entry in notice.table_entry] == [{"station": 3}], notice

        await two_controllers(address, options, switch)

    # The cookie says that the program is there: entries stay.
    async with fy.Switch("s3", address, options(initial_election_id=12)) as switch:
        assert len(await one(switch, fy.P4MulticastGroupEntry(1))) == 1
        await switch.delete_all()
        # With const tables, finsy deletes entries of tables alone.
        rest = [fy.P4MulticastGroupEntry(), fy.P4CloneSessionEntry(), fy.P4ActionProfileGroup(), fy.P4ActionProfileMember()]
        for kind in rest:
            await switch.delete([found async for found in switch.read(kind)])
        left = [found async for found in switch.read([fy.P4TableEntry(), *rest])]
        assert left and all(found.is_const for found in left), left
    print("finsy: every step as expected")


async def two_controllers(address, options, first):
    """The second controller bids less, and takes over when the first one has gone."""
    second = fy.Switch("s2", address, options(initial_election_id=9))
    async with second:
        assert not second.is_primary and second.primary_id == 10, second
        try:
            await second.insert([fy.P4MulticastGroupEntry(2, replicas=[(1, 1)])])
            raise AssertionError("a backup has written")
        except fy.P4ClientError as error:
            assert error.code == fy.GRPCStatusCode.PERMISSION_DENIED, error
        became = second.ee.event_future(fy.SwitchEvent.BECOME_PRIMARY)
        first._tasks.cancel_all()
        async with asyncio.timeout(20):
            await became
        assert second.is_primary, second
        await second.insert([fy.P4MulticastGroupEntry(2, replicas=[(1, 1)])])


logging.basicConfig(level=logging.ERROR)
asyncio.run(main(*sys.argv[1:]))
