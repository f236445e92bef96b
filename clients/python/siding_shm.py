"""Table entries of a Siding switch of the same machine, written through shared memory.

A session is one controller of P4Runtime, for one thread at a time:

    with siding_shm.Session("/run/siding/shm", election_id=1) as shm:
        flows = shm.table("flows")
        records = flows.records(1000)              # a NumPy array with a field for each key and parameter
        records["ipv4.src"] = ...
        outcome = shm.write_records(flows, siding_shm.INSERT, records)
        shm.write(request.SerializeToString())     # a p4.v1.WriteRequest

NumPy is needed for records only. Formats are those of crates/shm-client. Linux, Python 3.9 or later, little-endian machines.
"""

import ctypes
import mmap
import os
import platform
import select
import socket
import struct
import sys
import time

INSERT, MODIFY, DELETE, UPSERT = 1, 2, 3, 4
IDLE_TIMEOUT, COUNT, RATES = 1, 2, 4
EXACT, LPM, TERNARY, RANGE, OPTIONAL = 2, 3, 4, 5, 6

CODES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
    "UNAUTHENTICATED"
).split()

_MAGIC, _VERSION, _NONE = b"SIDINGSM", 1, 0xFFFFFFFF
_COMPLETION_TAIL, _ANSWER_TAIL, _SERVER_SLEEPS = 16, 24, 32  # words of S
_REQUEST_TAIL, _COMPLETION_HEAD, _ANSWER_HEAD, _CLIENT_SLEEPS = 0, 8, 16, 24  # words of C
_RECORDS, _WRITE, _READ, _STREAM, _LAYOUT, _RESERVE = 1, 2, 3, 4, 5, 6
_IS_STATUS, _IS_READ, _IS_STREAM, _IS_LAYOUT = 1, 2, 3, 4
# While a session waits it looks again after this long, whatever happens.
_LOOK_S = 0.05


class Error(Exception):
    """`code` is a canonical code of gRPC, `details` an encoded google.rpc.Status."""

    def __init__(self, code, message, details=b""):
        super().__init__(f"{CODES[code] if code < len(CODES) else code}: {message}")
        self.code, self.message, self.details = code, message, details


class Outcome:
    """The outcome of a request; `codes` has a byte for each entry, and is empty if all went well."""

    def __init__(self, number, code, n, n_failed, codes, message, details):
        self.number, self.code, self.n, self.n_failed = number, code, n, n_failed
        self.codes, self.message, self.details = codes, message, details

    def __repr__(self):
        return f"Outcome({CODES[self.code]}, n={self.n}, n_failed={self.n_failed}, {self.message!r})"


def _fence_of_machine():
    """A full fence: Python has none, and membarrier(2) makes one in the thread that calls it."""
    number = {"x86_64": 324, "aarch64": 283}.get(platform.machine())
    if number is None or sys.byteorder != "little":
        raise OSError("siding_shm.py knows x86-64 and aarch64 only")
    call = ctypes.CDLL(None, use_errno=True).syscall
    private, register = 8, 16
    if call(number, register, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "membarrier is not there")
    return lambda: call(number, private, 0, 0)


class Field:
    """A value in a record: an integer in little-endian order."""

    def __init__(self, number, offset, n_bytes, n_bits, name):
        self.id, self.offset, self.n_bytes, self.n_bits, self.name = number, offset, n_bytes, n_bits, name


class Action:
    def __init__(self, number, index, name, params):
        self.id, self.index, self.name, self.params = number, index, name, params


