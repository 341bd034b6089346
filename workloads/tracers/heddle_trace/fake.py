"""How is a step of PyTorch recorded that no machine here could hold or run? Tensors have shapes, types and places, and no values.

PyTorch's FakeTensorMode makes them. They lie on PyTorch's CPU, whose autograd engine needs no driver of a GPU; what a step asks of
"cuda" (devices, autocast, GradScaler) is led there, and where a GPU would take other ops than a CPU does (attention, dropout, lists of
tensors in optimizers, what autocast keeps in f32) it is the GPU's that are recorded. Needs PyTorch 2.5 or later.
"""

import contextlib
import copy
import os
import sys

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import tracer
from .modules import Modules

_current = None  # the Fake whose context this is


def _led(device):
    """The device on which fake tensors lie, for one that a step names."""
    if device is None or isinstance(device, int):
        return device if device is None else torch.device("cpu")
    kind = torch.device(device).type
    return torch.device("cpu") if kind == "cuda" else device


#: What autocast computes in f32 on a GPU, of what modules of models call.
_IN_F32 = {functional.softmax, functional.log_softmax, functional.layer_norm, functional.cross_entropy, functional.nll_loss,
           functional.mse_loss, functional.l1_loss, functional.smooth_l1_loss, functional.group_norm, functional.kl_div,
           functional.cosine_similarity, torch.softmax, torch.log_softmax, torch.Tensor.softmax, torch.Tensor.log_softmax, torch.layer_norm,
           torch.exp, torch.Tensor.exp, torch.log, torch.Tensor.log, torch.pow, torch.Tensor.pow, torch.Tensor.__pow__, torch.rsqrt,
           torch.Tensor.rsqrt, torch.sum, torch.Tensor.sum, torch.cumsum, torch.Tensor.cumsum, torch.norm, torch.Tensor.norm}


