"""How does a Python program use a virtual GPU?

One process of ``heddle run --serve`` for each device; this module speaks to it as driver/protocol/protocol.h says. Device memory is a file
without a name that both processes have open.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ._command import BadInput, HeddleError, LimitReached, command_path, command_environment, failure_of

#: Calls of the protocol, by their numbers there.
_HELLO, _ALLOCATE, _RELEASE, _LOAD_MODULE, _LIST_FUNCTIONS, _FUNCTION, _LAUNCH = 0, 1, 2, 4, 6, 7, 9
_TENSOR_MAP, _OBSERVE, _LAST_LAUNCH, _FORGET_CACHES = 17, 40, 41, 42
_VERSION = 3
_MEMORY_BASE = 0x300000000000
_HEADER = struct.Struct("<IIf")
_ANSWER = struct.Struct("<IIII")
_DEVICE = struct.Struct("<256s8I2Q4I")
_FUNCTION_DESCRIPTION = struct.Struct("<12I")
_LAUNCH_REQUEST = struct.Struct("<14Ii4xQQfII4x")

#: Bits of an observation.
OBSERVE, VALUES_ALONE, CHECK, TIME_ALONE, SAMPLE = 1, 2, 4, 8, 16

_STATUS = {2: "out of memory", 200: "the image is damaged", 209: "no code for the device", 218: "invalid PTX", 500: "not found", 700: "illegal address",
           701: "too many resources requested for launch", 710: "assertion", 716: "misaligned address", 719: "launch failed", 801: "not supported"}


class KernelFailed(HeddleError):
    """A kernel could not be loaded, or failed while it ran. ``status`` is the number of CUresult."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Properties(NamedTuple):
    """What the device says of itself; sizes in bytes."""

    name: str
    compute_capability: int
    sms: int
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    memory_bytes: int
    l2_bytes: int
    shared_per_sm: int
    shared_per_block: int
    shared_per_block_opt_in: int
    shared_reserved: int


class Function(NamedTuple):
    """A kernel that is loaded: its number, resources, and (offset, bytes) of each parameter."""

    number: int
    registers: int
    shared_bytes: int
    local_bytes: int
    maximum_threads: int
    parameter_bytes: int
    parameters: Tuple[Tuple[int, int], ...]


class Launched(NamedTuple):
    """What launches since the last question did, and what was found in them."""

    launches: List[Dict[str, Any]]
    findings: List[Dict[str, Any]]


