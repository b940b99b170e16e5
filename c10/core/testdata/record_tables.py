#!/usr/bin/python3
"""Records PyTorch's promotion, casting and result-type tables and channels-last decisions as C++ for the tests beside this folder.

Run with a Python that has torch: ./record_tables.py > tables.inc
"""
import itertools
import torch

TYPES = [  # in enum order, quantized types left out
    ("Byte", torch.uint8), ("Char", torch.int8), ("Short", torch.int16), ("Int", torch.int32), ("Long", torch.int64),
    ("Half", torch.float16), ("Float", torch.float32), ("Double", torch.float64), ("ComplexHalf", torch.complex32),
    ("ComplexFloat", torch.complex64), ("ComplexDouble", torch.complex128), ("Bool", torch.bool),
    ("BFloat16", torch.bfloat16),
]
NAME = {t: n for n, t in TYPES}


def wrapped(dtype):
    """A Python number of the dtype's kind."""
    if dtype.is_complex:
        return 1j
    if dtype.is_floating_point:
        return 1.0
    return True if dtype == torch.bool else 1


def arguments(dtype):
    return [torch.empty(1, dtype=dtype), torch.empty((), dtype=dtype), wrapped(dtype)]


print("// Written by record_tables.py with PyTorch", torch.__version__.split("+")[0])
print("inline constexpr PairTypes kPromoted[] = {")
for (na, a), (nb, b) in itertools.product(TYPES, TYPES):
    print(f"    {{k{na}, k{nb}, k{NAME[torch.promote_types(a, b)]}}},")
print("};")
print("inline constexpr PairFlag kCanCast[] = {")
for (na, a), (nb, b) in itertools.product(TYPES, TYPES):
    print(f"    {{k{na}, k{nb}, {str(torch.can_cast(a, b)).lower()}}},")
print("};")
print("// Categories: 0 tensor with dimensions, 1 without, 2 number.")
print("inline constexpr ResultType kResultTypes[] = {")
for (na, a), (nb, b) in itertools.product(TYPES, TYPES):
    for (ca, x), (cb, y) in itertools.product(enumerate(arguments(a)), enumerate(arguments(b))):
        print(f"    {{k{na}, {ca}, k{nb}, {cb}, k{NAME[torch.result_type(x, y)]}}},")
print("};")


def counts_as_channels_last(t):
    """Pooling allocates its result in the format that it takes its input for."""
    out = torch.nn.functional.avg_pool2d(t, 1)
    return out.stride() == torch.empty(t.shape).contiguous(memory_format=torch.channels_last).stride() != torch.empty(t.shape).stride()


print("inline constexpr FormatCase kFormats[] = {")
for shape in [(2, 3, 4, 5), (1, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (2, 1, 1, 1), (2, 3, 1, 5), (2, 3, 4, 1), (1, 3, 1, 1)]:
    base = torch.zeros(shape)
    last = base.contiguous(memory_format=torch.channels_last)
    tensors = [base, last, base.transpose(2, 3), base.transpose(1, 3), base.transpose(0, 1), last.transpose(2, 3),
               base[:1].expand(shape), last[:1].expand(shape), base[:, :1].expand(shape), base[:, :, :, ::2], last[:, ::2],
               torch.empty_strided(shape, tuple(2 * s for s in last.stride()))]
    for t in tensors:
        size = ", ".join(map(str, t.shape))
        stride = ", ".join(map(str, t.stride()))
        print(f"    {{{{{size}}}, {{{stride}}}, {str(counts_as_channels_last(t)).lower()}}},")
print("};")
