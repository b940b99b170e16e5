#!/usr/bin/env python3
"""Writes optim/traces.h: what PyTorch's optimizers and schedules do, step by step, in float64.

usage: record_traces.py > traces.h
"""
import math
import sys
import warnings

import torch

warnings.simplefilter("ignore")
STEPS = 6
EPOCHS = 24
SIZES = [(3, 4), (5,)]

OPTIMIZERS = {
    "SgdPlain": ("SGD", dict(lr=0.1)),
    "SgdMomentum": ("SGD", dict(lr=0.1, momentum=0.9)),
    "SgdDampening": ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.01)),
    "SgdNesterov": ("SGD", dict(lr=0.05, momentum=0.8, weight_decay=0.1, nesterov=True)),
    "AdamPlain": ("Adam", dict(lr=0.01)),
    "AdamAmsgrad": ("Adam", dict(lr=0.02, weight_decay=0.1, amsgrad=True)),
    "AdamBetas": ("Adam", dict(lr=0.01, betas=(0.8, 0.95), eps=1e-3)),
    "AdamwPlain": ("AdamW", dict(lr=0.01)),
    "AdamwAmsgrad": ("AdamW", dict(lr=0.02, weight_decay=0.2, amsgrad=True)),
    "AdagradPlain": ("Adagrad", dict(lr=0.1)),
    "AdagradDecay": ("Adagrad", dict(lr=0.1, lr_decay=0.1, weight_decay=0.05, initial_accumulator_value=0.2)),
    "RmspropPlain": ("RMSprop", dict(lr=0.01)),
    "RmspropCentered": ("RMSprop", dict(lr=0.01, alpha=0.9, weight_decay=0.05, momentum=0.8, centered=True)),
}


def start():
    params = []
    for k, size in enumerate(SIZES):
        n = math.prod(size)
        params.append(torch.tensor([math.sin(0.5 + i + 3.0 * k) for i in range(n)], dtype=torch.float64).reshape(size).requires_grad_())
    return params


def set_gradients(params, t):
    for k, p in enumerate(params):
        g = torch.tensor([math.cos(1.7 * i + 0.9 * t + k) for i in range(p.numel())], dtype=torch.float64).reshape(p.shape)
        # The second parameter has no gradient in step 2.
        p.grad = None if (k == 1 and t == 2) else g


def emit(name, rows):
    print(f"inline constexpr double k{name}[{len(rows)}][{len(rows[0])}] = {{")
    for row in rows:
        print("    {" + ", ".join(repr(float(x)) for x in row) + "},")
    print("};")


def optimizer_trace(kind, options):
    params = start()
    optimizer = getattr(torch.optim, kind)(params, **options)
    rows = []
    for t in range(STEPS):
        set_gradients(params, t)
        optimizer.step()
        rows.append([x for p in params for x in p.detach().flatten().tolist()])
    return rows


def schedule_trace(make):
    a, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
    schedules = make(optimizer)
    rows = []
    for _ in range(EPOCHS):
        rows.append([g["lr"] for g in optimizer.param_groups])
        optimizer.step()
        for s in schedules:
            s.step()
    return rows


def plateau_trace():
    a = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([a], lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2, cooldown=1, threshold=0.01, min_lr=0.01)
    rows = []
    for t in range(EPOCHS):
        schedule.step(1.0 / (1 + min(t, 4)))
        rows.append([optimizer.param_groups[0]["lr"]])
    return rows


def sequential(optimizer):
    L = torch.optim.lr_scheduler
    return [L.SequentialLR(optimizer, [L.LinearLR(optimizer, 0.1, 1.0, 5), L.CosineAnnealingLR(optimizer, 12, 0.01)], [5])]


L = torch.optim.lr_scheduler
SCHEDULES = {
    "LambdaLr": lambda o: [L.LambdaLR(o, [lambda t: 0.95**t, lambda t: 1 / (1 + t)])],
    "MultiplicativeLr": lambda o: [L.MultiplicativeLR(o, lambda t: 1 - 0.01 * t)],
    "MultiStepLr": lambda o: [L.MultiStepLR(o, [3, 7, 7, 15], 0.3)],
    "ExponentialLr": lambda o: [L.ExponentialLR(o, 0.9)],
    "ConstantLr": lambda o: [L.ConstantLR(o, 0.25, 4)],
    "LinearLr": lambda o: [L.LinearLR(o, 0.2, 0.7, 9)],
    "PolynomialLr": lambda o: [L.PolynomialLR(o, 10, 2.0)],
    "CosineAnnealingLr": lambda o: [L.CosineAnnealingLR(o, 7, 0.02)],
    "CosineAnnealingWarmRestarts": lambda o: [L.CosineAnnealingWarmRestarts(o, 4, 2, 0.01)],
    "SequentialLr": sequential,
    "TwoSchedules": lambda o: [L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.8)],
}

print("#pragma once")
print()
print(f"// Written by record_traces.py with PyTorch {torch.__version__}. The parameters after each step of an optimizer; the rates of both")
print("// groups in each epoch of a schedule.")
print()
print("namespace torch::optim::traces {")
print()
for name, (kind, options) in OPTIMIZERS.items():
    emit(name, optimizer_trace(kind, options))
for name, make in SCHEDULES.items():
    emit(name, schedule_trace(make))
emit("Plateau", plateau_trace())
print()
print("}  // namespace torch::optim::traces")
