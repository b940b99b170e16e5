#!/usr/bin/env python3
"""Writes modules.json and modules.safetensors beside itself: modules that PyTorch trained or quantized, one a case.

Needs torch 2.15 (CPU) and safetensors. Beside record_eager.py, whose models are chains of layers. Every case draws
numbers of its own, so that others do not change it.
"""
import json
import os

import torch
import torch.ao.nn.intrinsic as nni
import torch.ao.nn.quantizable as nnqa
import torch.ao.quantization as q
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
n = torch.nn
tensors = {}


def keep(t):
    if t.is_quantized:
        t = t.int_repr()
    tensors["t%d" % len(tensors)] = t.detach().clone().contiguous()
    return "t%d" % (len(tensors) - 1)


def keep_state(model):
    return {name: keep(t) for name, t in model.state_dict().items()}


def table_case(kind, qconfig):
    """Steps of training, in the last of which the observer rests; then the table of bytes or half bytes."""
    torch.manual_seed(1)
    table = n.Embedding(7, 8, padding_idx=2) if kind == "embedding" else n.EmbeddingBag(7, 8, mode="sum")
    model = n.Sequential(table).train()
    case = {"name": kind, "kind": "table", "qconfig": qconfig, "state": keep_state(model)}
    model.qconfig = getattr(q, qconfig)
    model = q.prepare_qat(model, mapping=q.quantization_mappings.get_embedding_qat_module_mappings())
    case["prepared"] = list(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randint(7, (3, 4))
    case["indices"], case["steps"] = keep(x), []
    for step in range(3):
        if step == 2:
            model.apply(q.disable_observer)
        optimizer.zero_grad()
        y = model(x)
        loss = (y * y).sum()
        loss.backward()
        optimizer.step()
        case["steps"].append({"loss": float(loss).hex(), "state": keep_state(model)})
    model.eval()
    model = q.convert(model, mapping=q.quantization_mappings.get_embedding_static_quant_module_mappings())
    weight = model[0].weight()
    if kind == "embedding" and qconfig.endswith("4bit"):
        case["weight"] = keep(weight.dequantize())  # Of which PyTorch looks up rows of another length.
    else:
        case["weight"], case["result"] = keep(weight.dequantize()), keep(model(x))
    return case


class Net(n.Module):
    """A layer of one or two arguments, between stubs."""

    def __init__(self, layer, arguments):
        super().__init__()
        for i in range(arguments):
            self.add_module("quant%d" % i, q.QuantStub())
        self.layer, self.arguments = layer, arguments
        self.dequant = q.DeQuantStub()

    def forward(self, *x):
        y = self.layer(*[getattr(self, "quant%d" % i)(one) for i, one in enumerate(x)])
        return self.dequant(y)


def fused_case(name, make, sizes):
    """Two batches observed, the result of the first one as integers. Only this engine has these operators."""
    torch.manual_seed(2)
    torch.backends.quantized.engine = "onednn"
    model = Net(make(), len(sizes)).eval()
    case = {"name": name, "kind": "fused", "state": keep_state(model)}
    batches = [[torch.randn(size) for size in sizes] for _ in range(2)]
    case["batches"] = [[keep(x) for x in batch] for batch in batches]
    case["float"] = keep(model(*batches[0]))
    model.qconfig = q.get_default_qconfig("onednn")
    model = q.prepare(model)
    for batch in batches:
        model(*batch)
    model = q.convert(model)
    case["keys"] = list(model.state_dict())
    case["class"] = model.layer._get_name()
    case["scale"], case["zero_point"] = float(model.layer.scale).hex(), int(model.layer.zero_point)
    result = {}
    model.layer.register_forward_hook(lambda layer, x, y: result.update(y=y))
    model(*batches[0])
    case["integers"] = keep(result["y"])
    torch.backends.quantized.engine = "x86"
    return case


def integers_of(y):
    """Integers, scale and zero point of all quantized tensors in tuples."""
    if isinstance(y, tuple):
        return [one for part in y for one in integers_of(part)]
    return [] if y is None else [{"integers": keep(y), "scale": y.q_scale().hex(), "zero_point": y.q_zero_point()}]


def results_of(y):
    return [one for part in y for one in results_of(part)] if isinstance(y, tuple) else [] if y is None else [keep(y)]


class Parts(Net):
    """Its result is a tuple."""

    def forward(self, *x):
        return self.layer(*[getattr(self, "quant%d" % i)(one) for i, one in enumerate(x)])


def parts_case(name, layer, sizes):
    """A module whose layers are quantized: scales of all of them, results as integers; the float module's state."""
    model = Parts(layer, len(sizes)).eval()
    torch.manual_seed(3)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * 0.5)
    case = {"name": name, "kind": "parts", "state": keep_state(model)}
    batches = [[torch.randn(size) for size in sizes] for _ in range(2)]
    case["batches"] = [[keep(x) for x in batch] for batch in batches]
    case["float"] = results_of(model(*batches[0]))
    model.qconfig = q.get_default_qconfig("x86")
    model = q.prepare(model)
    # Attention's first weights are beside its layers' in PyTorch.
    own_keys = lambda: [k for k in model.state_dict() if "in_proj" not in k and "_proj_weight" not in k]
    case["prepared"] = own_keys()
    for batch in batches:
        model(*batch)
    model = q.convert(model)
    case["keys"] = own_keys()
    case["class"] = model.layer._get_name()
    case["scales"] = {path: [float(layer.scale).hex(), int(layer.zero_point)]
                      for path, layer in model.named_modules() if hasattr(layer, "zero_point")}
    case["results"] = integers_of(model(*batches[0]))
    return case


