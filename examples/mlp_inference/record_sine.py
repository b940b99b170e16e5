"""Makes sine.safetensors: a small network that has learned sin(x) on [-3.5, 3.5].

Needs PyTorch, which the build does not: python3 record_sine.py sine.safetensors
"""
import json
import struct
import sys

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3000)
for step in range(3000):
    x = torch.rand(256, 1) * 7 - 3.5
    loss = torch.nn.functional.mse_loss(net(x), x.sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()

header, data = {"__metadata__": {"format": "pt"}}, b""
for name, tensor in net.state_dict().items():
    raw = tensor.numpy().tobytes()
    header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-(8 + len(text)) % 64)
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data)
print("loss", loss.item(), "sin(1) =", net(torch.tensor([[1.0]])).item())
for i in range(-6, 7):
    print("%g -> %.5f" % (i / 2, net(torch.tensor([[i / 2]])).item()))
