#!/usr/bin/env python3
"""Writes eager.json and eager.safetensors beside itself: models that PyTorch quantized layer by layer.

Needs torch 2.15 (CPU) and safetensors. A model is a Sequential, a list of [name, kind, arguments...]. A case has the float
model's state, batches, what to fuse, and what PyTorch made of it: scales and zero points of all layers, weights as
integers, the names of the state, the result as integers. QAT cases have a step by step protocol of training.
"""
import collections
import copy
import json
import os

import torch
import torch.ao.nn.quantized as nnq
import torch.ao.quantization as q
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
n = torch.nn
tensors = {}
MAKERS = {
    "quant": q.QuantStub, "dequant": q.DeQuantStub, "relu": n.ReLU, "flatten": n.Flatten, "maxpool": n.MaxPool2d,
    "linear": n.Linear, "elu": n.ELU, "hardswish": n.Hardswish, "leaky": n.LeakyReLU, "prelu": n.PReLU, "relu6": n.ReLU6,
    "sigmoid": n.Sigmoid, "tanh": n.Tanh, "dropout": n.Dropout, "bn1d": n.BatchNorm1d, "bn2d": n.BatchNorm2d, "bn3d": n.BatchNorm3d,
    "layernorm": lambda *s: n.LayerNorm(list(s)), "groupnorm": n.GroupNorm, "instancenorm": n.InstanceNorm2d,
    "embedding": n.Embedding, "bag": lambda a, b: n.EmbeddingBag(a, b, mode="sum"),
    "lstm": lambda i, h, l, both: n.LSTM(i, h, l, bidirectional=bool(both)), "gru": lambda i, h, l, both: n.GRU(i, h, l, bidirectional=bool(both)),
    "lstmcell": n.LSTMCell, "grucell": n.GRUCell, "rnncell": n.RNNCell,
}


def convolution(cls):
    return lambda i, o, k, stride=1, padding=0, groups=1, bias=1: cls(i, o, k, stride=stride, padding=padding, groups=groups, bias=bool(bias))


for dims in "123":
    MAKERS["conv%sd" % dims] = convolution(getattr(n, "Conv%sd" % dims))
    MAKERS["convt%sd" % dims] = lambda i, o, k, stride=1, padding=0, c=getattr(n, "ConvTranspose%sd" % dims): c(i, o, k, stride=stride, padding=padding)


def build(layers):
    return n.Sequential(collections.OrderedDict((name, MAKERS[kind](*arguments)) for name, kind, *arguments in layers))


def keep(t):
    if t.is_quantized:
        t = t.int_repr()
    tensors["t%d" % len(tensors)] = t.detach().clone().contiguous()
    return "t%d" % (len(tensors) - 1)


def keep_state(model):
    return {name: keep(t) for name, t in model.state_dict().items()}


def randomize(model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.4 if p.dim() > 1 else 0.2) + (1 if p.dim() == 1 and p.numel() == 1 else 0))
        for name, b in model.named_buffers():
            if name.endswith("running_var"):
                b.copy_(torch.rand_like(b) + 0.5)
            elif name.endswith("running_mean"):
                b.copy_(torch.randn_like(b) * 0.1)


def weight_of(module):
    w = module.weight() if callable(getattr(module, "weight", None)) else None
    if w is None or not w.is_quantized:
        return None
    per_channel = w.qscheme() != torch.per_tensor_affine
    scale = w.q_per_channel_scales() if per_channel else torch.tensor(w.q_scale(), dtype=torch.float64)
    return {"weight": keep(w), "weight_scale": keep(scale)}


def facts(model):
    all = {}
    for path, module in model.named_modules():
        entry = {"class": module._get_name()}
        scale, zero = getattr(module, "scale", None), getattr(module, "zero_point", None)
        if scale is not None and not isinstance(module, torch.ao.quantization.FakeQuantizeBase):
            entry["scale"], entry["zero_point"] = float(scale).hex(), int(zero)
        if not isinstance(module, (nnq.Embedding, nnq.EmbeddingBag)):
            entry.update(weight_of(module) or {})
        if path and module.__class__.__module__.startswith("torch.ao") and not path.split(".")[-1].startswith("_"):
            all[path] = entry
    return all


def result_of(y):
    if isinstance(y, tuple):
        return [t for part in y for t in result_of(part)]
    return [y]


