"""Cycle-level simulation of machine-learning accelerators.

>>> import heddle
>>> gpu = heddle.device("h100-sxm", {"sm.count": 144})
>>> run = heddle.simulate("gpt2-small", gpu, batch=8, sequence=1024)
>>> run.step_time_us, run.ops.sort_values("time_us")

Each function runs the command of its name, whose ``--help`` lists the options that can be given as keyword arguments.
"""

from ._check import Case, check
from ._command import BadInput, ComparisonFailed, DoesNotFit, HeddleError, InternalError, LimitReached, command_path
from ._device import Device, device, devices
from ._explore import explore
from ._kernel import Kernel, Launch
from ._run import Run, collective, compare, gemm, learn, run, simulate
from ._table import Table
from ._virtual_gpu import KernelFailed

__all__ = ["BadInput", "Case", "ComparisonFailed", "Device", "DoesNotFit", "HeddleError", "InternalError", "Kernel", "KernelFailed", "Launch", "LimitReached", "Run", "Table",
           "check", "collective", "command_path", "compare", "device", "devices", "explore", "gemm", "learn", "run", "simulate"]
