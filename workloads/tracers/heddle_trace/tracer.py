"""Looks at every op that PyTorch dispatches: operands with shapes, types, strides and places in memory; on a GPU also
how long it takes."""

import contextlib
import gzip
import os

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from . import wire
from .modules import Modules

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

_ALLOCATIONS = ("aten::empty", "aten::new_empty")


def _storage_of(tensor):
    # PyTorch 1 names it otherwise.
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


def _tensors_in(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


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
        reference = StorageWeakRef(_storage_of(tensor))
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
    owned = {places.storage(t) for t in _tensors_in(inputs) if t.layout == torch.strided}
    made = [t for t in _tensors_in(outputs) if t.layout == torch.strided]
    return bool(made) and all(places.storage(t) in owned for t in made)


class _Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.places = _Places()
        self.nodes = []
        self.caller = 0
        self.timed = []  # (kernel node, event before, event after)
        self.left_out = set()  # numbers of nodes
        self.modules = None  # a Modules, when it is known which module calls
        self._annotations = {}  # (call of the phase, module): the module's annotation

    def _caller_now(self):
        """The annotation around the next op: of the module that calls it, within the phase."""
        name = self.modules.current() if self.modules is not None else ""
        if not name:
            return self.caller
        key = (self.caller, name)
        if key not in self._annotations:
            self._annotations[key] = self._add("nn.Module: " + name, self.caller, None, None, True)
        return self._annotations[key]

    def open_phase(self, name):
        self.caller = self._add(name, 0, None, None, True)

    def _add(self, name, caller, inputs, outputs, on_host):
        empty = _Operands(self.places)
        node = dict(number=len(self.nodes) + 1, name=name, caller=caller, inputs=inputs or empty,
                    outputs=outputs or empty, on_host=on_host, duration_ns=0, ranks=0, storages=set())
        self.nodes.append(node)
        return node["number"]

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        schema = function._schema
        if schema.name.startswith("profiler::"):  # annotations, of the optimizer for one
            return function(*arguments, **keywords)
        given = []
        for i, argument in enumerate(schema.arguments):
            if i < len(arguments):
                given.append(arguments[i])
            else:
                given.append(keywords.get(argument.name, argument.default_value))
        inputs = _Operands(self.places)
        for value in given:
            inputs.add(value)
        # Lists of tensors (foreach) count, and so does the device on which a new tensor is asked for.
        on_gpu = any(t.is_cuda for t in _tensors_in(given)) or any(
            isinstance(v, torch.device) and v.type == "cuda" for v in given)
        if on_gpu:
            before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            before.record()
        result = self.carry_out(function, arguments, keywords)
        if on_gpu:
            after.record()
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        outputs = _Operands(self.places)
        for value in results:
            outputs.add(value)
        number = self._add(schema.name, self._caller_now(), inputs, outputs, True)
        node = self.nodes[number - 1]
        node["storages"] = {self.places.storage(t) for t in _tensors_in(given) if t.layout == torch.strided}
        if schema.name.startswith("c10d::"):
            node["ranks"] = torch.distributed.get_world_size()
        in_place = schema.name.endswith("_") or any(a.alias_info and a.alias_info.is_write for a in schema.arguments)
        works = in_place or not _shares_memory(self.places, given, results)
        if on_gpu and works and not schema.name.startswith(_ALLOCATIONS):
            kernel = self._add(schema.name, number, inputs, outputs, False)
            self.timed.append((kernel, before, after))
        return result

    def carry_out(self, function, arguments, keywords):
        """Returns what the op returns."""
        return function(*arguments, **keywords)

    def leave_out_counters(self, optimizer):
        """An optimizer counts its steps on the host, wherever the model is: that is no work of the device, but where
        a fused or capturable one keeps the counts there."""
        counters = set()
        for group in optimizer.param_groups:
            if group.get("fused") or group.get("capturable"):
                continue
            for parameter in group["params"]:
                count = optimizer.state.get(parameter, {}).get("step")
                if isinstance(count, torch.Tensor):
                    counters.add(self.places.storage(count))
        self.left_out = {n["number"] for n in self.nodes if n["storages"] & counters}

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
                if node["number"] not in self.left_out and node["caller"] not in self.left_out:
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
        if node["ranks"]:
            attributes["pg_size"] = node["ranks"]
        callers = [node["caller"]] if node["caller"] else []
        return wire.node(node["number"], node["name"], wire.COMPUTE, callers, [], 0, node["duration_ns"] // 1000,
                         node["inputs"].literals(), node["outputs"].literals(), attributes)


@contextlib.contextmanager
def _without_onednn():
    # torch.backends.mkldnn.flags would set, and warn about, more than this.
    was = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was)


def _as_written(model):
    """The module behind torch.compile: its ops are recorded as they are written; Heddle fuses them itself."""
    return getattr(model, "_orig_mod", model)


def _check_folder(path):
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise ValueError("there is no folder " + os.path.dirname(path) + " to write " + os.path.basename(path) + " to")


