"""The hook that `ringsched profile` puts into a PyTorch job, as the job's `sitecustomize`.

This file is copied beside nothing else of ringsched. It runs on Python 3.9 or newer with any PyTorch from
1.13 on, and imports only the standard library. It must never change or stop the job: it draws no random
number, holds no tensor, and an error inside it switches it off.

Each process leaves files in the directory of this file: `python-*` when Python starts, `torch-*` when torch
is imported, and `rank-*.json` with the measurements when it has a DistributedDataParallel module.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

DDP_MODULE = "torch.nn.parallel.distributed"
COMPILER_MODULE = "torch._dynamo.eval_frame"
HALVED = (
    "fp16_compress_hook",
    "bf16_compress_hook",
    "FP16_COMPRESS",
)  # communication hooks that send 2 bytes
KEPT = 2000  # iterations; older ones are dropped
ALWAYS_SAMPLED = 10  # DDP records its times in the first ten iterations, then at the sample rate
MOST_OVERHEAD = 0.005  # of an iteration, for what DDP records and this hook reads
MOST_OFTEN_CUDA = 8  # each reading waits for the GPU, so one iteration in eight
WRITE_EVERY_S = 2.0  # a process that is killed has left its measurements up to then


class Tracker:
    """What one DDP module does, iteration by iteration."""

    def __init__(self, ddp: Any) -> None:
        self.name = type(ddp.module).__name__
        self.cuda = any(parameter.is_cuda for parameter in ddp.parameters())
        self.forwards = 0  # forward passes that end in an exchange, as DDP counts iterations
        self.begun_ns: int | None = None  # of the current iteration; None after an interruption
        self.samples = self.micro_batches = 0
        self.iterations: list[tuple[int, int, int, int]] = []  # number, ns, samples, micro-batches
        self.parts: list[tuple[int, int, int, int]] = []  # number, ns: forward, backward, exposed exchange
        self.rate = 1
        self.facts: dict[str, Any] = {}

    def before_forward(self, ddp: Any, inputs: Any, grad_enabled: bool, now_ns: int) -> bool:
        """Close the iteration before; return whether this forward pass begins one."""
        if not grad_enabled:  # an evaluation in between is not part of training
            self.begun_ns = None
            return False
        begins = bool(ddp.require_backward_grad_sync)
        if begins:
            if self.begun_ns is not None:
                taken_ns = now_ns - self.begun_ns
                self.iterations.append((self.forwards, taken_ns, self.samples, self.micro_batches))
                del self.iterations[:-KEPT]
            self.forwards += 1
            self.begun_ns, self.samples, self.micro_batches = now_ns, 0, 0
        self.samples += first_dimension(inputs)
        self.micro_batches += 1
        return begins

    def after_forward(self, ddp: Any, clock: Any) -> None:
        """Read what DDP recorded of the iteration before, if it did."""
        number = self.forwards - 1
        if number < 1 or (number > ALWAYS_SAMPLED and number % self.rate):
            return
        if number == ALWAYS_SAMPLED:
            self.choose_rate(ddp, clock)
        recorded = ddp.logger._get_ddp_logging_data().ints_map
        comm = recorded.get("backward_comm_time", 0)
        parts = (
            recorded.get("forward_compute_time", 0),
            recorded.get("backward_compute_time", 0),
            comm - recorded.get("backward_compute_comm_overlap_time", 0),
        )
        if recorded.get("iteration") == number and parts[0] > 0 and parts[1] > 0 and comm > 0:
            self.parts.append((number, *parts))
            del self.parts[:-KEPT]

    def choose_rate(self, ddp: Any, clock: Any) -> None:
        """Let DDP record as often as its cost allows; it writes about as much text as is read here."""
        costs_ns = []
        for _ in range(3):  # the least of three: another process may have had the core
            begun_ns = clock()
            self.read_facts(ddp)
            costs_ns.append(clock() - begun_ns)
        cost_ns = 4 * min(costs_ns)
        taken_ns = max(1, min((entry[1] for entry in self.iterations), default=1))
        least = max(cost_ns / (MOST_OVERHEAD * taken_ns), MOST_OFTEN_CUDA if self.cuda else 1)
        while self.rate < min(least, 1024):  # powers of two: ranks with other rates share iterations
            self.rate *= 2
        ddp._set_ddp_runtime_logging_sample_rate(self.rate)

    def read_facts(self, ddp: Any) -> None:
        """Read the sizes of the buckets, which DDP settles in the second iteration."""
        data = ddp._get_ddp_logging_data()
        sizes = data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or ""
        hook = str(data.get("comm_hook", "") or "")
        trained = [parameter for parameter in ddp.parameters() if parameter.requires_grad]
        self.facts = {
            "world_size": data.get("world_size"),
            "rank": data.get("rank"),
            "backend": data.get("backend_name"),
            "dtypes": data.get("dtypes"),
            "comm_hook": hook,
            "bucket_bytes": [int(size) for size in sizes.split(",") if size.strip()],
            "halved_bytes": None,
        }
        precision = getattr(ddp, "mixed_precision", None)
        reduced = precision and (precision.reduce_dtype or precision.param_dtype)
        if any(name in hook for name in HALVED) or (reduced is not None and reduced.itemsize == 2):
            self.facts["halved_bytes"] = 2 * sum(parameter.numel() for parameter in trained)
            self.facts["comm_hook"] = ""  # understood

    def as_data(self) -> dict[str, Any]:
        """Return all that was seen, for JSON."""
        measured = {"forwards": self.forwards, "iterations": self.iterations, "parts": self.parts}
        return {"name": self.name, "cuda": self.cuda, **self.facts, **measured}


class Recorder:
    """The DDP modules of one process, and the file that tells of them."""

    def __init__(self, directory: str) -> None:
        import time

        self.directory, self.clock = directory, time.perf_counter_ns
        self.trackers: list[Tracker] = []
        self.by_id: dict[int, tuple[Any, Tracker]] = {}  # weak references: the job may drop its modules
        self.pid: int | None = None
        self.path, self.error, self.torch = "", "", ""
        self.write_at_ns = 0

    def install(self, module: Any) -> None:
        """Wrap the constructor and the forward pass of DistributedDataParallel."""
        import functools

        torch = sys.modules["torch"]
        leave(self.directory, "torch")
        self.torch = str(torch.__version__)
        ddp_class = module.DistributedDataParallel
        construct, run_forward = ddp_class.__init__, ddp_class.forward

        @functools.wraps(construct)
        def __init__(ddp: Any, *arguments: Any, **options: Any) -> None:  # noqa: N807
            construct(ddp, *arguments, **options)
            self.safely(self.adopt, ddp)

        @functools.wraps(run_forward)
        def forward(ddp: Any, *inputs: Any, **options: Any) -> Any:
            tracker = self.safely(self.enter, ddp, inputs, options, torch.is_grad_enabled())
            output = run_forward(ddp, *inputs, **options)
            if tracker is not None:
                self.safely(self.leave, ddp, tracker)
            return output

        ddp_class.__init__, ddp_class.forward = __init__, forward

    def safely(self, action: Any, *arguments: Any) -> Any:
        """Do something unless the hook is off; an error switches it off and is reported, not raised."""
        if self.error:
            return None
        try:
            return action(*arguments)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return None

    def adopt(self, ddp: Any) -> None:
        """Begin to track a DDP module, in the process that trains it."""
        import weakref

        if self.pid != os.getpid():
            import atexit
            from multiprocessing import util

            self.pid, self.trackers, self.by_id = os.getpid(), [], {}
            self.path = os.path.join(self.directory, f"rank-{self.pid}-{self.clock()}.json")  # noqa: PTH118
            atexit.register(self.write)
            util.Finalize(None, self.write, exitpriority=0)  # forked workers end without atexit
        tracker = Tracker(ddp)
        tracker.read_facts(ddp)
        ddp._set_ddp_runtime_logging_sample_rate(1)
        self.trackers.append(tracker)
        self.by_id[id(ddp)] = (weakref.ref(ddp), tracker)
        self.write()

    def enter(self, ddp: Any, inputs: Any, options: Any, grad_enabled: bool) -> Tracker | None:
        """Note that a forward pass begins; return its tracker if it also begins an iteration."""
        module, tracker = self.by_id.get(id(ddp)) or (None, None)
        if module is None or tracker is None or module() is not ddp or self.pid != os.getpid():
            return None
        now_ns = self.clock()
        return tracker if tracker.before_forward(ddp, (inputs, options), grad_enabled, now_ns) else None

    def leave(self, ddp: Any, tracker: Tracker) -> None:
        """Read the measurements after a forward pass, and write all of them now and then."""
        tracker.after_forward(ddp, self.clock)
        if tracker.forwards == 3:
            tracker.read_facts(ddp)
        if self.clock() > self.write_at_ns:
            self.write()

    def write(self) -> None:
        """Write the measurements of this process; a reader sees the old file or the new one."""
        if self.pid != os.getpid():
            return
        begun_ns = self.clock()
        try:
            import json

            modules = [tracker.as_data() for tracker in self.trackers]
            data = {"torch": self.torch, "error": self.error, "modules": modules}
            with open(self.path + ".part", "w", encoding="utf-8") as file:  # noqa: PTH123
                json.dump(data, file)
            os.replace(self.path + ".part", self.path)  # noqa: PTH105
        except OSError as error:  # the directory is gone once ringsched has ended
            self.error = self.error or str(error)
        now_ns = self.clock()
        self.write_at_ns = now_ns + max(
            int(WRITE_EVERY_S * 1e9), int(2 * (now_ns - begun_ns) / MOST_OVERHEAD)
        )


class Finder:
    """An import hook that lets torch load as always, then acts on two of its modules."""

    def __init__(self, actions: dict[str, Any]) -> None:
        self.actions = actions

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how a module to act on is loaded; nothing for any other module."""
        action = self.actions.pop(name, None)
        if action is None:
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                with contextlib.suppress(Exception):
                    action(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def first_dimension(value: Any, depth: int = 3) -> int:
    """Return the first dimension of the first tensor in arguments; 0 if there is none."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return 0
    found = (first_dimension(each, depth - 1) for each in value) if depth else iter(())
    return next((size for size in found if size), 0)


def hide_from_compiler(eval_frame: Any) -> None:
    """Keep torch.compile from compiling the functions of this file when it is given the DDP module."""
    functions = (*vars(Tracker).values(), *vars(Recorder).values(), first_dimension)
    codes = [function.__code__ for function in functions if hasattr(function, "__code__")]
    while codes:
        code = codes.pop()
        eval_frame.skip_code(code)
        codes += [inner for inner in code.co_consts if isinstance(inner, type(code))]


def leave(directory: str, what: str) -> None:
    """Leave a sign that this process came so far."""
    with contextlib.suppress(OSError):
        open(os.path.join(directory, f"{what}-{os.getpid()}"), "w").close()  # noqa: PTH118, PTH123


def load_next_sitecustomize(directory: str) -> None:
    """Take this directory off the path again, and load the `sitecustomize` that it hides, if there is one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [entry for entry in sys.path if entry != directory]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _directory = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    leave(_directory, "python")
    _actions = {DDP_MODULE: Recorder(_directory).install, COMPILER_MODULE: hide_from_compiler}
    sys.meta_path.insert(0, Finder(_actions))
    load_next_sitecustomize(_directory)
