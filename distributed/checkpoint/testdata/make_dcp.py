"""Makes the folders here with PyTorch 2.15: python make_dcp.py FOLDER."""

import os
import shutil
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor


def values():
    return {
        "plain": torch.arange(6.0).reshape(2, 3),
        "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "flags": torch.tensor([True, False, True]),
        "scalar": torch.tensor(7),
        "step": 3,
        "text": "x",
        "pair": (1, 2.5),
        "opt": {
            "state": {"w": {"step": torch.tensor(5.0), "exp_avg": torch.arange(4.0)}},
            "param_groups": [{"lr": 0.1, "params": ["w"]}, {"lr": 0.2, "params": []}],
        },
    }


def rank_main(rank, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29611", RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2,))
    state = values()
    whole = torch.arange(15.0).reshape(5, 3)
    state["rows"] = distribute_tensor(whole, mesh, [Shard(0)])
    state["columns"] = distribute_tensor(whole, mesh, [Shard(1)])
    state["copies"] = distribute_tensor(whole, mesh, [Replicate()])
    dcp.save(state, checkpoint_id=os.path.join(folder, "dcp_2_ranks"))
    tensors = {name: state[name] for name in ("plain", "rows", "columns")}
    dcp.save(tensors, storage_writer=HuggingFaceStorageWriter(os.path.join(folder, "hf_2_ranks"), save_distributed=True))
    dist.destroy_process_group()


if __name__ == "__main__":
    folder = sys.argv[1]
    for name in ("dcp_1_rank", "dcp_2_ranks", "hf_2_ranks"):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    dcp.save(values(), checkpoint_id=os.path.join(folder, "dcp_1_rank"))
    mp.spawn(rank_main, (folder,), nprocs=2)
