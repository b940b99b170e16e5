// Layers of torch.ops.quantized on CUDA devices give what they give on the CPU, bit by bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/cuda/graph.h"
#include "aten/testing/testing.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "c10/dispatch/registry.h"
#include "c10/testing/message_of.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using at::Tensor;
using c10::IValue;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

const at::Device kCpu(at::kCPU), kGpu(at::kCUDA, 0);

template <class... A>
c10::Stack stack_of(const std::string& name, const std::string& overload, A... arguments) {
  c10::Stack stack{IValue(arguments)...};
  c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()).callBoxed(stack);
  return stack;
}
template <class... A>
IValue pack(const std::string& name, A... arguments) {
  return stack_of("quantized::" + name, "", arguments...)[0];
}
template <class... A>
Tensor call(const std::string& name, A... arguments) {
  return stack_of("quantized::" + name, "", arguments...)[0].toTensor();
}
template <class... A>
Tensor call_new(const std::string& name, A... arguments) {
  return stack_of("quantized::" + name, "new", arguments...)[0].toTensor();
}

// What `f` gives for a device, against what it gives for the CPU.
void expect_same(const std::string& what, const std::function<Tensor(at::Device)>& f, at::Device device = kGpu) {
  SCOPED_TRACE(what);
  const Tensor expected = f(kCpu), got = f(device);
  EXPECT_EQ(got.device(), device);
  ASSERT_EQ(got.scalar_type(), expected.scalar_type());
  EXPECT_EQ(got.sizes(), expected.sizes());
  EXPECT_EQ(got.strides(), expected.strides());
  if (expected.is_quantized()) {
    EXPECT_EQ(got.q_scale(), expected.q_scale());
    EXPECT_EQ(got.q_zero_point(), expected.q_zero_point());
    EXPECT_EQ(at::testing::values(got.int_repr().to(kCpu)), at::testing::values(expected.int_repr()));
  } else {
    EXPECT_EQ(at::testing::values(got.to(kCpu)), at::testing::values(expected));
  }
}

Tensor integers(Ints sizes, at::ScalarType dtype, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const bool is_byte = dtype == at::kByte;
  return at::randint(is_byte ? 0 : -128, is_byte ? 256 : 128, sizes, generator, at::TensorOptions(dtype));
}
constexpr double kScale = 0.03092620785780779;
constexpr int64_t kZero = 62;
Tensor input(Ints sizes, int64_t zero_point = kZero) {
  return at::_make_per_tensor_quantized_tensor(integers(sizes, at::kByte, 1), kScale, zero_point);
}

enum class Channels { kUniform, kShifted, kEach, kEachShifted };
constexpr Channels kAllChannels[] = {Channels::kUniform, Channels::kShifted, Channels::kEach, Channels::kEachShifted};
Tensor weight(Ints sizes, Channels channels, int64_t axis = 0) {
  const Tensor q = integers(sizes, at::kChar, 2);
  if (channels == Channels::kUniform) return at::_make_per_tensor_quantized_tensor(q, 0.1, 0);
  if (channels == Channels::kShifted) return at::_make_per_tensor_quantized_tensor(q, 0.1, -7);
  const int64_t n = sizes[static_cast<size_t>(axis)];
  const Tensor scales = at::linspace(0.01, 0.3, n, at::kDouble);
  const Tensor zeros =
      channels == Channels::kEach ? at::zeros({n}, at::kLong) : at::remainder(at::arange(n, at::kLong), 5) - 2;
  return at::_make_per_channel_quantized_tensor(q, scales, zeros, axis);
}
Tensor bias_of(int64_t n) {
  return at::linspace(-2, 3, n, at::kFloat);
}

// Of results, most of which are within the range.
constexpr double kWide = 3.7;

