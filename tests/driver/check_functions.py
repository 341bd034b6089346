#!/usr/bin/env python3
"""Holds the lists of functions of driver/ against the headers of a CUDA toolkit, and counts what is there.

check_functions.py INCLUDE_FOLDER DRIVER_FOLDER LIBRARY_FOLDER

Every function that the headers declare, in all its versions and with per-thread default streams, must be named in the functions.txt of its library, and
exported by it: strong where it is implemented, weak where it returns an error that says so. Headers that are not installed are left out.
"""
import pathlib
import re
import subprocess
import sys


def declared(include, headers, function, per_thread):
    """Names that the headers declare, and those that they turn them into."""
    names = set()
    for header in headers:
        path = include / header
        if not path.exists():
            continue
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(errors="replace"), flags=re.S)
        names |= set(re.findall(function, text))
        names |= {new for _, new in re.findall(r"#\s*define\s+(cu\w+|nvml\w+)\s+((?:cu|nvml)\w+_v\d+)\s*\n", text)}
        names |= {name + "_" + suffix.lower() for suffix, name in re.findall(per_thread, text)} if per_thread else set()
    return names


def main():
    include, driver, libraries = map(pathlib.Path, sys.argv[1:4])
    interfaces = [
        ("libcuda.so.1", ["cuda/functions.txt"], ["cuda.h", "cudaProfiler.h"], r"CUresult\s+CUDAAPI\s+(cu\w+)\s*\(", r"__CUDA_API_(PTDS|PTSZ)\((cu\w+)\)"),
        ("libcudart.so.13", ["cudart/functions.txt"], ["cuda_runtime_api.h", "cuda_profiler_api.h"],
         r"CUDARTAPI\s+(?:CUDARTAPI_CDECL\s+)?(cuda\w+)\s*\(", r"__CUDART_API_(PTDS|PTSZ)\((cuda\w+)\)"),
        ("libcudart.so.12", ["cudart/functions.txt", "cudart/functions_12.txt"], [], "", ""),
        ("libnvidia-ml.so.1", ["nvml/functions.txt"], ["nvml.h"], r"DECLDIR\s+(nvml\w+)\s*\(", ""),
    ]
    wrong = False
    for library, lists, headers, function, per_thread in interfaces:
        listed = {line for name in lists for line in (driver / name).read_text().split() if re.match(r"cu|nvml", line)}
        for name in sorted(declared(include, headers, function, per_thread) - listed):
            print(f"{library}: the headers declare {name}, and {lists[0]} does not name it")
            wrong = True
        symbols = subprocess.run(["nm", "-D", "--defined-only", libraries / library], check=True, capture_output=True, text=True).stdout
        kinds = {line.split()[2].split("@")[0]: line.split()[1] for line in symbols.splitlines() if len(line.split()) == 3}
        for name in sorted(listed - set(kinds)):
            print(f"{library} does not export {name}")
            wrong = True
        there = sum(kinds.get(name, "W") != "W" for name in listed)
        print(f"{library}: {there} of {len(listed)} functions are there")
        if there < len(listed) // 10:
            print(f"{library}: so few cannot be right")
            wrong = True
    sys.exit(wrong)


main()
