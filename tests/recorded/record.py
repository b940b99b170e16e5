#!/usr/bin/env python3
"""Calls of operators and their results, recorded from an installed PyTorch: makes cases.txt.

    python3 record.py > cases.txt

One line a call: the operator, its arguments, its results, separated by tabs; arguments and results by "; ". A tensor is its
dtype (f32, f64, f16, i64, i32, b1, c64, c128), its sizes and its elements, "f32[2,3]:1,2,3,4,5,6". Arguments by name are
"name=value"; lists of tensors "{..|..}". "error" stands for the results of a call that is refused.
"""
import itertools

import torch

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.bool: "b1", torch.complex64: "c64", torch.complex128: "c128"}


def show(v):
    if isinstance(v, torch.Tensor):
        t = v.detach().contiguous()
        if t.is_complex():
            numbers = torch.view_as_real(t).double().flatten().tolist()
        else:
            numbers = t.double().flatten().tolist()
        digits = "%.17g" if t.dtype in (torch.float64, torch.complex128) else "%.9g"
        return "%s[%s]:%s" % (DTYPES[t.dtype], ",".join(map(str, t.shape)), ",".join(digits % n for n in numbers))
    if isinstance(v, str):
        return "'%s'" % v
    if isinstance(v, (list, tuple)):
        if v and isinstance(v[0], torch.Tensor):
            return "{%s}" % "|".join(map(show, v))
        return "[%s]" % ",".join(repr(x) for x in v)
    return repr(v)


def case(op, *arguments, **named):
    name, _, overload = op.partition(".")
    f = getattr(getattr(torch.ops.aten, name), overload or "default")
    texts = [show(a) for a in arguments] + ["%s=%s" % (k, show(v)) for k, v in named.items()]
    try:
        result = f(*arguments, **named)
        results = result if isinstance(result, tuple) else (result,)
        out = "; ".join(show(r) for r in results)
    except (RuntimeError, IndexError):
        out = "error"
    print("\t".join([op, "; ".join(texts), out]))


