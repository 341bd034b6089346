#!/usr/bin/env python3
"""clang-tidy, with the checks of .clang-tidy, over the sources of rooms.

    scripts/tidy.py                            # every room
    scripts/tidy.py isa models/gpu -j 4        # some folders, four processes
    scripts/tidy.py --changed HEAD~1           # the sources that have changed since a revision

Needs a build (--build, default: build), because the compiler's list of what each source includes tells which sources must be read
again: one is read once, until it, a header of the project that it includes, its command or .clang-tidy changes. What was found is
kept in BUILD/tidy, so that an interrupted run goes on where it was. Prints findings; exit code 1 when there are any, 2 when
clang-tidy could not do its work.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["isa", "models", "workloads", "sim", "driver", "validation"]
FINDING = re.compile(r": (?:warning|error): ")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Failed(Exception):
    pass


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as error:
        raise Failed(f"{command[0]} is missing: apt-get install {command[0]}") from error
    except subprocess.CalledProcessError as error:
        raise Failed(error.stderr or f"{' '.join(command)}: exit code {error.returncode}") from error


def included(build):
    """Of each object file, the project's files that it was compiled from."""
    result, files = {}, None
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    "):
            path = os.path.realpath(build / line.strip())
            if path.startswith(f"{ROOT}/"):
                files.append(path)
        elif line:
            files = result[line.split(": #deps")[0]] = []
    return result


def one_by_one(entries):
    """The commands of single sources, also of those that are compiled several at a time (HEDDLE_UNITY)."""
    for entry in entries:
        if "/Unity/unity_" not in entry["file"]:
            yield entry
            continue
        for file in re.findall(r'#include "(.*)"', Path(entry["file"]).read_text()):
            yield {**entry, "file": file, "command": entry["command"].replace(entry["file"], file)}


def changed_since(revision):
    names = output_of("git", "-C", str(ROOT), "diff", "--name-only", "--diff-filter=d", revision, "--", "*.cpp").split()
    return {str(ROOT / name) for name in names}


class Reader:
    def __init__(self, build):
        self.build, self.stamps = build, build / "tidy"
        self.stamps.mkdir(exist_ok=True)
        self.common = (ROOT / ".clang-tidy").read_bytes() + output_of("clang-tidy", "--version").encode()
        self.includes = included(build)
        self.contents = {}
        # Rooms are folders of links in the build: a header's own path is what follows.
        self.here = re.compile(rf"^[^:]*/rooms/[^/]*/|{re.escape(str(ROOT))}/")

    def content(self, path):
        if path not in self.contents:
            self.contents[path] = hashlib.sha256(Path(path).read_bytes()).digest()
        return self.contents[path]

    def stamp(self, entry):
        target = entry["output"] if "output" in entry else re.search(r" -o (\S+)", entry["command"])[1]
        if target not in self.includes:
            raise Failed(f"{entry['file']} is not compiled yet: cmake --build {self.build}")
        key = hashlib.sha256(self.common + entry["command"].replace(str(ROOT), "").encode())
        others = {path for path in self.includes[target] if path.endswith(".cpp") and path != entry["file"]}  # of the same batch
        for path in sorted(set(self.includes[target]) - others):
            key.update(path.removeprefix(f"{ROOT}/").encode() + self.content(path))
        return self.stamps / key.hexdigest()[:32]

    def read(self, entry, stamp):
        # The command is g++'s: clang does not know all of its options, and what it warns of is no error here.
        run = subprocess.run(["clang-tidy", "-quiet", "-p", str(self.build / "tidy"), "--extra-arg=-Wno-unknown-warning-option",
                              "--extra-arg=-Wno-error", entry["file"]], capture_output=True, text=True)
        lines = {self.here.sub("", line) for line in COLOURS.sub("", run.stdout).splitlines() if FINDING.search(line)}
        if run.returncode != 0 and not lines:
            raise Failed(f"clang-tidy {entry['file']}: exit code {run.returncode}\n{run.stderr[-2000:]}")
        written = stamp.with_suffix(".new")
        written.write_text("\n".join(sorted(lines)))
        written.rename(stamp)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", nargs="*", default=ROOMS)
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--changed", metavar="REVISION", help="only sources that have changed since then")
    arguments.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = arguments.parse_args()
    build = options.build.resolve()
    if not (build / "compile_commands.json").exists():
        raise Failed(f"no {options.build}/compile_commands.json: cmake --preset release, and build")
    reader = Reader(build)
    # Sources that are compiled twice, for two sets of vector instructions, are read once: as they are compiled last, for the wider one.
    commands = {entry["file"]: entry for entry in one_by_one(json.loads((build / "compile_commands.json").read_text()))}
    (reader.stamps / "compile_commands.json").write_text(json.dumps(list(commands.values())))
    folders = [ROOT / folder for folder in options.folder]
    if options.changed:
        changed = changed_since(options.changed)
        if not changed & commands.keys():
            print(f"no source has changed since {options.changed}")
            return 0
        commands = {file: entry for file, entry in commands.items() if file in changed}
    stamps = {file: reader.stamp(entry) for file, entry in sorted(commands.items())
              if any(folder in Path(file).parents or folder == Path(file) for folder in folders)}
    if not stamps:
        raise Failed(f"no source that is compiled lies in {', '.join(options.folder)}")
    open_files = [file for file, stamp in stamps.items() if not stamp.exists()]

    started, shown = time.monotonic(), sys.stderr.isatty()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        runs = [workers.submit(reader.read, commands[file], stamps[file]) for file in open_files]
        try:
            for done, run in enumerate(concurrent.futures.as_completed(runs), 1):
                run.result()
                if shown:
                    left = (time.monotonic() - started) / done * (len(runs) - done)
                    print(f"\rread {done} of {len(runs)}, about {left / 60:.0f} min left ", end="", file=sys.stderr, flush=True)
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    if shown and runs:
        print(file=sys.stderr)
    found = sorted({line for stamp in stamps.values() for line in stamp.read_text().splitlines()})
    print("\n".join(found + [f"{len(stamps)} sources, {len(open_files)} of them read now, {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except Failed as failure:
        print(f"tidy: {failure}", file=sys.stderr)
        sys.exit(2)
