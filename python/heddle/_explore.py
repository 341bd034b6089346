"""Which designs does an exploration find, as they finish?"""

from __future__ import annotations

import json
import os
import queue
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from ._command import PathText, Progress, Started, pairs, text_of, words_of
from ._device import Device, words_for

#: Seconds between two looks into the store.
_INTERVAL = 0.1


def _new_points(store: Path, seen: Set[Tuple[int, str]]) -> List[Dict[str, Any]]:
    """What the command has written since the last look. Each point is one transaction of the command, so none is half written."""
    if not store.exists():
        return []
    # A reader that waits for the writer, not the writer for it: nothing is read while the command commits.
    with_store = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5)
    try:
        rows = with_store.execute("SELECT id, fidelity, status, error, settings FROM points ORDER BY id, fidelity").fetchall()
        values = with_store.execute("SELECT id, fidelity, name, value FROM objectives").fetchall()
    except sqlite3.OperationalError:  # the tables are being made
        return []
    finally:
        with_store.close()
    found = []
    for number, fidelity, status, error, settings in rows:
        if (number, fidelity) in seen:
            continue
        seen.add((number, fidelity))
        found.append({"id": number, "fidelity": fidelity, "status": status, "error": error or "", "settings": json.loads(settings),
                      "objectives": {name: value for one, level, name, value in values if (one, level) == (number, fidelity)}})
    return found


def explore(workloads: "Union[str, Sequence[str]]", device: "Device | PathText", *, vary: Mapping[str, Any],
            link: Optional[Mapping[str, str]] = None, constraint: Sequence[str] = (), options: Optional[Mapping[str, Any]] = None,
            out: Optional[PathText] = None, progress: Progress = None, **flags: Any) -> Iterator[Dict[str, Any]]:
    """Yields designs as they finish: dicts of id (0 is the base device), fidelity, status (done, failed or infeasible), error, settings
    and objectives.

    ``vary={"sm.count": "66..264:33", "l2.size": ["25MiB", "50MiB"]}``, ``link={"hbm.bandwidth": "hbm.stacks * 670 GB/s"}``,
    ``constraint=["area.total <= 900 mm2"]``; other keyword arguments are options of ``heddle explore``: ``minimise="time,area"``,
    ``strategy="nsga2"``, ``points=200``, ``jobs=4``, ``resume=True``.

    ``out`` is the command's folder: what is explored here can be gone on with there, and the other way round. Without it nothing is
    kept. A generator that is closed before its end stops the command; with ``resume=True`` the next one begins with the designs that
    the store has. Raises HeddleError when the command fails.
    """
    held = None if out is not None else tempfile.mkdtemp(prefix="heddle-")
    folder = Path(out) if out is not None else Path(str(held)) / "exploration"
    names = [workloads] if isinstance(workloads, (str, os.PathLike)) else list(workloads)
    words = ["explore", *(os.fspath(name) for name in names), *words_for(device), *pairs("--vary", vary), *pairs("--link", link),
             *("--constraint=" + text_of(one) for one in constraint), *pairs("--option", options), *words_of(flags),
             "--out=" + os.fspath(folder), "--json"]
    seen: Set[Tuple[int, str]] = set()
    store = folder / "exploration.sqlite"
    command = Started(words, progress=progress)
    ended: "queue.Queue[Tuple[str, Optional[BaseException]]]" = queue.Queue()

    def wait() -> None:
        try:
            ended.put((command.finish(), None))
        except BaseException as failure:  # raised again where the caller is
            ended.put(("", failure))

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    try:
        while True:
            try:
                _, failure = ended.get(timeout=_INTERVAL)
            except queue.Empty:
                if command.process.poll() is None:
                    yield from _new_points(store, seen)
                continue
            if failure is not None:
                raise failure
            yield from _new_points(store, seen)
            return
    finally:
        if waiter.is_alive() and command.process.poll() is None:
            command.interrupt()
        waiter.join()
        if held is not None:
            shutil.rmtree(held, ignore_errors=True)
