#!/usr/bin/env python3
"""Recurrent layers and packing as PyTorch does them, from its recorded behaviour: makes rnn_cases.txt.

    python3 record_rnn.py FOLDER [EVERY] > rnn_cases.txt

FOLDER holds nn_modules and nn_utils (.jsonl, .safetensors); of a class every EVERYth case is taken (4). Lines of words:
`case ID CLASS input hidden layers bias batch_first bidirectional dropout proj relu seed then then`, `parameter NAME TENSOR`,
`run MODE SEED PACKED` with `input`, `output`, `grad_input`, `grad` lines and `end`. A tensor is its dimensions and elements:
`2 3 1 0.5 ..` has 3 rows of 1.
"""
import itertools
import json
import struct
import sys

CLASSES = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")


class Set:
    def __init__(self, folder, family):
        data = open("%s/%s.safetensors" % (folder, family), "rb").read()
        (length,) = struct.unpack_from("<Q", data)
        self.header = json.loads(data[8:8 + length])
        self.data = data[8 + length:]
        self.lines = [json.loads(l) for l in open("%s/%s.jsonl" % (folder, family))]

    def text(self, t):
        if t is None:
            return "-1"
        blob = self.header[t["tensor"]]
        begin, end = blob["data_offsets"]
        letter, width, digits = {"F32": ("f", 4, "%.9g"), "F64": ("d", 8, "%.13g"), "I64": ("q", 8, "%d")}[blob["dtype"]]
        values = struct.unpack("<%d%s" % ((end - begin) // width, letter), self.data[begin:end])
        size = t["size"]
        strides, step = t.get("stride"), 1
        if strides is None:
            strides = []
            for n in reversed(size):
                strides.insert(0, step)
                step *= n
        places = [sum(i * s for i, s in zip(index, strides)) for index in itertools.product(*map(range, size))]
        return " ".join([str(len(size))] + [str(n) for n in size] + [digits % values[p] for p in places])

    # The tensors of a value, in order.
    def tensors(self, value):
        if isinstance(value, list):
            return [t for v in value for t in self.tensors(v)]
        if "packed_sequence" in value:
            p = value["packed_sequence"]
            return [p["data"], p["batch_sizes"], p["sorted_indices"], p["unsorted_indices"]]
        return [value]


def modules(records, every):
    seen = {}
    for d in records.lines:
        if d.get("class") not in CLASSES:
            continue
        n = seen[d["class"]] = seen.get(d["class"], -1) + 1
        if n % every != 0:
            continue
        c = d["config"]
        flag = lambda name, default: int(c.get(name, default))
        print("case", d["id"], d["class"], c["input_size"], c["hidden_size"], c.get("num_layers", 1), flag("bias", True),
              flag("batch_first", False), flag("bidirectional", False), c.get("dropout", 0.0), c.get("proj_size", 0),
              int(c.get("nonlinearity") == "relu"), d["seed"], *d["then"])
        for name in d["state_dict_keys"]:
            print("parameter", name, records.text(d["parameters"][name]))
        for r in d["runs"]:
            if r["dtype"] != "float64":
                continue
            print("run", r["mode"], r.get("seed", -1), int("packed_sequence" in r["inputs"][0]))
            for kind, values in (("input", r["inputs"]), ("output", r["outputs"]), ("grad_input", r.get("grad_inputs", []))):
                values = values if isinstance(values, list) else [values]
                for t in (values if kind == "grad_input" else records.tensors(values)):
                    print(kind, records.text(t))
            for name, t in r.get("grad_parameters", {}).items():
                print("grad", name, records.text(t))
            print("end")


def packing(records):
    for d in records.lines:
        kind = d.get("kind")
        if kind == "pack_padded_sequence":
            print("pack", d["id"], int(d["batch_first"]), int(d["enforce_sorted"]), d["padding_value"],
                  -1 if d["total_length"] is None else d["total_length"], len(d["lengths"]), *d["lengths"])
            for t in [d["input"]] + records.tensors(d["packed"]) + [d["padded"], d["padded_lengths"]] + d["unpacked"]:
                print("tensor", records.text(t))
        elif kind == "pad_sequence":
            k = d["kwargs"]
            print("pad", d["id"], int(k["batch_first"]), k["padding_value"], k["padding_side"], len(d["sequences"]),
                  int("unpadded" in d))
            for t in d["sequences"] + [d["padded"]]:
                print("tensor", records.text(t))
        elif kind == "pack_sequence":
            print("sequence", d["id"], int(d["enforce_sorted"]), len(d["sequences"]))
            for t in d["sequences"] + records.tensors(d["packed"]):
                print("tensor", records.text(t))
        else:
            continue
        print("end")


folder, every = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
modules(Set(folder, "nn_modules"), every)
packing(Set(folder, "nn_utils"))
