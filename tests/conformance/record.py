#!/usr/bin/env python3
"""Records what an installed PyTorch computes, as a set that //tests/conformance:replay takes (README.md describes the files).

    tests/conformance/record.py tests/conformance/first_families.tar.gz

makes the checked-in set again: for each overload of first_families.txt and each combination of dtypes a few calls, taken from
PyTorch's own operator samples, the small ones first. Needs torch (1.13 or newer), numpy and scipy.
"""

import argparse
import collections
import gzip
import io
import json
import math
import pathlib
import random
import struct
import sys
import tarfile
import types
import unittest
import warnings

try:
    import expecttest  # noqa: F401
except ImportError:
    # The sample database imports it for a class that recording does not use.
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=type("TestCase", (unittest.TestCase,), {}), ACCEPT=False)

import numpy
import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

BLOB_DTYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "F32", torch.complex128: "F64",
}
LARGEST = 1 << 14  # elements of a tensor's storage
Call = collections.namedtuple("Call", "overload args kwargs")


class CannotRecord(Exception):
    pass


def file_name(overload):
    schema = overload._schema
    name = schema.name.split("::")[-1]
    return name + "@" + schema.overload_name if schema.overload_name else name


def tensors_in(tree):
    return [x for x in pytree.tree_flatten(tree)[0] if isinstance(x, torch.Tensor)]


def extent(t):
    """The number of elements from a tensor's first to its last in storage."""
    if t.numel() == 0:
        return 0
    return 1 + sum(stride * (size - 1) for size, stride in zip(t.shape, t.stride()))


def storage_of(t):
    return torch.as_strided(t.detach(), (extent(t),), (1,), t.storage_offset()).clone() if t.numel() else t.new_empty(0)


def private_copy(tree):
    """The same arguments in memory of their own, strides included."""

    def copy(x):
        if not isinstance(x, torch.Tensor):
            return x
        if x.layout != torch.strided or x.is_quantized:
            raise CannotRecord("layout")
        fresh = torch.as_strided(storage_of(x), x.shape, x.stride(), 0) if x.numel() else x.detach().clone()
        return fresh.requires_grad_(x.requires_grad)

    leaves, spec = pytree.tree_flatten(tree)
    return pytree.tree_unflatten([copy(x) for x in leaves], spec)


def identical(a, b):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        inexact = a.is_floating_point() or a.is_complex()
        return torch.allclose(a.detach(), b.detach(), rtol=0, atol=0, equal_nan=inexact) if a.numel() else True
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(identical(x, y) for x, y in zip(a, b))
    return a == b or (a is not None and b is not None and a != a and b != b)


