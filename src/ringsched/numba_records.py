"""Records: named tuples that compiled kernels pass by pointer.

numba passes a named tuple by value. Ours hold up to sixty arrays of seven fields each, so that every
call had hundreds of arguments, and two thirds of the compiler's time went into them. A record is
passed as one pointer, to a struct that holds an address and a length for each array.

When Python calls a kernel, numba writes that struct again. For a kernel that is called at every event,
`call_with` writes it once.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

_INT = ir.IntType(32)
_KNOWN: set[type] = set()


def register(classes: Iterable[type]) -> None:
    """Let numba pass instances of these named tuples by pointer."""
    for cls in set(classes) - _KNOWN:
        typeof_impl.register(cls)(_type_of)
        _KNOWN.add(cls)


class Record(types.Type):
    """The type of a record. It is known by its name, as numba compares types very often."""

    def __init__(self, cls: type, members: dict[str, Any]) -> None:
        self.members = members
        described = ", ".join((cls.__module__, cls.__qualname__, *map(str, members.values())))
        digest = hashlib.sha256(described.encode()).hexdigest()[:8]
        super().__init__(name=f"{cls.__name__}_{digest}")


def _type_of(value: Any, context: Any) -> Record:
    members = (typeof_impl(member, context) for member in value)
    return Record(type(value), dict(zip(value._fields, members, strict=True)))


register_model(Record)(models.OpaqueModel)


@infer_getattr
class _Members(AttributeTemplate):
    key = Record

    def generic_resolve(self, record: Record, name: str) -> Any:  # type: ignore[override]
        return record.members.get(name)


@unbox(Record)
def _unbox(record: Record, value: Any, c: Any) -> NativeValue:
    """Write the struct on the stack of the wrapper, which numba never merges with the kernel it calls."""
    struct = cgutils.alloca_once(c.builder, _struct(c.context, record))
    is_error = cgutils.false_bit
    at = 0
    for number, member in enumerate(record.members.values()):
        native = c.unbox(member, c.pyapi.tuple_getitem(value, number))
        assert native.cleanup is None  # kernels do without reference counts
        is_error = c.builder.or_(is_error, native.is_error)
        if _is_array(member):
            array = c.context.make_array(member)(c.context, c.builder, native.value)
            parts = [array.data, *cgutils.unpack_tuple(c.builder, array.shape, member.ndim)]
        else:
            parts = [c.context.data_model_manager[member].as_data(c.builder, native.value)]
        for part in parts:
            c.builder.store(part, _place(c.builder, struct, at))
            at += 1
    pointer = c.builder.bitcast(struct, c.context.get_value_type(record))
    return NativeValue(pointer, is_error=is_error)


@lower_getattr_generic(Record)
def _load(context: Any, builder: Any, record: Record, pointer: Any, name: str) -> Any:
    struct = builder.bitcast(pointer, _struct(context, record).as_pointer())
    at = 0
    for other, member in record.members.items():
        if other == name:
            break
        at += _size(member)
    parts = [_load_constant(builder, _place(builder, struct, at + n)) for n in range(_size(member))]
    if _is_array(member):
        return _array(context, builder, member, parts[0], parts[1:])
    return context.data_model_manager[member].from_data(builder, parts[0])


def _array(context: Any, builder: Any, member: Any, data: Any, shape: list[Any]) -> Any:
    """Return what numba knows of an array: its data and its shape say all."""
    item_size = shape[0].type(context.get_abi_sizeof(data.type.pointee))
    strides = [item_size]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    num_items = shape[0]
    for length in shape[1:]:
        num_items = builder.mul(num_items, length)
    known = {"itemsize": item_size, "data": data, "nitems": num_items, "shape": shape, "strides": strides}
    model = context.data_model_manager[member]
    array = context.get_value_type(member)(None)
    for name, value in known.items():
        place = model.get_field_position(name)
        if isinstance(value, list):
            for axis, each in enumerate(value):
                array = builder.insert_value(array, each, (place, axis))
        else:
            array = builder.insert_value(array, value, place)
    return array


def _struct(context: Any, record: Record) -> Any:
    elements = []
    for member in record.members.values():
        if _is_array(member):
            data = context.data_model_manager[member].get_type("data")
            elements += [context.get_value_type(data), *[context.get_value_type(types.intp)] * member.ndim]
        else:
            elements.append(context.get_data_type(member))
    return ir.LiteralStructType(elements)


def _size(member: Any) -> int:
    """Return how many places a member has in the struct: of an array its data and its shape."""
    return 1 + member.ndim if _is_array(member) else 1


def _is_array(member: Any) -> bool:
    return isinstance(member, types.Array) and member.ndim > 0 and member.layout == "C"


def _place(builder: Any, struct: Any, at: int) -> Any:
    return builder.gep(struct, [_INT(0), _INT(at)], inbounds=True)


def _load_constant(builder: Any, place: Any) -> Any:
    """Load what no kernel changes, so that LLVM may load it once only."""
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


_C_TYPES: dict[Any, Any] = {
    types.int64: ctypes.c_int64,
    types.float64: ctypes.c_double,
    types.boolean: ctypes.c_uint8,
}


def call_with(kernel: Any, records: tuple[Any, ...], *numbers: float) -> Callable[..., int]:
    """Return a compiled kernel of records and numbers as a function of the numbers, which are like these.

    A record may be None.
    """
    signature: Any = next(iter(kernel.overloads), None)
    if len(kernel.overloads) != 1:  # else there is only one kind of arguments, and to look takes long
        signature = tuple(map(kernel.typeof_pyval, (*records, *numbers)))
        kernel.compile(signature)
    compiled = kernel.overloads[signature]
    structs = [
        None if record is None else _native(record, known)
        for record, known in zip(records, signature, strict=False)
    ]
    result, error = ctypes.c_int64(), ctypes.c_void_p()
    native = _function_type(len(records), *signature[len(records) :])(
        compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    )
    # These keep what they point to.
    places = [None if struct is None else ctypes.byref(struct) for struct in structs]
    bound = partial(native, ctypes.byref(result), ctypes.byref(error), *places)

    def call(*numbers: float) -> int:
        status = bound(*numbers)
        assert status == 0  # kernels raise nothing
        return result.value

    return call


@cache
def _function_type(num_records: int, *numbers: Any) -> Any:
    return ctypes.CFUNCTYPE(
        ctypes.c_int32, *[ctypes.c_void_p] * (2 + num_records), *[_C_TYPES[kind] for kind in numbers]
    )


def _native(record: Any, known: Record) -> Any:
    """Return the struct of a record, as `_unbox` writes it. It keeps the arrays that it points to."""
    values: list[Any] = []
    inner: list[Any] = []
    for value, (is_array, of_record) in zip(record, _kinds(known), strict=True):
        if is_array:
            values.append(_data_of(id(value) + _DATA).value)
            values += value.shape
        elif of_record is not None:
            inner.append(_native(value, of_record))
            values.append(ctypes.addressof(inner[-1]))
        else:
            values.append(value)
    struct: Any = _struct_type(known)(*values)
    struct.kept = record, inner
    return struct


# Where an array keeps the address of its data: right behind what each Python object has. This is part of
# NumPy's binary interface, and takes a quarter of the time of `__array_interface__`.
_DATA = object.__basicsize__
_data_of = ctypes.c_size_t.from_address


@cache
def _kinds(known: Record) -> tuple[tuple[bool, Record | None], ...]:
    """Return whether each member is an array, and its type if it is a record."""
    return tuple(
        (_is_array(member), member if isinstance(member, Record) else None)
        for member in known.members.values()
    )


@cache
def _struct_type(known: Record) -> Any:
    fields: list[Any] = []
    for member in known.members.values():
        if _is_array(member):
            fields += [ctypes.c_void_p, *[ctypes.c_int64] * member.ndim]
        else:
            fields.append(_C_TYPES.get(member, ctypes.c_void_p))  # None, or another record
    named = [(f"at_{at}", field) for at, field in enumerate(fields)]
    return type("Struct", (ctypes.Structure,), {"_fields_": named})
