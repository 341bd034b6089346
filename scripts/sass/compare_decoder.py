#!/usr/bin/env python3
"""Decodes every instruction of cubins, fat binaries, programs and wheels and compares each with nvdisasm.

    compare_decoder.py --nvdisasm PATH --compare build/tests/isa/sass/compare_decoded FILE...

A word that occurs often is compared once: its text depends on nothing else. Prints, for each architecture, how many
instructions there were, how many words, and what differs; ends with 1 when something does.
"""
import argparse
import collections
import pickle
import subprocess
import sys
import tempfile

import machine_code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--compare", required=True, help="the program compare_decoded of the build")
    parser.add_argument("--architectures", default="75,80,86,89,90,100,120")
    parser.add_argument("--misses", help="writes the words that differ to MISSES<architecture>.pkl, for the learner")
    parser.add_argument("--limit", type=int, default=0, help="at most so many instructions of each architecture")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    wanted = {int(a) for a in options.architectures.split(",")}
    instructions, words = collections.Counter(), collections.defaultdict(set)
    for file in options.files:
        for cubin in machine_code.cubins_of(file):
            architecture = machine_code.architecture_of(cubin)
            if architecture not in wanted or (options.limit and instructions[architecture] >= options.limit):
                continue
            for word in machine_code.code_of(cubin):
                instructions[architecture] += 1
                words[architecture].add(word & machine_code.TEXT_BITS)
    failures = 0
    for architecture in sorted(words):
        mine = sorted(words[architecture])
        texts = machine_code.disassemble(mine, architecture, options.nvdisasm)
        with tempfile.NamedTemporaryFile() as binary, tempfile.NamedTemporaryFile("w") as lines:
            binary.write(b"".join(word.to_bytes(16, "little") for word in mine))
            binary.flush()
            lines.write("".join((text or "") + "\n" for text in texts))
            lines.flush()
            run = subprocess.run([options.compare, str(architecture), binary.name, lines.name], capture_output=True, text=True, check=False)
        print(f"sm_{architecture}: {instructions[architecture]} instructions; {run.stderr.strip()}")
        misses = run.stdout.splitlines()
        print("\n".join(misses[:20]), flush=True)
        failures += len(misses)
        if options.misses:
            with open(f"{options.misses}{architecture}.pkl", "wb") as out:
                pickle.dump([int(line.split()[1], 16) for line in misses], out)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
