"""Explorations that are read while they run."""

import subprocess

import pytest

import heddle

SPACE = dict(vary={"sm.count": [66, 132]}, options={"widths": "64,128,10"}, batch=32, minimise="time,area")


def test_designs_are_yielded_once(tmp_path):
    designs = list(heddle.explore("mlp", "h100-sxm", out=tmp_path / "store", **SPACE))
    assert sorted(design["id"] for design in designs) == [0, 1, 2]
    assert all(design["status"] == "done" and set(design["objectives"]) == {"time", "area"} for design in designs)
    assert "sm.count=66" in designs[1]["settings"] or "sm.count=66" in designs[2]["settings"]
    shown = subprocess.run([heddle.command_path(), "explore", "show", str(tmp_path / "store")], capture_output=True, text=True, check=True)
    assert "sm.count" in shown.stdout


def test_closing_keeps_what_is_done_and_resume_goes_on(tmp_path):
    space = dict(SPACE, vary={"sm.count": [33, 66, 99, 132], "l2.size": ["25MiB", "50MiB"]}, jobs=1, out=tmp_path / "store")
    designs = heddle.explore("mlp", "h100-sxm", **space)
    first = next(designs)
    designs.close()
    assert first["id"] == 0
    again = list(heddle.explore("mlp", "h100-sxm", resume=True, **space))
    assert sorted(design["id"] for design in again) == list(range(9))


def test_a_wrong_key_is_an_exception(tmp_path):
    with pytest.raises(heddle.BadInput, match="sm.cuont"):
        list(heddle.explore("mlp", "h100-sxm", vary={"sm.cuont": [1, 2]}, out=tmp_path / "store"))