def _check_step(batch, loss, optimizer):
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("LBFGS runs the model several times in a step: trace_step records one run; give another "
                         "optimizer, or None")
    if loss is not None and not (isinstance(batch, (tuple, list)) and len(batch) == 2):
        raise ValueError("batch is no pair (inputs, targets): with a loss function both are needed")


def _check(model, optimizer):
    """Refuses what one trace cannot say."""
    if isinstance(model, torch.nn.DataParallel) and len(model.device_ids) > 1:
        raise ValueError("DataParallel spreads a step over " + str(len(model.device_ids)) + " devices: a trace is that "
                         "of one; give the module itself (model.module), or use DistributedDataParallel")
    if not isinstance(model, torch.nn.Module):
        return
    devices = sorted({str(p.device) for p in list(model.parameters()) + list(model.buffers())})
    if "meta" in devices:
        raise ValueError("parameters of the model lie on the device meta and have no values: give them some, "
                         "for example model.to_empty(device='cpu')")
    if len(devices) > 1:
        raise ValueError("the model lies on several devices (" + ", ".join(devices) + "): a trace is that of one; move "
                         "it to one of them, or to a CPU, whose steps are simulated as if they ran on the device")
    if _is_distributed(model) and devices and devices[0].startswith("cuda"):
        raise ValueError("the collectives of DistributedDataParallel run beside the stream that is timed: on a GPU use "
                         "PyTorch's profiler with an ExecutionTraceObserver; on CPUs (gloo) they are recorded")


def _is_distributed(model):
    return isinstance(model, torch.nn.parallel.DistributedDataParallel)


def _loss_of(value):
    """What the model or the loss function returned, when a step can begin at it."""
    if not isinstance(value, torch.Tensor):
        value = value["loss"] if isinstance(value, dict) and "loss" in value else getattr(value, "loss", value)
    if not isinstance(value, torch.Tensor):
        raise ValueError("the loss is a " + type(value).__name__ + ": a tensor of one element was expected")
    if value.numel() != 1:
        raise ValueError("the loss has the shape " + str(list(value.shape)) + ": one element was expected, for example "
                         "its mean()")
    if not value.requires_grad:
        raise ValueError("the loss does not depend on parameters that need a gradient: was it detached, or computed "
                         "under no_grad?")
    return value


def _call(model, inputs):
    if hasattr(inputs, "keys"):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


def _loss_of_step(model, batch, loss):
    # Around trace_step, autocast would keep its casts of the weights from one step to the next.
    torch.clear_autocast_cache()
    if loss is None:
        return _loss_of(_call(model, batch))
    inputs, targets = batch
    return _loss_of(loss(_call(model, inputs), targets))


def trace_step(model, batch, loss, optimizer, path="step.et", warm_up=1):
    """Runs `warm_up` training steps, then records one and writes it to `path` (.et, or .et.gz for gzip).

    `batch` is (inputs, targets), where inputs may be a tuple or a dictionary of arguments of the model, and the loss is
    `loss(model(inputs), targets)`; with `loss` None the model itself returns it (or something with `.loss`), and all of
    `batch` is inputs. `optimizer` may be None. On a GPU every op is timed with events, which adds about two
    microseconds to each. A compiled model is recorded as it was written; DistributedDataParallel with its collectives.
    Returns the loss. Raises ValueError where a step cannot be recorded: a loss that is no scalar, a model on several
    devices.
    """
    path = os.fspath(path)
    _check_folder(path)
    model = _as_written(model)
    _check(model, optimizer)
    _check_step(batch, loss, optimizer)
    if _is_distributed(model):
        # The second step still arranges the buckets of gradients anew, with broadcasts that no later one has.
        warm_up = max(warm_up, 2)

    def forward():
        return _loss_of_step(model, batch, loss)

    for _ in range(warm_up):
        forward().backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        elif isinstance(model, torch.nn.Module):
            model.zero_grad(set_to_none=True)
    recorder = _Recorder()
    # Dispatch modes belong to a thread; on one thread, autograd's engine stays in it too (of PyTorch 1, on a CPU it
    # always does). Without oneDNN a CPU goes through the ops that devices know.
    one_thread = getattr(torch.autograd, "set_multithreading_enabled", lambda enabled: contextlib.nullcontext())
    recorder.modules = Modules()
    with _without_onednn(), one_thread(False), recorder.modules, recorder:
        recorder.open_phase(_FORWARD)
        value = forward()
        recorder.open_phase(_BACKWARD)
        value.backward()
        if optimizer is not None:
            kind = type(optimizer).__name__
            recorder.open_phase("Optimizer.step#" + kind + ".step")
            optimizer.step()
    if optimizer is not None:
        recorder.leave_out_counters(optimizer)
    recorder.write(path)
    if optimizer is not None:
        optimizer.zero_grad(set_to_none=True)
    return float(value.detach())
