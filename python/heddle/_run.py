"""What did a simulation find, and how is one started?"""

from __future__ import annotations

import html
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._command import HeddleError, PathText, Progress, Started, pairs, run_json, text_of, words_of
from ._device import Device, words_for
from ._table import table


class Run:
    """The result of a simulation.

    ``summary`` is all that the command says about it, as in summary.json. ``folder`` is the folder that it wrote (report.html,
    timeline.json, stats.sqlite and more), or None where it writes none: steps on clusters and TPU programs. A folder that was not named
    by ``out`` goes with the Run.
    """

    def __init__(self, summary: Dict[str, Any], folder: Optional[Path], others: Sequence["Run"] = ()) -> None:
        self.summary = summary
        self.folder = folder
        #: Of a CUDA program that used several devices: the runs of the second and following.
        self.others = list(others)
        # The run whose end removes the folder of this one.
        self._keeper: Optional[Run] = None

    @property
    def step_time_us(self) -> float:
        """The time of the step in microseconds."""
        if "time_us" in self.summary:
            return float(self.summary["time_us"])
        raise AttributeError("this result has no time of a step; `summary` has all that it says")

    @property
    def step_time(self) -> float:
        """The time of the step in seconds."""
        return self.step_time_us * 1e-6

    @property
    def ops(self) -> Any:
        """The ops of the step as a table (a pandas.DataFrame where pandas is installed): name, kind, phase, count, time_us, measured_us,
        flops, bytes, bound_by, fidelity."""
        return table(self.summary.get("ops", []))

    @property
    def coverage(self) -> Dict[str, float]:
        """The shares of the time that were simulated cycle by cycle, estimated, and not understood."""
        return dict(self.summary.get("coverage", {}))

    def report(self) -> str:
        """Returns the report as one HTML page without anything outside it. Raises HeddleError where there is none."""
        if self.folder is None or not (self.folder / "report.html").exists():
            raise HeddleError("this run has no report")
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        if self.folder is None:
            return f"<pre>{html.escape(json.dumps(self.summary, indent=2))}</pre>"
        page, title = html.escape(self.report()), html.escape(repr(self))
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0" title="{title}"></iframe>'

    def __repr__(self) -> str:
        what = self.summary.get("workload", self.summary.get("model", "a program"))
        where = f"{what} on {self.summary.get('cluster', self.summary.get('hardware'))}"
        try:
            return f"<heddle.Run {where}: {self.step_time_us:.2f} us>"
        except AttributeError:
            return f"<heddle.Run {where}>"


