"""How are kernels run on a virtual GPU, and what does a launch say of itself?"""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import importlib.util
import linecache
import os
import shutil
import struct
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._command import BadInput, PathText
from ._table import table
from ._virtual_gpu import (OBSERVE, VALUES_ALONE, Connection, DeviceMemory, Function, HostRange, KernelFailed, Launched, Properties,
                           bytes_at, host_range)

Size = Union[int, Sequence[int]]


class Launch:
    """What one launch did.

    ``cycles`` and ``time_us`` are None where it was computed and not timed. A repr is a short report.
    """

    def __init__(self, answer: Dict[str, Any]) -> None:
        self._answer = answer

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return str(self._answer["kernel"])

    @property
    def cycles(self) -> Optional[int]:
        """Cycles of the GPU's clock from end to end, launch overhead included."""
        return self._answer.get("cycles")

    @property
    def time_us(self) -> Optional[float]:
        """The same in microseconds."""
        return self._answer.get("time_us")

    @property
    def bound_by(self) -> Optional[str]:
        """What bounds the kernel: tensor, fp32, issue, shared memory, l2 bandwidth, dram bandwidth, latency or launch."""
        return self._answer.get("bound_by")

    @property
    def stalls(self) -> Dict[str, float]:
        """Shares of the cycles of all sub-cores by what they did: issued, or why not. Largest first; they add up to 1."""
        reasons: Dict[str, float] = self._answer.get("time_by_reason", {})
        return dict(sorted(((reason, share) for reason, share in reasons.items() if share > 0), key=lambda one: -one[1]))

    @property
    def utilisation(self) -> Dict[str, float]:
        """How busy each resource was, 0 to 1, largest first."""
        return dict(sorted(self._answer.get("utilisation", {}).items(), key=lambda one: -one[1]))

    @property
    def occupancy(self) -> Dict[str, Any]:
        """``achieved`` (of the SM's warp slots, 0 to 1), ``blocks_per_sm`` that fit, ``limited_by``, ``registers`` of a thread and
        ``shared_bytes`` of a block."""
        found: Dict[str, Any] = {"registers": self._answer["registers_per_thread"], "shared_bytes": self._answer["shared_bytes"]}
        if "cycles" in self._answer:
            found.update(achieved=self._answer["achieved_occupancy"], blocks_per_sm=self._answer["ctas_per_sm"],
                         limited_by=self._answer["occupancy_limit"])
        return found

    def line_rows(self) -> List[Dict[str, Any]]:
        """Returns `lines` as a list of dictionaries."""
        total = self._answer.get("resident_cycles", 0)
        rows = []
        for line in self._answer.get("lines", ()):
            waits = {reason: cycles for reason, cycles in line["by_reason"].items() if reason != "issued"}
            text = linecache.getline(line["file"], line["line"]).strip() if line["file"] else ""
            rows.append({"file": line["file"], "line": line["line"], "share": line["cycles"] / total if total else 0.0,
                         "issued": line["by_reason"].get("issued", 0) / total if total else 0.0,
                         "waits_for": max(waits, key=lambda reason: waits[reason]) if waits else "", "text": text})
        return rows

    @property
    def lines(self) -> Any:
        """Lines of the source by their share of the cycles in which a warp was there, as a table: file, line, share, issued (the part in
        which an instruction issued), waits_for (what the rest mostly waits for), text. Where the compiler names no source, lines are
        those of PTX and the file is empty. What is inlined counts where it is called."""
        return table(self.line_rows())

    def json(self) -> Dict[str, Any]:
        """Returns everything that is known, as JSON-able values."""
        return dict(self._answer)

    def __repr__(self) -> str:
        grid, block = ("x".join(str(n) for n in self._answer[key]) for key in ("grid", "block"))
        head = f"{self.kernel} <<<{grid}, {block}>>>: "
        if self.cycles is None or self.time_us is None:
            return head + "values alone"
        text = head + f"{self.cycles:,} cycles, {self.time_us:.2f} us, bound by {self.bound_by}"
        text += "\n  " + ", ".join(f"{reason} {share:.0%}" for reason, share in self.stalls.items() if share >= 0.005)
        for row in self.line_rows()[:10]:
            place = f"{os.path.basename(row['file']) or 'PTX'}:{row['line']}"
            text += f"\n  {row['share']:6.1%}  {place:<28} {row['waits_for']:<16} {row['text'][:70]}"
        return text