class Connection:
    """A virtual GPU of one process, with memory of its own. Used by one thread at a time."""

    def __init__(self, words: Sequence[str]) -> None:
        self.process = os.getpid()
        environment = dict(command_environment(), HEDDLE_PROGRESS="off")
        environment.pop("HEDDLE_GPU", None)
        self._server = subprocess.Popen([command_path(), "run", *words, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment, start_new_session=True)
        assert self._server.stdout is not None and self._server.stderr is not None
        first = self._server.stdout.readline()
        if not first:
            said = self._server.stderr.read().decode("utf-8", "replace").splitlines()
            raise failure_of(self._server.wait(), said, "")
        where: Dict[str, Any] = json.loads(first)
        # What the server says while it serves are messages of its own; nobody must wait for them to be read.
        threading.Thread(target=_pass_on, args=(self._server.stderr,), daemon=True).start()
        self.path: str = where["socket"]
        self.libraries: str = where["libraries"]
        self._end = weakref.finalize(self, _stop, self._server, self.process)
        self.properties = Properties("", *[0] * 14)
        self._socket: Optional[socket.socket] = None
        self.memory = -1
        self.connect()

    def connect(self) -> None:
        """Begins with a device that nothing has used: its memory, its modules and what is in its caches are gone."""
        self.disconnect()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(self.path)
        self._send(_HELLO, struct.pack("<II", _VERSION, os.getpid()))
        head, ancillary, _, _ = self._socket.recvmsg(_ANSWER.size, socket.CMSG_SPACE(4), socket.MSG_WAITALL)
        status, printed, message, count = _ANSWER.unpack(head)
        text = self._receive(printed + message).decode()
        content = self._receive(count)
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[:4])
        if descriptors:
            self.memory = descriptors[0]
            os.set_inheritable(self.memory, False)
        if status != 0:
            raise HeddleError(text)
        name, *numbers = _DEVICE.unpack_from(content, 4)
        self.properties = Properties(name.split(b"\0")[0].decode(), *numbers)

    def disconnect(self) -> None:
        """Leaves the device. `connect` begins anew."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self.memory >= 0:
            os.close(self.memory)
            self.memory = -1

    def end(self) -> None:
        """Ends the server at once, also within a kernel."""
        self.disconnect()
        self._end()

    @property
    def alive(self) -> bool:
        """Whether this process may use it."""
        return self._socket is not None and self.process == os.getpid() and self._server.poll() is None

    def _send(self, call: int, content: bytes = b"") -> None:
        assert self._socket is not None
        self._socket.sendall(_HEADER.pack(call, len(content), 0.0) + content)

    def _receive(self, count: int) -> bytes:
        assert self._socket is not None
        parts: List[bytes] = []
        while count:
            part = self._socket.recv(min(count, 1 << 20))
            if not part:
                raise HeddleError("the virtual GPU has ended")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _ask(self, call: int, content: bytes = b"", limit: Optional[float] = None) -> bytes:
        assert self._socket is not None
        self._socket.settimeout(limit)
        try:
            self._send(call, content)
            status, printed, message, count = _ANSWER.unpack(self._receive(_ANSWER.size))
            said = self._receive(printed).decode("utf-8", "replace")
            text = self._receive(message).decode("utf-8", "replace")
            answer = self._receive(count)
        except socket.timeout as late:
            self.end()
            raise LimitReached(f"the kernel did not end within {limit:g} s") from late
        except BaseException:
            self.end()  # Ctrl-C within a kernel: its answer would come to somebody else
            raise
        self._socket.settimeout(None)
        if said:
            sys.stdout.write(said)
            sys.stdout.flush()
        if status != 0:
            raise KernelFailed(text or _STATUS.get(status, f"CUresult {status}"), status)
        return answer

    def allocate(self, count: int) -> int:
        """Returns the address of so many bytes of device memory. Raises KernelFailed where the device has no room."""
        address: int = struct.unpack("<Q", self._ask(_ALLOCATE, struct.pack("<IQI", 0, max(1, count), 0)))[0]
        return address

    def release(self, address: int) -> None:
        """Gives memory back."""
        self._ask(_RELEASE, struct.pack("<Q", address))

    def write(self, address: int, content: memoryview) -> None:
        """Copies bytes to the device."""
        at = address - _MEMORY_BASE
        while content:
            done = os.pwrite(self.memory, content[:1 << 30], at)
            content, at = content[done:], at + done

    def read(self, address: int, content: memoryview) -> None:
        """Copies bytes from the device."""
        at = address - _MEMORY_BASE
        while content:
            done = os.preadv(self.memory, [content[:1 << 30]], at)
            if done <= 0:
                raise HeddleError("device memory cannot be read")
            content, at = content[done:], at + done

    def load(self, image: bytes) -> int:
        """Returns the number of a module of PTX, a cubin or a fat binary. Raises KernelFailed."""
        number: int = struct.unpack("<I", self._ask(_LOAD_MODULE, struct.pack("<I", 0) + image))[0]
        return number

    def names(self, module: int) -> List[str]:
        """Returns the names of a module's kernels."""
        content = self._ask(_LIST_FUNCTIONS, struct.pack("<I", module))
        names, at = [], 0
        while at < len(content):
            (count,) = struct.unpack_from("<I", content, at)
            names.append(content[at + 4:at + 4 + count].decode())
            at += 4 + count
        return names

    def function(self, module: int, name: str) -> Function:
        """Returns a kernel of a module. Raises KernelFailed."""
        text = name.encode()
        content = self._ask(_FUNCTION, struct.pack("<II", module, len(text)) + text)
        number, registers, shared, _, local, threads, count, parameters, *_ = _FUNCTION_DESCRIPTION.unpack_from(content)
        places = struct.unpack_from(f"<{2 * parameters}I", content, _FUNCTION_DESCRIPTION.size)
        return Function(number, registers, shared, local, threads, count, tuple(zip(places[::2], places[1::2])))

    def launch(self, function: Function, grid: Sequence[int], block: Sequence[int], parameters: bytes, *, shared_bytes: int = 0,
               cluster: Sequence[int] = (1, 1, 1), cooperative: bool = False, programmatic: bool = False) -> None:
        """Sends a launch. What goes wrong with it is told by `launched`."""
        request = _LAUNCH_REQUEST.pack(function.number, 0, *grid, *block, *cluster, shared_bytes, cooperative, programmatic, 0, 0, 0, 0.0, 0, 0)
        self._send(_LAUNCH, request + parameters)

    def observe(self, bits: int) -> None:
        """Says how launches are done from now on."""
        self._send(_OBSERVE, struct.pack("<I", bits))

    def launched(self, limit: Optional[float] = None) -> Launched:
        """Waits for what was launched and returns what it did. Raises KernelFailed, and LimitReached after `limit` seconds."""
        answer = json.loads(self._ask(_LAST_LAUNCH, limit=limit))
        return Launched(answer["launches"], answer["findings"])

    def forget_caches(self) -> None:
        """Later launches find nothing in L2."""
        self._send(_FORGET_CACHES)

    def tensor_map(self, kind: int, address: int, sizes: Sequence[int], strides: Sequence[int], box: Sequence[int], swizzle: int, fill: int,
                   promotion: int = 2) -> bytes:
        """Returns a tensor map of 128 bytes, as cuTensorMapEncodeTiled makes it: the innermost dimension first, strides in bytes without
        the innermost one's."""
        content = struct.pack("<IIQIIII", kind, len(sizes), address, 0, swizzle, promotion, fill)
        for i, size in enumerate(sizes):
            content += struct.pack("<QQII", size, strides[i] if i + 1 < len(sizes) else 0, box[i], 1)
        return self._ask(_TENSOR_MAP, content)[:128]