def _objects(text: str) -> List[Dict[str, Any]]:
    """The JSON objects that follow one another in a text."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        one, at = decoder.raw_decode(text, at)
        found.append(one)
    return found


def _run_into_folder(words: Sequence[str], out: Optional[PathText], progress: Progress, inherit_stdout: bool = False) -> Run:
    held: Optional[str] = None
    if out is None:
        held = tempfile.mkdtemp(prefix="heddle-")
        folder = Path(held) / "run"
    else:
        folder = Path(out)
    try:
        at_end = list(words).index("--") if "--" in words else len(words)
        given = [*words[:at_end], "--out=" + os.fspath(folder), *([] if inherit_stdout else ["--json"]), *words[at_end:]]
        printed = Started(given, progress=progress, inherit_stdout=inherit_stdout).finish()
        runs: List[Run] = []
        for number, answer in enumerate(_objects(printed) or [{}]):
            own = folder if number == 0 else Path(f"{folder}-{number + 1}")
            # Recorded kernels print entries; the summary of the folder has the same names for all kinds of run.
            if (own / "summary.json").exists():
                answer = json.loads((own / "summary.json").read_text(encoding="utf-8"))
            runs.append(Run(answer, own if own.is_dir() else None))
    except BaseException:
        if held is not None:
            shutil.rmtree(held, ignore_errors=True)
        raise
    first = runs[0]
    first.others = runs[1:]
    if held is not None:
        for run in runs[1:]:
            run._keeper = first
        weakref.finalize(first, shutil.rmtree, held, True)
    return first


def simulate(workload: PathText, device: "Optional[Device | PathText]" = None, *, options: Optional[Mapping[str, Any]] = None,
             out: Optional[PathText] = None, cluster: Optional[PathText] = None, progress: Progress = None, **flags: Any) -> Run:
    """Simulates a training step, recorded kernels, a recorded CUDA program (.hrun) or a TPU program.

    ``workload`` is what ``heddle simulate`` takes: a model's name, a file of layers, a trace file, XLA's text. ``options`` are those of
    the model (``--option KEY=VALUE``). Other keyword arguments are options of the command: ``batch=8``, ``sequence=1024``,
    ``sample=True``, ``numerics=True``, ``tensor=8`` with ``cluster="dgx-h100"``. ``out`` names a folder to keep. ``progress`` is True,
    False, a function that is called with a line of text, or None: shown on a terminal and in a notebook.

    Raises BadInput, DoesNotFit, LimitReached, ComparisonFailed (with ``numerics``), and KeyboardInterrupt with the cache of kernels kept.
    """
    words = ["simulate", os.fspath(workload), *words_for(device), *pairs("--option", options), *words_of(flags)]
    if cluster is not None or os.fspath(workload).endswith(".tpu"):
        if out is not None:
            raise HeddleError("steps on clusters and TPU programs write no folder; leave `out` out", key="out")
        if cluster is not None:
            words.append("--cluster=" + os.fspath(cluster))
        return Run(run_json(*words, progress=progress), None)
    return _run_into_folder(words, out, progress)


def run(command: Sequence[PathText], device: "Device | PathText", *, out: Optional[PathText] = None, progress: Progress = None,
        **flags: Any) -> Run:
    """Runs a CUDA program, unchanged, on a virtual GPU, and returns its times: ``run(["./saxpy", "1000"], "h100-sxm")``. The program's
    stdout is this process's. Raises HeddleError when it used no device. Other keyword
    arguments are options of ``heddle run``: ``save="program.hrun"``."""
    words = ["run", *words_for(device), *words_of(flags), "--", *(os.fspath(word) for word in command)]
    result = _run_into_folder(words, out, progress, inherit_stdout=True)
    if not result.summary:
        raise HeddleError(f"{os.fspath(command[0])} used no device")
    return result


def compare(first: "Run | PathText", second: "Run | PathText") -> Dict[str, Any]:
    """Returns why two runs differ: the difference of the kernels' times, divided exactly. Takes runs, or the folders of runs."""

    def folder_of(one: "Run | PathText") -> str:
        if not isinstance(one, Run):
            return os.fspath(one)
        if one.folder is None:
            raise HeddleError("a run without a folder cannot be compared")
        return str(one.folder)

    answer: Dict[str, Any] = run_json("compare", folder_of(first), folder_of(second))
    return answer


def gemm(m: int, n: int, k: int, device: "Device | PathText", *, progress: Progress = None, **flags: Any) -> Dict[str, Any]:
    """Returns how long one matrix product takes (``seconds`` and more), with the kernel that a library would choose. Keyword arguments
    are options of ``heddle gemm``: ``type="bf16"``, ``layout="nt"``, ``autotune=8``."""
    answer: Dict[str, Any] = run_json("gemm", str(m), str(n), str(k), *words_for(device), *words_of(flags), progress=progress)
    return answer


def collective(kind: str, size: "int | str", *, cluster: PathText = "dgx-h100", changes: Optional[Mapping[str, Any]] = None,
               progress: Progress = None, **flags: Any) -> Dict[str, Any]:
    """Returns how long a collective takes on a cluster: ``collective("all-reduce", "64MiB", cluster="dgx-h100")``. ``size`` is in bytes.
    ``changes`` are those of the cluster, other keyword arguments options of ``heddle collective``."""
    bytes_text = f"{size}B" if isinstance(size, int) else size
    answer: Dict[str, Any] = run_json("collective", kind, bytes_text, "--cluster=" + os.fspath(cluster), *pairs("--set", changes),
                                      *words_of(flags), progress=progress)
    return answer


def learn(model: PathText, data: PathText, device: "Optional[Device | PathText]" = None, *, ways: Sequence[str] = (),
          options: Optional[Mapping[str, Any]] = None, progress: Progress = None, **flags: Any) -> Dict[str, Any]:
    """Trains a small model on several devices with real values, and returns what they learn and how fast. ``ways`` are all-reduce,
    parameter-server, asynchronous, local-sgd (none: all). Keyword arguments are options of ``heddle learn``: ``workers=4``."""
    if isinstance(device, Device) and device.changes:
        raise HeddleError("`heddle learn` takes a hardware file, not changes to one", key="device")
    answer: Dict[str, Any] = run_json("learn", os.fspath(model), "--data=" + os.fspath(data), *words_for(device),
                                      *("--way=" + text_of(way) for way in ways), *pairs("--option", options), *words_of(flags),
                                      progress=progress)
    return answer
