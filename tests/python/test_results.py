"""All JSON has the names and units of docs/results.schema.json."""

import json
from pathlib import Path

import pytest

import heddle

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "results.schema.json").read_text(encoding="utf-8"))


def check(value, schema, where="result"):
    """The part of JSON Schema that the file uses."""
    if "$ref" in schema:
        return check(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], where)
    for part in schema.get("allOf", []):
        check(value, part, where)
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    of = {"object": dict, "number": (int, float), "array": list, "null": type(None)}
    assert not kinds or any(isinstance(value, of[kind]) for kind in kinds), (where, value)
    if isinstance(value, (int, float)):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), (where, value)
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value), where
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                check(value[name], inner, where + "." + name)


def whole(answer, command, *names):
    check(answer, SCHEMA["$defs"]["result"])
    assert answer["command"] == command
    assert not [name for name in names if name not in answer]


def test_simulate_and_compare(tmp_path):
    runs = [heddle.simulate("mlp", heddle.device("h100-sxm", {"sm.count": count}), out=tmp_path / str(count)) for count in (132, 66)]
    for run in runs:
        whole(run.summary, "simulate", "time_us", "cycles", "coverage", "energy_j", "simulation", "modules")
        assert run.summary["time_us"] == run.summary["step_time_us"] == run.step_time_us
        assert sum(one["time_us"] for one in run.summary["modules"]) == pytest.approx(sum(run.ops["time_us"]))
    compared = heddle.compare(*runs)
    whole(compared, "compare", "simulation")
    assert compared["second"]["time_us"] == runs[1].summary["time_us"]
    assert compared["second"]["energy_j"] == pytest.approx(runs[1].summary["energy_j"])


def test_gemm():
    answer = heddle.gemm(256, 256, 256, "h100-sxm", type="bf16")
    whole(answer, "gemm", "time_us", "cycles", "coverage", "energy_j", "simulation")
    assert answer["time_us"] == pytest.approx(answer["seconds"] * 1e6)


def test_collective():
    whole(heddle.collective("all-reduce", "1MiB"), "collective", "time_us", "simulation")
