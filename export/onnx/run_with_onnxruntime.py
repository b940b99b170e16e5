"""run_with_onnxruntime.py FOLDER: checks each .onnx file in it, and runs it with the calls of FILE.calls.

A file of calls is torch.save's, a list of (inputs, results, rtol, atol), tensors in a row. Prints a line for each file
that is not valid, or does not do what they say; operators that onnxruntime has no kernel for are no failure.
"""
import os
import sys

import numpy
import onnx
import onnxruntime
import torch


def failure(path):
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    for inputs, results, rtol, atol in torch.load(path + ".calls", weights_only=True):
        if len(names) != len(inputs):
            return f"expected {len(inputs)} inputs, got {names}"
        got = session.run(None, {name: t.detach().numpy() for name, t in zip(names, inputs)})
        if len(got) != len(results):
            return f"expected {len(results)} results, got {len(got)}"
        for i, (want, have) in enumerate(zip(results, got)):
            want = want.detach().numpy() if isinstance(want, torch.Tensor) else numpy.array(want)
            if want.dtype != have.dtype or want.shape != have.shape:
                return f"result {i}: {want.dtype} {want.shape} and {have.dtype} {have.shape}"
            if not numpy.allclose(want, have, rtol=rtol, atol=atol, equal_nan=True):
                return f"result {i}: differs by {numpy.abs(want.astype(float) - have.astype(float)).max()}"
    return ""


count = failed = 0
for file in sorted(os.listdir(sys.argv[1])):
    if not file.endswith(".onnx"):
        continue
    count += 1
    try:
        why = failure(os.path.join(sys.argv[1], file))
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
        print(file, "is valid, and not run:", str(error)[:200])
        continue
    except Exception as error:  # whatever it is, the file is not run
        why = f"{type(error).__name__}: {error}"
    if why:
        failed += 1
        print(file, why.replace("\n", " ")[:600])
print(count, "files,", failed, "failed")
sys.exit(1 if failed or not count else 0)
