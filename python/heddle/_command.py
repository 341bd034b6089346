"""How is a command of Heddle run, and what becomes of its errors?"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

PathText = Union[str, "os.PathLike[str]"]
Progress = Union[bool, None, Callable[[str], None]]

#: How a line of progress begins: "15 %", "117/500 points", "0:01 so far" (sim/cli/progress.h).
_PROGRESS_LINE = re.compile(r"\s*(\d+ %|\d+/\d+ |[\d:]+ so far)")
#: Where a wheel has the programs.
_INSTALLED = Path(__file__).parent / "_installed"
#: Seconds that an interrupted command has to keep what it has done.
_GRACE = 10.0


class HeddleError(Exception):
    """A command failed.

    ``problem`` says what is wrong, ``file``, ``line`` and ``key`` say where (empty, or 0, where that is not known), and ``remedy`` says
    how to mend it. ``exit_code`` is the command's. ``answer`` is what it printed all the same, decoded from JSON, or None.
    """

    def __init__(self, message: str, *, problem: str = "", file: str = "", line: int = 0, key: str = "", remedy: str = "",
                 exit_code: int = 0, answer: Any = None) -> None:
        super().__init__(message)
        self.problem = problem or message
        self.file = file
        self.line = line
        self.key = key
        self.remedy = remedy
        self.exit_code = exit_code
        self.answer = answer


class BadInput(HeddleError, ValueError):
    """An argument, a hardware file, a model or a trace is wrong."""


class ComparisonFailed(HeddleError):
    """The comparison that was asked for did not hold. ``answer`` has the result."""


class DoesNotFit(HeddleError, MemoryError):
    """The step does not fit the device's memory. ``answer`` says what takes it."""


class LimitReached(HeddleError, TimeoutError):
    """``max_cycles`` or ``max_seconds`` was reached."""


class InternalError(HeddleError):
    """The command itself failed."""


_KINDS = {1: ComparisonFailed, 2: BadInput, 4: DoesNotFit, 5: LimitReached}


def command_path() -> str:
    """Returns the path of the ``heddle`` program: $HEDDLE_COMMAND, the one that came with this package, or the first in $PATH."""
    named = os.environ.get("HEDDLE_COMMAND")
    if named:
        return named
    own = _INSTALLED / "bin" / "heddle"
    if own.exists():
        return str(own)
    found = shutil.which("heddle")
    if found is None:
        raise HeddleError("the program `heddle` was not found; put its folder into PATH, or its path into HEDDLE_COMMAND")
    return found


def text_of(value: Any) -> str:
    """Returns a value as the command line writes it: True is ``true``, a list is joined by commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(one) for one in value)
    return str(value)


def words_of(flags: Mapping[str, Any]) -> List[str]:
    """Returns keyword arguments as options of a command: ``micro_batch=4`` is ``--micro-batch=4``, ``sample=True`` is ``--sample``.
    False and None leave an option out."""
    words: List[str] = []
    for name, value in flags.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        words.append(option if value is True else option + "=" + text_of(value))
    return words


def pairs(option: str, values: Optional[Mapping[str, Any]]) -> List[str]:
    """Returns ``{"sm.count": 144}`` as ``--set sm.count=144``, one option for each key."""
    return [option + "=" + key + "=" + text_of(value) for key, value in (values or {}).items()]


def shows_progress(progress: Progress) -> Progress:
    """None means: where a person looks on, which is a terminal or a notebook."""
    if progress is not None:
        return progress
    return "ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty()


class _Line:
    """One line on stderr that is written over."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def end(self) -> None:
        if self._width:
            self("")
            sys.stderr.write("\r")
            sys.stderr.flush()