def _pass_on(stream: Any) -> None:
    for line in stream:
        sys.stderr.write(line.decode("utf-8", "replace"))


def _stop(server: "subprocess.Popen[bytes]", process: int) -> None:
    if process != os.getpid():
        return
    if server.stdin is not None:
        server.stdin.close()
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    try:
        server.wait(timeout=5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if server.stdout is not None:
        server.stdout.close()


def bytes_at(address: int, count: int) -> memoryview:
    """Returns the memory of this process from an address on."""
    return memoryview((ctypes.c_char * count).from_address(address)).cast("B")


class HostRange(NamedTuple):
    """Memory of this process that an array lies in, and where in it the array begins. ``owner`` keeps it alive."""

    address: int
    count: int
    offset: int
    writable: bool
    owner: Any


def host_range(value: Any) -> Optional[HostRange]:
    """Returns where an array of numpy or a CPU tensor of PyTorch lies; None: it is neither. Views of one array lie in the same range.
    Raises BadInput for tensors of other devices."""
    interface = getattr(value, "__array_interface__", None) if not hasattr(value, "data_ptr") else None
    if interface is not None:
        root = value
        while getattr(root, "base", None) is not None and hasattr(root.base, "__array_interface__"):
            root = root.base
        low, high = _byte_bounds(root)
        return HostRange(low, high - low, interface["data"][0] - low, not interface["data"][1], root)
    if not hasattr(value, "data_ptr"):
        return None
    device = getattr(value, "device", None)
    if device is not None and getattr(device, "type", "cpu") != "cpu":
        raise BadInput(f"a tensor is on {device}; the virtual GPU takes tensors of the CPU")
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        return HostRange(storage.data_ptr(), storage.nbytes(), value.data_ptr() - storage.data_ptr(), True, value)
    count = value.numel() * value.element_size() if hasattr(value, "numel") else value.nbytes
    return HostRange(value.data_ptr(), count, 0, True, value)


def _byte_bounds(value: Any) -> Tuple[int, int]:
    low = high = value.__array_interface__["data"][0]
    for size, stride in zip(value.shape, value.strides):
        if size == 0:
            return low, low
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + value.itemsize


class DeviceMemory:
    """Copies of this process's arrays on a device. They are kept between launches, so that a launch finds in L2 what the one before
    left there; contents are copied before and after each."""

    _MOST = 64

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._addresses: Dict[Tuple[int, int], int] = {}

    def address(self, where: HostRange) -> int:
        """Returns where the range lies on the device."""
        key = (where.address, where.count)
        address = self._addresses.pop(key, None)
        if address is None:
            address = self._connection.allocate(where.count)
        self._addresses[key] = address
        return address

    def forget_old(self) -> None:
        """Gives back what was not used for long."""
        while len(self._addresses) > self._MOST:
            self._connection.release(self._addresses.pop(next(iter(self._addresses))))
