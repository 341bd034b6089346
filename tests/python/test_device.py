"""Devices, exceptions and what a call costs."""

import os
import subprocess
import time

import pytest

import heddle


def test_a_change_is_in_the_description():
    gpu = heddle.device("h100-sxm", {"sm.count": 100})
    assert gpu["sm.count"] == "100" and heddle.device("h100-sxm")["sm.count"] == "132"
    assert (gpu.name, gpu.kind) == ("h100-sxm", "gpu")
    rows = gpu.describe()
    assert "100" in list(rows["value"]) and "sm.count" in list(rows["path"])


def test_set_returns_another_device():
    gpu = heddle.device("h100-sxm", {"sm.count": 100})
    other = gpu.set({"l2.size": "25 MiB"})
    assert (other["sm.count"], other["l2.size"], gpu["l2.size"]) == ("100", "25 MiB", "50 MiB")
    assert gpu != other and gpu == heddle.device("h100-sxm", {"sm.count": 100})


def test_area_follows_the_changes():
    gpu = heddle.device("h100-sxm")
    assert gpu.set({"l2.size": "100 MiB"}).area()["total_mm2"] > gpu.area()["total_mm2"] + 1


def test_devices_are_those_of_the_command():
    listed = subprocess.run([heddle.command_path(), "hardware", "list"], capture_output=True, text=True, check=True).stdout
    names = list(heddle.devices()["name"])
    assert {"h100-sxm", "tpu-v5e"} <= set(names) and all(name in listed for name in names)


def test_an_error_has_key_and_remedy():
    with pytest.raises(heddle.BadInput) as raised:
        heddle.device("h100-sxm", {"sm.cuont": 3})
    assert isinstance(raised.value, ValueError) and raised.value.exit_code == 2
    assert "sm.cuont" in raised.value.key + raised.value.problem and "sm.count" in raised.value.remedy


def test_an_error_has_file_and_line(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("kind: gpu\nname: mine\n\tbroken\n")
    with pytest.raises(heddle.BadInput) as raised:
        heddle.device(file)
    assert raised.value.file == str(file) and raised.value.line == 3


def test_a_missing_program_is_an_exception(monkeypatch):
    monkeypatch.setenv("HEDDLE_COMMAND", "/nowhere/heddle")
    with pytest.raises(heddle.HeddleError, match="/nowhere/heddle"):
        heddle.devices()


def test_a_table_without_pandas():
    rows = heddle.Table([{"name": "a<b", "time_us": 2.0}, {"name": "c", "time_us": None}, {"name": "d", "time_us": 1.0}])
    assert rows.sort_values("time_us")["name"] == ["d", "a<b", "c"]
    assert rows.sort_values("time_us", ascending=False)["name"] == ["a<b", "d", "c"]
    assert "a&lt;b" in rows._repr_html_() and len(rows) == 3 and rows[2]["name"] == "d"


def test_a_call_adds_less_than_five_milliseconds_of_processor_time():
    words = [heddle.command_path(), "hardware", "describe", "h100-sxm", "--json"]
    environment = dict(os.environ, HEDDLE_PROGRESS="off")

    def own_time(call):
        before = time.process_time()  # not that of children
        for _ in range(20):
            call()
        return (time.process_time() - before) / 20

    subprocess.run(words, env=environment, capture_output=True, check=True)
    assert own_time(lambda: heddle.device("h100-sxm")) < 0.005


def test_nothing_stays_open_after_many_calls():
    heddle.devices()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        heddle.devices()
        with pytest.raises(heddle.BadInput):
            heddle.device("no-such-device")
    assert len(os.listdir("/proc/self/fd")) == before
