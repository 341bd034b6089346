#!/usr/bin/env python3
"""How much must be compiled before the first simulation: the program `heddle` by room, and whether it has grown.

    scripts/first-build.py [BUILD]            prints a table of the rooms (BUILD: a build folder, default build)
    scripts/first-build.py [BUILD] --check    fails when the program reads over 10 % more than scripts/first-build.txt says
    scripts/first-build.py [BUILD] --write    renews that file, after a change that is worth it

What a compiler reads is counted, since it depends on no machine: the bytes of every source file and header of each unit of
compilation, as ninja has noted them. A kilobyte takes about as long as another: most of the time goes into headers.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = os.path.join(ROOT, "scripts", "first-build.txt")
GROWTH = 0.10


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", build, "-t", *words], check=True, capture_output=True, text=True).stdout


def units(build):
    """Of each object of `heddle`: its name and the bytes that its compiler reads."""
    needed = set(ninja(build, "inputs", "heddle").split("\n"))
    sizes = {}
    target = None
    for line in ninja(build, "deps").split("\n"):
        if not line.startswith(" "):
            target = line.split(":")[0]
            continue
        if target not in needed:
            continue
        path = os.path.join(build, line.strip())
        if path not in sizes:
            sizes[path] = os.path.getsize(path) if os.path.exists(path) else 0
        yield target, sizes[path]


def by_room(build):
    total, count = collections.Counter(), collections.defaultdict(set)
    for target, size in units(build):
        room = re.sub(r"/?CMakeFiles/.*", "", target)
        total[room] += size
        count[room].add(target)
    return {room: (len(count[room]), size) for room, size in total.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rooms = by_room(arguments.build)
    if not rooms:
        sys.exit(f"{arguments.build} holds no build of heddle: ./heddle --version makes one")
    total = sum(size for _, size in rooms.values())
    megabytes = total / 1e6
    if arguments.write:
        with open(RECORD, "w") as record:
            record.write(f"{megabytes:.0f} MB are read by the compiler for heddle\n")
    if arguments.check:
        recorded = float(open(RECORD).read().split()[0])
        grown = megabytes / recorded - 1
        print(f"heddle: the compiler reads {megabytes:.0f} MB, recorded {recorded:.0f} MB ({100 * grown:+.1f} %)")
        if grown > GROWTH:
            sys.exit("the first build has grown by more than 10 %: find the room with scripts/first-build.py and take a header out, or, "
                     "where it is worth it, renew the record with --write")
        return
    print(f"{'room':36} {'units':>6} {'MB read':>9}")
    for room, (count, size) in sorted(rooms.items(), key=lambda row: -row[1][1]):
        print(f"{room:36} {count:6} {size / 1e6:9.1f}")
    print(f"{'all':36} {sum(count for count, _ in rooms.values()):6} {megabytes:9.1f}")


if __name__ == "__main__":
    main()