TEST(CudaQuantizedLayers, Linear) {
  c10::cuda::testing::in_all_orders([] {
    // Results one by one, and tiles of several blocks; rows of words, and of single bytes.
    for (const Ints& sizes : {Ints{5, 8, 3}, Ints{3, 6, 20}, Ints{70, 37, 66}}) {
      for (const Channels channels : kAllChannels) {
        for (const bool biased : {false, true}) {
          const auto packed = [&](at::Device device) {
            return pack("linear_prepack", weight({sizes[2], sizes[1]}, channels).to(device),
                        biased ? IValue(bias_of(sizes[2]).to(device)) : IValue());
          };
          const Tensor x = input({sizes[0], sizes[1]});
          const std::string of = std::to_string(static_cast<int>(channels)) + (biased ? ", biased" : "");
          expect_same("linear " + of,
                      [&](at::Device device) { return call("linear", x.to(device), packed(device), kWide, kZero); });
          expect_same("linear_relu " + of, [&](at::Device device) {
            return call("linear_relu", x.to(device), packed(device), kWide, kZero);
          });
          expect_same("linear_q_dq " + of, [&](at::Device device) {
            return call("linear_with_input_q_dq_qweight_dq_output_fp32", x.dequantize().to(device), kScale, kZero,
                        packed(device));
          });
        }
      }
    }
  });
}

TEST(CudaQuantizedLayers, FormsOfLinear) {
  c10::cuda::testing::in_all_orders([] {
    const auto packed = [](at::Device device) {
      return pack("linear_prepack", weight({9, 6}, Channels::kEach).to(device), bias_of(9).to(device));
    };
    const Tensor x = input({2, 3, 6}), numbers = x.dequantize();
    for (const char* name : {"linear_dynamic", "linear_relu_dynamic"}) {
      expect_same(name, [&](at::Device device) { return call(name, numbers.to(device), packed(device), true); });
    }
    expect_same("of columns", [&](at::Device device) {
      return call("linear", x[0].t().contiguous().t().to(device), packed(device), kWide, kZero);
    });
    expect_same("of nothing", [&](at::Device device) {
      return call("linear", x.slice(0, 0, 0).to(device), packed(device), kWide, kZero);
    });
    expect_same("linear_leaky_relu", [&](at::Device device) {
      return call("linear_leaky_relu", x.to(device), packed(device), kWide, kZero, 0.1);
    });
    expect_same("_quantized", [&](at::Device device) {
      return stack_of("_quantized::linear", "", x.to(device), packed(device), kWide, kZero)[0].toTensor();
    });
    const auto halves = [](at::Device device) {
      return pack("linear_prepack_fp16", (at::arange(18, at::kFloat).reshape({3, 6}) - 7).to(device), IValue());
    };
    expect_same("linear_dynamic_fp16", [&](at::Device device) {
      return call("linear_dynamic_fp16", at::round(numbers).to(device), halves(device));
    });
    // What was packed, unpacked.
    for (const at::Device device : {kCpu, kGpu}) {
      const auto parts = stack_of("quantized::linear_unpack", "", packed(device));
      EXPECT_EQ(parts[0].toTensor().device(), device);
      EXPECT_TRUE(at::equal(parts[0].toTensor().to(kCpu), weight({9, 6}, Channels::kEach)));
      EXPECT_EQ(parts[1].toTensor().device(), device);
    }
  });
}

struct Geometry {
  Ints input, weight, stride, padding, dilation;
  int64_t groups;
};

