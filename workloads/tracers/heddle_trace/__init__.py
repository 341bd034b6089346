"""Records one training step of a PyTorch model as a Chakra execution trace that Heddle reads."""

from .tracer import trace_step

__all__ = ["trace_step"]
__version__ = "1.0"
