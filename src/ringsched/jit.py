"""How kernels run: as the plain Python they are written in, or compiled, without the GIL, by numba.

A kernel is a plain Python function that numba can compile. `compiled` makes its twin: the same code in
which the kernels it calls are their twins. So one text runs both ways, with the same results.

`runnable` chooses. A small amount of work is done as plain Python, without loading numba. For more work,
the twin is loaded from the cache. If it is not cached yet, another process compiles it while the work
continues as plain Python. `RINGSCHED_KERNELS=python` or `compiled` forces one of them.
"""

from __future__ import annotations

import atexit
import dis
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar

from ringsched.errors import InputError
from ringsched.numba_cache import cache_directory, kept_mark

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)
Swaps = Mapping[Callable[..., Any], Callable[..., Any]]  # kernels, and their replacements

_LOCK = threading.RLock()
_FORCED: list[str] = []
_OPTIONS: dict[Callable[..., Any], dict[str, Any]] = {}  # of each kernel: its options for numba
_BY_POINTER: list[type] = []
_PYTHON_ONLY: set[Callable[..., Any]] = set()
_TWINS: dict[tuple[Callable[..., Any], bool], Callable[..., Any]] = {}

AUTO, PYTHON, COMPILED = "auto", "python", "compiled"
COMPILES = "RINGSCHED_COMPILES"  # set in a process that compiles for another
ENOUGH_S = 1.0  # of plain Python; to load numba and a kernel takes as long ...
ENOUGH_TO_COMPILE_S = 5.0  # ... to have another process compile it several times that ...
ENOUGH_TO_COMPILE_HERE_S = 60.0  # ... and longer still to wait for the compiler
LONGEST_S = 300.0  # a compiler that takes longer is not counted on
PATIENCE_S = 3.0  # a call that takes longer as plain Python waits for the compiler
SILENT_S = 2.0
FEW_CALLS = 4  # with the same records; for more, their addresses are written down once


def kernel(function: _Function) -> _Function:
    """Mark `function` as one that can be compiled.

    Kernels allocate nothing, so they do without reference counts; counting those of the arrays in our
    named tuples at every call took three quarters of the time.
    """
    _OPTIONS.setdefault(function, {})
    return function


def part(function: _Function) -> _Function:
    """Mark `function` as one that is inlined into the kernels that call it, to save compile time.

    LLVM optimises the callees of a kernel again for each kernel, so a chain of N kernels is compiled N
    times. A part is inlined and never compiled by itself.
    """
    _OPTIONS[function] = {"inline": "always"}
    return function


def by_pointer(cls: _Class) -> _Class:
    """Mark this named tuple as one that compiled kernels pass by pointer; see numba_records.py."""
    _BY_POINTER.append(cls)
    return cls


def python_only(function: _Function) -> _Function:
    """Mark `function` as one that only kernels run as Python call; compiled kernels skip the call."""
    _OPTIONS[function] = {}
    _PYTHON_ONLY.add(function)
    return function


def runnable(
    function: _Function, *, python: bool = False, work_s: float = 0.0, call_s: float = 0.0
) -> _Function:
    """Return a kernel in the form that Python calls.

    Parameters
    ----------
    python
        It cannot be compiled: it calls Python code of the user.
    work_s
        How long all its calls are expected to take as plain Python.
    call_s
        How long one call is expected to take. Only a long call waits for the compiler.
    """
    mode = kernels_mode()
    if python or mode == PYTHON:
        return function
    entry = _ENTRIES.setdefault(function, _Entry(function))
    if mode == COMPILED:
        return entry.loaded()  # type: ignore[return-value]
    return partial(entry.call, work_s, call_s)  # type: ignore[return-value]


def runnable_with(
    function: Callable[..., int],
    *records: Any,
    python: bool = False,
    work_s: float = 0.0,
    call_s: float = 0.0,
) -> Callable[..., int]:
    """Return a kernel of records and numbers as a function of the numbers, for many short calls."""
    run = runnable(function, python=python, work_s=work_s, call_s=call_s)
    if run is function:
        return partial(function, *records)
    return _by_address(run, records, lambda: _ENTRIES[function].twin)


def _by_address(
    run: Callable[..., int], records: tuple[Any, ...], twin: Callable[[], Callable[..., Any] | None]
) -> Callable[..., int]:
    """Return `run` as a function of the numbers; after a few calls its twin is called with addresses."""
    native: Callable[..., int] | None = None
    num_calls = 0

    def call(*numbers: float) -> int:
        nonlocal native, num_calls
        if native is not None:
            return native(*numbers)
        num_calls += 1
        compiled_twin = twin()
        if compiled_twin is None or num_calls <= FEW_CALLS:
            return run(*records, *numbers)
        from ringsched.numba_records import call_with

        native = call_with(compiled_twin, records, *numbers)
        return native(*numbers)

    return call