def static_case(name, layers, size, fuse=(), qconfig="x86", embedding=None, make_input=torch.randn):
    model = build(layers)
    randomize(model)
    model.eval()
    case = {"name": name, "kind": "static", "layers": layers, "fuse": fuse, "qconfig": qconfig, "state": keep_state(model)}
    # Where all 8 bits are used, an engine whose sums of two products do not saturate.
    torch.backends.quantized.engine = "qnnpack" if qconfig in ("qnnpack", "onednn") else "x86"
    batches = [make_input(size) for _ in range(3)]
    case["batches"] = [keep(x) for x in batches]
    case["float"] = keep(model(batches[0]))
    if fuse:
        model = q.fuse_modules(model, [list(names) for names in fuse])
    case["fused"] = keep(model(batches[0]))
    model.qconfig = q.default_qconfig if qconfig == "default" else q.get_default_qconfig(qconfig)
    if embedding:
        model.qconfig = getattr(q, embedding)
        case["embedding"] = embedding
    model = q.prepare(model)
    case["prepared"] = list(model.state_dict())
    for x in batches:
        model(x)
    model = q.convert(model)
    case["facts"] = facts(model)
    case["keys"] = list(model.state_dict())
    y = batches[0]
    for i, layer in enumerate(model):
        if isinstance(layer, nnq.DeQuantize):
            case["integers"] = keep(y)
        y = layer(y)
    case["result"] = keep(y)
    return case


def dynamic_case(name, layers, size, dtype, steps=None):
    model = build(layers)
    randomize(model)
    model.eval()
    case = {"name": name, "kind": "dynamic", "layers": layers, "dtype": str(dtype), "state": keep_state(model)}
    torch.backends.quantized.engine = "x86"
    x = torch.randn(size)
    case["batches"] = [keep(x)]
    case["float"] = [keep(t) for t in result_of(model(x))]
    kinds = {n.Linear, n.LSTM, n.GRU, n.LSTMCell, n.GRUCell, n.RNNCell}
    model = q.quantize_dynamic(model, kinds, dtype=dtype)
    case["facts"] = {path: {"class": m._get_name()} for path, m in model.named_modules() if path and m.__class__.__module__.startswith("torch.ao")
                     and not path.split(".")[-1].startswith("_")}
    case["result"] = [keep(t) for t in result_of(model(x))]
    return case


