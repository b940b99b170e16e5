#!/usr/bin/env python3
"""The row resnet18_forward_1 of layers_benchmark with ONNX Runtime: the same network with random parameters, built with the
`onnx` package. Prints the least and the median time of a run; with --processor_time that of the processor, as the benchmark
programs do. To compare, run both in turn:

  python -m venv FOLDER && FOLDER/bin/pip install onnx onnxruntime
  bazel-bin/utils/benchmark/layers_benchmark --filter=^resnet18_forward_1$ --threads=1 --processor_time
  FOLDER/bin/python utils/benchmark/resnet18_onnxruntime.py --threads=1 --processor_time
"""

import argparse
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Nodes and parameters, added one layer after the other; each method returns the name of its result."""

    def __init__(self):
        self.nodes, self.parameters, self.random = [], [], np.random.default_rng(1)

    def parameter(self, values):
        name = "p%d" % len(self.parameters)
        self.parameters.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = "y%d" % len(self.nodes)
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def uniform(self, fan_in, shape):
        return self.parameter(self.random.uniform(-1, 1, shape) / np.sqrt(fan_in))

    def convolution(self, x, inputs, outputs, window, stride):
        weight = self.uniform(inputs * window * window, (outputs, inputs, window, window))
        y = self.node("Conv", x, weight, kernel_shape=[window] * 2, strides=[stride] * 2, pads=[window // 2] * 4)
        ones, zeros = np.ones(outputs), np.zeros(outputs)
        return self.node("BatchNormalization", y, *[self.parameter(v) for v in (ones, zeros, zeros, ones)])

    def block(self, x, inputs, outputs, stride):
        y = self.node("Relu", self.convolution(x, inputs, outputs, 3, stride))
        y = self.convolution(y, outputs, outputs, 3, 1)
        if stride != 1 or inputs != outputs:
            x = self.convolution(x, inputs, outputs, 1, stride)
        return self.node("Relu", self.node("Add", y, x))


def resnet18():
    net = Network()
    y = net.node("Relu", net.convolution("image", 3, 64, 7, 2))
    y = net.node("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    inputs = 64
    for outputs in (64, 128, 256, 512):
        y = net.block(y, inputs, outputs, 1 if outputs == 64 else 2)
        y = net.block(y, outputs, outputs, 1)
        inputs = outputs
    y = net.node("Flatten", net.node("GlobalAveragePool", y))
    y = net.node("Gemm", y, net.uniform(512, (1000, 512)), net.uniform(512, (1000,)), transB=1)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])
    result = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 1000])
    graph = helper.make_graph(net.nodes, "resnet18", [image], [result], net.parameters)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--processor_time", action="store_true")
    options = parser.parse_args()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    session = onnxruntime.InferenceSession(resnet18().SerializeToString(), settings, providers=["CPUExecutionProvider"])
    feed = {"image": np.random.default_rng(2).standard_normal((1, 3, 224, 224), np.float32)}
    clock = time.process_time if options.processor_time else time.perf_counter
    times = []
    for run in range(options.runs + 5):
        start = clock()
        session.run(None, feed)
        if run >= 5:
            times.append(clock() - start)
    times.sort()
    print("onnxruntime %s, %d threads: median %.2f ms, least %.2f ms" % (
        onnxruntime.__version__, options.threads, 1e3 * times[len(times) // 2], 1e3 * times[0]))


if __name__ == "__main__":
    main()