def size3(size: Size, what: str) -> Tuple[int, int, int]:
    """Returns a grid or a block as three numbers. Raises BadInput."""
    numbers = [int(size)] if isinstance(size, int) or not hasattr(size, "__iter__") else [int(one) for one in size]
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise BadInput(f"a {what} is one to three positive numbers, not {size!r}")
    numbers += [1] * (3 - len(numbers))
    return numbers[0], numbers[1], numbers[2]


class Session:
    """A device's virtual GPU, started at the first launch: what was loaded into it, and its copies of arrays."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._connection: Optional[Connection] = None
        self._modules: Dict[bytes, int] = {}
        self._functions: Dict[Tuple[bytes, str], Function] = {}
        self._memory: Optional[DeviceMemory] = None
        self.lock = threading.RLock()
        self.last: Optional[Launch] = None
        self.mode = OBSERVE
        self.benchmarking = False
        self.time_limit: Optional[float] = None
        #: Where it is a list: what each launch did, with its findings.
        self.record: Optional[List[Dict[str, Any]]] = None
        self.simulated_us = 0.0
        self.launches = 0

    @property
    def connection(self) -> Connection:
        """The connection; a new one where there is none, or where it belongs to the process that forked this one."""
        if self._connection is None or not self._connection.alive:
            if self._connection is not None:
                self._connection.disconnect()
            self._connection = Connection(self._words)
            self._begin()
        return self._connection

    def _begin(self) -> None:
        assert self._connection is not None
        self._modules, self._functions = {}, {}
        self._memory = DeviceMemory(self._connection)

    def begin_anew(self) -> None:
        """Goes on with a device that nothing has used."""
        if self._connection is not None and self._connection.alive:
            self._connection.connect()
            self._begin()

    def close(self) -> None:
        """Ends the virtual GPU; the next launch starts another one."""
        with self.lock:
            if self._connection is not None and self._connection.process == os.getpid():
                self._connection.end()
            self._connection = None

    @property
    def properties(self) -> Properties:
        """What the device says of itself."""
        with self.lock:
            return self.connection.properties

    @property
    def memory(self) -> DeviceMemory:
        """Copies of this process's arrays."""
        self.connection
        assert self._memory is not None
        return self._memory

    def module(self, image: bytes) -> int:
        """Returns the number of a module, which is loaded once."""
        connection = self.connection
        if image not in self._modules:
            self._modules[image] = connection.load(image)
        return self._modules[image]

    def function(self, image: bytes, name: str) -> Function:
        """Returns a kernel, which is loaded once."""
        connection = self.connection
        key = (image, name)
        if key not in self._functions:
            self._functions[key] = connection.function(self.module(image), name)
        return self._functions[key]

    def launch(self, image: bytes, name: str, grid: Sequence[int], block: Sequence[int], parameters: bytes, ranges: Sequence[HostRange],
               *, mode: Optional[int] = None, contents: "Optional[Mapping[int, _Rewritten]]" = None, **options: Any) -> Launched:
        """Copies `ranges` to the device, launches, waits, and copies them back. Returns what the launch did. Raises KernelFailed, after
        which the device is as new."""
        connection = self.connection
        memory = self.memory
        distinct = {(one.address, one.count): one for one in ranges if one.count}
        for one in distinct.values():
            content = bytes_at(one.address, one.count)
            if contents is not None and one.address in contents:
                content = contents[one.address].for_device
            connection.write(memory.address(one), content)
        connection.observe(self.mode if mode is None else mode)
        connection.launch(self.function(image, name), grid, block, parameters, **options)
        try:
            launched = connection.launched(self.time_limit)
        except KernelFailed:
            self.begin_anew()
            raise
        for one in distinct.values():
            if not one.writable:
                continue
            connection.read(memory.address(one), bytes_at(one.address, one.count))
            if contents is not None and one.address in contents:
                contents[one.address].restore()
        memory.forget_old()
        for answer in launched.launches:
            self.last = Launch(answer)
            self.simulated_us += answer.get("time_us", 0.0)
            self.launches += 1
        if self.record is not None and not self.benchmarking:
            self.record += [dict(answer, findings=launched.findings) for answer in launched.launches]
        return launched


class _Rewritten:
    """A table of pointers: what the device is given of it, and how it is put right afterwards."""

    def __init__(self, for_device: memoryview, restore: Any) -> None:
        self.for_device = for_device
        self.restore = restore


