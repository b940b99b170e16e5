#!/usr/bin/env python3
"""Writes qparams.json and qparams.safetensors beside itself: what PyTorch's observers and fake quantizers choose.

Needs torch 2.15 (CPU) and safetensors. A case is the class, its options, the tensors it sees one after the other, and
what it then says; of fake quantizers also the last result and its gradient.
"""
import json
import os

import torch
from safetensors.torch import save_file
from torch.ao.quantization import fake_quantize, observer
from torch.ao.quantization._learnable_fake_quantize import _LearnableFakeQuantize

HERE = os.path.dirname(os.path.abspath(__file__))
tensors, cases = {}, []


def keep(t):
    name = "t%d" % len(tensors)
    tensors[name] = t.detach().clone().contiguous()
    return name


def data():
    g = torch.Generator().manual_seed(11)
    n = lambda *s: torch.randn(*s, generator=g)

    def with_outliers(x):
        x[0, 0, 0], x[4, 5, 19] = 40.0, -55.0
        return x

    return {
        "normal": [n(4, 6, 5), 2 * n(4, 6, 5)],
        "positive": [n(3, 6, 4).abs() + 0.5],
        "negative": [-n(3, 6, 4).abs() - 0.25],
        "tiny": [1e-9 * n(2, 6, 3)],
        "zero": [torch.zeros(2, 6, 3)],
        "one_value": [torch.full((2, 6, 3), 3.0), torch.full((2, 6, 3), 5.0)],
        "outliers": [with_outliers(n(5, 6, 20)), n(5, 6, 20)],
        "narrow_then_wide": [0.01 * n(5, 6, 20), n(5, 6, 20) + 1, 10 * n(2, 6, 2)],
        "exponential": [torch.empty(8, 6, 40).exponential_(generator=g), 3 * torch.empty(8, 6, 40).exponential_(generator=g)],
        "double": [n(3, 6, 4).double()],
        "half": [n(3, 6, 4).half()],
        "empty_first": [torch.zeros(0, 6, 3), n(2, 6, 3)],
    }


DTYPES = {"quint8": torch.quint8, "qint8": torch.qint8, "uint8": torch.uint8, "int8": torch.int8, "qint32": torch.qint32,
          "int16": torch.int16, "uint16": torch.uint16}
SCHEMES = {"per_tensor_affine": torch.per_tensor_affine, "per_tensor_symmetric": torch.per_tensor_symmetric,
           "per_channel_affine": torch.per_channel_affine, "per_channel_symmetric": torch.per_channel_symmetric,
           "per_channel_affine_float_qparams": torch.per_channel_affine_float_qparams}


def arguments(options):
    a = dict(options)
    if "dtype" in a:
        a["dtype"] = DTYPES[a["dtype"]]
    if "qscheme" in a:
        a["qscheme"] = SCHEMES[a["qscheme"]]
    return a


def observe(cls, options, kind, batches):
    try:
        o = getattr(observer, cls)(**arguments(options))
        for x in batches:
            o(x)
        scale, zero = o.calculate_qparams()
    except Exception as error:
        print("left out:", cls, options, kind, str(error)[:80])
        return
    case = {"class": cls, "options": options, "data": kind, "batches": [keep(x) for x in batches], "scale": keep(scale),
            "zero_point": keep(zero), "quant_min": o.quant_min, "quant_max": o.quant_max, "min_val": keep(o.min_val),
            "max_val": keep(o.max_val)}
    if cls == "HistogramObserver":
        case["histogram"] = keep(o.histogram)
    cases.append(case)


