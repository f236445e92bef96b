"""p4runtime 1.6.0 drives a switch message by message: programs, cookies, saved programs, errors, roles, packets.

usage: with_p4runtime.py ADDRESS P4INFO.txtpb PROGRAM.sdp
"""

import queue
import sys

import grpc
from google.protobuf import text_format
from google.rpc import status_pb2
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4.v1 import p4runtime_pb2_grpc

DEVICE = 1
OK, INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = 0, 3, 5, 6, 7


class Controller:
    """A stream with an election id."""

    def __init__(self, address, election_id, role=""):
        self.switch = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(address))
        self.election_id, self.role = election_id, role
        self.requests = queue.Queue()
        self.stream = self.switch.StreamChannel(iter(self.requests.get, None))
        bid = p4.StreamMessageRequest()
        bid.arbitration.device_id = DEVICE
        bid.arbitration.election_id.low = election_id
        if role:
            bid.arbitration.role.name = role
        self.requests.put(bid)

    def notice(self):
        return next(message.arbitration for message in self.stream if message.HasField("arbitration"))

    def end(self):
        self.requests.put(None)

    def set(self, action, config=None):
        request = p4.SetForwardingPipelineConfigRequest(device_id=DEVICE, action=action, role=self.role)
        request.election_id.low = self.election_id
        if config is not None:
            request.config.CopyFrom(config)
        self.switch.SetForwardingPipelineConfig(request)

    def get(self, parts):
        request = p4.GetForwardingPipelineConfigRequest(device_id=DEVICE, response_type=parts)
        return self.switch.GetForwardingPipelineConfig(request)

    def write(self, *updates, atomicity=p4.WriteRequest.CONTINUE_ON_ERROR):
        request = p4.WriteRequest(device_id=DEVICE, updates=updates, atomicity=atomicity, role=self.role)
        request.election_id.low = self.election_id
        self.switch.Write(request)

    def read(self, *entities):
        request = p4.ReadRequest(device_id=DEVICE, entities=entities)
        return [entity for response in self.switch.Read(request) for entity in response.entities]


def fails(code, call, *args, **named):
    """The codes of the parts of a request that fails."""
    try:
        call(*args, **named)
    except grpc.RpcError as error:
        assert error.code() == code, error
        for key, value in error.trailing_metadata():
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                parts = [p4.Error.FromString(detail.value) for detail in status.details]
                assert status.message == error.details() and all(part.space in ("", "siding") for part in parts)
                return [part.canonical_code for part in parts]
        return []
    raise AssertionError("the request has not failed")


def station(p4info, address, kind=p4.Update.INSERT):
    table = next(table for table in p4info.tables if table.preamble.alias == "stations")
    action = next(action for action in p4info.actions if action.preamble.alias == "drop")
    update = p4.Update(type=kind)
    entry = update.entity.table_entry
    entry.table_id = table.preamble.id
    entry.match.add(field_id=1).exact.value = bytes([address])
    entry.action.action.action_id = action.preamble.id
    return update


def main(address, p4info_file, program_file):
    with open(p4info_file, encoding="utf-8") as file:
        p4info = text_format.Parse(file.read(), p4info_pb2.P4Info())
    with open(program_file, "rb") as file:
        program = file.read()
    config = p4.ForwardingPipelineConfig(p4info=p4info, p4_device_config=program)
    config.cookie.cookie = 0xC00C1E
    parts = p4.GetForwardingPipelineConfigRequest
    action = p4.SetForwardingPipelineConfigRequest

    first = Controller(address, 50)
    assert first.notice().status.code == OK
    assert not first.get(parts.ALL).HasField("config")
    fails(grpc.StatusCode.FAILED_PRECONDITION, first.write, station(p4info, 1))
    fails(grpc.StatusCode.INVALID_ARGUMENT, first.set, action.UNSPECIFIED, config)
    first.set(action.VERIFY, config)
    assert not first.get(parts.ALL).HasField("config")
    first.set(action.VERIFY_AND_COMMIT, config)
    assert first.get(parts.ALL).config == config
    only = first.get(parts.COOKIE_ONLY).config
    assert only.cookie.cookie == 0xC00C1E and not only.HasField("p4info") and not only.p4_device_config
    assert first.get(parts.P4INFO_AND_COOKIE).config.p4info == p4info
    assert first.get(parts.DEVICE_CONFIG_AND_COOKIE).config.p4_device_config == program

    first.write()
    first.write(station(p4info, 1), station(p4info, 2))
    twice = [station(p4info, 3), station(p4info, 1), station(p4info, 4), station(p4info, 9, p4.Update.DELETE)]
    codes = fails(grpc.StatusCode.UNKNOWN, first.write, *twice)
    assert codes == [OK, ALREADY_EXISTS, OK, NOT_FOUND], codes
    rollback = [station(p4info, 5), station(p4info, 1)]
    codes = fails(grpc.StatusCode.UNKNOWN, first.write, *rollback, atomicity=p4.WriteRequest.ROLLBACK_ON_ERROR)
    assert codes[1] == ALREADY_EXISTS and codes[0] != OK, codes
    everything = p4.Entity(table_entry=p4.TableEntry(table_id=station(p4info, 1).entity.table_entry.table_id))
    found = first.read(everything)
    assert [entity.table_entry.match[0].exact.value for entity in found] == [b"\x01", b"\x02", b"\x03", b"\x04"], found
    assert not any(entity.table_entry.HasField("counter_data") for entity in found), found
    everything.table_entry.counter_data.SetInParent()
    # Entries that do not count have no counter.
    assert len(first.read(everything)) == 4

    # Entries stay, and a program is saved while another one runs.
    config.cookie.cookie = 2
    first.set(action.RECONCILE_AND_COMMIT, config)
    everything.table_entry.ClearField("counter_data")
    assert len(first.read(everything)) == 4 and first.get(parts.COOKIE_ONLY).config.cookie.cookie == 2
    first.set(action.VERIFY_AND_SAVE, config)
    assert not first.read(everything)
    first.write(station(p4info, 7))
    first.set(action.COMMIT)
    assert len(first.read(everything)) == 1
    fails(grpc.StatusCode.NOT_FOUND, first.set, action.COMMIT)

    # A second controller, then another role.
    second = Controller(address, 60)
    assert second.notice().status.code == OK
    assert first.notice().status.code == ALREADY_EXISTS
    fails(grpc.StatusCode.PERMISSION_DENIED, first.write, station(p4info, 8))
    second.end()
    assert first.notice().status.code == NOT_FOUND
    other = Controller(address, 1, role="other")
    notice = other.notice()
    assert notice.status.code == OK and notice.role.name == "other"
    other.write(station(p4info, 8))
    error = p4.StreamMessageRequest()
    error.packet.payload = b"x"
    error.packet.metadata.add(metadata_id=9, value=b"\x01")
    other.requests.put(error)
    answer = next(other.stream)
    assert answer.error.canonical_code == INVALID_ARGUMENT and answer.error.packet_out.packet_out.payload == b"x", answer
    other.end()
    first.end()
    print("p4runtime: every step as expected")


main(*sys.argv[1:])
