#!/usr/bin/env python3
"""Loads every kernel of the cubins in files, libraries and wheels, and says how many are understood and what refuses the others.

    load_kernels.py --load build/tests/isa/sass/load_kernels --architecture 80 [--every 10] FILE...

With --every N, every Nth image is looked at. Prints what tests/isa/sass/load_kernels.cpp prints.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import machine_code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", required=True, help="the program load_kernels of the build")
    parser.add_argument("--architecture", type=int, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths, number = [], 0
        for file in options.files:
            for cubin in machine_code.cubins_of(file):
                if machine_code.architecture_of(cubin) != options.architecture or cubin[16] == 1:  # 1: not linked, which no device loads
                    continue
                if number % options.every == 0:
                    paths.append(pathlib.Path(folder) / f"{number}.cubin")
                    paths[-1].write_bytes(cubin)
                number += 1
        print(f"sm_{options.architecture}: {len(paths)} of {number} images", flush=True)
        sys.exit(subprocess.run([options.load, *map(str, paths)], check=False).returncode if paths else 0)


if __name__ == "__main__":
    main()