def with_own(
    function: Callable[..., int],
    *records: Any,
    own: Callable[..., Any] | None,
    swaps: Swaps,
    python: bool = False,
    work_s: float = 0.0,
    call_s: float = 0.0,
) -> Callable[..., int]:
    """Return a kernel of records, a kernel of the user or None, and numbers as a function of the numbers.

    A call of the user's kernel by pointer takes longer than many kernels do. So `function` is compiled
    again with the replacements in `swaps`. The result is not cached.
    """
    if own is None:
        return runnable_with(function, *records, None, python=python, work_s=work_s, call_s=call_s)
    mode = kernels_mode()
    if python or mode == PYTHON or (mode == AUTO and work_s <= ENOUGH_TO_COMPILE_HERE_S):
        return partial(function, *records, own)
    with _LOCK:
        if (function, own) not in _WITH_OWN:
            if sys.stderr is not None and sys.stderr.isatty():
                sys.stderr.write("ringsched: compiling a custom rule; about half a minute\n")
            text = _twin_text(function, swaps)
            _WITH_OWN[function, own] = _jitted(text, None, {}, is_entry=True)
    recompiled = _WITH_OWN[function, own]
    return _by_address(recompiled, (*records, None), lambda: recompiled)


@contextmanager
def plain_python() -> Iterator[None]:
    """Run all kernels as plain Python meanwhile, and neither load nor compile any."""
    _FORCED.append(PYTHON)
    try:
        yield
    finally:
        _FORCED.pop()


def kernels_mode() -> str:
    """Return how kernels run: PYTHON, COMPILED, or AUTO if the environment sets neither."""
    if _FORCED:
        return _FORCED[-1]
    mode = os.environ.get("RINGSCHED_KERNELS", AUTO)
    if mode not in (AUTO, PYTHON, COMPILED):
        raise InputError(f"RINGSCHED_KERNELS must be {PYTHON} or {COMPILED}, not {mode!r}")
    is_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return PYTHON if is_off else mode


def is_settled(function: Callable[..., Any]) -> bool:
    """Whether a kernel will run from now on as it does now."""
    entry = _ENTRIES.get(function)
    return kernels_mode() != AUTO or (entry is not None and entry.is_compiled)


def is_compiling(function: Callable[..., Any]) -> bool:
    """Whether a twin of the kernel is on its way, and the work goes on as plain Python meanwhile."""
    entry = _ENTRIES.get(function)
    return entry is not None and entry.is_compiling


