"""Looks at every op that PyTorch dispatches: operands with shapes, types, strides and places in memory; on a GPU also
how long it takes."""

import gzip
import os

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from . import wire

_TYPES = {
    torch.float64: "double",
    torch.float32: "float",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.int64: "long int",
    torch.int32: "int",
    torch.int16: "short int",
    torch.int8: "signed char",
    torch.uint8: "unsigned char",
    torch.bool: "bool",
}
for _name in ("float8_e4m3fn", "float8_e5m2"):
    if hasattr(torch, _name):
        _TYPES[getattr(torch, _name)] = "c10::Float8_" + _name[7:]

# Calls around the ops of a phase, named as PyTorch's own recordings name them.
_FORWARD = "## forward ##"
_BACKWARD = "autograd::engine::evaluate_function: step"


class _Places:
    """Numbers for storages and for the tensors in them. A storage that is gone never lends its number to another."""

    def __init__(self):
        self._storages = {}
        self._tensors = {}
        self._next = 0

    def _number(self):
        self._next += 1
        return self._next

    def storage(self, tensor):
        reference = StorageWeakRef(tensor.untyped_storage())
        known = self._storages.get(reference.cdata)
        if known is None or known[0].expired():
            known = (reference, self._number())
            self._storages[reference.cdata] = known
        return known[1]

    def tensor(self, tensor):
        storage = self.storage(tensor)
        key = (storage, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        if key not in self._tensors:
            self._tensors[key] = self._number()
        return self._tensors[key], storage


class _Operands:
    """Operands as Python literals: values, shapes, types, strides."""

    def __init__(self, places):
        self.places = places
        self.values, self.shapes, self.types, self.strides = [], [], [], []

    def _tensor(self, tensor):
        if tensor.layout != torch.strided:
            return None
        number, storage = self.places.tensor(tensor)
        value = [number, storage, tensor.storage_offset(), tensor.numel(), tensor.element_size(), str(tensor.device)]
        kind = "Tensor(" + _TYPES.get(tensor.dtype, str(tensor.dtype)) + ")"
        return value, list(tensor.shape), kind, list(tensor.stride())

    def add(self, value):
        described = None
        if isinstance(value, torch.Tensor):
            described = self._tensor(value)
        elif isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            parts = [self._tensor(v) if isinstance(v, torch.Tensor) else None for v in value]
            parts = [p if p is not None else ("<None>", [], "None", []) for p in parts]
            described = ([p[0] for p in parts], [p[1] for p in parts],
                         "GenericList[" + ",".join(p[2] for p in parts) + "]", [p[3] for p in parts])
        elif isinstance(value, (bool, int, float, str)):
            kind = {bool: "Bool", int: "Int", float: "Double", str: "String"}[type(value)]
            described = (value, [], kind, [])
        elif isinstance(value, (list, tuple)) and all(isinstance(v, (bool, int, float)) for v in value):
            described = (list(value), [], "GenericList[Scalar]", [])
        if described is None:
            described = ("<None>", [], "None", [])
        for target, part in zip((self.values, self.shapes, self.types, self.strides), described):
            target.append(part)
        return self

    def literals(self):
        return repr(self.values), repr(self.shapes), repr(self.types)


def _shares_memory(places, inputs, outputs):
    owned = {places.storage(t) for t in inputs if isinstance(t, torch.Tensor) and t.layout == torch.strided}
    made = [t for t in outputs if isinstance(t, torch.Tensor) and t.layout == torch.strided]
    return bool(made) and all(places.storage(t) in owned for t in made)


class _Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.places = _Places()
        self.nodes = []
        self.caller = 0
        self.timed = []  # (kernel node, event before, event after)

    def open_phase(self, name):
        self.caller = self._add(name, 0, None, None, True)

    def _add(self, name, caller, inputs, outputs, on_host, position=None):
        empty = _Operands(self.places)
        node = dict(number=len(self.nodes) + 1, name=name, caller=caller, inputs=inputs or empty,
                    outputs=outputs or empty, on_host=on_host, duration_ns=0)
        self.nodes.append(node)
        return node["number"]

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        schema = function._schema
        given = []
        for i, argument in enumerate(schema.arguments):
            if i < len(arguments):
                given.append(arguments[i])
            else:
                given.append(keywords.get(argument.name, argument.default_value))
        inputs = _Operands(self.places)
        for value in given:
            inputs.add(value)
        on_gpu = any(isinstance(v, torch.Tensor) and v.is_cuda for v in given)
        if on_gpu:
            before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            before.record()
        result = function(*arguments, **keywords)
        if on_gpu:
            after.record()
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        outputs = _Operands(self.places)
        for value in results:
            outputs.add(value)
        number = self._add(schema.name, self.caller, inputs, outputs, True)
        in_place = schema.name.endswith("_") or any(a.alias_info and a.alias_info.is_write for a in schema.arguments)
        if on_gpu and (in_place or not _shares_memory(self.places, given, results)):
            kernel = self._add(schema.name, number, inputs, outputs, False)
            self.timed.append((kernel, before, after))
        return result

    def write(self, path):
        if self.timed:
            torch.cuda.synchronize()
        for number, before, after in self.timed:
            self.nodes[number - 1]["duration_ns"] = int(before.elapsed_time(after) * 1e6)
        device = torch.cuda.get_device_name() if self.timed else ""
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path + ".part", "wb") as file:
            file.write(wire.metadata({"recorded_by": "heddle_trace", "device": device, "torch": torch.__version__}))
            for node in self.nodes:
                file.write(self._bytes(node))
        os.replace(path + ".part", path)

    @staticmethod
    def _bytes(node):
        attributes = {"is_cpu_op": node["on_host"]}
        for side in ("inputs", "outputs"):
            if any(node[side].strides):
                attributes[side[:-1] + "_strides"] = repr(node[side].strides)
        if node["duration_ns"]:
            attributes["duration_ns"] = node["duration_ns"]
        callers = [node["caller"]] if node["caller"] else []
        return wire.node(node["number"], node["name"], wire.COMPUTE, callers, [], 0, node["duration_ns"] // 1000,
                         node["inputs"].literals(), node["outputs"].literals(), attributes)


def trace_step(model, batch, loss, optimizer, path="step.et", warm_up=1):
    """Runs `warm_up` training steps, then records one and writes it to `path` (.et, or .et.gz for gzip).

    `batch` is (inputs, targets), where inputs may be a tuple of arguments of the model, and the loss is
    `loss(model(inputs), targets)`; with `loss` None the model itself returns it: `model(*batch)`. `optimizer` may be
    None. On a GPU every op is timed with events, which adds about two microseconds to each. Returns the loss.
    """

    def forward():
        if loss is None:
            return model(*batch) if isinstance(batch, (tuple, list)) else model(batch)
        inputs, targets = batch
        return loss(model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs), targets)

    for _ in range(warm_up):
        forward().backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    recorder = _Recorder()
    # Dispatch modes belong to a thread; on one thread, autograd's engine stays in it too. Without oneDNN a CPU goes
    # through the ops that devices know.
    with torch.backends.mkldnn.flags(enabled=False), torch.autograd.set_multithreading_enabled(False), recorder:
        recorder.open_phase(_FORWARD)
        value = forward()
        recorder.open_phase(_BACKWARD)
        value.backward()
        if optimizer is not None:
            kind = type(optimizer).__name__
            recorder.open_phase("Optimizer.step#" + kind + ".step")
            optimizer.step()
    recorder.write(path)
    if optimizer is not None:
        optimizer.zero_grad(set_to_none=True)
    return float(value.detach())
