#!/usr/bin/env python3
"""Writes docs/reference/python.md from the docstrings of the package heddle.

    PYTHONPATH=python scripts/python-reference.py > docs/reference/python.md
"""

import ast
import inspect
import re
import sys
from pathlib import Path

import heddle


def text_of(documented):
    """The docstring; lines of an example become code."""
    return re.sub(r"(?m)^\s*(?:>>>|\.\.\.) (.*)$", r"`\1`", (inspect.getdoc(documented) or "").strip())


def signature(name, function):
    try:
        text = str(inspect.signature(function))
        for _ in range(2):  # annotations are text, and some of them text within text
            text = re.sub(r"(: |-> )(['\"])(.*?)\2(?=[,)= ]|$)", r"\1\3", text)
        return name + text
    except (TypeError, ValueError):
        return name


def entry(name, documented, level):
    lines = ["#" * level + " `" + name.rsplit(".", 1)[-1] + "`", ""]
    if inspect.isclass(documented):
        lines += [text_of(documented), ""]
        for member, value in sorted(vars(documented).items()):
            if member.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
                continue
            if not text_of(value):
                continue
            shown = member if isinstance(value, property) else signature(member, value)
            lines += ["- `" + shown + "`: " + " ".join(text_of(value).split())]
        return "\n".join(lines).rstrip() + "\n"
    return "\n".join([*lines, "```python", signature(name, documented), "```", "", text_of(documented)]) + "\n"


def traced():
    """Of heddle.torch, read without importing PyTorch."""
    path = Path(__file__).parents[1] / "workloads" / "tracers" / "heddle_trace" / "fake.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name in ("fake", "trace", "trace_step"):
            yield "### `" + node.name + "`\n\n```python\n" + node.name + "(" + ast.unparse(node.args) + ")\n```\n\n" + ast.get_docstring(node) + "\n"


def main():
    pages = ["# The Python package, from its docstrings\n", "[python.md](../python.md) tells it by example. `scripts/python-reference.py` writes this page.\n",
             "## `heddle`\n"]
    pages += [entry(name, getattr(heddle, name), 3) for name in sorted(heddle.__all__, key=str.lower)]
    pages += ["## `heddle.torch`\n", *traced()]
    sys.stdout.write("\n".join(pages))


main()
