#!/usr/bin/env python3
"""Do two builds of Heddle give the same results? For changes of structure, which may change none.

    scripts/compare-results.py BEFORE AFTER [--cases WORD] [--data DIR]

BEFORE and AFTER are programs (build/sim/cli/heddle of two trees). Each case is run by both, with a cache of its own, and what they write is
compared byte for byte, but for what says how long the host took, where files lie, and which version wrote them. Exit code 1 when
something differs. --data names a folder with recordings of others (docs/validation.md); cases that need it are named and left out without it.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

# What depends on the host: seconds of the run, workers and which of them was first to search a tiling, folders.
HOST = re.compile(rb'"(wall_s|processor_s|workers|heddle|folder|tilings_searched)": [^,\n]*|in [0-9.]+ (m?s|min) (with|on) .*|[0-9]+ tilings searched|'
                  rb'written to .*')

DEVICES = ["h100-sxm", "a100-sxm", "tpu-v5e"]
# Models of the zoo at sizes that take seconds each; what fits is simulated in full.
MODELS = [["mlp"], ["lstm", "--batch", "8"], ["gpt2-small", "--batch", "1", "--sequence", "64"], ["bert-base", "--batch", "1", "--sequence", "64"],
          ["resnet18", "--batch", "1"], ["vit-b16", "--batch", "1"]]


def cases(data):
    """Of each: its name, the words of the command, and whether it writes a folder of results."""
    for device in DEVICES:
        for model in MODELS:
            sampled = [] if device.startswith("tpu") or model[0] == "mlp" else ["--sample"]
            yield f"simulate {model[0]} {device}", ["simulate", *model, "--hardware", device, *sampled], True
        yield f"describe {device}", ["hardware", "describe", device], False
        yield f"area {device}", ["hardware", "area", device], False
    for size in [["512", "512", "512"], ["4096", "1000", "128"], ["64", "8192", "8192"]]:
        for device in DEVICES:
            yield f"gemm {' '.join(size)} {device}", ["gemm", *size, "--hardware", device, "--json"], False
    yield "explore", ["explore", "mlp", "--hardware", "h100-sxm", "--vary", "sm.count=66,132", "--json"], False
    yield "timing", ["validate", "timing", "--json"], False
    yield "tpu", ["validate", "tpu", "--json"], False
    here = lambda *path: os.path.join(data, *path) if data else "/nowhere"
    yield "recorded GPT step", ["simulate", here("traces", "chakra", "gpt_12layer_h100_bf16.tar.gz"), "--hardware", "h100-sxm", "--sample"], True
    for kernels in ("vectoradd_sm80", os.path.join("nn_onestep", "traces")):
        yield f"machine code {kernels}", ["simulate", here("traces", "accelsim", kernels, "kernelslist.g"), "--hardware", "a100-sxm"], True
    yield "tensor cores", ["validate", "numerics", "--data", here("tensor_core", "khattak_mikaitis"), "--json"], False


def outputs(program, words, has_folder, folder):
    """Everything that the command printed and wrote, by name."""
    environment = dict(os.environ, HEDDLE_CACHE=os.path.join(folder, "cache"), HEDDLE_PROGRESS="off")
    results = os.path.join(folder, "results")
    if has_folder:
        words = [*words, "--out", results]
    run = subprocess.run([program, *words], capture_output=True, cwd=folder, env=environment)
    texts = {"exit code": str(run.returncode).encode(), "printed": run.stdout}
    if run.returncode not in (0, 1, 4):
        texts["said"] = run.stderr
    for name in ("summary.json", "kernels.csv"):
        path = os.path.join(results, name)
        if os.path.exists(path):
            texts[name] = open(path, "rb").read()
    return {name: HOST.sub(b"", text.replace(folder.encode(), b"")) for name, text in texts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--cases", default="", help="only those whose name contains this")
    parser.add_argument("--data", help="a folder with recordings of others")
    arguments = parser.parse_args()
    programs = [os.path.abspath(program) for program in (arguments.before, arguments.after)]
    different = compared = 0
    for name, words, has_folder in cases(arguments.data):
        if arguments.cases not in name:
            continue
        if any(word.startswith("/") and not os.path.exists(word) for word in words):
            print(f"left out   {name}: needs --data", flush=True)
            continue
        found = []
        for program in programs:
            with tempfile.TemporaryDirectory() as folder:
                found.append(outputs(program, words, has_folder, folder))
        compared += 1
        if found[0] == found[1]:
            print(f"identical  {name} ({sum(map(len, found[0].values()))} bytes)", flush=True)
            continue
        different += 1
        print(f"DIFFERENT  {name}", flush=True)
        for part in sorted(set(found[0]) | set(found[1])):
            before, after = (texts.get(part, b"").decode(errors="replace").split("\n") for texts in found)
            for line in list(difflib.unified_diff(before, after, part, part, lineterm="", n=0))[:12]:
                print("    " + line[:200])
    print(f"{compared - different} of {compared} cases are identical")
    sys.exit(1 if different or not compared else 0)


if __name__ == "__main__":
    main()