class Table:
    """The layout of the records of a table."""

    def __init__(self, program, digest, body):
        self.program, self.hash = program, digest
        self._at, self._body = 0, body
        numbers = [self._number() for _ in range(13)]
        self.id, self.record_bytes, self.parts, self.parts_available = numbers[:4]
        at = [None if n == _NONE else n for n in numbers[4:11]]
        self.kind_at, self.action_at, self.action_bytes, self.priority_at = at[:4]
        self.idle_timeout_at, self.count_at, self.rates_at = at[4:]
        self.name = self._name()
        self.keys = []
        for _ in range(numbers[11]):
            kind, second = self._number(), self._number()
            self.keys.append((self._field(), kind, None if second == _NONE else second))
        self.actions = []
        for _ in range(numbers[12]):
            number, index, n_params = self._number(), self._number(), self._number()
            name = self._name()
            self.actions.append(Action(number, index, name, [self._field() for _ in range(n_params)]))
        del self._at, self._body

    def _number(self):
        (number,) = struct.unpack_from("<I", self._body, self._at)
        self._at += 4
        return number

    def _name(self):
        n_bytes = self._number()
        name = self._body[self._at : self._at + n_bytes].decode()
        self._at += (n_bytes + 3) // 4 * 4
        return name

    def _field(self):
        numbers = [self._number() for _ in range(4)]
        return Field(*numbers, self._name())

    def action(self, name):
        """The action of this name, or whose name ends in it after a dot."""
        return _find(self.actions, name, "action")

    def dtype(self, action=None):
        """The NumPy type of records. Keys are fields by their names; masks, prefixes' masks and high ends have the name with
        `/mask`; then `action`, `priority`, and the parameters of `action` by their names. Values of other sizes than 1, 2, 4
        and 8 bytes are arrays of bytes, little-endian."""
        import numpy

        def of(n_bytes):
            return f"<u{n_bytes}" if n_bytes in (1, 2, 4, 8) else ("u1", (n_bytes,))

        fields = []
        for field, _, second in self.keys:
            fields.append((field.name, of(field.n_bytes), field.offset))
            if second is not None:
                fields.append((field.name + "/mask", of(field.n_bytes), second))
        fields.append(("action", of(self.action_bytes), self.action_at))
        if self.kind_at is not None:
            fields.append(("kind", "u1", self.kind_at))
        if self.priority_at is not None:
            fields.append(("priority", "<i4", self.priority_at))
        if self.idle_timeout_at is not None:
            fields.append(("idle_timeout_ns", "<u8", self.idle_timeout_at))
        if self.count_at is not None:
            fields.append(("n_packets", "<u8", self.count_at))
            fields.append(("n_bytes", "<u8", self.count_at + 8))
        for param in action.params if action else []:
            fields.append((param.name, of(param.n_bytes), param.offset))
        names, formats, offsets = zip(*fields)
        return numpy.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": self.record_bytes},
            metadata={"siding": (self.name, self.program, self.hash)},
        )

    def _payload(self, records):
        """The bytes of records; fails if they were made for another table or another layout."""
        kind = getattr(records, "dtype", None)
        if kind is not None and kind.names:
            of = (kind.metadata or {}).get("siding")
            if of and of != (self.name, self.program, self.hash):
                why = "another layout" if of[0] == self.name else f"`{of[0]}`"
                raise Error(3, f"these are records of {why}, not of `{self.name}`")
            # Operations of NumPy may lose the metadata; keys are the same fields at the same places then.
            known = self.dtype()
            odd = [name for name in known.names if kind.fields.get(name) != known.fields[name]]
            if odd or kind.itemsize != self.record_bytes:
                raise Error(3, f"these are no records of `{self.name}`: `{(odd or ['size'])[0]}` differs")
        payload = records.tobytes() if hasattr(records, "tobytes") else bytes(records)
        if not self.record_bytes or len(payload) % self.record_bytes:
            raise Error(3, f"records of `{self.name}` have {self.record_bytes} bytes")
        return payload

    def records(self, n, action=None):
        """`n` records, all zero, with the index of `action`."""
        import numpy

        records = numpy.zeros(n, self.dtype(action))
        if action:
            records["action"] = action.index
        return records


def _find(items, name, what):
    found = [item for item in items if item.name == name] or [
        item for item in items if item.name.endswith("." + name)
    ]
    if len(found) != 1:
        raise Error(3 if found else 5, f"{len(found)} names of a {what} end in `{name}`")
    return found[0]


