"""The passes of numba's compiler that a kernel needs, and faster versions of four of them.

numba runs its passes on a function before it inlines it, and again on each function around it. Here a part
is inlined as it is written, and the passes run once, on the whole kernel.

numba computes after most passes which variables live where. Only generators and reference counts need it.

For every variable that is assigned twice, numba goes through the whole function. Here it goes through the
blocks that name the variable.

numba infers types in rounds over all statements, until no type changes. Here a round leaves out the
statements whose variables have the types they had.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba.core import ir, ssa, transforms, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.errors import ForceLiteralArg, TypingError
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.typeinfer import CallConstraint, ConstraintNetwork
from numba.np.arrayobj import fix_integer_index, load_item, store_item


class KernelLower(Lower):
    """Writes LLVM's code of a kernel: what numba writes, in fewer instructions.

    A kernel counts no references to what a variable held before. Most of its statements read or write an
    item of an array, for which numba copies all that it knows of the array.
    """

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value in a variable."""
        if argidx is not None or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def lower_getitem(self, resty: Any, expr: Any, value: ir.Var, index: ir.Var, signature: Any) -> Any:
        """Return an item of an array."""
        kind, at_kind = self.typeof(value.name), types.unliteral(signature.args[1])
        if not _is_item(kind, at_kind):
            return super().lower_getitem(resty, expr, value, index, signature)
        item = load_item(self.context, self.builder, kind, self._place(value, kind, index, at_kind))
        return self.context.cast(self.builder, item, signature.return_type, resty)

    def lower_setitem(self, target_var: ir.Var, index_var: ir.Var, value_var: ir.Var, signature: Any) -> Any:
        """Write an item of an array."""
        kind, at_kind = self.typeof(target_var.name), types.unliteral(signature.args[1])
        if not _is_item(kind, at_kind):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        item = self._cast_var(value_var, signature.args[2])
        item = self.context.cast(self.builder, item, signature.args[2], kind.dtype)
        store_item(self.context, self.builder, kind, item, self._place(target_var, kind, index_var, at_kind))
        return self.context.get_dummy_value()

    def _place(self, variable: ir.Var, kind: types.Array, index: ir.Var, at_kind: types.Integer) -> Any:
        """Return the address of an item."""
        builder, model = self.builder, self.context.data_model_manager[kind]
        array = self.loadvar(variable.name)
        data = builder.extract_value(array, model.get_field_position("data"))
        length = builder.extract_value(array, (model.get_field_position("shape"), 0))
        at = self._cast_var(index, at_kind)
        return builder.gep(data, [fix_integer_index(self.context, builder, at_kind, at, length)])


def _is_item(kind: Any, at_kind: Any) -> bool:
    """Whether an index of a type denotes an item of an array, not a part of it."""
    is_row = isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"
    return is_row and isinstance(at_kind, types.Integer)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(typed_passes.BaseNativeLowering):
    """Writes LLVM's code of a kernel."""

    _name = "kernel_lowering"  # type: ignore[assignment]

    @property
    def lowering_class(self) -> type[Lower]:
        """What writes the code."""
        return KernelLower


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineParts(untyped_passes.InlineInlinables):
    """Inlines the parts that a kernel calls, and the parts that they call, as they are written."""

    _name = "inline_parts"

    def _do_work(self, state: Any, work_list: Any, block: Any, i: int, expr: Any, inline_worker: Any) -> Any:
        inline_worker._compiler_pipeline = lambda _: _passes("part", _READ)
        return super()._do_work(state, work_list, block, i, expr, inline_worker)


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineClosures(untyped_passes.InlineClosureLikes):
    """Inlines the functions that are defined in a kernel, if there are any."""

    _name = "inline_closures"

    def run_pass(self, state: Any) -> bool:
        """Inline them; return whether the kernel has changed."""
        blocks = state.func_ir.blocks.values()
        if not any(True for block in blocks for _ in block.find_exprs(op="make_function")):
            return False
        return bool(super().run_pass(state))


_READ = (untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing)
_ALL = (
    *_READ,
    InlineParts,
    untyped_passes.WithLifting,
    InlineClosures,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.NoPythonSupportedFeatureValidation,
    KernelLowering,
    typed_passes.NoPythonBackend,
)


def kernel_passes() -> PassManager:
    """Return the passes that compile a kernel."""
    return _passes("kernel", _ALL)


def _passes(name: str, passes: tuple[Any, ...]) -> PassManager:
    manager = PassManager(name)
    for each in passes:
        manager.add_pass(each, each._name)
    manager.finalize()
    return manager


_process = PostProcessor.run


def _process_what_is_needed(
    processor: PostProcessor, emit_dels: bool = False, extend_lifetimes: bool = False
) -> None:
    """Do not compute which variables live where if it is not used."""
    code = processor.func_ir
    if emit_dels or code.is_generator:
        _process(processor, emit_dels, extend_lifetimes)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None


_find_reassigned = ssa._find_defs_violators
_rewrite_blocks = ssa._run_block_rewrite
_NAMED: dict[int, set[str]] = {}  # the variables of each block


def _find_and_note(blocks: dict[int, ir.Block], graph: Any) -> Any:
    """Return the variables that are assigned twice, and note the variables of each block."""
    _NAMED.clear()
    for label, block in blocks.items():
        _NAMED[label] = {variable.name for statement in block.body for variable in statement.list_vars()}
    return _find_reassigned(blocks, graph)


def _rewrite_where_named(blocks: dict[int, ir.Block], states: Any, handler: Any) -> dict[int, ir.Block]:
    """Rewrite the blocks that name a variable, and leave the rest as it is."""
    name = states["varname"]
    named = {label: block for label, block in blocks.items() if name in _NAMED[label]}
    rewritten: dict[int, ir.Block] = _rewrite_blocks(named, states, handler)
    return blocks | rewritten


def _propagate(network: ConstraintNetwork, inference: Any) -> list[Exception]:
    """Do a round of type inference; return its errors."""
    errors: list[Exception] = []
    kinds = inference.typevars
    for constraint in network.constraints:
        known = vars(constraint)
        if "reads" not in known:
            known["reads"] = tuple(_names(list(known.values())))
            known["settled"] = None
        before = [kinds[name].type for name in known["reads"] if name in kinds]
        if before == known["settled"]:
            continue
        place = constraint.loc
        with inference.warnings.catch_warnings(filename=place.filename, lineno=place.line):
            try:
                constraint(inference)
            except ForceLiteralArg as error:
                errors.append(error)
            except TypingError as error:
                errors.append(TypingError(str(error), loc=place, highlighting=False))
            else:
                known["settled"] = before
    return errors


def _names(value: Any) -> Iterator[str]:
    """Yield what may be names of variables in a constraint on types."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, ir.Var):
        yield value.name
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _names(each)
    elif isinstance(value, CallConstraint):
        yield from _names(list(vars(value).values()))


# What is changed in numba while it compiles a kernel: where, the name, and what is there instead.
CHANGES: tuple[tuple[Any, str, Any], ...] = (
    (PostProcessor, "run", _process_what_is_needed),
    (ssa, "_find_defs_violators", _find_and_note),
    (ssa, "_run_block_rewrite", _rewrite_where_named),
    (ConstraintNetwork, "propagate", _propagate),
)
