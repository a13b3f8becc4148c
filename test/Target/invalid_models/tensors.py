# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse tensors, and how many bytes, or numbers, the data of tensors have."""

from onnx import AttributeProto, TensorProto, helper

from .cases import FLOAT, INT32, INT64, add, edited, make

# Sparse tensors.
def sparse_model():
    model = make("[n] y = Relu (w)", outputs="float[] y")
    add_sparse(model.graph.sparse_initializer.add())
    return model


def add_sparse(tensor, indices=(1, 5), values=(1.0, 2.0), dims=(2, 3)):
    tensor.values.CopyFrom(
        helper.make_tensor("w", FLOAT, [len(values)], values)
    )
    tensor.indices.CopyFrom(
        helper.make_tensor("i", INT64, [len(indices)], indices)
    )
    tensor.dims.extend(dims)


for name, indices in [
    ("out-of-range", (1, 6)),
    ("negative", (-1, 5)),
    ("unsorted", (5, 1)),
    ("doubled", (5, 5)),
    ("too-many", (1, 2, 5)),
    ("too-few", (1,)),
    ("huge", (1, 2**60)),
]:
    model = make("[n] y = Relu (w)", outputs="float[] y")
    add_sparse(model.graph.sparse_initializer.add(), indices)
    add("sparse", name, model, "sparse initializer 'w'", "ind")
    model = make("[n] y = Constant ()", outputs="float[] y")
    given = model.graph.node[0].attribute.add(name="sparse_value")
    given.type = AttributeProto.SPARSE_TENSOR
    add_sparse(given.sparse_tensor, indices)
    add("sparse", f"constant-{name}", model, "node 'n' (Constant",
        "'sparse_value'", "ind")  # fmt: skip


def coordinates(tensor, rows):
    flat = [index for row in rows for index in row]
    size = [len(rows), len(rows[0])]
    tensor.indices.CopyFrom(helper.make_tensor("i", INT64, size, flat))


def first_of(model):
    return model.graph.sparse_initializer[0]


SPARSE = "sparse initializer 'w'"
edited(
    "sparse",
    sparse_model,
    coordinate_out_of_range=(
        lambda m: coordinates(first_of(m), [[0, 1], [1, 3]]), SPARSE, "ind"
    ),
    coordinates_unsorted=(
        lambda m: coordinates(first_of(m), [[1, 1], [0, 2]]), SPARSE, "ind"
    ),
    coordinates_of_three=(
        lambda m: coordinates(first_of(m), [[0, 1, 0], [1, 2, 0]]), SPARSE, "ind"
    ),
    indices_of_rank_3=(
        lambda m: first_of(m).indices.dims.__setitem__(slice(None), [1, 1, 2]),
        SPARSE, "ind",
    ),
    indices_of_int32=(
        lambda m: first_of(m).indices.CopyFrom(
            helper.make_tensor("i", INT32, [2], [1, 5])
        ),
        SPARSE, "ind",
    ),
    no_indices=(lambda m: first_of(m).ClearField("indices"), SPARSE, "ind"),
    values_of_rank_2=(
        lambda m: first_of(m).values.dims.__setitem__(slice(None), [1, 2]),
        SPARSE, "values",
    ),
    values_too_few=(
        lambda m: first_of(m).values.float_data.pop(), SPARSE, "values"
    ),
    no_dimensions=(lambda m: first_of(m).ClearField("dims"), SPARSE, "dim"),
    empty_dimension=(
        lambda m: first_of(m).dims.__setitem__(0, 0), SPARSE, "dimension 0"
    ),
    name_of_input=(
        lambda m: m.graph.initializer.append(
            helper.make_tensor("w", FLOAT, [1], [1.0])
        ),
        "'w'", "defined already",
    ),
)  # fmt: skip


# The number of bytes, or of elements, in the data of a tensor.
def tensor_model(data_type, dims, **fields):
    model = make("[n] y = Identity (w)")
    model.graph.output[0].type.tensor_type.elem_type = data_type
    model.graph.initializer.append(
        TensorProto(name="w", data_type=data_type, dims=dims, **fields)
    )
    return model


for name, data_type, dims, fields in [
    ("int4-few", TensorProto.INT4, [5], {"raw_data": b"12"}),
    ("int4-many", TensorProto.INT4, [5], {"raw_data": b"1234"}),
    ("uint4-few", TensorProto.UINT4, [4], {"raw_data": b"1"}),
    ("int4-numbers", TensorProto.INT4, [5], {"int32_data": [1, 2]}),
    ("uint4-numbers", TensorProto.UINT4, [4], {"int32_data": []}),
    ("int2", TensorProto.INT2, [5], {"raw_data": b"1"}),
    ("uint2", TensorProto.UINT2, [4], {"raw_data": b"12"}),
    ("float4", TensorProto.FLOAT4E2M1, [4], {"raw_data": b"123"}),
    ("float8", TensorProto.FLOAT8E4M3FN, [4], {"raw_data": b"123"}),
    ("float8-numbers", TensorProto.FLOAT8E5M2, [4], {"int32_data": [1, 2]}),
    ("float8-range", TensorProto.FLOAT8E5M2, [1], {"int32_data": [256]}),
    ("float8e8m0", TensorProto.FLOAT8E8M0, [4], {"raw_data": b"12345"}),
    ("complex64", TensorProto.COMPLEX64, [2], {"raw_data": b"1" * 8}),
    ("complex64-odd", TensorProto.COMPLEX64, [2], {"float_data": [1, 2, 3]}),
    ("complex128", TensorProto.COMPLEX128, [1], {"raw_data": b"1" * 8}),
    ("complex128-few", TensorProto.COMPLEX128, [1], {"double_data": [1]}),
    ("bool", TensorProto.BOOL, [4], {"raw_data": b"\x01"}),
    ("float16", TensorProto.FLOAT16, [2], {"raw_data": b"\x01"}),
    ("float16-range", TensorProto.FLOAT16, [1], {"int32_data": [65536]}),
    ("int8-range", TensorProto.INT8, [1], {"int32_data": [300]}),
    ("uint8-range", TensorProto.UINT8, [1], {"int32_data": [-1]}),
    ("uint32-range", TensorProto.UINT32, [1], {"uint64_data": [2**32]}),
    ("strings", TensorProto.STRING, [2], {"string_data": [b"a"]}),
    ("strings-many", TensorProto.STRING, [1], {"string_data": [b"a", b"b"]}),
    ("float", FLOAT, [2], {"float_data": [1.0]}),
    ("none", FLOAT, [2], {}),
    ("empty", FLOAT, [0], {"float_data": [1.0]}),
]:
    add("data-size", name, tensor_model(data_type, dims, **fields),
        "initializer 'w'")  # fmt: skip
model = tensor_model(TensorProto.INT4, [5], raw_data=b"12")
given = model.graph.initializer[0]
constant = make("[n] y = Constant ()", outputs="int4[] y")
constant.graph.node[0].attribute.append(helper.make_attribute("value", given))
add("data-size", "constant", constant, "node 'n' (Constant", "'value'")
