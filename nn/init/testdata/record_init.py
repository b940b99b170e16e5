#!/usr/bin/python3
"""Records what torch.nn.init and the layers' own initialisers give for seed 42, as C++ for init_test.cc.

./record_init.py > init_numbers.inc
"""
import torch
from torch import nn
from torch.nn import init


def show(name, *tensors):
    values = ", ".join("%.9g" % v for t in tensors for v in t.detach().flatten().tolist())
    print(f"{{\"{name}\", {{{values}}}}},")


def run(name, f, *sizes):
    torch.manual_seed(42)
    t = torch.empty(*sizes)
    f(t)
    show(name, t)


print("// Written by record_init.py with PyTorch", torch.__version__.split("+")[0])
run("uniform_", lambda t: init.uniform_(t, -1, 2), 2, 3)
run("normal_", lambda t: init.normal_(t, 1, 2), 2, 3)
run("normal_20", lambda t: init.normal_(t, 1, 2), 4, 5)
run("kaiming_uniform_", lambda t: init.kaiming_uniform_(t, a=0.2), 2, 3)
run("kaiming_normal_fan_out_relu", lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), 2, 3, 2, 2)
run("xavier_uniform_", lambda t: init.xavier_uniform_(t, gain=5 / 3), 2, 3)
run("xavier_normal_", init.xavier_normal_, 3, 2, 2)
run("orthogonal_tall", init.orthogonal_, 4, 3)
run("orthogonal_wide", lambda t: init.orthogonal_(t, gain=2), 2, 2, 2)
run("sparse_", lambda t: init.sparse_(t, 0.5, std=1), 4, 3)
run("dirac_", init.dirac_, 2, 3, 3, 2)
run("eye_", init.eye_, 2, 3)
torch.manual_seed(42)
m = nn.Linear(3, 2)
show("Linear", m.weight, m.bias)
torch.manual_seed(42)
m = nn.Conv2d(2, 2, 3, groups=2)
show("Conv2d", m.weight, m.bias)
torch.manual_seed(42)
m = nn.Embedding(3, 4, padding_idx=1)
show("Embedding", m.weight)
torch.manual_seed(42)
m = nn.Bilinear(2, 3, 2)
show("Bilinear", m.weight, m.bias)
torch.manual_seed(42)
m = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.Linear(2, 1))
show("Sequential", *m.parameters())