def _status_message(status):
    """The message of an encoded google.rpc.Status, which is its field 2."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while at < len(status):
            byte = status[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        return value

    while at < len(status):
        tag, value = varint(), varint()
        if tag & 7 == 2:
            if tag >> 3 == 2:
                return status[at : at + value].decode(errors="replace")
            at += value
        elif tag & 7 != 0:
            break
    return ""


class Session:
    """A connection to a switch."""

    def __init__(self, path, election_id=1, role="", device_id=0, n_slots=0, slot_bytes=0, timeout=30.0):
        self._fence = _fence_of_machine()
        self._timeout = timeout
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._over = False
        try:
            self._socket.connect(os.fspath(path))
            self._greet(election_id, role.encode(), device_id, n_slots, slot_bytes)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise
        self._request_tail = self._completion_head = self._answer_head = 0
        self._next, self._used = 1, 0
        self._pending, self._outcomes, self._statuses = {}, {}, {}
        self._answers, self._messages, self._begun = [], [], b""

    def _greet(self, election_id, role, device_id, n_slots, slot_bytes):
        given = election_id is not None
        high, low = divmod(election_id or 0, 1 << 64)
        numbers = (_MAGIC, _VERSION, len(role), device_id, high, low, given, 0, n_slots, slot_bytes, 0)
        self._socket.sendall(struct.pack("<8sIIQQQIIIIQ", *numbers) + role)
        welcome, files, _, _ = socket.recv_fds(self._socket, 128, 2)
        while 0 < len(welcome) < 128:
            more = self._socket.recv(128 - len(welcome))
            welcome = welcome + more if more else b""
        if len(welcome) != 128 or welcome[:8] != _MAGIC:
            raise Error(14, "the switch does not answer the greeting")
        words = struct.unpack("<8sIIIIIIII8Q24x", welcome)
        _, version, code, arbitration, text_bytes, self.n_slots, self.slot_bytes = words[:7]
        if version != _VERSION:
            raise Error(9, "the switch has another version")
        if code:
            text = self._socket.recv(text_bytes, socket.MSG_WAITALL) if text_bytes else b""
            raise Error(code, text.decode(errors="replace"))
        self._n_requests, self._answer_bytes, s_bytes, c_bytes = words[7:11]
        self._requests_at, self._slots_at, self._completions_at, self._answers_at = words[11:15]
        (self._codes_at, self._codes_bytes) = struct.unpack_from("<QQ", welcome, 88)
        self.is_primary = arbitration == 0
        s, c = files
        self._s = mmap.mmap(s, s_bytes, mmap.MAP_SHARED, mmap.PROT_READ)
        self._c = mmap.mmap(c, c_bytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        os.close(s)
        os.close(c)
        # Words of a view are read and written as wholes.
        self._s_words, self._c_words = memoryview(self._s).cast("Q"), memoryview(self._c).cast("Q")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()
        for view in (self._s_words, self._c_words):
            view.release()
        for mapped in (self._s, self._c):
            try:
                mapped.close()
            except BufferError:
                pass  # A batch still points there.

    def fileno(self):
        """Readable when something has come, after arm() has returned True."""
        return self._socket.fileno()

    def arm(self):
        """Prepares for select; False if something is there already."""
        self._drain()
        self._c_words[_CLIENT_SLEEPS] = 1
        self._fence()
        if self._over or self._has_news():
            self._c_words[_CLIENT_SLEEPS] = 0
            return False
        return True

    # Rings

    def _has_news(self):
        s = self._s_words
        return s[_COMPLETION_TAIL] != self._completion_head or s[_ANSWER_TAIL] != self._answer_head

    def _wake(self):
        self._fence()
        if self._s_words[_SERVER_SLEEPS]:
            try:
                self._socket.send(b"\1", socket.MSG_NOSIGNAL)
            except OSError:
                pass  # A full socket has bytes that wake the switch; whoever reads notices a closed one.

    def _drain(self):
        try:
            while True:
                got = self._socket.recv(64)
                if not got:
                    self._over = True
                if len(got) < 64:
                    return
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._over = True

    def _sleep(self, deadline):
        if self._over:
            status = self._statuses.get(0)
            why = f": {_status_message(status)}" if status else ""
            text = "the switch has ended the session%s; what was not answered is unknown, so read it back"
            raise Error(14, text % why)
        left = deadline - time.monotonic()
        if left <= 0:
            raise Error(4, "no answer within the time")
        if self.arm():
            select.select([self._socket], [], [], min(left, _LOOK_S))
            self._c_words[_CLIENT_SLEEPS] = 0
            self._drain()

    def _ring(self, position, n_bytes):
        begin = position % self._answer_bytes
        first = min(n_bytes, self._answer_bytes - begin)
        at = self._answers_at
        return self._s[at + begin : at + begin + first] + self._s[at : at + n_bytes - first]

    def _take_pieces(self):
        did = False
        while (n := self._s_words[_ANSWER_TAIL] - self._answer_head) > 0:
            self._fence()
            n_bytes, kind, more, number = struct.unpack("<IHHQ", self._ring(self._answer_head, 16))
            taken = 16 + (n_bytes + 7) // 8 * 8
            if taken > n:
                raise Error(13, "the switch does not follow the protocol")
            self._begun += self._ring(self._answer_head + 16, n_bytes)
            self._fence()
            self._answer_head += taken
            self._c_words[_ANSWER_HEAD] = self._answer_head
            self._wake()
            did = True
            if more & 1:
                continue
            message, self._begun = self._begun, b""
            if kind == _IS_STATUS:
                self._statuses[number] = message
            elif kind == _IS_STREAM:
                self._messages.append(message)
            else:
                self._answers.append((number, message))
        return did

    def pump(self):
        """Takes what the switch has sent; False if there was nothing."""
        did = False
        while self._s_words[_COMPLETION_TAIL] != self._completion_head:
            did = True
            self._fence()
            at = self._completions_at + self._completion_head % self._n_requests * 64
            number, code, _, n, n_failed = struct.unpack_from("<QIIQQ", self._s, at)
            self._fence()
            self._completion_head += 1
            self._c_words[_COMPLETION_HEAD] = self._completion_head
            self._wake()
            # Answers come before the completion that they belong to.
            self._take_pieces()
            if number not in self._pending:
                continue
            slot, n_slots = self._pending.pop(number)
            at = self._codes_at + slot * self._codes_bytes
            codes = self._s[at : at + n] if n_failed else b""
            self._used &= ~(((1 << n_slots) - 1) << slot)
            status = self._statuses.pop(number, b"")
            message = _status_message(status)
            self._outcomes[number] = Outcome(number, code, n, n_failed, codes, message, status)
        return self._take_pieces() or did

    def _take_slots(self, n_bytes):
        n_slots = max(1, -(-n_bytes // self.slot_bytes))
        if n_slots > self.n_slots:
            raise Error(8, f"{n_bytes} bytes do not fit {self.n_slots} slots of {self.slot_bytes} bytes")
        mask, deadline = (1 << n_slots) - 1, time.monotonic() + self._timeout
        while True:
            for slot in range(self.n_slots - n_slots + 1):
                if not self._used & mask << slot:
                    self._used |= mask << slot
                    return slot, n_slots
            if not self.pump():
                self._sleep(deadline)

    def _submit(self, kind, payload=None, program=0, digest=0, n=0, op=0, table=0, parts=0, record_bytes=0):
        slot = n_slots = 0
        if payload is not None:
            payload = memoryview(payload).cast("B")
            slot, n_slots = self._take_slots(len(payload))
            at = self._slots_at + slot * self.slot_bytes
            self._c[at : at + len(payload)] = payload
        deadline = time.monotonic() + self._timeout
        while self._request_tail - self._completion_head >= self._n_requests:
            if not self.pump():
                self._sleep(deadline)
        if self._over:
            self._sleep(deadline)
        number, self._next = self._next, self._next + 1
        self._pending[number] = slot, n_slots
        at = self._requests_at + self._request_tail % self._n_requests * 64
        numbers = (number, program, digest, n, kind, op, table, parts, slot, record_bytes, 3, 0)
        struct.pack_into("<QQQQIIIIIIII", self._c, at, *numbers)
        self._fence()
        self._request_tail += 1
        self._c_words[_REQUEST_TAIL] = self._request_tail
        self._wake()
        return number

    # Requests

    def wait(self, number):
        """Waits for the outcome of a request."""
        deadline = time.monotonic() + self._timeout
        while number not in self._outcomes:
            if not self.pump():
                if number not in self._pending:
                    raise Error(3, f"no request has the number {number}")
                self._sleep(deadline)
        return self._outcomes.pop(number)

    def _checked(self, number):
        outcome = self.wait(number)
        if outcome.code:
            raise Error(outcome.code, outcome.message, outcome.details)

    def tables(self, parts=0):
        """Layouts of all tables."""
        number = self._submit(_LAYOUT, parts=parts)
        self._checked(number)
        (answer,) = [message for of, message in self._answers if of == number]
        self._answers = [of for of in self._answers if of[0] != number]
        program, n_tables = struct.unpack_from("<QQ", answer)
        tables, at = [], 16
        for _ in range(n_tables):
            n_bytes, digest = struct.unpack_from("<QQ", answer, at)
            tables.append(Table(program, digest, answer[at + 16 : at + 16 + n_bytes]))
            at += 16 + (n_bytes + 7) // 8 * 8
        return tables

    def table(self, name, parts=0):
        """The table of this name, or whose name ends in it after a dot."""
        return _find(self.tables(parts), name, "table")

    def submit_records(self, table, op, records):
        """Publishes records, an array of table.dtype() or bytes, and returns the number of the request. Records of another table
        raise Error."""
        payload = table._payload(records)
        return self._submit(
            _RECORDS,
            payload,
            program=table.program,
            digest=table.hash,
            n=len(payload) // table.record_bytes,
            op=op,
            table=table.id,
            parts=table.parts,
            record_bytes=table.record_bytes,
        )

    def write_records(self, table, op, records):
        """Writes records, and waits. Entries that failed are told by the outcome; other failures raise Error."""
        outcome = self.wait(self.submit_records(table, op, records))
        if outcome.code and not outcome.n:
            raise Error(outcome.code, outcome.message, outcome.details)
        return outcome

    def reserve(self, table, n_more):
        """Announces that so many more entries are about to be inserted."""
        self._checked(self._submit(_RESERVE, program=table.program, table=table.id, n=n_more))

    def write(self, request):
        """Carries out an encoded p4.v1.WriteRequest."""
        self._checked(self._submit(_WRITE, request, n=len(request)))

    def read(self, request):
        """Carries out an encoded p4.v1.ReadRequest; yields encoded ReadResponses."""
        number = self._submit(_READ, request, n=len(request))
        deadline = time.monotonic() + self._timeout
        while True:
            did = self.pump()
            found = [message for of, message in self._answers if of == number]
            self._answers = [of for of in self._answers if of[0] != number]
            if found:
                yield from found
                deadline = time.monotonic() + self._timeout
            if number in self._outcomes:
                self._checked(number)
                return
            if not did:
                self._sleep(deadline)

    def send(self, message):
        """Sends an encoded p4.v1.StreamMessageRequest."""
        self._checked(self._submit(_STREAM, message, n=len(message)))

    def receive(self, timeout=0.0):
        """The next encoded p4.v1.StreamMessageResponse; None if the time is over."""
        deadline = time.monotonic() + timeout
        while True:
            did = self.pump()
            if self._messages:
                return self._messages.pop(0)
            if not did:
                if time.monotonic() >= deadline:
                    return None
                self._sleep(deadline + _LOOK_S)
