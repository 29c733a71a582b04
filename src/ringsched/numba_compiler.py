"""numba's compiler with changes that take most of its time away; kernels compute the same.

The passes that it runs are in numba_passes.py. Other functions of the process compile as ever, because
numba is changed only while it compiles a kernel.

numba optimises every function and makes machine code of it, and then optimises it again as a part of
each function that calls it. A kernel that Python never calls needs neither: LLVM optimises it once,
together with the kernel that Python does call.

For every operation, numba tries many implementations until one takes its types. Here it keeps what it found,
and what it did not find. It also keeps the sizes of types, for each of which numba lets LLVM read a module.

numba looks up the implementation of every operator by its own flags. To compare two sets of flags it
builds two dictionaries, and all flags have one hash.

numba compiles a function again for every constant that a caller passes to it. One compilation serves all
calls, and LLVM still makes use of constants where it inlines a call.

numba copies the code of every function twice before it inlines it, with all variables for every block, and
all places in the source. But it has made that code for this one call, and places never change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import ir, types
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.np import linalg

from ringsched.numba_passes import CHANGES, kernel_passes


class KernelFlags(Flags):
    """numba's flags, compared by what is set."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self._values.get("no_cpython_wrapper"))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KernelFlags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


class InnerLibrary(JITCodeLibrary):
    """The code of a kernel that only kernels call: it is linked, never run."""

    @property
    def codegen(self) -> InnerLibrary:
        """What numba asks to prepare the code for a run: itself, which does nothing."""
        return self

    def set_env(self, _name: str, _environment: Any) -> None:
        """Do nothing: there is no machine code that could look for its environment."""

    def get_pointer_to_function(self, _name: str) -> int:
        """Return 0, which means that Python cannot call it."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelCompiler(Compiler):
    """Compiles a kernel that Python calls."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = KernelFlags(self.state.flags)
        _MISSING.clear()

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with _changed():
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """Return the passes, which are the only ones."""
        return [kernel_passes()]


class InnerCompiler(KernelCompiler):
    """Compiles a kernel that only kernels call."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if self.state.library is None:
            self.state.library = InnerLibrary(self.state.targetctx.codegen(), "inner kernel")
            self.state.library.enable_object_caching()


def share_among_calls(dispatcher: Any) -> None:
    """Let calls with other constants use one compilation of a kernel."""
    original = dispatcher.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        return original(
            tuple(map(types.unliteral, arguments)),
            {name: types.unliteral(argument) for name, argument in named.items()},
        )

    dispatcher.get_call_template = get_call_template


_find_signature = types.BaseFunction.get_call_type
_SIGNATURES: dict[Any, Any] = {}


def _signature(function: types.BaseFunction, context: Any, arguments: Any, named: Any) -> Any:
    """Return what numba finds; a function type with more implementations is another one."""
    key = function, context, arguments, tuple(named.items())
    if key not in _SIGNATURES:
        _SIGNATURES[key] = _find_signature(function, context, arguments, named)
    return _SIGNATURES[key]


_find_implementation = BaseContext.get_function
_find_size = BaseContext.get_abi_sizeof
_MISSING: set[Any] = set()  # what the kernel that is being compiled does without
_SIZES: dict[Any, int] = {}


def _implementation(context: BaseContext, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
    """Return what numba finds; look once for what it can do without, which it calls by a name."""
    if not isinstance(fn, str):
        return _find_implementation(context, fn, sig, _firstcall)
    if (fn, sig) in _MISSING:
        raise NotImplementedError(fn)
    try:
        return _find_implementation(context, fn, sig, _firstcall)
    except NotImplementedError:
        _MISSING.add((fn, sig))
        raise


def _size(context: BaseContext, ty: Any) -> int:
    """Return how many bytes a value takes, for which numba lets LLVM read a module."""
    key = str(context.target_data), ty
    if key not in _SIZES:
        _SIZES[key] = _find_size(context, ty)
    return _SIZES[key]


def _same(itself: Any, _memo: Any) -> Any:
    return itself


_CHANGES = (
    *CHANGES,
    (types.BaseFunction, "get_call_type", _signature),
    (BaseContext, "get_function", _implementation),
    (BaseContext, "get_abi_sizeof", _size),
    (ir.Loc, "__deepcopy__", _same),
    (ir.Block, "__deepcopy__", _same),
)


@contextmanager
def _changed() -> Iterator[None]:
    """Change numba while it compiles a kernel; it compiles one function at a time, in all threads."""
    before = [(place, name, vars(place).get(name)) for place, name, _ in _CHANGES]
    for place, name, instead in _CHANGES:
        setattr(place, name, instead)
    try:
        yield
    finally:
        for place, name, original in before:
            if original is None:
                delattr(place, name)
            else:
                setattr(place, name, original)


@cache
def load_blas_later() -> None:
    """Let numba load scipy for the first kernel that multiplies matrices, not for the first kernel.

    numba loads scipy to find out whether it is installed. It is, and takes a quarter of a second to load.
    """
    ensure_blas, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ensure_blas
    arraymath.ensure_blas = ensure_blas  # type: ignore[attr-defined]
