"""Simulations, and the questions that are asked of a cluster and of one product."""

import concurrent.futures
import gc
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import heddle


@pytest.fixture(scope="module")
def small():
    return heddle.simulate("mlp", "h100-sxm", batch=32, widths=[64, 128, 10], sample=True)


def test_a_run_is_that_of_the_command(small, tmp_path):
    printed = subprocess.run([heddle.command_path(), "simulate", "mlp", "--hardware", "h100-sxm", "--batch", "32", "--widths",
                              "64,128,10", "--sample", "--json", "--out", str(tmp_path / "run")],
                             capture_output=True, text=True, check=True)
    told = json.loads(printed.stdout)
    assert small.step_time_us == told["step_time_us"] > 0
    assert small.step_time == pytest.approx(told["step_time_us"] * 1e-6)
    assert list(small.ops["name"]) == [op["name"] for op in told["ops"]]
    assert small.coverage == told["coverage"]


def test_ops_sort_by_time(small):
    times = list(small.ops.sort_values("time_us")["time_us"])
    assert times == sorted(times) and len(times) > 3


def test_the_report_is_shown_and_goes_with_the_run(small):
    assert "<iframe" in small._repr_html_() and "mlp" in small.report()
    run = heddle.simulate("mlp", "h100-sxm", batch=32, widths=[64, 128, 10], sample=True)
    folder = run.folder
    assert (folder / "stats.sqlite").exists()
    del run
    gc.collect()
    assert not folder.parent.exists()


def test_out_is_kept(tmp_path):
    run = heddle.simulate("mlp", "h100-sxm", batch=32, widths="64,128,10", sample=True, out=tmp_path / "kept")
    del run
    gc.collect()
    assert (tmp_path / "kept" / "report.html").exists()


def test_a_changed_device_changes_the_time_and_compare_says_why():
    shape = dict(batch=256, widths=[512, 1024, 10], sample=True)
    gpu = heddle.device("h100-sxm")
    whole, few = (heddle.simulate("mlp", device, **shape) for device in (gpu, gpu.set({"sm.count": 33})))
    assert few.step_time > whole.step_time
    text = json.dumps(heddle.compare(whole, few))
    assert "sm.count" in text


def test_options_of_the_model_and_wrong_ones():
    with pytest.raises(heddle.BadInput, match="colour"):
        heddle.simulate("mlp", "h100-sxm", options={"colour": "red"})
    with pytest.raises(heddle.BadInput, match="--colour"):
        heddle.simulate("mlp", "h100-sxm", colour="red")


def test_a_step_that_does_not_fit_says_what_takes_the_memory():
    with pytest.raises(heddle.DoesNotFit) as raised:
        heddle.simulate("gpt2-small", heddle.device("h100-sxm", {"hbm.size": "1 GiB"}), batch=8, sequence=1024)
    assert raised.value.answer["fits"] is False and raised.value.exit_code == 4


def test_gemm_and_collective():
    product = heddle.gemm(512, 512, 512, "h100-sxm")
    assert 1e-7 < product["seconds"] < 1e-3
    small_one, large = (heddle.collective("all-reduce", size, cluster="dgx-h100") for size in ("1MiB", 64 << 20))
    assert large["bytes"] == 64 << 20 and large["time_us"] > small_one["time_us"] > 0


def test_learn():
    learnt = heddle.learn("mlp", "spirals", widths=[2, 8, 2], batch=8, workers=2, rounds=2, ways=["all-reduce"])
    assert "all-reduce" in json.dumps(learnt) and "parameter-server" not in json.dumps(learnt)


def test_a_step_on_a_cluster():
    run = heddle.simulate("gpt2-small", cluster="dgx-h100", tensor=4, micro_batch=1, sequence=128)
    assert run.step_time == pytest.approx(run.summary["step_s"]) and run.step_time > 0 and run.folder is None
    with pytest.raises(heddle.HeddleError, match="out"):
        heddle.simulate("gpt2-small", cluster="dgx-h100", tensor=8, out="x")


def test_a_tpu_program():
    run = heddle.simulate(os.path.join(os.path.dirname(__file__), "../../examples/tpu/two-tiles.tpu"), "tpu-v4")
    assert run.step_time == pytest.approx(run.summary["seconds"]) and run.summary["cycles"] > 0


def test_a_program_without_a_kernel_is_an_exception():
    with pytest.raises(heddle.HeddleError, match="used no device"):
        heddle.run(["/bin/true"], "h100-sxm")


def test_progress_is_told():
    lines = []
    heddle.simulate("mlp", "h100-sxm", batch=256, widths=[784, 2048, 10], no_cache=True, progress=lines.append)
    assert any("%" in line and "kernel" in line for line in lines)


def test_threads_at_once(small):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: heddle.simulate("mlp", "h100-sxm", batch=32, widths=[64, 128, 10], sample=True), range(8)))
    assert {run.step_time_us for run in runs} == {small.step_time_us}
    assert len({run.folder for run in runs}) == 8


def test_interrupting_stops_at_once(tmp_path):
    program = ("import heddle\ntry:\n    heddle.simulate('gpt2-small', 'h100-sxm', batch=8, sequence=1024, no_cache=True)\n"
               "except KeyboardInterrupt:\n    print('stopped')\n")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=str(tmp_path)))
    time.sleep(5)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "stopped\n"
    assert time.monotonic() - begin < 10
    assert list(tmp_path.iterdir()) == []
