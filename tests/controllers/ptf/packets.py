"""Packets through a switch that p4runtime 1.6.0 controls, over interfaces of PTF.

Parameters: `server`, `p4info`, `program`.
"""

import queue

import grpc
import ptf.testutils as testutils
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4.v1 import p4runtime_pb2_grpc
from ptf.base_tests import BaseTest

DEVICE = 1
STATION = "02:00:00:00:00:01"
CONTROLLED = "02:00:00:00:00:02"
FLOODED = "02:00:00:00:00:03"
REASON = 3


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


class StationTest(BaseTest):
    """A switch with the program, and this controller as its primary."""

    def setUp(self):
        super().setUp()
        self.dataplane = __import__("ptf").dataplane_instance
        self.dataplane.flush()
        params = testutils.test_params_get()
        with open(params["p4info"], encoding="utf-8") as file:
            self.p4info = text_format.Parse(file.read(), p4info_pb2.P4Info())
        self.channel = grpc.insecure_channel(params["server"])
        self.switch = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.Queue()
        self.stream = self.switch.StreamChannel(iter(self.requests.get, None))
        bid = p4.StreamMessageRequest()
        bid.arbitration.device_id = DEVICE
        bid.arbitration.election_id.low = 100
        self.requests.put(bid)
        assert next(self.stream).arbitration.status.code == 0
        request = p4.SetForwardingPipelineConfigRequest(device_id=DEVICE)
        request.election_id.low = 100
        request.action = request.VERIFY_AND_COMMIT
        request.config.p4info.CopyFrom(self.p4info)
        with open(params["program"], "rb") as file:
            request.config.p4_device_config = file.read()
        self.switch.SetForwardingPipelineConfig(request)

    def tearDown(self):
        self.requests.put(None)
        self.channel.close()
        super().tearDown()

    def named(self, objects, name):
        return next(found for found in objects if found.preamble.alias == name)

    def write(self, *entities):
        request = p4.WriteRequest(device_id=DEVICE)
        request.election_id.low = 100
        for entity in entities:
            request.updates.add(type=p4.Update.INSERT, entity=entity)
        self.switch.Write(request)

    def station(self, address, action, **params):
        table = self.named(self.p4info.tables, "stations")
        action = self.named(self.p4info.actions, action)
        entity = p4.Entity()
        entry = entity.table_entry
        entry.table_id = table.preamble.id
        entry.match.add(field_id=1).exact.value = mac(address)
        entry.action.action.action_id = action.preamble.id
        for param in action.params:
            entry.action.action.params.add(param_id=param.id, value=bytes([params[param.name]]))
        return entity


class Forwarding(StationTest):
    """Packets leave where entries say, others nowhere."""

    def runTest(self):
        self.write(self.station(STATION, "forward_and_count", port=1))
        packet = testutils.simple_udp_packet(eth_dst=STATION)
        testutils.send_packet(self, 2, packet)
        testutils.verify_packet(self, packet, 1)
        other = testutils.simple_udp_packet(eth_dst=CONTROLLED)
        testutils.send_packet(self, 2, other)
        testutils.verify_no_packet(self, other, 1)


class Multicast(StationTest):
    """A group sends copies to all of its ports."""

    def runTest(self):
        group = p4.Entity()
        entry = group.packet_replication_engine_entry.multicast_group_entry
        entry.multicast_group_id = 1
        for port in (1, 2):
            entry.replicas.add(port=bytes([port]), instance=1)
        self.write(group, self.station(FLOODED, "flood", group=1))
        packet = testutils.simple_udp_packet(eth_dst=FLOODED)
        testutils.send_packet(self, 1, packet)
        testutils.verify_packet(self, packet, 1)
        testutils.verify_packet(self, packet, 2)


class Controller(StationTest):
    """Packets reach the controller with their metadata, and leave it where it says."""

    def runTest(self):
        self.write(self.station(CONTROLLED, "to_controller", reason=REASON))
        packet = bytes(testutils.simple_udp_packet(eth_dst=CONTROLLED))
        testutils.send_packet(self, 2, packet)
        received = next(message.packet for message in self.stream if message.HasField("packet"))
        assert received.payload == packet, received
        assert [field.value for field in received.metadata] == [b"\x02", bytes([REASON])], received
        message = p4.StreamMessageRequest()
        message.packet.payload = packet
        message.packet.metadata.add(metadata_id=1, value=b"\x01")
        message.packet.metadata.add(metadata_id=2, value=b"\x00")
        self.requests.put(message)
        testutils.verify_packet(self, packet, 1)