class CallLog(TorchDispatchMode):
    """Notes the calls of wanted overloads that arrive below autograd."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted, self.calls = wanted, []

    def __torch_dispatch__(self, overload, types, args=(), kwargs=None):
        if overload._schema.name.startswith("aten::") and file_name(overload) in self.wanted:
            try:
                self.calls.append(Call(overload, *private_copy((list(args), dict(kwargs or {})))))
            except CannotRecord:
                pass
        return overload(*args, **(kwargs or {}))


def calls_by_name(op, sample, wanted):
    """Wanted overloads of the operator's own name that take the sample's arguments and give its result: those which are made of
    other operators do not arrive below autograd themselves."""
    args, kwargs = [sample.input, *sample.args], dict(sample.kwargs)
    expected = None
    for name in dict.fromkeys([op.aten_name, op.name, op.name.replace(".", "_"), op.name.rsplit(".", 1)[-1]]):
        packet = getattr(torch.ops.aten, name, None) if name else None
        for overload in [getattr(packet, o) for o in packet.overloads()] if packet is not None else []:
            if file_name(overload) not in wanted:
                continue
            try:
                if expected is None:
                    a, k = private_copy((args, kwargs))
                    expected = op.op(*a, **k)
                a, k = private_copy((args, kwargs))
                if identical(overload(*a, **k), expected):
                    yield Call(overload, *private_copy((args, kwargs)))
            except Exception:  # it takes other arguments
                continue


def wanted_calls(wanted, dtypes, seed):
    """(overload, dtypes) -> its calls."""
    from torch.testing._internal.common_methods_invocations import op_db

    found = collections.defaultdict(list)
    for number, op in enumerate(op_db):
        for dtype in dtypes:
            if dtype not in op.dtypes:
                continue
            random.seed(seed)
            numpy.random.seed(seed)
            torch.manual_seed(seed)
            try:
                samples = [s for s, _ in zip(op.sample_inputs("cpu", dtype, requires_grad=False), range(100))]
            except Exception as error:
                print(f"{op.name} {dtype}: no samples: {error}", file=sys.stderr)
                continue
            for sample in samples:
                log = CallLog(wanted)
                try:
                    calls = list(calls_by_name(op, sample, wanted))
                    with log:
                        a, k = private_copy(([sample.input, *sample.args], dict(sample.kwargs)))
                        op.op(*a, **k)
                except Exception:
                    calls = []
                for call in calls + log.calls:
                    tensors = tensors_in((call.args, call.kwargs))
                    if all(extent(t) <= LARGEST for t in tensors):
                        key = (file_name(call.overload), tuple(sorted({str(t.dtype) for t in tensors})))
                        found[key].append(call)
        print(f"\r{number + 1}/{len(op_db)} {op.name:40}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def size_of(call):
    return sum(extent(t) for t in tensors_in((call.args, call.kwargs)))


def plan(calls, elements):
    """The calls that differ in their sizes or numbers: the largest of up to `elements` elements first, then those beyond, the
    smallest first, and last the empty ones."""

    def shape(call):
        leaves = pytree.tree_flatten((call.args, call.kwargs))[0]
        return str([tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in leaves])

    order = sorted(calls, key=lambda c: (size_of(c) == 0, size_of(c) > elements, abs(elements - size_of(c))))
    seen = set()
    return [c for c in order if not (shape(c) in seen or seen.add(shape(c)))]


class CaseFile:
    """The cases of one overload."""

    def __init__(self, name):
        self.name, self.cases, self.blobs = name, [], []

    def tensor(self, t, grad=False):
        if t.dtype not in BLOB_DTYPES or t.layout != torch.strided or t.is_conj() or t.is_neg() or extent(t) > LARGEST:
            raise CannotRecord(str(t.dtype))
        self.blobs.append(storage_of(t))
        value = {"tensor": str(len(self.blobs) - 1), "dtype": str(t.dtype)[6:], "size": list(t.shape)}
        if not t.is_contiguous():
            value["stride"] = list(t.stride())
        if grad:
            value["requires_grad"] = True
        return value

    def value(self, v):
        if isinstance(v, torch.Tensor):
            return self.tensor(v, v.requires_grad)
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        if v is None or isinstance(v, (bool, int, str)):
            return v
        if isinstance(v, float):
            return v if math.isfinite(v) else {"float": repr(v)}
        if isinstance(v, complex):
            return {"complex": [self.value(v.real), self.value(v.imag)]}
        for kind, name in ((torch.dtype, "dtype"), (torch.device, "device"), (torch.layout, "layout"), (torch.memory_format, "memory_format")):
            if isinstance(v, kind):
                return {name: str(v).replace("torch.", "")}
        raise CannotRecord(type(v).__name__)

    def add(self, call):
        """Whether the call could be recorded."""
        mark = len(self.blobs)
        try:
            with torch.no_grad():
                results = [call.overload(*a, **k) for a, k in (private_copy((call.args, call.kwargs)) for _ in range(2))]
            if not identical(*results):
                return False
            grad = self.gradients(call)
            case = {
                "args": [self.value(x) for x in call.args],
                "kwargs": {name: self.value(x) for name, x in call.kwargs.items()},
                "outputs": [self.value(detached(x)) for x in (results[0] if isinstance(results[0], (list, tuple)) else [results[0]])],
            }
            if grad is not None:
                case["grad"] = grad
        except (CannotRecord, RuntimeError, NotImplementedError, ValueError, TypeError, IndexError):
            del self.blobs[mark:]
            return False
        self.cases.append(case)
        return True

    def gradients(self, call):
        """What backward gives for fixed cotangents; None where there is no derivative. Leaves the inputs marked."""
        if self.name == "as_strided_scatter" and int(torch.__version__.split(".")[0]) < 2:
            return None  # partly memory that nothing was written to
        inexact = [t for t in tensors_in((call.args, call.kwargs)) if t.is_floating_point() or t.is_complex()]
        for t in inexact:
            t.requires_grad_(True)
        rounds = []
        for _ in range(2):
            args, kwargs = private_copy((call.args, call.kwargs))
            try:
                results = [t for t in tensors_in(call.overload(*args, **kwargs)) if t.requires_grad]
                cotangents = []
                for i, t in enumerate(results):
                    noise = torch.randn(t.shape, generator=torch.Generator().manual_seed(100 + i), dtype=torch.float64)
                    cotangents.append(noise.to(t.dtype))
                inputs = [t for t in tensors_in((args, kwargs)) if t.requires_grad]
                rounds.append(torch.autograd.grad(results, inputs, cotangents, allow_unused=True) if results else None)
            except (RuntimeError, NotImplementedError):
                rounds.append(None)
        if rounds[0] is None or rounds[1] is None or not identical(list(rounds[0]), list(rounds[1])):
            for t in inexact:
                t.requires_grad_(False)
            return None
        return {
            "outputs": [self.tensor(c) for c in cotangents],
            "inputs": [None if g is None else self.tensor(g.resolve_conj().resolve_neg()) for g in rounds[0]],
        }

    def json(self):
        text = json.dumps({"op": "aten::" + self.name.replace("@", "."), "cases": self.cases}, separators=(",", ":"))
        return text.encode() + b"\n"

    def safetensors(self):
        header, data = {}, b""
        for key, blob in enumerate(self.blobs):
            parts = torch.view_as_real(blob).reshape(-1) if blob.is_complex() else blob
            raw = parts.contiguous().view(torch.uint8).numpy().tobytes() if parts.numel() else b""
            header[str(key)] = {"dtype": BLOB_DTYPES[blob.dtype], "shape": [parts.numel()], "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        head = json.dumps(header, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        return struct.pack("<Q", len(head)) + head + data


def detached(x):
    return x.detach() if isinstance(x, torch.Tensor) else x


def write_archive(path, files):
    """The same bytes whenever the files are the same."""
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=9) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for case_file in files:
                for suffix, data in ((".json", case_file.json()), (".safetensors", case_file.safetensors())):
                    info = tarfile.TarInfo(case_file.name + suffix)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="the archive to write, a .tar.gz")
    parser.add_argument("--list", default=here / "first_families.txt", help="the overloads to record, one a line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2, help="for each overload and combination of dtypes")
    parser.add_argument("--elements", type=int, default=48, help="in a call's tensors, where there is a call so small")
    parser.add_argument("--dtypes", default="float32,float64,int64,bool,complex64,bfloat16,float16,int32")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)

    wanted = set(pathlib.Path(arguments.list).read_text().split())
    dtypes = [getattr(torch, name) for name in arguments.dtypes.split(",")]
    files = {}
    for (name, _), calls in sorted(wanted_calls(wanted, dtypes, arguments.seed).items(), key=lambda item: item[0]):
        case_file = files.setdefault(name, CaseFile(name))
        recorded = 0
        for call in plan(calls, arguments.elements):
            # One large call is enough.
            if recorded < arguments.cases and (recorded == 0 or size_of(call) <= arguments.elements):
                recorded += case_file.add(call)
    files = [files[name] for name in sorted(files) if files[name].cases]
    write_archive(arguments.out, files)
    print(f"{len(files)} overloads, {sum(len(f.cases) for f in files)} cases, torch {torch.__version__}")
    for name in sorted(wanted - {f.name for f in files}):
        print("no case of", name, file=sys.stderr)


if __name__ == "__main__":
    main()
