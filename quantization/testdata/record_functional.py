#!/usr/bin/env python3
"""Writes functional.json and functional.safetensors beside itself: results of torch.ao.nn.quantized.functional.

Needs torch 2.15 (CPU) and safetensors. Of each call scale, zero point, dtype and integers; the inputs, images, signals,
volumes, weights and biases, are there under their names. functional_test.cc has the same calls under the same names.
"""
import json
import os

import torch
import torch.ao.nn.quantized.functional as F
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    torch.manual_seed(5)
    torch.backends.quantized.engine = "x86"
    quantize = torch.quantize_per_tensor
    sizes = {"image": (2, 4, 6, 6), "signal": (2, 4, 7), "volume": (1, 4, 4, 4, 4), "rows": (3, 8),
             "weight1": (6, 4, 3), "weight2": (6, 2, 3, 3), "weight3": (2, 4, 2, 2, 2), "weight": (5, 8),
             "bias6": (6,), "bias5": (5,)}
    floats = {name: torch.randn(size) for name, size in sizes.items()}
    inputs = ("image", "signal", "volume", "rows")
    image, signal, volume, rows = (quantize(floats[n], 0.03, 110, torch.quint8) for n in inputs)
    signed = quantize(floats["image"], 0.03, -9, torch.qint8)
    weights = ("weight1", "weight2", "weight3", "weight")
    w1, w2, w3, w = (quantize(floats[n] * 0.4, 0.015, 0, torch.qint8) for n in weights)
    scales, zeros = torch.linspace(0.01, 0.02, 6).double(), torch.zeros(6, dtype=torch.long)
    channels = torch.quantize_per_channel(floats["weight2"] * 0.4, scales, zeros, 0, torch.qint8)
    b6, b5 = floats["bias6"], floats["bias5"]
    calls = {
        "avg_pool2d": F.avg_pool2d(image, 2),
        "avg_pool2d padded": F.avg_pool2d(image, (3, 2), (2, 1), (1, 0), True, False),
        "avg_pool2d divided": F.avg_pool2d(signed, 3, divisor_override=7),
        "avg_pool3d": F.avg_pool3d(volume, 2, 1, 1),
        "adaptive_avg_pool2d": F.adaptive_avg_pool2d(image, (3, 4)),
        "adaptive_avg_pool3d": F.adaptive_avg_pool3d(volume, (1, 2, 3)),
        "max_pool1d": F.max_pool1d(signal, 3, 2, 1),
        "max_pool2d": F.max_pool2d(image, 2),
        "max_pool2d dilated": F.max_pool2d(signed, 2, 1, 1, 2, True),
        "conv1d": F.conv1d(signal, w1, b6, 2, 1, scale=0.08, zero_point=120),
        "conv2d": F.conv2d(image, w2, None, groups=2),
        "conv2d channels": F.conv2d(image, channels, b6, (1, 2), (1, 0), (2, 1), 2, scale=0.05, zero_point=100),
        "conv3d": F.conv3d(volume, w3, None, 2, scale=0.1, zero_point=90),
        "linear": F.linear(rows, w, b5),
        "linear scaled": F.linear(rows, w, None, 0.07, 60),
        "interpolate": F.interpolate(image, scale_factor=2),
        "interpolate bilinear": F.interpolate(image, (9, 5), mode="bilinear", align_corners=False),
        "interpolate volume": F.interpolate(volume, (2, 5, 3)),
        "upsample": F.upsample(image, (4, 7)),
        "upsample_nearest": F.upsample_nearest(image, scale_factor=1.5),
        "upsample_bilinear": F.upsample_bilinear(image, (8, 11)),
        "celu": F.celu(image, 0.021, 70),
        "celu alpha": F.celu(signed, 0.021, 3, 0.6),
        "elu": F.elu(image, 0.021, 70),
        "elu alpha": F.elu(signed, 0.021, 3, 0.6),
        "leaky_relu": F.leaky_relu(image),
        "leaky_relu scaled": F.leaky_relu(image, 0.3, False, 0.021, 40),
        "leaky_relu scale alone": F.leaky_relu(image, 0.3, False, 0.021),
        "leaky_relu inplace": F.leaky_relu(image.clone(), 0.2, True),
        "hardtanh": F.hardtanh(image),
        "hardtanh inplace": F.hardtanh(signed.clone(), -0.4, 0.7, True),
        "clamp": F.clamp(image, -0.5, 0.25),
        "hardswish": F.hardswish(image, 0.021, 30),
        "hardsigmoid": F.hardsigmoid(image),
        "hardsigmoid signed": F.hardsigmoid(signed),
        "threshold": F.threshold(image, 0.3, -0.2),
    }
    tensors, facts = dict(floats), {}
    for name, y in calls.items():
        tensors[name] = y.int_repr().contiguous()
        facts[name] = {"scale": y.q_scale().hex(), "zero_point": y.q_zero_point(), "signed": y.dtype == torch.qint8}
    save_file(tensors, os.path.join(HERE, "functional.safetensors"))
    with open(os.path.join(HERE, "functional.json"), "w") as file:
        file.write("{\n" + ",\n".join("%s: %s" % (json.dumps(n), json.dumps(f)) for n, f in facts.items()) + "\n}\n")
    print(len(calls), "calls")


if __name__ == "__main__":
    main()