def command_environment() -> Dict[str, str]:
    """Returns the environment of a command: errors as JSON, no colour, and the wheel's files."""
    environment = dict(os.environ, HEDDLE_ERRORS="json", NO_COLOR="1")
    # The programs in libexec of a wheel look for no files beside the package.
    for name, kind in (("HEDDLE_HARDWARE_PATH", "hardware"), ("HEDDLE_CLUSTER_PATH", "clusters")):
        own = _INSTALLED / "share" / "heddle" / kind
        if own.is_dir():
            environment[name] = ":".join(filter(None, [environment.get(name), str(own)]))
    return environment


class Started:
    """A command that runs. ``finish`` waits for it."""

    def __init__(self, words: Sequence[str], *, progress: Progress = None, inherit_stdout: bool = False) -> None:
        shown = shows_progress(progress)
        self._line = _Line() if shown is True else None
        self._progress: Optional[Callable[[str], None]] = shown if callable(shown) else self._line
        environment = dict(command_environment(), HEDDLE_PROGRESS="0.5" if self._progress else "off")
        self._output = tempfile.TemporaryFile()
        # In a session of its own: Ctrl-C reaches it once, from here, whoever else the terminal tells.
        try:
            self.process = subprocess.Popen(
                [command_path(), *words], stdin=subprocess.DEVNULL, stdout=None if inherit_stdout else self._output,
                stderr=subprocess.PIPE, env=environment, start_new_session=True)
        except OSError as failure:
            self._output.close()
            raise HeddleError(f"cannot run {command_path()}: {failure.strerror}") from failure

    def interrupt(self) -> None:
        """Sends Ctrl-C to the command and, when it does not end, kills it. `finish`, in another thread, returns then."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Ends the command as Ctrl-C does: kernels and designs that are done are kept."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.communicate(timeout=_GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.communicate()
        self._close()

    def _close(self) -> None:
        if self._line is not None:
            self._line.end()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self._output.close()

    def errors(self) -> Iterator[str]:
        """Yields the command's errors as they come. Its progress is shown, and what else it and its programs say on stderr is said on."""
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            text = raw.decode("utf-8", "replace").rstrip("\n")
            if text.startswith(("heddle: ", '{"error":')):
                yield text
            elif self._progress is not None and _PROGRESS_LINE.match(text):
                self._progress(text.strip())
            else:
                print(text, file=sys.stderr)

    def finish(self) -> str:
        """Waits for the command and returns what it printed. Raises what `failure_of` makes of its error, and KeyboardInterrupt after
        the command has been stopped."""
        try:
            said = list(self.errors())
            code = self.process.wait()
            self._output.seek(0)
            printed = self._output.read().decode("utf-8", "replace")
        except BaseException:
            self.stop()
            raise
        self._close()
        if code != 0:
            raise failure_of(code, said, printed)
        return printed


def failure_of(code: int, said: Sequence[str], printed: str) -> BaseException:
    """Returns the exception for a command that ended with `code`; `said` is its stderr."""
    if code in (130, -signal.SIGINT):
        return KeyboardInterrupt()
    try:
        answer = json.loads(printed)
    except ValueError:
        answer = None
    kind = _KINDS.get(code, InternalError)
    for line in reversed(said):
        if line.startswith('{"error":'):
            parts: Dict[str, Any] = json.loads(line)["error"]
            return kind(parts.pop("message"), exit_code=code, answer=answer, **parts)
    if code < 0:
        return kind(f"the command was ended by signal {-code}", exit_code=code, answer=answer)
    lines = [line[len("heddle: "):] if line.startswith("heddle: ") else line for line in said if line]
    return kind(lines[-1] if lines else f"the command ended with exit code {code}", exit_code=code, answer=answer)


def run_text(*words: str, progress: Progress = False) -> str:
    """Runs a command and returns what it printed. Raises HeddleError."""
    return Started(words, progress=progress).finish()


def run_json(*words: str, progress: Progress = False) -> Any:
    """Runs a command with ``--json`` and returns its answer. Raises HeddleError."""
    text = run_text(*words, "--json", progress=progress)
    return json.JSONDecoder().raw_decode(text.lstrip())[0]