class _Entry:
    """A kernel that is called from Python, and how it runs at present."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._twin: Callable[..., Any] | None = None
        self._spent_s = 0.0
        self._asked_s = 0.0  # when its compiler was started
        self._compiler: subprocess.Popen[bytes] | None = None

    @property
    def twin(self) -> Callable[..., Any] | None:
        """What is compiled, once it is."""
        return self._twin

    @property
    def is_compiled(self) -> bool:
        return self._twin is not None

    @property
    def is_compiling(self) -> bool:
        is_on_its_way = self._twin is None and self._compiler is not None and self._compiler.poll() is None
        return is_on_its_way and time.monotonic() - self._asked_s < LONGEST_S

    def call(self, work_s: float, call_s: float, *arguments: Any) -> Any:
        if self._twin is None and self._spent_s + work_s > ENOUGH_S:
            self._look_for_twin(self._spent_s + work_s, call_s)
        if self._twin is not None:
            return self._twin(*arguments)
        began_s = time.perf_counter()
        result = self._function(*arguments)
        self._spent_s += time.perf_counter() - began_s
        return result

    def loaded(self) -> Callable[..., Any]:
        """Return the twin, however long that takes."""
        with _LOCK:
            if self._twin is None:
                if self._is_for_another_process():
                    self._start_compiler()
                    self._wait_for_compiler()
                self._twin = compiled(self._function)
            return self._twin

    def _look_for_twin(self, work_s: float, call_s: float) -> None:
        with _LOCK:  # several threads may call it at once
            if self._twin is not None:
                return
            if self._compiler is None and self._is_for_another_process():
                if work_s <= ENOUGH_TO_COMPILE_S:
                    return
                self._start_compiler()
            if self._compiler is not None and call_s > PATIENCE_S:
                self._wait_for_compiler()
            if self._compiler is not None and self._compiler.poll() is None:
                return
            is_kept = self._compiler is None or self._compiler.returncode == 0
            if (is_kept and kept_mark(self._name) is not None) or work_s > ENOUGH_TO_COMPILE_HERE_S:
                self._twin = compiled(self._function)

    def _is_for_another_process(self) -> bool:
        """Whether the twin is not in the cache, and another process can put it there."""
        kept = kept_mark(self._name)
        return kept is not None and not kept.exists() and COMPILES not in os.environ

    def _start_compiler(self) -> None:
        """Compile in another process, so that this one continues and reacts to Ctrl-C at once."""
        environment = os.environ | {"RINGSCHED_KERNELS": COMPILED, COMPILES: self._name}
        source = str(Path(__file__).parents[1])  # this very code, wherever it was loaded from
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        self._asked_s = time.monotonic()
        self._compiler = subprocess.Popen(
            [sys.executable, "-P", "-m", "ringsched.compiling", self._name],
            env=environment,
            stdin=subprocess.PIPE,  # closed when this process ends, whatever ends it
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for us, and we end it
        )
        _COMPILERS.append(self._compiler)

    def _wait_for_compiler(self) -> None:
        assert self._compiler is not None
        began_s = time.monotonic()
        watched = sys.stderr is not None and sys.stderr.isatty()
        said = False
        while self._compiler.poll() is None:
            time.sleep(0.05)
            waited_s = time.monotonic() - began_s
            if watched and waited_s > SILENT_S:
                sys.stderr.write(f"\rringsched: compiling its kernels, this once: {waited_s:.0f} s ")
                sys.stderr.flush()
                said = True
        if said:
            sys.stderr.write("\r\033[K")


_ENTRIES: dict[Callable[..., Any], _Entry] = {}
_WITH_OWN: dict[tuple[Callable[..., Any], Callable[..., Any]], Callable[..., Any]] = {}
_COMPILERS: list[subprocess.Popen[bytes]] = []


@atexit.register
def _end_compilers() -> None:
    for compiler in _COMPILERS:
        compiler.kill()
        compiler.communicate()


def compiled(function: _Function) -> _Function:
    """Return the twin of a kernel that numba compiles when it is first called, or loads from the cache."""
    with _LOCK:  # several threads may call it at once, and numba's setting is global
        twin: _Function = _twin(function, is_entry=True)
        return twin


def _twin(function: Any, *, is_entry: bool, swaps: Swaps | None = None) -> Any:
    if swaps and _uses(function, swaps):
        return _jitted(_twin_text(function, swaps), None, _OPTIONS[function], is_entry=False)
    if (function, is_entry) not in _TWINS:
        options = _OPTIONS[function]
        _TWINS[function, is_entry] = _jitted(
            _twin_text(function), function.__module__, options, is_entry=is_entry
        )
    return _TWINS[function, is_entry]


def _twin_text(function: Any, swaps: Swaps | None = None) -> Any:
    """Return the function with the twins of the kernels it calls, or of their replacements."""
    text = _does_nothing if function in _PYTHON_ONLY else function
    twins = {
        name: _twin((swaps or {}).get(other, other), is_entry=False, swaps=swaps)
        for name, other in _called(text).items()
    }
    names = function.__globals__ | twins
    twin = FunctionType(text.__code__, names, function.__name__, text.__defaults__, text.__closure__)
    # LLVM takes two kernels of one name and one number for one kernel, and kernels from the cache have
    # the numbers of another process. So a kernel with replacements has another name.
    twin.__qualname__ = f"{function.__qualname__}{'.replaced' if swaps else ''}"
    twin.__doc__ = function.__doc__
    return twin


def _uses(function: Any, swaps: Swaps) -> bool:
    """Whether a kernel calls one that is replaced, directly or indirectly."""
    return any(other in swaps or _uses(other, swaps) for other in _called(function).values())


def _called(function: Any) -> dict[str, Any]:
    """Return the kernels that a function calls, by their names in it."""
    module = function.__globals__
    return {
        name: module[name]
        for name in _names(function.__code__)
        if name in module and getattr(module[name], "__hash__", None) and module[name] in _OPTIONS
    }


def _does_nothing(*_: Any) -> None:
    pass


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names that a function uses."""
    return (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")


def _jitted(function: Any, module: str | None, options: dict[str, Any], *, is_entry: bool) -> Any:
    """Return what numba makes of a function; only those that Python calls have a wrapper and are kept."""
    import numba

    from ringsched.numba_compiler import InnerCompiler, KernelCompiler, load_blas_later, share_among_calls
    from ringsched.numba_records import register

    load_blas_later()
    register(_BY_POINTER)
    package = module.split(".")[1] if module and module.startswith("ringsched.") else None
    directory = None if package is None or not is_entry else cache_directory(package)
    config: Any = numba.config  # numba fills its settings in at run time
    theirs, config.CACHE_DIR = config.CACHE_DIR, directory or config.CACHE_DIR
    try:
        njit: Any = numba.njit  # which does not declare all its options
        twin = njit(
            function,
            cache=directory is not None,
            nogil=True,
            error_model="numpy",
            _nrt=False,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=not is_entry,
            pipeline_class=KernelCompiler if is_entry else InnerCompiler,
            **options,
        )
    finally:
        config.CACHE_DIR = theirs
    share_among_calls(twin)
    return twin
