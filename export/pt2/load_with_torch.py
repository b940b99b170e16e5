"""load_with_torch.py FOLDER: torch.export.load of each .pt2 file in it, with the calls of FILE.calls.

A file of calls is torch.save's, a list of (program, seed or None, arguments, results, [(number, argument after it)],
rtol, atol), the arguments and results in a row. Prints a line for each file that does not do what they say.
"""
import json
import logging
import os
import sys
import warnings
import zipfile
from collections import namedtuple

import torch
import torch.utils._pytree as pytree
from torch.export.pt2_archive._package import load_pt2

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
known = set()


def register_named_tuples(path):
    """Types that the trees of a file name are the program's own."""
    archive = zipfile.ZipFile(path)
    for record in archive.namelist():
        if not ("/models/" in record and record.endswith(".json")):
            continue
        module = json.loads(archive.read(record))["graph_module"]
        for name, fields in module["treespec_namedtuple_fields"].items():
            if name not in known:
                known.add(name)
                kind = namedtuple("Named", fields["field_names"])
                pytree._register_namedtuple(kind, serialized_type_name=name)


def difference(want, got, rtol, atol):
    if isinstance(want, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"expected a tensor, got {got}"
        try:
            torch.testing.assert_close(got.detach(), want, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as error:
            return str(error)
        return ""
    if isinstance(want, float) and not isinstance(got, torch.Tensor):
        return "" if abs(want - got) <= atol + rtol * abs(want) or want != want else f"expected {want}, got {got}"
    return "" if want == got and type(want) is type(got) else f"expected {want}, got {got}"


def failure(path):
    register_named_tuples(path)
    calls = torch.load(path + ".calls", weights_only=True)
    names = {call[0] for call in calls}
    programs = load_pt2(path).exported_programs if names != {"model"} else {"model": torch.export.load(path)}
    modules = {name: programs[name].module() for name in names}
    for name, seed, arguments, results, after, rtol, atol in calls:
        args, kwargs = pytree.tree_unflatten(arguments, programs[name].call_spec.in_spec)
        if seed is not None:
            torch.manual_seed(seed)
        with torch.no_grad():
            got = pytree.tree_leaves(modules[name](*args, **kwargs), is_leaf=lambda v: v is None)
        if len(got) != len(results):
            return f"expected {len(results)} results, got {len(got)}"
        pairs = list(zip(results, got)) + [(want, args[i]) for i, want in after]
        for i, (want, have) in enumerate(pairs):
            why = difference(want, have, rtol, atol)
            if why:
                return f"result {i}: {why}"
    return ""


count = failed = 0
for file in sorted(os.listdir(sys.argv[1])):
    if not file.endswith(".pt2"):
        continue
    count += 1
    try:
        why = failure(os.path.join(sys.argv[1], file))
    except Exception as error:  # whatever it is, the file is not read
        why = f"{type(error).__name__}: {error}"
    if why:
        failed += 1
        print(file, why.replace("\n", " ")[:600])
print(count, "files,", failed, "failed")
sys.exit(1 if failed or not count else 0)
