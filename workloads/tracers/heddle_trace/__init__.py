"""Records one training step of a PyTorch model as a Chakra execution trace that Heddle reads.

`trace_step` here runs the step; those of `heddle_trace.fake` need neither its values nor their memory.
"""

from .tracer import trace_step

__all__ = ["trace_step"]
__version__ = "1.1"