def pack(value: Any, count: int, what: str) -> bytes:
    """Returns a scalar as `count` bytes of a parameter. Raises BadInput."""
    if isinstance(value, (bytes, bytearray)):
        content = bytes(value)
    elif isinstance(value, bool):
        return int(value).to_bytes(count, "little")
    elif isinstance(value, int):
        try:
            return value.to_bytes(count, "little", signed=value < 0)
        except OverflowError:
            raise BadInput(f"{what} is {value}, which does not fit {count} bytes") from None
    elif isinstance(value, float):
        if count not in (2, 4, 8):
            raise BadInput(f"{what} is a number, and the kernel takes {count} bytes there")
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[count], value)
    elif hasattr(value, "dtype") and hasattr(value, "tobytes"):
        content = value.tobytes()
    else:
        raise BadInput(f"{what} is a {type(value).__name__}; arrays of numpy, CPU tensors, numbers and bytes can be given")
    if len(content) != count:
        raise BadInput(f"{what} has {len(content)} bytes, and the kernel takes {count} there")
    return content


class Kernel:
    """A kernel of PTX or CUDA C++: ``k[grid, block](arrays and numbers...)``, with bytes of dynamic shared memory as a third number.

    Arrays of numpy and CPU tensors of PyTorch are copied to the device and back; what the kernel writes is in them afterwards. A float
    is given as the size of the parameter says; ``numpy.float16(1)``, or bytes, where that is not meant.
    """

    def __init__(self, session: Session, image: bytes, name: Optional[str]) -> None:
        self.session = self._session = session
        self._image = image
        with session.lock:
            names = session.connection.names(session.module(image))
        found = [one for one in names if name is None or one == name] or [one for one in names if _is_mangled(one, name or "")]
        if len(found) != 1:
            raise BadInput(f"there is no kernel {name}" if name else "the module has several kernels; name one", key="name",
                           remedy="its kernels are " + ", ".join(names))
        self.name = found[0]

    @property
    def ptx(self) -> str:
        """The PTX that runs."""
        return self._image.decode("utf-8", "replace")

    @property
    def resources(self) -> Function:
        """Registers, shared memory and parameters of the kernel."""
        with self._session.lock:
            return self._session.function(self._image, self.name)

    def __getitem__(self, shape: Any) -> "Configured":
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise BadInput("a launch is k[grid, block](...) or k[grid, block, shared_bytes](...)")
        return Configured(self, size3(shape[0], "grid"), size3(shape[1], "block"), int(shape[2]) if len(shape) == 3 else 0)

    def launch(self, grid: Size, block: Size, arguments: Sequence[Any], *, shared_bytes: int = 0, cluster: Size = (1, 1, 1),
               cooperative: bool = False, mode: Optional[int] = None) -> Launched:
        """Launches the kernel and waits for it. Raises KernelFailed, BadInput and LimitReached."""
        session = self._session
        with session.lock:
            function = session.function(self._image, self.name)
            if len(arguments) != len(function.parameters):
                raise BadInput(f"{self.name} takes {len(function.parameters)} arguments, not {len(arguments)}")
            parameters = bytearray(function.parameter_bytes)
            ranges = []
            for i, (value, (offset, count)) in enumerate(zip(arguments, function.parameters)):
                where = host_range(value) if getattr(value, "shape", None) != () or hasattr(value, "data_ptr") else None
                if where is None:
                    content = pack(value, count, f"argument {i}")
                elif count != 8:
                    raise BadInput(f"argument {i} is an array, and the kernel takes {count} bytes there")
                else:
                    ranges.append(where)
                    content = struct.pack("<Q", session.memory.address(where) + where.offset if where.count else 0)
                parameters[offset:offset + count] = content
            return session.launch(self._image, self.name, size3(grid, "grid"), size3(block, "block"), bytes(parameters), ranges, mode=mode,
                                  shared_bytes=shared_bytes, cluster=size3(cluster, "cluster"), cooperative=cooperative)


class Configured:
    """A kernel with its grid and block, which is called with the arguments."""

    def __init__(self, kernel: Kernel, grid: Tuple[int, int, int], block: Tuple[int, int, int], shared_bytes: int) -> None:
        self.kernel, self.grid, self.block, self.shared_bytes = kernel, grid, block, shared_bytes

    def __call__(self, *arguments: Any) -> None:
        self.kernel.launch(self.grid, self.block, arguments, shared_bytes=self.shared_bytes)


def _is_mangled(symbol: str, name: str) -> bool:
    """Whether a symbol is a C++ function of this name: ``_Z3addPfi`` is ``add``."""
    return symbol.startswith("_Z") and f"{len(name)}{name}" in symbol


