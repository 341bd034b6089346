"""Is a kernel right, and how fast is it? One answer as JSON, for programs that write kernels."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from ._command import BadInput, HeddleError, LimitReached
from ._device import Device
from ._kernel import Kernel, Launch, Session, Size
from ._virtual_gpu import CHECK, OBSERVE, VALUES_ALONE, KernelFailed

_KINDS = {2: "out of memory", 209: "does not compile", 218: "does not compile", 700: "out of bounds", 701: "too many resources", 710: "assertion",
          716: "misaligned", 719: "launch failed", 801: "not supported"}
_SHOWN = 8


@dataclass
class Case:
    """One launch, and what should come of it.

    `arguments` are left as they are: the kernel works on copies. `expected` says what arguments should hold afterwards: a mapping from
    their index to an array, or a function that is called with copies of them and either changes them or returns such a mapping; None: only
    errors and time are looked for. An element is right where ``|got - expected| <= absolute + relative * |expected|``, and where both
    are NaN. `grid` of a Triton kernel may be a function, and `keywords` are its constants; `block` and `shared_bytes` are for other kernels.
    """

    arguments: Sequence[Any]
    grid: Any = 1
    block: Size = 1
    expected: Union[None, Mapping[int, Any], Callable[..., Any]] = None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    shared_bytes: int = 0
    absolute: float = 1e-5
    relative: float = 1e-5
    name: str = ""


def check(kernel: Any, cases: Sequence[Union[Case, Mapping[str, Any]]], device: Optional[Device] = None, *, time_limit: Optional[float] = None) -> Dict[str, Any]:
    """Runs a kernel on each case and returns one object of JSON-able values.

    `kernel` is one of `gpu.kernel`, or a function of Triton, for which `device` is needed. Each case is launched twice: with the time
    simulated, and with races, uninitialised reads and wrong barriers in shared memory looked for; accesses out of bounds and
    misaligned ones fail in both. Each launch finds a new device with cold caches, so the answer is the same every time. `time_limit` is in seconds for all
    cases together. Workers of a pool each start a virtual GPU of their own.

    The object: ``passed``, ``device``, ``cases``: a list of ``name``, ``passed``, ``correct`` (None: nothing was expected), ``outputs`` (for each
    argument in `expected`: ``argument``, ``elements``, ``mismatches``, ``largest_absolute_error``, ``largest_relative_error``, ``first`` with
    ``index``, ``got``, ``expected``), ``findings`` (``kind``: race, uninitialised or barrier, ``text``, ``ptx_line``, ``count``), ``error`` (None, or ``kind``
    and ``message``), ``launches`` (``kernel``, ``cycles``, ``time_us``, ``bound_by``, ``stalls``, ``utilisation``, ``occupancy``, ``lines``).
    """
    is_triton = not isinstance(kernel, Kernel)
    if is_triton and device is None:
        raise BadInput("check needs a device for a function of Triton", key="device")
    if is_triton and not (hasattr(kernel, "run") and hasattr(kernel, "__getitem__")):
        raise BadInput(f"check takes a kernel of gpu.kernel or of Triton, not a {type(kernel).__name__}")
    session: Session = device.session if is_triton and device is not None else kernel.session
    deadline = None if time_limit is None else time.monotonic() + time_limit
    results = []
    context: Any = device.triton() if is_triton and device is not None else contextlib.nullcontext()
    with session.lock:
        limit, mode = session.time_limit, session.mode
        try:
            with context:
                for i, given in enumerate(cases):
                    case = given if isinstance(given, Case) else Case(**given)
                    results.append(_check_case(kernel, session, case, case.name or str(i), is_triton, deadline))
        finally:
            session.time_limit, session.mode = limit, mode
    return {"passed": all(result["passed"] for result in results), "device": session.properties.name, "cases": results}


def _check_case(kernel: Any, session: Session, case: Case, name: str, is_triton: bool, deadline: Optional[float]) -> Dict[str, Any]:
    result: Dict[str, Any] = {"name": name, "passed": False, "correct": None, "outputs": [], "findings": [], "error": None, "launches": []}
    try:
        # Timed first: an autotuner chooses by time.
        timed, _ = _launch(kernel, session, case, is_triton, OBSERVE, deadline)
        result["launches"] = [_short(one) for one in timed]
        launches, values = _launch(kernel, session, case, is_triton, OBSERVE | VALUES_ALONE | CHECK, deadline)
        result["findings"] = [finding for one in launches for finding in one["findings"]]
    except LimitReached as late:
        result["error"] = {"kind": "time limit", "message": str(late)}
        return result
    except KernelFailed as failure:
        result["error"] = {"kind": _KINDS.get(failure.status, "failed"), "message": str(failure)}
        return result
    except HeddleError as problem:
        result["error"] = {"kind": "bad input", "message": str(problem)}
        return result
    except Exception as problem:
        if not is_triton:
            raise
        # What Triton's compiler says comes as exceptions of many kinds.
        result["error"] = {"kind": "does not compile", "message": f"{type(problem).__name__}: {problem}"}
        return result
    if case.expected is not None:
        result["outputs"] = [_compare(index, values[index], wanted, case) for index, wanted in sorted(_expected(case).items())]
        result["correct"] = all(output["mismatches"] == 0 for output in result["outputs"])
    result["passed"] = result["correct"] is not False and not result["findings"]
    return result


def _copy(value: Any) -> Any:
    if hasattr(value, "clone"):
        return value.detach().clone()
    return value.copy() if hasattr(value, "__array_interface__") and hasattr(value, "copy") else value


def _launch(kernel: Any, session: Session, case: Case, is_triton: bool, mode: int, deadline: Optional[float]) -> Any:
    values = [_copy(value) for value in case.arguments]
    session.begin_anew()
    session.mode = mode
    session.time_limit = None if deadline is None else deadline - time.monotonic()
    if session.time_limit is not None and session.time_limit <= 0:
        raise LimitReached("the time was over before the launch")
    session.record = []
    try:
        if is_triton:
            kernel[case.grid if callable(case.grid) else tuple(case.grid) if hasattr(case.grid, "__iter__") else (case.grid,)](*values, **case.keywords)
        else:
            kernel.launch(case.grid, case.block, values, shared_bytes=case.shared_bytes)
        return session.record, values
    finally:
        session.record = None


def _short(answer: Dict[str, Any]) -> Dict[str, Any]:
    launch = Launch(answer)
    return {"kernel": launch.kernel, "cycles": launch.cycles, "time_us": launch.time_us, "bound_by": launch.bound_by, "stalls": launch.stalls,
            "utilisation": launch.utilisation, "occupancy": launch.occupancy, "lines": launch.line_rows()[:_SHOWN]}


def _expected(case: Case) -> Dict[int, Any]:
    assert case.expected is not None
    if not callable(case.expected):
        return dict(case.expected)
    values = [_copy(value) for value in case.arguments]
    returned = case.expected(*values)
    if isinstance(returned, Mapping):
        return dict(returned)
    if returned is not None:
        raise BadInput("a reference returns a mapping from argument to array, or changes its arguments and returns None")
    changed = {}
    for i, (value, before) in enumerate(zip(values, case.arguments)):
        if hasattr(value, "shape") and value.shape != () and not bool((_numbers(value) == _numbers(before)).all()):
            changed[i] = value
    if not changed:
        raise BadInput("the reference changed none of its arguments, and returned nothing")
    return changed


def _numbers(value: Any) -> Any:
    import numpy

    if hasattr(value, "detach"):
        value = value.detach()
        value = (value.double() if value.is_floating_point() else value).numpy()
    value = numpy.asarray(value)
    return value.astype(numpy.float64) if value.dtype.kind == "f" else value


def _compare(index: int, got: Any, expected: Any, case: Case) -> Dict[str, Any]:
    import numpy

    found, wanted = _numbers(got), _numbers(expected)
    if found.shape != wanted.shape:
        raise BadInput(f"argument {index} has the shape {found.shape}, and what is expected of it {wanted.shape}")
    with numpy.errstate(all="ignore"):
        error = numpy.abs(found.astype(numpy.float64) - wanted.astype(numpy.float64))
        error = numpy.where((found == wanted) | (numpy.isnan(found.astype(numpy.float64)) & numpy.isnan(wanted.astype(numpy.float64))), 0.0, error)
        scale = numpy.abs(wanted.astype(numpy.float64))
        wrong = ~(error <= case.absolute + case.relative * scale)
        relative = numpy.where(error == 0, 0.0, error / scale)
    places = numpy.argwhere(wrong)
    first = [{"index": [int(n) for n in place], "got": _number(found[tuple(place)]), "expected": _number(wanted[tuple(place)])} for place in places[:_SHOWN]]
    return {"argument": index, "elements": int(found.size), "mismatches": int(len(places)), "largest_absolute_error": _number(error.max(initial=0.0)),
            "largest_relative_error": _number(relative.max(initial=0.0)), "first": first}


def _number(value: Any) -> Union[int, float, str]:
    """A number that JSON has, else its name."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float) and not math.isfinite(plain):
        return str(plain)
    return plain if isinstance(plain, (int, float)) else str(plain)


