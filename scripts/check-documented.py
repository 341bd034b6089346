#!/usr/bin/env python3
"""Runs the commands that pages show with their output, and says where the output is another one now.

    scripts/check-documented.py README.md docs/tutorial.md            # exit code 1 when something differs
    scripts/check-documented.py --write README.md docs/tutorial.md    # puts what was printed into the pages

    scripts/check-documented.py --beside MATLAB-tensor-core=DIR README.md      # what a page asks the reader to fetch first

A command is a line `$ ...` of a code block; what follows, up to the next command or the end of the block, is its output, with
`...` for lines that are left out. Commands run in a folder of their own that shows the source tree. How long something took on
this machine, with how many workers, may differ; columns may have other widths.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What depends on the machine and not on what is simulated.
HOST = [
    (re.compile(r"in [\d.]+ m?s with \d+ workers?, [\d.]+ m?s of processor time"), "in TIME with WORKERS"),
    (re.compile(r"with \d+ workers?"), "with WORKERS"),
]


def normal(line):
    for pattern, text in HOST:
        line = pattern.sub(text, line)
    return " ".join(line.split())


def without_numbers(line):
    return re.sub(r"[\d.,]+", "#", normal(line))


class Shown:
    """A command of a page and the lines that follow it."""

    def __init__(self, first, command):
        self.first, self.command, self.lines = first, command, []

    def segments(self):
        """Runs of lines without one of `...` between them, each with the number of its first line."""
        run, start = [], self.first
        for number, line in enumerate(self.lines, self.first):
            if line.strip() == "...":
                yield start, run
                run, start = [], number + 1
            else:
                run.append(line)
        yield start, run


def commands_of(lines):
    shown, block = [], False
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if line.startswith("```"):
            block = not block
        elif block and line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + lines[i].strip()
                i += 1
            shown.append(Shown(i, command))
        elif block and shown and shown[-1].first + len(shown[-1].lines) == i - 1:
            shown[-1].lines.append(line)
    for command in shown:
        while command.lines and not command.lines[-1].strip():
            command.lines.pop()
    return shown


def place_of(wanted, printed, start):
    """Where a line was printed, from `start` on: the same, or else the same but for numbers, or else the nearest."""
    for alike in (normal, without_numbers):
        for i in range(start, len(printed)):
            if alike(printed[i]) == alike(wanted):
                return i
    names = [without_numbers(line) for line in printed[start:]]
    near = difflib.get_close_matches(without_numbers(wanted), names, 1, 0.6)
    return start + names.index(near[0]) if near else None


def differences(command, printed):
    """Of the lines that are shown: (number of the line in the page, the line, what was printed or None)."""
    start = 0
    for number, lines in command.segments():
        for line in lines:
            place = place_of(line, printed, start)
            if place is None:
                yield number, line, None
            else:
                if normal(printed[place]) != normal(line):
                    yield number, line, printed[place].rstrip()
                start = place + 1
            number += 1


def run(command, folder):
    path = f"{ROOT}:{os.environ['PATH']}"
    environment = dict(os.environ, TERM="dumb", PATH=path)
    environment.pop("COLUMNS", None)  # lines that are not folded
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def absent(command, folder):
    """Recordings that `heddle validate` reads by --data and are not here; None when all are."""
    named = re.search(r"heddle validate .*--data (\S+)", command)
    return named[1] if named and not (Path(folder) / named[1]).exists() else None


def check(page, folder, write):
    lines = page.read_text().splitlines()
    wrong = 0
    for command in commands_of(lines):
        missing = absent(command.command, folder)
        if missing:
            print(f"left out, without {missing}: {command.command}")
            continue
        code, printed, said = run(command.command, folder)
        found = list(differences(command, printed))
        print(f"{'differs' if found or code else 'as shown'}: {command.command}")
        if code:
            wrong += 1
            print(f"    exit code {code}: {said.strip()}")
            continue
        wrong += len(found)
        for number, line, now in found:
            print(f"    {page.name}:{number + 1}: {line}")
            print(f"    {'printed' if now is not None else 'no such line was printed'}: {now or ''}")
            if now is not None:
                lines[number] = now
    if write:
        aside = page.with_name(page.name + ".new")
        aside.write_text("\n".join(lines) + "\n")
        aside.replace(page)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put what was printed into the pages")
    parser.add_argument("--beside", metavar="NAME=DIR", action="append", default=[], help="a folder that commands name")
    parser.add_argument("pages", nargs="+", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for entry in ROOT.iterdir():
            # Not what runs left there: it would be in the way of new ones.
            if not entry.name.startswith((".", "build", "heddle-")):
                os.symlink(entry, Path(folder) / entry.name)
        for named in arguments.beside:
            name, _, place = named.partition("=")
            os.symlink(Path(place).resolve(), Path(folder) / name)
        wrong = sum(check(page.resolve(), folder, arguments.write) for page in arguments.pages)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
