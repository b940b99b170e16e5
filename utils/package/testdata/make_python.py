#!/usr/bin/env python3
"""Makes python@2.15.0.pt, a package as PyTorch writes it (python3 make_python.py, with torch 2.15)."""

import collections

import torch
from torch.package import PackageExporter

with PackageExporter("python@2.15.0.pt") as e:
    t = torch.arange(6.0).view(2, 3)
    e.save_pickle("model", "weights.pkl", {"w": t, "row": t[1], "n": 3})
    e.save_pickle("model.sub", "state.pkl", collections.OrderedDict(a=torch.ones(2, dtype=torch.int64), same=t))
    e.save_text("config", "a.txt", "hello")
    e.save_binary("config", "b.bin", b"\x00\xff")
    e.save_source_string("code", "class Net:\n    pass\n")
    e.extern("fractions")
    e.save_pickle("model", "object.pkl", __import__("fractions").Fraction(1, 2))
