"""One controller of many switches, over P4Runtime."""

import queue
import socket
from pathlib import Path

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from tree import Node

ELECTION_ID = p4runtime_pb2.Uint128(high=0, low=1)


class Connection:
    """The controller is primary at this switch as long as this exists."""

    def __init__(self, address: str, device_id: int):
        self.device_id = device_id
        self.channel = grpc.insecure_channel(address)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests: queue.Queue = queue.Queue()
        arbitration = p4runtime_pb2.MasterArbitrationUpdate(device_id=device_id, election_id=ELECTION_ID)
        self.requests.put(p4runtime_pb2.StreamMessageRequest(arbitration=arbitration))
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        first = next(self.answers)
        if first.arbitration.status.code != grpc.StatusCode.OK.value[0]:
            raise RuntimeError(f"not primary at {address}: {first}")

    def close(self) -> None:
        self.requests.put(None)
        self.answers.cancel()
        self.channel.close()


class Controller:
    def __init__(self, p4info: Path, program: Path):
        self.p4info = text_format.Parse(p4info.read_text(), p4info_pb2.P4Info())
        self.program = program.read_bytes()
        self.table = next(table for table in self.p4info.tables if table.preamble.alias == "routes")
        self.forward = next(action for action in self.p4info.actions if action.preamble.alias == "forward")

    def bring_up(self, connection: Connection, node: Node) -> None:
        """Sends the program and the routes of a switch."""
        config = p4runtime_pb2.ForwardingPipelineConfig(p4info=self.p4info, p4_device_config=self.program)
        connection.stub.SetForwardingPipelineConfig(
            p4runtime_pb2.SetForwardingPipelineConfigRequest(
                device_id=connection.device_id,
                election_id=ELECTION_ID,
                action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
                config=config,
            )
        )
        request = p4runtime_pb2.WriteRequest(device_id=connection.device_id, election_id=ELECTION_ID)
        for network, prefix_len, port in node.routes:
            entry = p4runtime_pb2.TableEntry(table_id=self.table.preamble.id)
            match = entry.match.add(field_id=self.table.match_fields[0].id)
            match.lpm.value = socket.inet_aton(network)
            match.lpm.prefix_len = prefix_len
            entry.action.action.action_id = self.forward.preamble.id
            entry.action.action.params.add(param_id=self.forward.params[0].id, value=bytes([port]))
            request.updates.add(type=p4runtime_pb2.Update.INSERT).entity.table_entry.CopyFrom(entry)
        connection.stub.Write(request)

    def packets(self, connection: Connection) -> int:
        """Packets that the routes of a switch have counted."""
        query = p4runtime_pb2.ReadRequest(device_id=connection.device_id)
        entry = query.entities.add().table_entry
        entry.table_id = self.table.preamble.id
        entry.counter_data.SetInParent()
        answers = connection.stub.Read(query)
        return sum(one.table_entry.counter_data.packet_count for answer in answers for one in answer.entities)