class _AsOnGpu(TorchFunctionMode):
    """Calls of Python, before they become ops: devices, and what a GPU does otherwise."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        if function is torch.Tensor.cuda:
            return arguments[0]
        if function is torch.Tensor.to:
            arguments = tuple(_led(a) if isinstance(a, (torch.device, str)) else a for a in arguments)
        if "device" in keywords:
            keywords["device"] = _led(keywords["device"])
        if function is torch.Tensor.is_cuda.__get__:
            return True
        if function is functional.dropout or function is torch.dropout:
            return self._dropout(*arguments, **keywords)
        if function is functional.scaled_dot_product_attention:
            return self._attention(*arguments, **keywords)
        if function in _IN_F32 and torch.is_autocast_enabled("cpu"):
            arguments = tuple(a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments)
            keywords = {k: a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for k, a in keywords.items()}
            with torch.autocast("cpu", enabled=False):
                return function(*arguments, **keywords)
        return function(*arguments, **keywords)

    @staticmethod
    def _dropout(input, p=0.5, training=True, inplace=False, train=None):
        training = training if train is None else train
        if not training or p == 0:
            return input
        made = torch.native_dropout(input, p, True)[0]
        return input.copy_(made) if inplace else made

    @staticmethod
    def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if torch.is_autocast_enabled("cpu"):
            narrow = torch.get_autocast_dtype("cpu")
            query, key, value = query.to(narrow), key.to(narrow), value.to(narrow)
        if enable_gqa and key.shape[-3] != query.shape[-3]:
            repeats = query.shape[-3] // key.shape[-3]
            key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
        flash = attn_mask is None and query.dtype in (torch.float16, torch.bfloat16) and query.dim() == 4 and query.shape[-1] <= 256
        if flash and query.shape[-1] % 8 == 0:
            return torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if query.dim() == 4:
            if attn_mask is not None and attn_mask.dtype == torch.bool:
                attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), float("-inf"))
            if attn_mask is not None:
                attn_mask = attn_mask.to(query.dtype).expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
            needs_gradient = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
            return torch.ops.aten._scaled_dot_product_efficient_attention(
                query, key, value, attn_mask, needs_gradient, dropout_p, is_causal, scale=scale)[0]
        with torch._C.DisableTorchFunction():
            return functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)


class _Patches:
    """Functions of PyTorch that are others for the time being."""

    def __init__(self):
        self._kept = []

    def set(self, owner, name, value):
        if hasattr(owner, name):
            self._kept.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)

    def undo(self):
        while self._kept:
            setattr(*self._kept.pop())


def _kind_led(original):
    """A constructor whose first argument is a type of device."""

    def made(self, device_type="cuda", *arguments, **keywords):
        if "device" in keywords:
            device_type = keywords.pop("device")
        return original(self, "cpu" if device_type == "cuda" else device_type, *arguments, **keywords)
    return made


class Fake:
    """A context in which tensors have no values and take no memory::

        with heddle.torch.fake():
            model = Model().cuda()
            optimizer = torch.optim.AdamW(model.parameters())
            heddle.torch.trace(step, "step.et")
    """

    def __init__(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._stacks = []
        self.recorder = None
        self.replaced = {}  # parameters that _apply replaced, so that shared ones stay shared

    def __enter__(self):
        global _current
        stack = contextlib.ExitStack()
        self._stacks.append((stack, _current))
        _current = self
        patches = _Patches()
        stack.callback(patches.undo)
        from torch.optim import optimizer as optimizers
        from torch._subclasses.fake_tensor import FakeTensor
        patches.set(torch.amp.autocast_mode.autocast, "__init__", _kind_led(torch.amp.autocast_mode.autocast.__init__))
        patches.set(torch.amp.grad_scaler.GradScaler, "__init__", _kind_led(torch.amp.grad_scaler.GradScaler.__init__))
        patches.set(torch.nn.Module, "_apply", _apply_without_swapping)
        patches.set(torch.nn.Module, "cuda", lambda module, device=None: module)
        # What its constructor asks of other processes.
        patches.set(torch.nn.parallel.distributed, "_verify_param_shape_across_processes", lambda *_, **__: True)
        patches.set(torch.nn.parallel.distributed, "_sync_module_states", lambda *_, **__: None)
        parallel = torch.nn.parallel.DistributedDataParallel
        patches.set(parallel, "__init__", _with_collectives(parallel.__init__))
        patches.set(torch.autograd, "backward", self._backward(torch.autograd.backward))
        # It draws again what is out of bounds, which only values can say.
        patches.set(torch.nn.init, "_no_grad_trunc_normal_", lambda tensor, *_, **__: tensor)
        # As a GPU's optimizers: lists of tensors unless told otherwise.
        patches.set(optimizers, "_foreach_supported_types", [*getattr(optimizers, "_foreach_supported_types", []), FakeTensor])
        patches.set(optimizers, "_get_foreach_kernels_supported_devices", lambda: ["cuda", "cpu"])
        for name in ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device", "reset_peak_memory_stats"):
            patches.set(torch.cuda, name, lambda *_, **__: None)
        patches.set(torch.cuda, "is_bf16_supported", lambda *_, **__: True)
        _patch_triton(patches)
        stack.enter_context(tracer._without_onednn())
        was = torch.autograd.is_multithreading_enabled()
        torch._C._set_multithreading_enabled(False)
        stack.callback(torch._C._set_multithreading_enabled, was)
        stack.enter_context(self.mode)
        stack.enter_context(_Answers())
        stack.enter_context(_AsOnGpu())
        return self

    def __exit__(self, *exception):
        global _current
        stack, _current = self._stacks.pop()
        return stack.__exit__(*exception)

    def _backward(self, original):
        """torch.autograd.backward: the first gradient, of the loss itself, is made before the engine begins."""

        def backward(*arguments, **keywords):
            recorder = self.recorder
            if recorder is None:
                return original(*arguments, **keywords)
            was, recorder.in_backward = recorder.in_backward, True
            try:
                return original(*arguments, **keywords)
            finally:
                recorder.in_backward = was
        return backward

    def copy(self, values):
        """Returns a copy of models, optimizers and tensors, all at once, without values; what has none already is not copied."""
        with self.mode, _CopyWithoutValues():
            return copy.deepcopy(values)


def _collective(function, arguments):
    """What a collective returns at once: its tensors, which have no values to exchange, and work that is done."""
    from torch._C._distributed_c10d import FakeWork
    work = FakeWork().boxed()
    if len(function._schema.returns) == 1:
        return work
    held = [a for a in arguments if isinstance(a, torch.Tensor) or isinstance(a, (list, tuple)) and any(isinstance(t, torch.Tensor) for t in a)]
    return (held[0], work)


def _reduce_bucket(group, bucket):
    torch.distributed.all_reduce(bucket.buffer(), group=group)
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def _with_collectives(original):
    """DistributedDataParallel's constructor. Its own collective waits in C++ for a result; one of Python's is the same collective."""

    def made(self, *arguments, **keywords):
        original(self, *arguments, **keywords)
        self.register_comm_hook(self.process_group, _reduce_bucket)
        self.reducer = _Reducer(self.reducer)
    return made


class _Reducer:
    """DistributedDataParallel's reducer, with the buckets that it had first: to arrange them anew it would write values."""

    def __init__(self, reducer):
        self._reducer = reducer

    def __getattr__(self, name):
        return getattr(self._reducer, name)

    def _rebuild_buckets(self):
        return False


