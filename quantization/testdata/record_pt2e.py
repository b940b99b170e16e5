#!/usr/bin/env python3
"""Writes pt2e_NAME.pt2, pt2e.json and pt2e.safetensors beside itself: programs, and what torchao makes of them.

Needs torch 2.15 (CPU), torchao 0.18 and safetensors. A case is a program, a quantizer, calibration tensors, the scales and zero
points of the converted program's nodes in order, its operators with how often they are called, and its result; of some the
converted program, too. The last cases are trained, step by step.
"""
import collections
import copy
import json
import os

import torch
import torchao.quantization.pt2e
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as xiq
import torchao.testing.pt2e._xnnpack_quantizer as xnn
from safetensors.torch import save_file
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

HERE = os.path.dirname(os.path.abspath(__file__))


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        n = torch.nn
        self.stem = n.Conv2d(3, 6, 3, padding=1, bias=False)
        self.bn = n.BatchNorm2d(6)
        self.relu = n.ReLU()
        self.pool = n.MaxPool2d(2)
        self.a = n.Conv2d(6, 6, 3, padding=1)
        self.relu_a = n.ReLU()
        self.b = n.Conv2d(6, 6, 3, padding=1)
        self.relu_b = n.ReLU()
        self.avg = n.AdaptiveAvgPool2d(1)
        self.fc = n.Linear(6, 5)

    def forward(self, x):
        x = self.pool(self.relu(self.bn(self.stem(x))))
        y = self.b(self.relu_a(self.a(x)))
        x = self.relu_b(y + x)
        return self.fc(torch.flatten(self.avg(x), 1))


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.relu, self.fc2 = torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.Conv2d(2, 4, 1)
        self.relu, self.c = torch.nn.ReLU(), torch.nn.Conv2d(7, 2, 3)

    def forward(self, x):
        return self.c(torch.cat([self.relu(self.a(x)), self.b(x)], 1))


def randomize(model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.5 if p.dim() > 1 else 0.1))
        for key, b in model.named_buffers():
            if key.endswith("running_var"):
                b.copy_(torch.rand_like(b) + 0.5)
            elif key.endswith("running_mean"):
                b.copy_(torch.randn_like(b) * 0.1)


def main():
    torch.manual_seed(3)
    tensors, cases = {}, []

    def keep(t):
        tensors["t%d" % len(tensors)] = t.detach().clone().contiguous()
        return "t%d" % (len(tensors) - 1)

    def nodes_of(converted):
        scales, counts = [], collections.Counter()
        for node in converted.graph.nodes:
            if node.op != "call_function" or not hasattr(node.target, "_schema"):
                continue
            op = node.target._schema.name
            op += "." + node.target._schema.overload_name if node.target._schema.overload_name else ""
            counts[op] += 1
            if op == "quantized_decomposed::quantize_per_tensor":
                scales.append([float(node.args[1]).hex(), int(node.args[2])])
        return scales, dict(sorted(counts.items()))

    def quantizer_of(backend, per_channel, dynamic, qat=False):
        if backend == "x86":
            return xiq.X86InductorQuantizer().set_global(
                xiq.get_default_x86_inductor_quantization_config(is_qat=qat, is_dynamic=dynamic))
        return xnn.XNNPACKQuantizer().set_global(
            xnn.get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic, is_qat=qat))

    # torchao's copy of XNNPACKQuantizer leaves cat as it is, which XNNPACK does not.
    # Programs, how they are quantized, and whether the converted program is kept as well.
    programs = {"residual": (Residual(), (2, 3, 12, 12)), "mlp": (Mlp(), (6, 8)), "branches": (Branches(), (1, 2, 9, 9))}
    kinds = {"residual": [("x86", True, False, True), ("xnnpack", True, False, False), ("xnnpack", False, False, False)],
             "mlp": [("x86", True, False, False), ("x86", True, True, True), ("xnnpack", True, True, False)],
             "branches": [("x86", True, False, True)]}
    for name, (model, size) in programs.items():
        randomize(model)
        model.eval()
        exported = torch.export.export(model, (torch.randn(size),))
        torch.export.save(exported, os.path.join(HERE, "pt2e_%s.pt2" % name))
        batches = [torch.randn(size) for _ in range(3)]
        for backend, per_channel, dynamic, kept in kinds[name]:
            prepared = prepare_pt2e(copy.deepcopy(exported).module(), quantizer_of(backend, per_channel, dynamic))
            for x in batches:
                prepared(x)
            converted = convert_pt2e(prepared)
            scales, counts = nodes_of(converted)
            case = {"name": name, "backend": backend, "per_channel": per_channel, "dynamic": dynamic, "batches": [keep(x) for x in batches],
                    "result": keep(converted(batches[0])), "float": keep(model(batches[0])), "scales": scales, "operators": counts}
            if kept:
                case["converted"] = "pt2e_%s_%s%s.pt2" % (name, backend, "_dynamic" if dynamic else "")
                torch.export.save(torch.export.export(converted, (batches[0],)), os.path.join(HERE, case["converted"]))
            cases.append(case)

    # Training: what observers saw and weights became, step by step.
    for backend in ("x86", "xnnpack"):
        torch.manual_seed(5)
        model, size = Residual(), (4, 3, 8, 8)
        randomize(model)
        model.train()
        exported = torch.export.export(model, (torch.randn(size),))
        file = "pt2e_training.pt2"
        torch.export.save(exported, os.path.join(HERE, file))
        prepared = prepare_qat_pt2e(exported.module(), quantizer_of(backend, True, False, True))
        optimizer = torch.optim.SGD(prepared.parameters(), lr=0.02)
        case = {"name": "training", "backend": backend, "program": file, "batches": [], "targets": [], "steps": []}
        for _ in range(3):
            x, target = torch.randn(size), torch.randint(5, (size[0],))
            case["batches"].append(keep(x))
            case["targets"].append(keep(target))
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(prepared(x), target)
            loss.backward()
            optimizer.step()
            seen = []
            for node in prepared.graph.nodes:
                if node.op == "call_module" and "activation_post_process" in node.target:
                    fake = prepared.get_submodule(node.target)
                    seen.append([keep(fake.scale), keep(fake.zero_point)])
            weights = {key: keep(t) for key, t in prepared.state_dict().items()
                       if not "activation_post_process" in key and t.is_floating_point()}
            case["steps"].append({"loss": float(loss).hex(), "seen": seen, "weights": weights})
        torchao.quantization.pt2e.move_exported_model_to_eval(prepared)
        converted = convert_pt2e(prepared)
        case["scales"], case["operators"] = nodes_of(converted)
        case["result"] = keep(converted(tensors[case["batches"][0]]))
        cases.append(case)
    save_file(tensors, os.path.join(HERE, "pt2e.safetensors"))
    with open(os.path.join(HERE, "pt2e.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