def main():
    tensor_options = [
        {}, {"dtype": "qint8"}, {"dtype": "qint8", "qscheme": "per_tensor_symmetric"},
        {"dtype": "quint8", "qscheme": "per_tensor_symmetric"}, {"reduce_range": True},
        {"dtype": "quint8", "quant_min": 0, "quant_max": 127}, {"dtype": "int8", "quant_min": -127, "quant_max": 127,
                                                              "qscheme": "per_tensor_symmetric", "eps": 2.0 ** -12},
        {"dtype": "uint8", "quant_min": 0, "quant_max": 255, "eps": 2.0 ** -12},
        {"dtype": "quint8", "qscheme": "per_tensor_symmetric", "quant_min": 0, "quant_max": 255},
        {"dtype": "int8", "quant_min": -128, "quant_max": 127, "reduce_range": True}, {"dtype": "qint32"},
        {"dtype": "int16"}, {"dtype": "uint16"},
    ]
    channel_options = [
        {"dtype": "qint8", "qscheme": "per_channel_symmetric"}, {"dtype": "quint8", "qscheme": "per_channel_affine", "ch_axis": 1},
        {"dtype": "qint8", "qscheme": "per_channel_affine", "ch_axis": 2},
        {"dtype": "quint8", "qscheme": "per_channel_affine_float_qparams"},
        {"dtype": "int8", "qscheme": "per_channel_symmetric", "quant_min": -127, "quant_max": 127, "eps": 2.0 ** -12},
    ]
    all_data = data()
    for kind, batches in all_data.items():
        for options in tensor_options:
            observe("MinMaxObserver", options, kind, batches)
            observe("MovingAverageMinMaxObserver", options, kind, batches)
        observe("MovingAverageMinMaxObserver", {"averaging_constant": 0.3}, kind, batches)
        # Of one size each, for channels along any dimension.
        same = [x for x in batches if x.shape == batches[0].shape]
        for options in channel_options:
            observe("PerChannelMinMaxObserver", options, kind, same)
            observe("MovingAveragePerChannelMinMaxObserver", options, kind, same)
        for options in ({"bins": 64}, {"bins": 256, "dtype": "qint8", "qscheme": "per_tensor_symmetric"},
                        {"bins": 128, "reduce_range": True}):
            observe("HistogramObserver", options, kind, batches)
    for kind in ("normal", "outliers", "exponential"):
        observe("HistogramObserver", {}, kind, all_data[kind])

    # Fake quantizers: results and gradients of the last of three tensors.
    g = torch.Generator().manual_seed(5)
    inputs = [s * torch.randn(3, 4, 5, generator=g) for s in (1.0, 2.0, 1.5)]
    grad = torch.randn(3, 4, 5, generator=g)
    makers = {
        "FakeQuantize": lambda a, o: fake_quantize.FakeQuantize(observer=getattr(observer, o), **a),
        "FusedMovingAvgObsFakeQuantize": lambda a, o: fake_quantize.FusedMovingAvgObsFakeQuantize(
            observer=getattr(observer, o), **a),
        "LearnableFakeQuantize": lambda a, o: _LearnableFakeQuantize(observer=getattr(observer, o), channel_len=4 if "PerChannel" in o else -1, **a),
    }
    fakes = [
        ("MovingAverageMinMaxObserver", {"dtype": "quint8", "quant_min": 0, "quant_max": 255}),
        ("MovingAverageMinMaxObserver", {"dtype": "qint8", "quant_min": -128, "quant_max": 127, "qscheme": "per_tensor_symmetric"}),
        ("MovingAveragePerChannelMinMaxObserver", {"dtype": "qint8", "quant_min": -128, "quant_max": 127,
                                                   "qscheme": "per_channel_symmetric", "ch_axis": 1}),
        ("MinMaxObserver", {"dtype": "quint8", "quant_min": 0, "quant_max": 127}),
    ]
    for cls, make in makers.items():
        for name, options in fakes:
            try:
                fake = make(arguments(options), name)
                for x in inputs[:-1]:
                    fake(x)
                if cls == "LearnableFakeQuantize":
                    fake.enable_param_learning()
                x = inputs[-1].clone().requires_grad_()
                y = fake(x)
                y.backward(grad)
            except Exception as error:
                print("left out:", cls, name, str(error)[:80])
                continue
            case = {"class": cls, "observer": name, "options": options, "batches": [keep(t) for t in inputs], "grad": keep(grad),
                    "y": keep(y), "dx": keep(x.grad), "scale": keep(fake.scale), "zero_point": keep(fake.zero_point)}
            if cls == "LearnableFakeQuantize":
                case["dscale"] = keep(fake.scale.grad)
                case["dzero"] = keep(fake.zero_point.grad)
            cases.append(case)
    # Equal tensors once.
    same, renamed, kept = {}, {}, {}
    for name, t in tensors.items():
        key = (t.dtype, tuple(t.shape), t.numpy().tobytes())
        renamed[name] = same.setdefault(key, name)
        kept[renamed[name]] = tensors[renamed[name]]
    for case in cases:
        for key, value in case.items():
            if key == "batches":
                case[key] = [renamed[v] for v in value]
            elif isinstance(value, str) and value in renamed:
                case[key] = renamed[value]
    save_file(kept, os.path.join(HERE, "qparams.safetensors"))
    with open(os.path.join(HERE, "qparams.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, sort_keys=True) for case in cases) + "\n]\n")
    print(len(cases), "cases,", len(kept), "tensors")


if __name__ == "__main__":
    main()