def main():
    torch.backends.quantized.engine = "x86"
    qconfigs = ("default_embedding_qat_qconfig", "default_embedding_qat_qconfig_4bit")
    tables = [table_case(kind, qconfig) for qconfig in qconfigs for kind in ("embedding", "bag")]
    conv = lambda: n.Conv2d(3, 4, 3, stride=2, padding=1)
    image, sum_of = (2, 3, 7, 7), (2, 4, 4, 4)
    fused = [fused_case("conv_add", lambda: nni.ConvAdd2d(conv(), torch.add), (image, sum_of)),
             fused_case("conv_add_relu", lambda: nni.ConvAddReLU2d(conv(), torch.add, n.ReLU()), (image, sum_of)),
             fused_case("linear_leaky_relu", lambda: nni.LinearLeakyReLU(n.Linear(6, 5), n.LeakyReLU(0.2)), ((4, 6),)),
             fused_case("linear_tanh", lambda: nni.LinearTanh(n.Linear(6, 5, bias=False), n.Tanh()), ((4, 6),))]
    query, keys = (4, 2, 8), (5, 2, 8)
    parts = [parts_case("lstm", n.LSTM(3, 4), ((5, 2, 3),)),
             parts_case("lstm2", n.LSTM(3, 4, 2, batch_first=True, bidirectional=True), ((2, 5, 3),)),
             parts_case("lstm_no_bias", n.LSTM(3, 4, bias=False), ((5, 2, 3),)),
             parts_case("cell", nnqa.LSTMCell(3, 4), ((2, 3),)),
             parts_case("attention", n.MultiheadAttention(8, 2), (query, keys, keys)),
             parts_case("attention_bias", n.MultiheadAttention(8, 2, add_zero_attn=True, kdim=3, vdim=5),
                        (query, (5, 2, 3), (5, 2, 5)))]
    cases = tables + fused + parts
    save_file(tensors, os.path.join(HERE, "modules.safetensors"))
    with open(os.path.join(HERE, "modules.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    print(len(cases), "cases,", len(tensors), "tensors")


if __name__ == "__main__":
    main()
