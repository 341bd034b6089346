"""How is a training step of PyTorch recorded as a trace that `heddle.simulate` takes?

``heddle.torch.trace_step`` is that of ``heddle_trace`` (docs/traces.md). It runs the step, so the model's values are in memory.
"""

from heddle_trace import trace_step

__all__ = ["trace_step"]
