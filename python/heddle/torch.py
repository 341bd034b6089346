"""How is a training step of PyTorch recorded as a trace that `heddle.simulate` takes?

``trace_step`` and ``trace`` need neither the values nor the memory of the model, nor a GPU: tensors have shapes alone. ``record_step``
runs the step, and on a GPU measures each op. docs/traces.md says more.

>>> with heddle.torch.fake():
...     model = LlamaForCausalLM(config)
...     optimizer = torch.optim.AdamW(model.parameters())
...     heddle.torch.trace_step(model, {"input_ids": tokens, "labels": tokens}, None, optimizer, "step.et")
>>> heddle.simulate("step.et", "h100-sxm")
"""

from heddle_trace import trace_step as record_step
from heddle_trace.fake import Fake, fake, trace, trace_step

__all__ = ["Fake", "fake", "record_step", "trace", "trace_step"]
