"""Which device is simulated, and what are its parameters?"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional

from ._command import PathText, pairs, run_json, text_of
from ._table import table


class Device:
    """A device: a hardware file and changes to it. It is never modified; ``set`` returns another one.

    ``gpu["sm.count"]`` is a parameter's value with its unit, as text.
    """

    def __init__(self, name: PathText, changes: Optional[Mapping[str, Any]] = None) -> None:
        self._file = os.fspath(name)
        self._changes = {key: text_of(value) for key, value in (changes or {}).items()}
        self._answer: Dict[str, Any] = run_json("hardware", "describe", *self._named())

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
