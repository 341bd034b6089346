"""Which module of a model calls an op, in the forward pass and, by autograd's sequence numbers, in the backward pass?"""

import bisect

import torch
from torch.nn.modules import module as torch_module


class Modules:
    """A context in which `current()` is the qualified name of the module whose forward pass runs ("transformer.h.0.attn"), or whose
    gradient does; the class's name for the outermost module and for those without a name; empty outside of any."""

    def __init__(self):
        self._names = {}  # id of a module: (the module, its name)
        self._stack = []
        self._hooks = []
        # From which number of autograd's sequence on which module called. Nodes of one thread count upwards.
        self._starts, self._callers = [], []

    def __enter__(self):
        if hasattr(torch_module, "register_module_forward_pre_hook"):
            self._hooks.append(torch_module.register_module_forward_pre_hook(self._enter_module))
            try:
                self._hooks.append(torch_module.register_module_forward_hook(self._leave_module, always_call=True))
            except TypeError:  # PyTorch 1
                self._hooks.append(torch_module.register_module_forward_hook(self._leave_module))
        return self

    def __exit__(self, *_):
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _enter_module(self, module, _):
        known = self._names.get(id(module))
        if known is None or known[0] is not module:
            if not self._stack:
                for name, inner in module.named_modules():
                    self._names[id(inner)] = (inner, name or type(inner).__name__)
            self._names.setdefault(id(module), (module, type(module).__name__))
        self._stack.append(id(module))
        self._note()

    def _leave_module(self, module, *_):
        # An exception that checkpointing uses to end a recomputation leaves several at once.
        while self._stack:
            if self._stack.pop() == id(module):
                break
        self._note()

    def _note(self):
        if not hasattr(torch.autograd, "_get_sequence_nr"):
            return
        number = torch.autograd._get_sequence_nr()
        name = self._names[self._stack[-1]][1] if self._stack else ""
        if self._starts and self._starts[-1] == number:
            self._callers[-1] = name
        else:
            self._starts.append(number)
            self._callers.append(name)

    def current(self):
        if self._stack:
            return self._names[self._stack[-1]][1]
        node = torch._C._current_autograd_node() if hasattr(torch._C, "_current_autograd_node") else None
        if node is None or type(node).__name__ == "AccumulateGrad" or not hasattr(node, "_sequence_nr"):
            return ""
        at = bisect.bisect_right(self._starts, node._sequence_nr()) - 1
        return self._callers[at] if at >= 0 else ""