def main():
    torch.manual_seed(3)
    f, d = torch.randn(3, 4), torch.randn(2, 3, 5, dtype=torch.double)
    holes = d.clone()
    holes[0, 1, 2] = float("nan")
    holes[1, 2] = float("nan")
    for op in ("quantile", "nanquantile"):
        for how in ("linear", "lower", "higher", "midpoint", "nearest"):
            case(op + ".scalar", holes, 0.3, 1, interpolation=how)
        for dim, keep in itertools.product((None, 0, -1), (False, True)):
            case(op, d, torch.tensor([0.0, 0.25, 0.7, 1.0], dtype=torch.double), dim, keep)
            case(op + ".scalar", d, 0.6, dim, keep)
        case(op, f, torch.tensor(0.5), 0)
        case(op, f, torch.tensor([[0.5]]), 0)
        case(op, f.half(), torch.tensor(0.5).half())
        case(op, f, torch.tensor(0.5).double())
        case(op + ".scalar", f, 1.5)
        case(op + ".scalar", torch.ones(0), 0.5)
        case(op + ".scalar", f, 0.5, interpolation="cubic")
    w, a = torch.tensor([1, 0, 3, 2]), torch.tensor([0.5, 1.0, 0.25, 2.0])
    for x in (f, f[0], torch.tensor(3.0), f.to(torch.int64), f.cdouble() * (1 + 2j)):
        case("cov", x)
        case("corrcoef", x)
    case("cov", f, fweights=w)
    case("cov", f, aweights=a)
    case("cov", f, fweights=w, aweights=a, correction=0)
    case("cov", f, fweights=w, aweights=a, correction=2)
    case("cov", f, fweights=a)
    case("cov", f, aweights=w)
    case("cov", f, fweights=w[:2])
    case("cov", f, fweights=-w)
    case("cov", d)
    case("cov", f > 0)
    case("corrcoef", d)
    for pow, dim in ((2, 0), (1, 1), (2, -1), (2, 2)):
        case("norm_except_dim", d, pow, dim)
    for bins in (1, 4):
        case("histogram.bin_ct", d, bins)
        case("histogram.bin_ct", f, bins, density=True)
        case("histogram.bin_ct", f, bins, range=[-1.0, 0.5], weight=f.abs())
    case("histogram.bin_ct", torch.ones(3), 3)
    case("histogram.bin_ct", torch.ones(0), 3)
    case("histogram.bin_ct", f, 0)
    case("histogram.bin_ct", f, 3, range=[1.0, 0.0])
    case("histogram.bin_ct", f.long(), 3)
    case("histogram.bin_ct", f, 3, weight=f[0])
    case("histogram.bins_tensor", f, torch.tensor([-1.0, 0.0, 0.25, 1.0]))
    case("histogram.bins_tensor", f, torch.tensor([-1.0, 0.0, 0.25, 1.0]), density=True)
    case("histogram.bins_tensor", f, torch.tensor([-1.0, 0.0]).double())
    points = torch.randn(9, 2)
    case("histogramdd", points, [2, 3])
    case("histogramdd", points, [2, 3], [-1.0, 1.0, -2.0, 2.0], points[:, 0].abs(), True)
    case("histogramdd", points, [2])
    case("histogramdd.int_bins", points, 2)
    case("histogramdd.TensorList_bins", points, [torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([-3.0, 3.0])])
    for p, dim in ((2, 0), (1, 1), (3.5, -1), (float("inf"), 1)):
        case("renorm", d, p, dim, 1.5)
    case("renorm", f.cfloat() * (1 - 1j), 2, 0, 1.0)
    case("renorm", f, 2, 0, -1.0)
    case("renorm", f, 0, 0, 1.0)
    case("renorm", f[0], 2, 0, 1.0)
    x1, x2 = torch.randn(2, 3, 4, dtype=torch.double), torch.randn(2, 5, 4, dtype=torch.double)
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf")):
        case("cdist", x1, x2, p)
        case("pdist", x1[0], p)
    case("cdist", x1, x2[:1], 2.0)
    case("cdist", x1, x2[..., :2], 2.0)
    case("cdist", x1, x2, -1.0)
    case("cdist", torch.ones(3, 0), torch.ones(2, 0), 2.0)
    case("pdist", torch.ones(1, 4), 2.0)
    target = torch.tensor([1, 0, 3])
    for p, reduction in itertools.product((1, 2), (0, 1, 2)):
        case("multi_margin_loss", f, target, p, 1.0, None, reduction)
        case("multi_margin_loss", f, target, p, 0.5, torch.tensor([0.5, 2.0, 1.0, 3.0]), reduction)
    case("multi_margin_loss", f[0], torch.tensor(2))
    case("multi_margin_loss", f, torch.tensor([1, 0, 4]))
    case("multi_margin_loss", f, target, 3)
    labels = torch.tensor([[1, 3, -1, 0], [0, -1, 2, 1], [2, 3, 0, 1]])
    for reduction in (0, 1, 2):
        case("multilabel_margin_loss", f, labels, reduction)
        case("multilabel_margin_loss_forward", f, labels, reduction)
    case("multilabel_margin_loss", f[0], labels[0], 0)
    logs = torch.randn(6, 3, 5, dtype=torch.double).log_softmax(2)
    sequences = torch.tensor([[1, 2, 2], [3, 1, 4], [2, 0, 0]])
    for reduction in (0, 1, 2):
        case("ctc_loss.IntList", logs, sequences, [6, 5, 3], [3, 2, 1], 0, reduction)
        case("ctc_loss.IntList", logs, torch.tensor([1, 2, 2, 3, 1, 2]), [6, 5, 3], [3, 2, 1], 0, reduction)
    case("ctc_loss.IntList", logs, sequences, [6, 5, 2], [3, 3, 3], 0, 0)
    case("ctc_loss.IntList", logs, sequences, [3, 5, 2], [3, 3, 3], 0, 1, True)
    case("ctc_loss.Tensor", logs, sequences, torch.tensor([6, 5, 3]), torch.tensor([3, 2, 0]), 4, 0)
    case("ctc_loss.IntList", logs, sequences, [7, 5, 3], [3, 2, 1])
    case("ctc_loss.IntList", logs, sequences, [6, 5], [3, 2, 1])
    image = torch.randn(2, 6, 3, 4)
    weight, bias, mean, var = torch.rand(6), torch.randn(6), torch.randn(6), torch.rand(6) + 0.5
    case("instance_norm", image, None, None, None, None, True, 0.1, 1e-5, False)
    case("instance_norm", image, weight, bias, None, None, True, 0.1, 1e-5, False)
    case("instance_norm", image, weight, bias, mean, var, False, 0.1, 1e-5, False)
    case("instance_norm", image, weight, bias, None, None, False, 0.1, 1e-5, False)
    case("native_batch_norm", image, weight, bias, None, None, True, 0.1, 1e-5)
    case("native_batch_norm", image, weight, bias, mean, var, False, 0.1, 1e-5)
    case("native_group_norm", image, weight, bias, 2, 6, 12, 3, 1e-5)
    case("native_group_norm", image, None, None, 2, 6, 12, 2, 1e-5)
    table, indices = torch.randn(5, 3), torch.tensor([1, 4, 4, 0, 2, 1, 3])
    for mode, last in itertools.product((0, 1, 2), (False, True)):
        bag = torch.tensor([0, 2, 2, 7] if last else [0, 2, 2, 5])
        name = "embedding_bag.padding_idx"
        r = torch.ops.aten.embedding_bag.padding_idx(table, indices, bag, False, mode, False, None, last, 4)
        print("\t".join([name, "; ".join(map(show, (table, indices, bag, False, mode, False, None, last, 4))), show(r[0])]))
        r = torch.ops.aten.embedding_bag(table, indices, bag, False, mode, False, None, last)
        print("\t".join(["embedding_bag", "; ".join(map(show, (table, indices, bag, False, mode, False, None, last))), show(r[0])]))
    case("embedding_bag", table, indices, torch.tensor([1, 2]))
    y = torch.randn(5, 4, dtype=torch.double)
    for edge in (1, 2):
        case("gradient.scalarint", y, edge_order=edge)
        case("gradient.scalarint", y, spacing=0.5, dim=1, edge_order=edge)
        case("gradient.scalarrayint", y, spacing=[0.5, 2.0], edge_order=edge)
        case("gradient.array", y, dim=[1], edge_order=edge)
        case("gradient.tensorarrayint", y, spacing=[torch.tensor([0.0, 1, 3, 4, 8]).double(), torch.tensor([0.0, 0.5, 1, 3]).double()],
             edge_order=edge)
        case("gradient.tensorarray", y, spacing=[torch.tensor([0.0, 0.5, 1, 3]).double()], dim=[1], edge_order=edge)
    case("gradient.scalarint", y, edge_order=3)
    case("gradient.scalarint", y[:1])
    case("gradient.scalarrayint", y, spacing=[0.5])
    picture = torch.arange(2 * 8 * 2 * 4).float().reshape(2, 8, 2, 4)
    case("pixel_shuffle", picture, 2)
    case("pixel_shuffle", picture[0], 2)
    case("pixel_shuffle", picture, 3)
    case("pixel_unshuffle", picture, 2)
    case("pixel_unshuffle", picture, 3)
    case("channel_shuffle", picture, 4)
    case("channel_shuffle", picture, 3)


main()