class _Answers(TorchDispatchMode):
    """Answers where nothing is recorded, as while models are made: numbers that are read (initialisers compare them), collectives."""

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        name = function._schema.name
        if name == "aten::_local_scalar_dense" and arguments[0].is_floating_point():
            return 1.0
        if name.startswith("c10d::"):
            return _collective(function, arguments)
        return function(*arguments, **(keywords or {}))


class _CopyWithoutValues(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        from torch._subclasses.fake_tensor import FakeTensor
        if function in (torch.Tensor.clone, torch._C.TensorBase.clone):  # which copies of parameters call
            tensor = arguments[0]
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
        if function not in (torch.Tensor.__deepcopy__, torch.nn.Parameter.__deepcopy__):
            return function(*arguments, **(keywords or {}))
        tensor, memo = arguments
        if id(tensor) not in memo:
            if isinstance(tensor, FakeTensor) and tensor.device.type != "meta":
                made = tensor
            else:
                # Views of one storage would each get their own; models share whole tensors.
                made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
                if isinstance(tensor, torch.nn.Parameter):
                    made = torch.nn.Parameter(made, tensor.requires_grad)
                else:
                    made.requires_grad_(tensor.requires_grad)
            memo[id(tensor)] = made
            memo.setdefault(id(memo), []).append(tensor)
        return memo[id(tensor)]


def _apply_without_swapping(module, function, recurse=True):
    """torch.nn.Module._apply for tensors without values: where the type changes a parameter is another one afterwards."""
    if recurse:
        for inner in module.children():
            _apply_without_swapping(inner, function)
    for name, parameter in list(module._parameters.items()):
        if parameter is None:
            continue
        with torch.no_grad():
            changed = function(parameter)
        if changed is not parameter:
            key = ("parameter", id(parameter))
            shared = _current.replaced.get(key)
            if shared is None or shared[0] is not parameter:
                shared = (parameter, torch.nn.Parameter(changed.detach(), parameter.requires_grad))
                _current.replaced[key] = shared
            module._parameters[name] = shared[1]
    for name, buffer in list(module._buffers.items()):
        if buffer is not None:
            module._buffers[name] = function(buffer)
    return module


def _patch_triton(patches):
    """A kernel of Triton is recorded where it is launched, and not run: what it reads and writes, without its ops."""
    jit = sys.modules.get("triton.runtime.jit")
    if jit is None:
        return

    def run(kernel, *arguments, grid=None, warmup=False, **keywords):
        recorder = _current.recorder
        if recorder is not None:
            name = getattr(kernel, "__name__", getattr(getattr(kernel, "fn", None), "__name__", "kernel"))
            recorder.add_launch("triton::" + name, [*arguments, *(v for v in keywords.values() if isinstance(v, torch.Tensor))])
    patches.set(jit.JITFunction, "run", run)
    tuner = sys.modules.get("triton.runtime.autotuner")
    if tuner is not None:
        patches.set(tuner.Autotuner, "run", lambda tuned, *arguments, **keywords: tuned.fn.run(*arguments, **keywords))
        patches.set(tuner.Heuristics, "run", lambda tuned, *arguments, **keywords: tuned.fn.run(*arguments, **keywords))


def fake():
    """Returns a context in which tensors have no values and take no memory (Fake)."""
    return Fake()


def _place_of_user():
    """"file:line" of the innermost line outside of PyTorch and of this package."""
    frame, own = sys._getframe(1), os.path.dirname(__file__)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((own, os.path.dirname(torch.__file__), "<")) and "contextlib" not in file:
            return file + ":" + str(frame.f_lineno)
        frame = frame.f_back
    return "the step"


class _FakeRecorder(tracer._Recorder):
    """Records ops on tensors without values. Phases follow from autograd's engine and from optimizers' hooks."""

    def __init__(self):
        super().__init__()
        self.found_infinities = set()  # storages
        self._phase, self._in_optimizer, self._phase_modules = None, [], None
        self.counters = []
        self.in_backward = False

    def _caller_now(self):
        if self._in_optimizer:
            phase = "Optimizer.step#" + self._in_optimizer[-1] + ".step"
        elif self.in_backward or torch._C._current_graph_task_id() != -1:
            phase = tracer._BACKWARD
        else:
            phase = tracer._FORWARD
        if phase != self._phase:
            self._phase = phase
            self.open_phase(phase)
        return self.caller if self._in_optimizer else super()._caller_now()

    def before_update(self, optimizer, *_):
        self._in_optimizer.append(type(optimizer).__name__)

    def after_update(self, optimizer, *_):
        self._in_optimizer.pop()
        if optimizer not in self.counters:
            self.counters.append(optimizer)

    def add_launch(self, name, arguments):
        """A kernel that is not an op of PyTorch: its tensors may be read and written."""
        operands = tracer._Operands(self.places)
        results = tracer._Operands(self.places)
        for value in arguments:
            operands.add(value)
            if isinstance(value, torch.Tensor):
                results.add(value)
        self._add(name, self._caller_now(), operands, results, True)

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        name = function._schema.name
        if name == "aten::_local_scalar_dense":
            return self._value_of(arguments[0])
        if name.startswith("prim::") or function.is_view and name in ("aten::detach", "aten::alias"):
            return function(*arguments, **(keywords or {}))
        if name == "aten::_amp_foreach_non_finite_check_and_unscale_":
            self.found_infinities.add(self.places.storage(arguments[1]))
        return super().__torch_dispatch__(function, types, arguments, keywords)

    def carry_out(self, function, arguments, keywords):
        if not function._schema.name.startswith("c10d::"):
            return super().carry_out(function, arguments, keywords)
        return _collective(function, arguments)

    def _value_of(self, tensor):
        """What a step reads of a tensor without values: GradScaler finds no infinity; other floating-point numbers, which steps
        read to print them, are 1."""
        if self.places.storage(tensor) in self.found_infinities:
            return 0.0
        if tensor.is_floating_point():
            return 1.0
        raise ValueError(_place_of_user() + ": the step reads the value of a tensor of type " + str(tensor.dtype)[6:] + ", and it has none: "
                         "what the step does would depend on it")


def _errors_of_fakes(error):
    """The error that says what a tensor without values cannot say, in one line; None for errors of other kinds."""
    kind = type(error).__name__
    if kind in ("DynamicOutputShapeException", "DataDependentOutputException"):
        return ValueError("the result of " + str(getattr(error, "func", error)) + " has a shape or a value that depends on values of tensors, "
                          "and these have none: give the model another way to do it (of transformers' experts: "
                          "config._experts_implementation = 'grouped_mm')")
    return None


def trace(step, path="step.et", *, context=None, warm_up=1):
    """Records what ``step()`` does, without values, memory or a GPU, and writes it to ``path`` (.et, or .et.gz for gzip).

    ``step`` is a function without arguments: one training step, forward, backward and update, on tensors that were made in the context
    ``fake()``, with gradient accumulation, GradScaler, autocast, checkpoints and process groups as it likes. It is called ``warm_up``
    times before, so that optimizers have their state. Returns the path. Raises ValueError where the step depends on values.
    """
    path = os.fspath(path)
    tracer._check_folder(path)
    made = context if context is not None else _current if _current is not None else Fake()
    recorder = _FakeRecorder()
    with contextlib.ExitStack() as stack:
        if made is not _current:
            stack.enter_context(made)
        try:
            from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
            stack.callback(register_optimizer_step_pre_hook(recorder.before_update).remove)
            stack.callback(register_optimizer_step_post_hook(recorder.after_update).remove)
            for _ in range(warm_up):
                # The recorder answers for values and collectives here, too.
                with recorder:
                    step()
            _forget(recorder)
            recorder.modules = Modules()
            made.recorder = recorder
            stack.callback(setattr, made, "recorder", None)
            torch.clear_autocast_cache()
            with recorder.modules, recorder:
                step()
        except Exception as error:
            other = _errors_of_fakes(error)
            if other is None:
                raise
            raise other from error
    for optimizer in recorder.counters:
        recorder.leave_out_counters(optimizer)
    recorder.write(path)
    return path


def _forget(recorder):
    recorder.nodes.clear()
    recorder._annotations.clear()
    recorder._phase, recorder.caller = None, 0


def trace_step(model, batch, loss, optimizer, path="step.et", warm_up=1):
    """Records a training step of a model without values, memory or a GPU, and writes it to ``path`` (.et, or .et.gz for gzip).

    The arguments are those of heddle_trace.trace_step. The model may lie on a CPU, a GPU or the device meta, or have been made in the
    context ``fake()``; it, its optimizer and the batch stay as they are. Returns the path. Raises ValueError where a step
    cannot be recorded.
    """
    from torch._subclasses.fake_tensor import FakeTensor
    model = tracer._as_written(model)
    tracer._check_step(batch, loss, optimizer)
    context = _current
    if context is None:
        first = next(iter(model.parameters()), None) if isinstance(model, torch.nn.Module) else None
        context = Fake()
        if isinstance(first, FakeTensor):
            context.mode = first.fake_mode
    # The loss may close over the model: where nothing has values, nothing is copied.
    if not _without_values(model, batch):
        model, optimizer, batch = context.copy((model, optimizer, batch))

    def step():
        value = tracer._loss_of_step(model, batch, loss)
        value.backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        elif isinstance(model, torch.nn.Module):
            model.zero_grad(set_to_none=True)
    return trace(step, path, context=context, warm_up=warm_up)


def _without_values(model, batch):
    from torch._subclasses.fake_tensor import FakeTensor
    tensors = [*model.parameters(), *model.buffers()] if isinstance(model, torch.nn.Module) else []
    held = batch.values() if hasattr(batch, "values") and not isinstance(batch, torch.Tensor) else [batch]
    tensors += tracer._tensors_in(held)
    return all(isinstance(t, FakeTensor) or not isinstance(t, torch.Tensor) for t in tensors)
