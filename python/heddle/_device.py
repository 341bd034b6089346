"""Which device is simulated, and what are its parameters?"""

from __future__ import annotations

import os
from typing import Any, ContextManager, Dict, List, Mapping, Optional, Sequence, Union

from ._command import BadInput, HeddleError, PathText, pairs, run_json, text_of
from ._kernel import Kernel, Launch, Session, image_of, mode_of
from ._table import table


class Device:
    """A device: a hardware file and changes to it. It is never modified; ``set`` returns another one.

    ``gpu["sm.count"]`` is a parameter's value with its unit, as text.
    """

    def __init__(self, name: PathText, changes: Optional[Mapping[str, Any]] = None) -> None:
        self._file = os.fspath(name)
        self._changes = {key: text_of(value) for key, value in (changes or {}).items()}
        self._answer: Dict[str, Any] = run_json("hardware", "describe", *self._named())
        self._session: Optional[Session] = None

    def _named(self) -> List[str]:
        return [self._file, *pairs("--set", self._changes)]

    def words(self) -> List[str]:
        """Returns the options that name this device on the command line."""
        return ["--hardware=" + self._file, *pairs("--set", self._changes)]

    @property
    def name(self) -> str:
        """The device's name."""
        return str(self._answer["name"])

    @property
    def kind(self) -> str:
        """``gpu`` or ``tpu``."""
        return str(self._answer["kind"])

    @property
    def description(self) -> str:
        """What the device is, in a sentence."""
        return str(self._answer["description"])

    @property
    def changes(self) -> Dict[str, str]:
        """What differs from the hardware file."""
        return dict(self._changes)

    def set(self, changes: Mapping[str, Any]) -> "Device":
        """Returns this device with more changes: ``gpu.set({"sm.count": 144, "l2.size": "25 MiB"})``. Raises BadInput for a key or a
        value that the device cannot have."""
        return Device(self._file, {**self._changes, **changes})

    def describe(self) -> Any:
        """Returns every parameter as a table: path, value, range, meaning, source, where it was set."""
        return table(self._answer["parameters"])

    def __getitem__(self, path: str) -> str:
        for parameter in self._answer["parameters"]:
            if parameter["path"] == path:
                return str(parameter["value"])
        raise KeyError(path)

    def area(self) -> Dict[str, Any]:
        """Returns the areas of the die's parts in mm2, and the price of an hour."""
        answer: Dict[str, Any] = run_json("hardware", "area", *self._named())
        return answer

    @property
    def session(self) -> Session:
        """The virtual GPU that carries out this device's kernels. It is started by the first."""
        if self._session is None:
            if self.kind != "gpu":
                raise BadInput(f"{self.name} is a {self.kind}, and kernels need a GPU")
            self._session = Session(self.words())
        return self._session

    def kernel(self, source: Union[str, bytes, PathText], name: Optional[str] = None, options: Sequence[str] = (), *, time: str = "all") -> Kernel:
        """Returns a kernel of PTX or CUDA C++, given as text or as a file.

        >>> add = gpu.kernel(source, "add")
        >>> add[grid, block](x, y, n)
        >>> gpu.last.cycles, gpu.last.lines

        CUDA C++ is compiled by nvcc, or by NVRTC where there is no nvcc, with `options`. `name` may be left out where there is one kernel;
        a C++ function is found by its plain name. `time`: ``none`` computes values alone. Raises BadInput and KernelFailed.
        """
        session = self.session
        session.mode = mode_of(time)
        return Kernel(session, image_of(source, options, session.properties.compute_capability), name)

    def triton(self, *, time: str = "all", sample: bool = False) -> ContextManager[Any]:
        """Returns a context in which kernels of Triton run on this device: ``with gpu.triton(): kernel[grid](...)``. See heddle.triton."""
        from .triton import active

        return active(self, time=time, sample=sample)

    @property
    def last(self) -> Launch:
        """What the last launch did. Raises HeddleError where there was none."""
        launch = self.session.last
        if launch is None:
            raise HeddleError("nothing has been launched on this device yet")
        return launch

    def close(self) -> None:
        """Ends the virtual GPU; it starts again with the next launch."""
        if self._session is not None:
            self._session.close()

    def __reduce__(self) -> Any:
        return Device, (self._file, self._changes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self._file, self._changes) == (other._file, other._changes)

    def __hash__(self) -> int:
        return hash((self._file, tuple(sorted(self._changes.items()))))

    def __repr__(self) -> str:
        return f"heddle.device({self._file!r}" + (f", {self._changes!r})" if self._changes else ")")


def device(name: PathText, changes: Optional[Mapping[str, Any]] = None) -> Device:
    """Returns a device by its name or hardware file, with changes: ``device("h100-sxm", {"sm.count": 144})``. Raises BadInput."""
    return Device(name, changes)


def devices() -> Any:
    """Returns the devices that can be named, as a table: name, kind, description."""
    return table(run_json("hardware", "list"))


def words_for(hardware: "Optional[Device | PathText]") -> List[str]:
    """Returns the options that name a device given as Device, name, file or None."""
    if hardware is None:
        return []
    return hardware.words() if isinstance(hardware, Device) else ["--hardware=" + os.fspath(hardware)]