def image_of(source: Union[str, bytes, PathText], options: Sequence[str], capability: int) -> bytes:
    """Returns PTX of a source or file: PTX, or CUDA C++, which is compiled. Raises BadInput with the compiler's words."""
    if isinstance(source, bytes):
        return source
    text = os.fspath(source)
    path: Optional[Path] = None
    if "\n" not in text and "{" not in text:
        path = Path(text)
        if not path.is_file():
            raise BadInput(f"there is no file {text}", file=text)
        content = path.read_bytes()
        if content[:4] == b"\x7fELF":
            return content
        text = content.decode("utf-8")
    if ".version" in text and ".target" in text and ".entry" in text:
        if options:
            raise BadInput("options are for the compiler, and PTX is not compiled")
        return text.encode()
    return compile_cuda(text, options, capability, path)


def compile_cuda(text: str, options: Sequence[str], capability: int, path: Optional[Path] = None) -> bytes:
    """Returns CUDA C++ as PTX for a compute capability (times ten), with source lines: by nvcc ($CUDA_HOME, PATH), else by NVRTC, of the
    toolkit or of the package ``nvidia-cuda-nvrtc``. Raises BadInput."""
    target = f"compute_{capability}" + ("a" if capability >= 90 else "")
    if path is None:
        # A name that says which text it is, so that the same text is the same PTX wherever it is compiled.
        name = f"kernel-{hashlib.sha256(text.encode()).hexdigest()[:8]}.cu"
        for one in (name, "/" + name):  # nvcc puts its folder before the name, and is called in /
            linecache.cache[one] = (len(text), None, text.splitlines(keepends=True), one)
        text = f'#line 1 "{name}"\n' + text
    compiler = _nvcc()
    if compiler is None:
        return _compile_by_nvrtc(text, [f"--gpu-architecture={target}", "-lineinfo", "-default-device", *options], path)
    with tempfile.TemporaryDirectory() as folder:
        source = path or Path(folder) / "kernel.cu"
        if path is None:
            source.write_text(text)
        result = Path(folder) / "kernel.ptx"
        words = [compiler, "-ptx", f"-arch={target}", "-lineinfo", *options]
        if path is None:
            words += ["-I", os.getcwd()]
        done = subprocess.run([*words, "-o", str(result), os.path.abspath(source)], capture_output=True, text=True, cwd="/" if path is None else None)
        if done.returncode != 0:
            raise BadInput("nvcc: " + (done.stderr.strip() or done.stdout.strip()), file=str(path or ""))
        return result.read_bytes()


def _nvcc() -> Optional[str]:
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")):
        if home and os.access(os.path.join(home, "bin", "nvcc"), os.X_OK):
            return os.path.join(home, "bin", "nvcc")
    return shutil.which("nvcc")


def _nvrtc() -> Optional[ctypes.CDLL]:
    names = []
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc", "nvidia.cu12"):
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (found.submodule_search_locations or []) if found is not None else []:
            names += sorted(str(one) for one in (Path(folder) / "lib").glob("libnvrtc.so.*") if ".alt" not in one.name)
    names += filter(None, [ctypes.util.find_library("nvrtc"), "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"])
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _compile_by_nvrtc(text: str, options: Sequence[str], path: Optional[Path]) -> bytes:
    library = _nvrtc()
    if library is None:
        raise BadInput("CUDA C++ needs a compiler, and neither nvcc nor NVRTC is there", remedy="pip install nvidia-cuda-nvrtc")
    program = ctypes.c_void_p()
    name = str(path) if path is not None else "kernel.cu"
    words = (ctypes.c_char_p * len(options))(*[one.encode() for one in options])
    if library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None) != 0:
        raise BadInput("NVRTC takes no program")
    try:
        code = library.nvrtcCompileProgram(program, len(options), words)
        count = ctypes.c_size_t()
        if code != 0:
            library.nvrtcGetProgramLogSize(program, ctypes.byref(count))
            log = ctypes.create_string_buffer(count.value)
            library.nvrtcGetProgramLog(program, log)
            raise BadInput("NVRTC: " + log.value.decode("utf-8", "replace").strip(), file=str(path or ""))
        library.nvrtcGetPTXSize(program, ctypes.byref(count))
        result = ctypes.create_string_buffer(count.value)
        library.nvrtcGetPTX(program, result)
        return result.value
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def mode_of(time: str) -> int:
    """Returns the observation for ``all`` or ``none``. Raises BadInput."""
    modes = {"all": OBSERVE, "none": OBSERVE | VALUES_ALONE}
    if time not in modes:
        raise BadInput(f"there is no kind of timing `{time}`", key="time", remedy="known: all, none")
    return modes[time]