TEST(CudaQuantizedLayers, Convolutions) {
  c10::cuda::testing::in_all_orders([] {
    const std::vector<Geometry> geometries = {
        {{2, 3, 7}, {5, 3, 3}, {2}, {1}, {1}, 1},
        {{2, 4, 6, 5}, {9, 4, 3, 2}, {1, 2}, {2, 0}, {1, 2}, 1},     // words, a tile
        {{1, 6, 5, 5}, {18, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},    // bytes, a tile of each group
        {{1, 10, 6, 4}, {10, 1, 3, 3}, {2, 1}, {1, 1}, {1, 1}, 10},  // each channel by itself
        {{3, 5, 4, 4}, {70, 5, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},    // a product of several blocks
        {{1, 2, 4, 5, 3}, {8, 2, 2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {2, 1, 1}, 1},
    };
    for (const Geometry& g : geometries) {
      const std::string name = "conv" + std::to_string(g.input.size() - 2) + "d";
      for (const Channels channels : kAllChannels) {
        const auto packed = [&](at::Device device) {
          return pack(name + "_prepack", weight(g.weight, channels).to(device), bias_of(g.weight[0]).to(device),
                      g.stride, g.padding, g.dilation, g.groups);
        };
        const Tensor x = input(g.input);
        for (const std::string relu : {"", "_relu"}) {
          expect_same(name + relu, [&](at::Device device) {
            return name == "conv1d" ? call(name + relu, x.to(device), packed(device), kWide, kZero)
                                    : call_new(name + relu, x.to(device), packed(device), kWide, kZero);
          });
        }
        expect_same(name + "_dynamic", [&](at::Device device) {
          return call(name + "_dynamic", x.dequantize().to(device), packed(device), false);
        });
      }
    }
  });
}

TEST(CudaQuantizedLayers, TransposedConvolutions) {
  c10::cuda::testing::in_all_orders([] {
    struct Transposed {
      Geometry geometry;
      Ints output_padding;
    };
    const std::vector<Transposed> all = {
        {{{2, 3, 5}, {3, 4, 3}, {2}, {1}, {1}, 1}, {1}},
        {{{1, 4, 3, 4}, {4, 9, 2, 3}, {2, 1}, {1, 0}, {1, 2}, 1}, {0, 0}},
        {{{1, 6, 4, 3}, {6, 2, 3, 3}, {2, 2}, {0, 1}, {1, 1}, 2}, {1, 0}},
        {{{1, 2, 2, 3, 2}, {2, 8, 2, 2, 2}, {1, 2, 2}, {0, 1, 0}, {1, 1, 1}, 1}, {0, 0, 1}},
    };
    for (const auto& [g, output_padding] : all) {
      const std::string name = "conv_transpose" + std::to_string(g.input.size() - 2) + "d";
      for (const Channels channels : kAllChannels) {
        if (g.groups > 1 && channels >= Channels::kEach) continue;
        const auto packed = [&](at::Device device) {
          return pack(name + "_prepack", weight(g.weight, channels, 1).to(device),
                      bias_of(g.weight[1] * g.groups).to(device), g.stride, g.padding, output_padding, g.dilation,
                      g.groups);
        };
        const Tensor x = input(g.input);
        expect_same(name, [&](at::Device device) { return call(name, x.to(device), packed(device), kWide, kZero); });
        expect_same(name + "_dynamic", [&](at::Device device) {
          return call(name + "_dynamic", x.dequantize().to(device), packed(device), false);
        });
      }
    }
  });
}

TEST(CudaQuantizedLayers, SumsAndZeroPoints) {
  c10::cuda::testing::in_all_orders([] {
    const auto packed = [](at::Device device) {
      return pack("conv2d_prepack", weight({8, 3, 3, 3}, Channels::kShifted).to(device), IValue(), Ints{1, 1},
                  Ints{1, 1}, Ints{1, 1}, 1);
    };
    for (const int64_t zero_point : {0, 255}) {
      const Tensor x = input({1, 3, 4, 4}, zero_point);
      expect_same("conv2d", [&](at::Device device) {
        return call_new("conv2d", x.to(device), packed(device), kWide, zero_point);
      });
      expect_same("conv2d_add", [&](at::Device device) {
        return call("conv2d_add_relu", x.to(device), input({1, 8, 4, 4}).to(device), packed(device), kWide, kZero);
      });
    }
  });
}

TEST(CudaQuantizedLayers, RecurrentCells) {
  c10::cuda::testing::in_all_orders([] {
    const Tensor x = at::linspace(-1, 2, 10, at::kFloat).reshape({2, 5}),
                 hidden = at::linspace(1, -1, 6, at::kFloat).reshape({2, 3});
    // Weights of each cell have as many rows as it has gates.
    const auto run = [&](const std::string& cell, int64_t gates, at::Device device) {
      const auto packed = [&](int64_t columns) {
        return pack("linear_prepack", weight({3 * gates, columns}, Channels::kUniform).to(device),
                    bias_of(3 * gates).to(device));
      };
      const Tensor unread = at::zeros({1}, at::TensorOptions(device));
      const Tensor h = hidden.to(device);
      const IValue state = cell == "lstm" ? IValue(std::vector<Tensor>{h, h}) : IValue(h);
      return stack_of("quantized::quantized_" + cell + "_cell_dynamic", "", x.to(device), state, packed(5), packed(3),
                      unread, unread)[0]
          .toTensor();
    };
    for (const auto& [cell, gates] : {std::pair<const char*, int64_t>{"lstm", 4}, {"gru", 3}, {"rnn_relu", 1}}) {
      const Tensor expected = run(cell, gates, kCpu), got = run(cell, gates, kGpu);
      EXPECT_TRUE(got.is_cuda());
      at::testing::expect_close(got.to(kCpu), expected, 1e-6, 1e-6);
    }
  });
}

Tensor vectors() {
  return at::sin(at::arange(64, at::kFloat) * 3).reshape({8, 8});
}

TEST(CudaQuantizedLayers, TablesOfRows) {
  c10::cuda::testing::in_all_orders([] {
    const Tensor indices = at::tensor({7, 0, 3, 3, 1}, at::kLong), offsets = at::tensor({0, 2, 2}, at::kInt),
                 weights = at::tensor({0.5f, -1.0f, 2.0f, 1.5f, 3.0f}),
                 ends = at::stack({vectors().amin(1) - 1, vectors().amax(1)}, 1);
    const Tensor mapping = at::tensor({2, -1, 0, 1, -1, -1, -1, 7}, at::kInt);
    for (const std::string bits : {"byte", "4bit", "2bit"}) {
      const std::string name = "embedding_bag_" + bits;
      for (const bool optimized : {false, true}) {
        const auto table = [&](at::Device device) {
          return bits == "byte" ? call(name + "_prepack", vectors().to(device))
                                : call(name + "_prepack", vectors().to(device), optimized, 20, 0.5);
        };
        expect_same(name + "_prepack", table);
        expect_same(name + "_unpack", [&](at::Device device) { return call(name + "_unpack", table(device)); });
        for (const bool pruned : {false, true}) {
          expect_same(name, [&](at::Device device) {
            return call(name + "_rowwise_offsets", table(device), indices.to(device), offsets.to(device), false, 0,
                        pruned, weights.to(device), pruned ? IValue(mapping.to(device)) : IValue(), false);
          });
        }
        expect_same(name + " of rows of indices", [&](at::Device device) {
          return call(name + "_rowwise_offsets", table(device), indices.slice(0, 0, 4).reshape({2, 2}).to(device),
                      IValue(), false, 0, true, IValue(), at::zeros({1}, at::kInt).to(device), false);
        });
      }
      expect_same(name + "_prepack_with_rowwise_min_max", [&](at::Device device) {
        const std::string with = name + "_prepack_with_rowwise_min_max";
        return bits == "byte" ? call(with, vectors().to(device), ends.to(device))
                              : call(with, vectors().to(device), ends.to(device), false, 20, 0.5);
      });
    }
    // Rows of one number, of numbers that are equal, and with a scale at an odd address.
    expect_same("odd", [&](at::Device device) {
      return call("embedding_bag_byte_unpack",
                  call("embedding_bag_byte_prepack", vectors().slice(1, 0, 1).contiguous().to(device)));
    });
    expect_same("equal", [&](at::Device device) {
      return call("embedding_bag_4bit_prepack", at::full({2, 4}, 3.25).to(device), false, 20, 0.5);
    });
  });
}

TEST(CudaQuantizedLayers, PackedTables) {
  c10::cuda::testing::in_all_orders([] {
    const Tensor indices = at::tensor({1, 0, 2}, at::kLong), offsets = at::tensor({0, 1, 3}, at::kLong);
    for (const int bits : {8, 4}) {
      const Tensor q = at::quantize_per_channel(vectors(), at::linspace(0.1, 0.3, 8, at::kFloat),
                                                at::linspace(0, 4, 8, at::kFloat) + 0.25, 0,
                                                bits == 8 ? at::kQUInt8 : at::kQUInt4x2);
      const auto packed = [&](at::Device device) { return pack("embedding_bag_prepack", q.to(device)); };
      const std::string ending = bits == 8 ? "byte" : "4bit";
      expect_same("embedding_" + ending, [&](at::Device device) {
        return call("embedding_" + ending, packed(device), indices.to(device), false);
      });
      expect_same("embedding_bag_" + ending, [&](at::Device device) {
        return call("embedding_bag_" + ending, packed(device), indices.to(device), offsets.to(device), false, 0, false,
                    IValue(), IValue(), true);
      });
      const Tensor back = stack_of("quantized::embedding_bag_unpack", "", packed(kGpu))[0].toTensor();
      EXPECT_TRUE(back.is_cuda());
      EXPECT_TRUE(at::equal(at::dequantize(back).to(kCpu), at::dequantize(q)));
    }
  });
}

TEST(CudaQuantizedLayers, Devices) {
  c10::cuda::testing::in_all_orders([] {
    // Another one is current.
    const at::Device second(at::kCUDA, 1);
    const auto packed = [](at::Device device) {
      return pack("linear_prepack", weight({9, 6}, Channels::kEachShifted).to(device), bias_of(9).to(device));
    };
    expect_same(
        "linear",
        [&](at::Device device) {
          return call("linear", input({3, 6}).to(device), packed(device), kWide, kZero);
        },
        second);
    expect_same(
        "table",
        [&](at::Device device) {
          return call("embedding_bag_byte_unpack", call("embedding_bag_byte_prepack", vectors().to(device)));
        },
        second);
    EXPECT_EQ(c10::cuda::current_device(), 0);
    // Of two devices.
    EXPECT_THAT(c10::testing::message_of([&] {
                  call("linear", input({3, 6}).to(kGpu), packed(kCpu), kWide, kZero);
                }),
                HasSubstr("Expected all tensors to be on the same device"));
    EXPECT_THAT(c10::testing::message_of([&] {
                  call("linear", input({3, 6}), packed(second), kWide, kZero);
                }),
                HasSubstr("Expected all tensors to be on the same device"));
    EXPECT_THAT(c10::testing::message_of([&] {
                  const IValue table =
                      pack("embedding_bag_prepack", at::quantize_per_channel(vectors(), at::ones({8}, at::kFloat),
                                                                             at::zeros({8}, at::kFloat), 0, at::kQUInt8)
                                                        .to(kGpu));
                  call("embedding_byte", table, at::tensor({0}, at::kLong).to(second), false);
                }),
                HasSubstr("Expected all tensors to be on the same device"));
  });
}

TEST(CudaQuantizedLayers, BadIndicesEndTheDevicesWork) {
  const auto look_up = [](int64_t index, int64_t offset) {
    c10::cuda::testing::in_own_process([&] {
      cuda_standin::reset();
      const Tensor table = call("embedding_bag_byte_prepack", vectors().to(kGpu));
      const Tensor sums = call("embedding_bag_byte_rowwise_offsets", table, at::tensor({index}, at::kLong).to(kGpu),
                               at::tensor({offset}, at::kLong).to(kGpu), false, 0, false, IValue(), IValue(), false);
      EXPECT_THAT(c10::testing::message_of([&] { sums.to(kCpu); }), HasSubstr("cudaErrorLaunchFailure"));
      EXPECT_THAT(cuda_standin::misuse(), HasSubstr("sums of quantized rows"));
    });
  };
  look_up(8, 0);
  look_up(-1, 0);
  look_up(0, 1);
}

// On the stream, without waiting for the device.
TEST(CudaQuantizedLayers, AreCapturedInGraphs) {
  c10::cuda::testing::in_all_orders([] {
    const Tensor x = input({5, 6}).to(kGpu);
    const IValue linear = pack("linear_prepack", weight({9, 6}, Channels::kEachShifted).to(kGpu), IValue());
    const Tensor table = call("embedding_bag_byte_prepack", vectors().to(kGpu)),
                 indices = at::tensor({1, 7, 2}, at::kLong).to(kGpu), offsets = at::tensor({0, 2}, at::kLong).to(kGpu);
    const auto sums = [&] {
      return call("embedding_bag_byte_rowwise_offsets", table, indices, offsets, false, 0, false, IValue(), IValue(),
                  false);
    };
    const Tensor expected = call("linear", x, linear, kWide, kZero).to(kCpu), expected_sums = sums().to(kCpu);
    at::cuda::CUDAGraph graph;
    Tensor product, sum;
    {
      const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
      graph.capture_begin();
      product = call("linear", x, linear, kWide, kZero);
      sum = sums();
      graph.capture_end();
    }
    graph.replay();
    EXPECT_TRUE(at::equal(product.to(kCpu), expected));
    EXPECT_TRUE(at::equal(sum.to(kCpu), expected_sums));
  });
}

}  // namespace
