"""How are Triton's kernels run on a virtual GPU?

>>> with gpu.triton():
...     matmul[grid](a, b, c, M, N, K, BLOCK=64)
>>> gpu.last.cycles, gpu.last.lines

Triton compiles with its own compiler for the device's compute capability; what it launches goes to the virtual GPU. Tensors are those of
the CPU: ``triton.runtime.driver.active.get_active_torch_device()`` says so inside the context, and ``device="cuda"`` is taken as that.
``python -m heddle.triton --hardware h100-sxm script.py`` runs a script that way from its first line.
"""

from __future__ import annotations

import argparse
import contextlib
import runpy
import struct
import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from ._command import BadInput, HeddleError
from ._kernel import Session, _Rewritten, mode_of, pack
from ._virtual_gpu import OBSERVE, SAMPLE, TIME_ALONE, VALUES_ALONE, HostRange, Properties, bytes_at, host_range

if TYPE_CHECKING:
    from ._device import Device

#: Types of a tensor map (CUtensorMapDataType) by what Triton's compiler calls them.
_TENSOR_MAP_TYPE = {**{i: i for i in range(16)}, 8: 10, 9: 8, 10: 9}
_TENSOR_MAP_TF32 = 11
_FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}

_devices: Dict[Tuple[str, ...], int] = {}
_current = threading.local()


class _Loaded:
    """A compiled kernel of Triton: its PTX and entry. It is loaded into the device that it is launched on."""

    def __init__(self, image: bytes, name: str) -> None:
        self.image = image
        self.name = name