def qat_case(name, layers, size, classes, fuse, steps=4):
    model = build(layers)
    randomize(model)
    model.train()
    case = {"name": name, "kind": "qat", "layers": layers, "fuse": fuse, "state": keep_state(model)}
    model = q.fuse_modules_qat(model, [list(names) for names in fuse])
    model.qconfig = q.get_default_qat_qconfig("x86")
    model = q.prepare_qat(model)
    case["prepared"] = list(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    case["batches"], case["targets"], case["steps"] = [], [], []
    for step in range(steps):
        x, target = torch.randn(size), torch.randint(classes, (size[0],))
        case["batches"].append(keep(x))
        case["targets"].append(keep(target))
        if step == 2:
            model.apply(torch.ao.nn.intrinsic.qat.freeze_bn_stats)
        if step == 3:
            model.apply(q.disable_observer)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        case["steps"].append({"loss": float(loss).hex(), "state": keep_state(model)})
    model.eval()
    case["trained"] = keep(model(batches := tensors[case["batches"][0]]))
    case["enabled"] = facts(q.convert(copy.deepcopy(model).apply(q.enable_observer)))
    model = q.convert(model)
    case["facts"] = facts(model)
    case["result"] = keep(model(batches))
    return case


def main():
    torch.manual_seed(11)
    net = [["quant", "quant"], ["conv", "conv2d", 3, 6, 3, 1, 1, 1, 0], ["bn", "bn2d", 6], ["relu", "relu"], ["pool", "maxpool", 2],
           ["conv2", "conv2d", 6, 4, 3, 1, 0, 2], ["relu2", "relu"], ["flat", "flatten"], ["fc", "linear", 16, 5], ["dequant", "dequant"]]
    fuse = [["conv", "bn", "relu"], ["conv2", "relu2"]]
    cases = [static_case("net_" + name, net, (2, 3, 8, 8), fuse, name) for name in ("x86", "qnnpack", "onednn", "default")]
    cases.append(static_case("mlp", [["quant", "quant"], ["fc1", "linear", 6, 8], ["act", "relu"], ["fc2", "linear", 8, 8], ["b", "bn1d", 8],
                                     ["fc3", "linear", 8, 3], ["dequant", "dequant"]], (5, 6), [["fc1", "act"], ["fc2", "b"]]))
    cases.append(static_case("layers", [["quant", "quant"], ["bn", "bn2d", 4], ["elu", "elu", 0.7], ["bn2", "bn2d", 4], ["r", "relu"],
                                        ["hs", "hardswish"], ["leaky", "leaky", 0.2], ["relu6", "relu6"], ["drop", "dropout", 0.3],
                                        ["gn", "groupnorm", 2, 4], ["inorm", "instancenorm", 4], ["ln", "layernorm", 5, 5], ["prelu", "prelu"],
                                        ["sigmoid", "sigmoid"], ["dequant", "dequant"]], (2, 4, 5, 5), [["bn2", "r"]], "default"))
    cases.append(static_case("one", [["quant", "quant"], ["c", "conv1d", 3, 4, 3, 2, 1], ["b", "bn1d", 4], ["r", "relu"], ["d", "conv1d", 4, 3, 2],
                                     ["dequant", "dequant"]], (2, 3, 9), [["c", "b", "r"]]))
    cases.append(static_case("three", [["quant", "quant"], ["c", "conv3d", 2, 3, 2], ["b", "bn3d", 3], ["r", "relu"], ["b2", "bn3d", 3],
                                       ["dequant", "dequant"]], (1, 2, 4, 4, 4), [["c", "b", "r"]]))
    cases.append(static_case("transposed", [["quant", "quant"], ["t", "convt2d", 3, 4, 2, 2], ["b", "bn2d", 4], ["u", "convt2d", 4, 2, 3, 1, 1],
                                            ["dequant", "dequant"]], (1, 3, 4, 4), [["t", "b"]], "default"))
    for embedding in ("float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit"):
        for kind in ("embedding", "bag"):
            if kind == "embedding" and embedding.endswith("4bit"):
                continue  # PyTorch gives rows of another length.
            cases.append(static_case(kind + embedding[-4:], [["e", kind, 10, 12]], (3, 4), (), "x86", embedding,
                                     lambda size: torch.randint(10, size)))
    mlp = [["a", "linear", 6, 8], ["r", "relu"], ["b", "linear", 8, 3]]
    for dtype in (torch.qint8, torch.float16):
        cases.append(dynamic_case("mlp", mlp, (4, 6), dtype))
        cases.append(dynamic_case("lstm", [["m", "lstm", 5, 6, 2, 1]], (3, 2, 5), dtype))
        cases.append(dynamic_case("gru", [["m", "gru", 5, 6, 1, 0]], (3, 2, 5), dtype))
    for kind in ("lstmcell", "grucell", "rnncell"):
        cases.append(dynamic_case(kind, [["m", kind, 5, 6]], (3, 5), torch.qint8))
    cases.append(qat_case("net", [["quant", "quant"], ["conv", "conv2d", 3, 4, 3, 1, 1, 1, 0], ["bn", "bn2d", 4], ["relu", "relu"],
                                  ["conv2", "conv2d", 4, 4, 3], ["bn2", "bn2d", 4], ["conv3", "conv2d", 4, 3, 1], ["relu3", "relu"], ["flat", "flatten"],
                                  ["fc", "linear", 48, 4], ["dequant", "dequant"]], (6, 3, 6, 6), 4,
                          [["conv", "bn", "relu"], ["conv2", "bn2"], ["conv3", "relu3"]]))
    cases.append(qat_case("mlp", [["quant", "quant"], ["a", "linear", 6, 8], ["n", "bn1d", 8], ["s", "sigmoid"], ["b", "linear", 8, 7], ["r", "relu"],
                                  ["c", "linear", 7, 3], ["dequant", "dequant"]], (8, 6), 3, [["a", "n"], ["b", "r"]]))
    # Equal tensors once.
    same, renamed, kept = {}, {}, {}
    for name, t in tensors.items():
        key = (t.dtype, tuple(t.shape), t.numpy().tobytes())
        renamed[name] = same.setdefault(key, name)
        kept[renamed[name]] = t

    def rename(value):
        if isinstance(value, dict):
            return {k: rename(v) for k, v in value.items()}
        if isinstance(value, list):
            return [rename(v) for v in value]
        return renamed.get(value, value) if isinstance(value, str) else value

    save_file(kept, os.path.join(HERE, "eager.safetensors"))
    with open(os.path.join(HERE, "eager.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(rename(case)) for case in cases) + "\n]\n")
    print(len(cases), "cases,", len(kept), "tensors")


if __name__ == "__main__":
    main()