class _Utilities:
    """What Triton asks of its driver."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> Tuple[Any, Any, int, int, int]:
        """Returns module, function, registers, spilled registers, and the most threads of a block. The module is the compiled kernel's
        PTX where there is some, else its machine code."""
        ptx: Optional[str] = getattr(_current, "ptx", None)
        loaded = _Loaded(ptx.encode() if ptx is not None else bytes(binary), name)
        with self._session.lock:
            function = self._session.function(loaded.image, name)
        return loaded, loaded, function.registers, 0, function.maximum_threads

    def unload_module(self, module: Any) -> None:
        """Modules stay, they cost nothing."""

    def get_device_properties(self, device: Any) -> Dict[str, int]:
        """Returns what tutorials and the compiler ask for."""
        found = self._session.properties
        return {"max_shared_mem": found.shared_per_block_opt_in, "max_num_regs": found.registers_per_sm, "multiprocessor_count": found.sms,
                "warpSize": 32, "sm_clock_rate": found.clock_khz, "mem_clock_rate": found.memory_clock_khz, "mem_bus_width": found.memory_bus_bits}

    def get_current_device(self) -> int:
        """Returns 0: a context has one device."""
        return 0

    def set_printf_fifo_size(self, size: int) -> None:
        """Printing has no limit here."""

    def __getattr__(self, name: str) -> Any:
        raise HeddleError(f"Triton's driver is asked for `{name}`, which the virtual GPU does not have")


class _Launcher:
    """Launches one compiled kernel: made of its source and metadata, called with grid, stream, function, hooks and arguments."""

    def __init__(self, session: Session, driver: "_Driver", source: Any, metadata: Any) -> None:
        self._session = session
        self._driver = driver
        self._signature: List[Any] = list(source.signature.values())
        self._maps: List[Any] = list(getattr(metadata, "tensordesc_meta", None) or ())
        self._metadata = metadata

    def __call__(self, grid_x: int, grid_y: int, grid_z: int, stream: Any, loaded: _Loaded, packed: Any, launch_metadata: Any, enter: Any, leave: Any,
                 *arguments: Any) -> None:
        metadata = self._metadata
        if enter is not None:
            enter(launch_metadata)
        blocks = grid_x * grid_y * grid_z
        if blocks > 0:
            ctas = getattr(metadata, "num_ctas", 1)
            cluster = tuple(getattr(metadata, "cluster_dims", None) or (ctas, 1, 1))
            if hasattr(metadata, "cluster_dims"):
                grid = (grid_x * cluster[0], grid_y * cluster[1], grid_z * cluster[2])
            else:
                grid = (grid_x * ctas, grid_y, grid_z)
            with self._session.lock:
                self._launch(loaded, grid, blocks * ctas, cluster, arguments)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, loaded: _Loaded, grid: Sequence[int], ctas: int, cluster: Sequence[int], arguments: Sequence[Any]) -> None:
        session, metadata = self._session, self._metadata
        function = session.function(loaded.image, loaded.name)
        ranges: List[HostRange] = []
        values: List[Tuple[str, Any]] = []
        maps = iter(self._maps)
        for kind, value in zip(self._signature, arguments):
            self._flatten(kind, value, maps, values)
        parameters = bytearray(function.parameter_bytes)
        places = function.parameters
        if not len(values) <= len(places) <= len(values) + 2:
            raise HeddleError(f"{loaded.name} has {len(places)} parameters, and Triton gives {len(values)} arguments; this version of Triton "
                              "hands them over in another way")
        for (kind, value), (offset, count) in zip(values, places):
            parameters[offset:offset + count] = self._content(kind, value, count, ranges)
        scratch = []
        for name, (offset, count) in zip(("global", "profile"), places[len(values):]):
            size = getattr(metadata, f"{name}_scratch_size", 0) or 0
            if size > 0:
                address = session.connection.allocate(size * ctas)
                scratch.append(address)
                parameters[offset:offset + 8] = struct.pack("<Q", address)
        contents = self._driver.pointer_tables(ranges)
        session.launch(loaded.image, loaded.name, grid, (32 * metadata.num_warps, 1, 1), bytes(parameters), ranges, contents=contents,
                       shared_bytes=metadata.shared, cluster=cluster, cooperative=bool(getattr(metadata, "launch_cooperative_grid", False)),
                       programmatic=bool(getattr(metadata, "launch_pdl", False)))
        for address in scratch:
            session.connection.release(address)

    def _flatten(self, kind: Any, value: Any, maps: Iterator[Any], into: List[Tuple[str, Any]]) -> None:
        if isinstance(kind, (tuple, list)):
            for one, part in zip(kind, value):
                self._flatten(one, part, maps, into)
        elif kind == "constexpr":
            return
        elif kind.startswith("tensordesc"):
            shape, strides = list(value.shape), list(value.strides)
            if self._maps:
                into.append(("map", self._tensor_map(next(maps), value)))
            else:
                into.append(("*", value.base))
                into += [("i64", one) for one in shape + strides]
                into.append(("i1", getattr(value, "padding", "zero") == "nan"))
                if hasattr(value, "round_f32_to_tf32"):
                    into.append(("i1", bool(value.round_f32_to_tf32)))
            into += [("i32", one) for one in shape] + [("i64", one) for one in strides]
        else:
            into.append((kind, value))

    def _tensor_map(self, facts: Any, value: Any) -> Tuple[Any, Callable[[int], bytes]]:
        """Returns what the descriptor describes, and what makes the map once that has an address."""
        if facts.get("is_im2col"):
            raise HeddleError("tensor descriptors of im2col are not supported")
        shape, strides, box = list(value.shape), list(value.strides), list(facts["block_size"])
        if facts.get("fp4_padded"):
            shape[-1] *= 2
        kind = _TENSOR_MAP_TF32 if getattr(value, "round_f32_to_tf32", False) else _TENSOR_MAP_TYPE[facts["elem_type"]]
        fill = 1 if getattr(value, "padding", "zero") == "nan" else 0
        rank = len(shape)
        bytes_of = [stride * facts["elem_size"] for stride in strides]

        def make(address: int) -> bytes:
            return self._session.connection.tensor_map(kind, address, shape[::-1], [bytes_of[rank - 2 - i] for i in range(rank - 1)], box[::-1],
                                                       facts["swizzle"], fill)

        return value.base, make

    def _address(self, value: Any, ranges: List[HostRange]) -> int:
        if value is None:
            return 0
        if isinstance(value, int):
            return self._driver.device_address(value, ranges)
        where = host_range(value)
        if where is None:
            raise BadInput(f"a pointer is given as a {type(value).__name__}; CPU tensors and arrays of numpy can be given")
        if where.count == 0:
            return 0
        ranges.append(where)
        return self._session.memory.address(where) + where.offset

    def _content(self, kind: str, value: Any, count: int, ranges: List[HostRange]) -> bytes:
        if kind == "map":
            base, make = value
            return make(self._address(base, ranges))
        if kind.startswith("*"):
            return struct.pack("<Q", self._address(value, ranges))
        if kind in _FLOATS:
            return struct.pack(_FLOATS[kind], value)
        if kind == "bf16":
            bits = int(struct.unpack("<I", struct.pack("<f", value))[0])
            return struct.pack("<H", (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 & 0xFFFF)
        return pack(int(value), count, "an argument")


class _Event:
    """A point in simulated time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Notes what time it is."""
        self._at = self._session.simulated_us

    def elapsed_time(self, later: "_Event") -> float:
        """Returns milliseconds until another event."""
        return (later._at - self._at) / 1e3

    def synchronize(self) -> None:
        """Launches are done when they return."""

    def wait(self, stream: Any = None) -> None:
        """Launches are done when they return."""

    def query(self) -> bool:
        """Returns True: launches are done when they return."""
        return True


class _Stream:
    """Launches are done in the order of their calls, whatever their stream."""

    cuda_stream = 0

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def synchronize(self) -> None:
        """Launches are done when they return."""

    def wait_stream(self, other: Any) -> None:
        """Launches are done when they return."""


def _driver_base() -> Any:
    from triton.backends.driver import GPUDriver

    return GPUDriver


class _Driver:
    """Triton's driver of a virtual GPU."""

    def __init__(self, device: "Device", session: Session) -> None:
        self._device = device
        self._session = session
        self.utils = _Utilities(session)
        # What JITFunction keeps compiled kernels by: another device has other ones.
        self._number = _devices.setdefault(tuple(device.words()), len(_devices))
        self._pointed_at: "Dict[int, weakref.ref[Any]]" = {}

    def launcher_cls(self, source: Any, metadata: Any) -> _Launcher:
        """Makes what launches a kernel."""
        return _Launcher(self._session, self, source, metadata)

    def note(self, tensor: Any, address: int) -> None:
        """Somebody has asked where a tensor lies, and may hand the address to a kernel."""
        self._pointed_at[address] = weakref.ref(tensor)

    def _noted(self) -> List[HostRange]:
        found = []
        for address, reference in list(self._pointed_at.items()):
            tensor = reference()
            where = host_range(tensor) if tensor is not None and getattr(getattr(tensor, "device", None), "type", "") == "cpu" else None
            if where is None or where.count == 0:
                del self._pointed_at[address]
            else:
                found.append(where)
        return found

    def device_address(self, address: int, ranges: List[HostRange]) -> int:
        """Returns where the byte of a host address lies on the device; addresses of nothing that is known stay as they are."""
        for where in self._noted():
            if where.address <= address < where.address + where.count:
                ranges.append(where)
                return self._session.memory.address(where) + address - where.address
        return address

    def pointer_tables(self, ranges: List[HostRange]) -> Dict[int, _Rewritten]:
        """Kernels may be given tables of addresses, tensors of 64-bit integers: returns those with the device's addresses in them, and
        adds what they lead to to `ranges`."""
        tables: Dict[int, _Rewritten] = {}
        noted: Optional[List[HostRange]] = None
        for table in list(ranges):
            if getattr(table.owner, "dtype", None) is None or not str(table.owner.dtype).endswith(("int64", "uint64")) or table.address in tables:
                continue
            if noted is None:
                noted = self._noted()
            numbers = list(bytes_at(table.address, table.count // 8 * 8).cast("Q")) if table.count <= 1 << 20 else []
            replaced: Dict[int, Tuple[int, int]] = {}
            for i, number in enumerate(numbers):
                for where in noted:
                    if number >= 1 << 20 and where.address <= number < where.address + where.count:
                        ranges.append(where)
                        replaced[i] = (number, self._session.memory.address(where) + number - where.address)
                        break
            if replaced:
                tables[table.address] = _rewritten(table, replaced)
        return tables

    # What Triton asks, by its names.
    def get_current_device(self) -> int:
        return self._number

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_device_capability(self, device: Any = None) -> Tuple[int, int]:
        return divmod(self._session.properties.compute_capability, 10)

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._session.properties.compute_capability, 32)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        session = self._session
        return types.SimpleNamespace(Event=lambda enable_timing=True, **_: _Event(session), synchronize=lambda *_: None, Stream=lambda *_, **__: _Stream(),
                                     current_device=lambda: 0, current_stream=lambda *_: _Stream(), stream=lambda one: one)

    def get_benchmarker(self) -> Callable[..., Any]:
        return lambda call, **options: do_bench(self._session, call, **options)

    def get_empty_cache_for_benchmark(self) -> Any:
        return None

    def clear_cache(self, cache: Any) -> None:
        with self._session.lock:
            self._session.connection.forget_caches()

    def map_python_to_cpp_type(self, kind: str) -> str:
        from triton.backends.nvidia.driver import ty_to_cpp

        return str(ty_to_cpp(kind))

    def assemble_tensormap_to_arg(self, information: Any, arguments: Any) -> Any:
        return arguments

    @staticmethod
    def is_active() -> bool:
        return True


def _rewritten(table: HostRange, replaced: Dict[int, Tuple[int, int]]) -> _Rewritten:
    content = bytearray(bytes_at(table.address, table.count))
    for i, (_, address) in replaced.items():
        struct.pack_into("<Q", content, 8 * i, address)

    def restore() -> None:
        now = bytes_at(table.address, table.count // 8 * 8).cast("Q")
        for i, (number, address) in replaced.items():
            if now[i] == address:
                now[i] = number

    return _Rewritten(memoryview(content), restore)


def do_bench(session: Session, call: Callable[[], Any], warmup: float = 25, rep: float = 100, grad_to_none: Any = None, quantiles: Any = None,
             return_mode: str = "mean", **_: Any) -> Any:
    """Returns the simulated time of a call in milliseconds, L2 being cold, in the form that triton.testing.do_bench gives it. The
    simulation gives the same each time, so the call is made once, and its kernels' values are computed only where their time depends on
    them. NaN where nothing is launched: what the CPU does takes no simulated time."""
    with session.lock:
        mode = session.mode
        if mode & VALUES_ALONE == 0:
            session.mode = mode | TIME_ALONE
        session.benchmarking = True
        try:
            session.connection.forget_caches()
            before, launches = session.simulated_us, session.launches
            call()
            milliseconds = (session.simulated_us - before) / 1e3 if session.launches > launches else float("nan")
        finally:
            session.mode = mode
            session.benchmarking = False
    if quantiles is not None:
        return [milliseconds] * len(quantiles) if len(quantiles) > 1 else milliseconds
    return [milliseconds] if return_mode == "all" else milliseconds


class _Replaced:
    """Attributes that other values stand for, until `restore`."""

    def __init__(self) -> None:
        self._before: List[Tuple[Any, str, bool, Any]] = []

    def set(self, of: Any, name: str, value: Any) -> None:
        """Puts a value in place of an attribute's."""
        own = name in vars(of)
        self._before.append((of, name, own, vars(of).get(name)))
        setattr(of, name, value)

    def restore(self) -> None:
        """Puts everything back."""
        for of, name, own, value in reversed(self._before):
            if own:
                setattr(of, name, value)
            else:
                delattr(of, name)
        self._before = []


def _patch_triton(replaced: _Replaced, driver: _Driver, session: Session) -> None:
    import triton
    import triton.compiler.compiler as compiler
    import triton.runtime.jit as jit
    import triton.testing

    replaced.set(triton.runtime.driver, "_active", driver)
    bench = driver.get_benchmarker()
    for name in ("do_bench", "do_bench_cudagraph", "do_bench_cudagraph_proton"):
        if hasattr(triton.testing, name):
            replaced.set(triton.testing, name, bench)
    make_handles = compiler.CompiledKernel._init_handles

    def init_handles(kernel: Any) -> Any:
        _current.ptx = kernel.asm.get("ptx")
        try:
            return make_handles(kernel)
        finally:
            _current.ptx = None

    replaced.set(compiler.CompiledKernel, "_init_handles", init_handles)
    run = jit.JITFunction.run

    def run_with_arrays(function: Any, *arguments: Any, **options: Any) -> Any:
        return run(function, *map(_as_tensor, arguments), **{name: _as_tensor(value) for name, value in options.items()})

    replaced.set(jit.JITFunction, "run", run_with_arrays)


def _as_tensor(value: Any) -> Any:
    """An array of numpy as what Triton takes."""
    if type(value).__module__ == "numpy" and hasattr(value, "__array_interface__") and getattr(value, "shape", ()) != ():
        if "torch" in sys.modules:
            return sys.modules["torch"].from_numpy(value)
        return _Array(value)
    return value


class _Array:
    """An array of numpy with the two attributes that Triton reads."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__
        self.dtype = str(array.dtype)
        self.nbytes = array.nbytes

    def data_ptr(self) -> int:
        """Returns the address of the first element."""
        return int(self._array.__array_interface__["data"][0])


def _patch_torch(replaced: _Replaced, driver: _Driver, session: Session, properties: Properties) -> Any:
    """Answers what programs ask of torch.cuda, and returns a context in which ``device="cuda"`` is the CPU."""
    import torch
    from torch.overrides import TorchFunctionMode

    data_ptr = torch.Tensor.data_ptr

    def noted_data_ptr(tensor: Any) -> int:
        address: int = data_ptr(tensor)
        if address and tensor.device.type == "cpu":
            driver.note(tensor, address)
        return address

    replaced.set(torch.Tensor, "data_ptr", noted_data_ptr)
    facts = types.SimpleNamespace(name=properties.name, major=properties.compute_capability // 10, minor=properties.compute_capability % 10,
                                  multi_processor_count=properties.sms, total_memory=properties.memory_bytes, L2_cache_size=properties.l2_bytes,
                                  warp_size=32, shared_memory_per_block_optin=properties.shared_per_block_opt_in,
                                  regs_per_multiprocessor=properties.registers_per_sm, max_threads_per_multi_processor=properties.threads_per_sm)
    interface = driver.get_device_interface()
    answers: Dict[str, Any] = {
        "get_device_capability": lambda *_: driver.get_device_capability(), "get_device_properties": lambda *_: facts,
        "get_device_name": lambda *_: properties.name, "current_device": lambda: 0, "device_count": lambda: 1, "synchronize": lambda *_: None,
        "set_device": lambda *_: None, "empty_cache": lambda: None, "Event": interface.Event, "Stream": interface.Stream,
        "current_stream": interface.current_stream, "stream": interface.stream, "set_stream": lambda *_: None, "manual_seed": lambda *_: None}
    for name, answer in answers.items():
        replaced.set(torch.cuda, name, answer)
    for name in ("Stream", "set_stream", "stream", "Event"):
        replaced.set(torch.cpu, name, answers[name])

    def on_cpu(value: Any) -> Any:
        if isinstance(value, str) and value.split(":")[0] == "cuda" or isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return value

    class DevicesAreCpu(TorchFunctionMode):
        def __torch_function__(self, function: Any, kinds: Any, arguments: Any = (), options: Any = None) -> Any:
            options = dict(options or {})
            if "device" in options:
                options["device"] = on_cpu(options["device"])
            if getattr(function, "__name__", "") == "cuda":
                return arguments[0]
            if getattr(function, "__name__", "") == "to":
                arguments = tuple(map(on_cpu, arguments))
            if function is torch.nn.functional.layer_norm and arguments and arguments[0].dtype in (torch.float16, torch.bfloat16):
                # A GPU sums in single precision, and the CPU does not.
                half = arguments[0].dtype
                return function(*map(single, arguments), **{name: single(value) for name, value in options.items()}).to(half)
            return function(*arguments, **options)

    def single(value: Any) -> Any:
        return value.float() if isinstance(value, torch.Tensor) else value

    return DevicesAreCpu()


@contextlib.contextmanager
def active(device: "Device", *, time: str = "all", sample: bool = False) -> Iterator["Device"]:
    """Makes a device the one that Triton's kernels run on.

    ``time="none"`` computes values alone. `sample`: benchmarks and autotuning leave out what repeats in a kernel, as --sample does.
    Contexts are for the whole process; one at a time. Raises HeddleError where Triton is not installed.
    """
    try:
        import triton
    except ImportError as missing:
        raise HeddleError("Triton is not installed", remedy="pip install triton") from missing
    session = device.session
    properties = session.properties
    driver = _made_driver(device, session)
    replaced = _Replaced()
    before = session.mode
    session.mode = mode_of(time) | (SAMPLE if sample else 0)
    try:
        _patch_triton(replaced, driver, session)
        try:
            import torch  # noqa: F401
        except ImportError:
            yield device
        else:
            with _patch_torch(replaced, driver, session, properties):
                yield device
    finally:
        replaced.restore()
        session.mode = before
    del triton


def _made_driver(device: "Device", session: Session) -> Any:
    """A driver that Triton takes for one of its own."""
    kind = type("HeddleDriver", (_Driver, _driver_base()), {})
    driver = kind.__new__(kind)
    _Driver.__init__(driver, device, session)
    return driver


def main(words: Optional[Sequence[str]] = None) -> None:
    """``python -m heddle.triton --hardware NAME script.py arguments``: runs a script whose Triton kernels go to a virtual GPU."""
    from ._device import device

    parser = argparse.ArgumentParser(prog="python -m heddle.triton", description="Runs a script whose Triton kernels go to a virtual GPU.")
    parser.add_argument("--hardware", required=True, metavar="NAME", help="a name from `heddle hardware list`, or a YAML file")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="changes a parameter of the hardware")
    parser.add_argument("--time", choices=("all", "none"), default="all", help="none: values alone")
    parser.add_argument("--sample", action="store_true", help="benchmarks and autotuning leave out what repeats in a kernel")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    changes = dict(one.split("=", 1) for one in given.set)
    gpu = device(given.hardware, changes)
    sys.argv = [given.script, *given.arguments]
    with active(gpu, time=given.time, sample=given.sample):
        runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()

__all__ = ["active", "do_bench", "main", "OBSERVE"]
