// Recurrent layers and weights of half precision: numbers as PyTorch 2.15 gives them.
#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "aten/core/custom_class.h"
#include "aten/testing/testing.h"
#include "c10/dispatch/registry.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::tensor_of;
using c10::IValue;
using Numbers = std::vector<double>;

c10::Stack call_all(const std::string& name, const std::string& overload, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()).callBoxed(stack);
  return stack;
}
template <class... A>
IValue call(const std::string& name, A... arguments) {
  return call_all("quantized::" + name, "", c10::Stack{IValue(arguments)...})[0];
}

// Sixteenths from -8 to 8.
Tensor sequence(int64_t step, at::IntArrayRef sizes) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return (at::remainder(at::arange(numel) * step, 17) - 8).to(at::kFloat).reshape(sizes) / 16;
}
IValue packed(const Tensor& weight, const Tensor& bias) {
  return call("linear_prepack", at::quantize_per_tensor(weight, 1.0 / 64, 0, at::kQInt8), bias);
}
IValue list_of(const std::vector<IValue>& all) {
  c10::impl::GenericList list(all[0].type());
  for (const IValue& value : all) list.push_back(value);
  return list;
}
IValue state_of(const IValue& object) {
  return object.toObject()->type()->getMethod("__getstate__")({object});
}
// Two layers of two directions with two hidden numbers.
IValue two_layers(int64_t gates) {
  const int64_t rows = 2 * gates;
  std::vector<IValue> all;
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t d = 0; d < 2; ++d) {
      const Tensor bi = sequence(5, {rows}), bh = sequence(2, {rows});
      all.push_back(call("make_quantized_cell_params_dynamic",
                         packed(sequence(3 + layer + d, {rows, layer == 0 ? 3 : 4}), bi),
                         packed(sequence(7 + d, {rows, 2}), bh), bi, bh, false));
    }
  }
  return list_of(all);
}
void expect_numbers(const IValue& got, const Numbers& expected) {
  expect_close(got.toTensor().reshape({-1}), tensor_of(expected, {static_cast<int64_t>(expected.size())}), 1e-5, 3e-6);
}

TEST(QuantizedLstm, RunsAsRecorded) {
  const Tensor x = sequence(5, {2, 3, 3}), data = sequence(5, {5, 3}), h = sequence(4, {4, 2, 2}),
               c = sequence(6, {4, 2, 2}), sizes = tensor_of({2, 2, 1}, {3}, at::kLong);
  const std::vector<Tensor> states{h, c};
  const IValue cells = two_layers(4);
  const c10::Stack dense =
      call_all("aten::quantized_lstm", "input", {x, states, cells, true, 2, 0.0, false, true, true, IValue(), false});
  EXPECT_EQ(dense[0].toTensor().sizes(), (at::IntArrayRef{2, 3, 4}));
  EXPECT_EQ(dense[2].toTensor().sizes(), (at::IntArrayRef{4, 2, 2}));
  expect_numbers(dense[0], {0.052084,  -0.1086,   -0.122186, 0.037408,  -0.045276, -0.04242, -0.119021, 0.060862,
                            -0.084212, -0.005136, -0.112153, 0.113961,  -0.016653, 0.148043, -0.052595, 0.024928,
                            -0.05677,  0.122153,  -0.019946, -0.005406, -0.078975, 0.109391, 0.061588,  -0.047819});
  expect_numbers(dense[1], {-0.113978, 0.02581, -0.078367, 0.104865, -0.095277, 0.037108, -0.120452, 0.119541,
                            -0.084212, -0.005136, -0.078975, 0.109391, -0.122186, 0.037408, -0.052595, 0.024928});
  expect_numbers(dense[2], {-0.189267, 0.056344, -0.127364, 0.191776, -0.144318, 0.087415, -0.204856, 0.267399,
                            -0.135801, -0.010864, -0.122989, 0.226427, -0.191671, 0.079328, -0.081538, 0.054166});
  const c10::Stack ragged = call_all("aten::quantized_lstm", "data",
                                     {data, sizes, states, cells, true, 2, 0.0, false, true, IValue(), false});
  expect_numbers(ragged[0], {0.052631, -0.108363, -0.121347, 0.039111,  -0.013988, 0.143282,  -0.003181,
                             0.009254, -0.044544, -0.041992, -0.119249, 0.061563,  -0.052188, 0.120038,
                             0.067379, -0.041663, -0.088183, 0.003266,  -0.114289, 0.110136});
  expect_numbers(ragged[1], {-0.113611, 0.095461, -0.059119, 0.018846, -0.109639, 0.057697, -0.081027, 0.041668,
                             -0.088183, 0.003266, -0.052188, 0.120038, -0.121347, 0.039111, -0.003181, 0.009254});
  expect_numbers(ragged[2], {-0.19169, 0.172381, -0.09732, 0.032166, -0.167666, 0.138229, -0.136244, 0.07569, -0.139862,
                             0.006761, -0.081415, 0.252073, -0.18979, 0.083558, -0.00492, 0.019395});
  EXPECT_EQ(at::testing::values(h), at::testing::values(sequence(4, {4, 2, 2})));

  const auto refuse = [&](c10::Stack arguments, const std::string& overload, const std::string& message) {
    expect_error<c10::Error>([&] { call_all("aten::quantized_lstm", overload, arguments); }, message);
  };
  refuse({x, std::vector<Tensor>{h}, cells, true, 2, 0.0, false, true, true, IValue(), false}, "input",
         "two hidden states");
  refuse({x, states, cells, true, 1, 0.0, false, true, true, IValue(), false}, "input", "expected weights for each of");
  refuse({x[0], states, cells, true, 2, 0.0, false, true, true, IValue(), false}, "input", "3 dimensions");
  refuse({x, std::vector<Tensor>{h, c[0]}, cells, true, 2, 0.0, false, true, true, IValue(), false}, "input",
         "expected hidden states [4, 2, hidden]");
  refuse({data, tensor_of({2, 3}, {2}, at::kLong), states, cells, true, 2, 0.0, false, true, IValue(), false}, "data",
         "not increase");
  refuse({data, tensor_of({2, 2}, {2}, at::kLong), states, cells, true, 2, 0.0, false, true, IValue(), false}, "data",
         "name 4 rows, but the data have 5");
}

TEST(QuantizedGru, RunsAsRecorded) {
  const Tensor x = sequence(5, {2, 3, 3}), data = sequence(5, {5, 3}), h = sequence(4, {4, 2, 2}),
               sizes = tensor_of({2, 2, 1}, {3}, at::kLong);
  const IValue cells = two_layers(3);
  const c10::Stack dense = call_all("aten::quantized_gru", "input", {x, h, cells, true, 2, 0.0, false, true, true});
  expect_numbers(dense[0], {0.073502,  -0.270869, -0.213787, -0.120576, -0.187516, -0.209473, -0.142288, -0.179006,
                            -0.333229, -0.165465, 0.05735,   -0.269759, -0.289016, 0.175438,  -0.425154, -0.085897,
                            -0.378428, 0.205041,  -0.418442, -0.069987, -0.423576, 0.218777,  -0.351388, -0.019312});
  expect_numbers(dense[1], {-0.336592, -0.029837, -0.298797, 0.358187, -0.125384, -0.086044, -0.386513, 0.271103,
                            -0.333229, -0.165465, -0.423576, 0.218777, -0.213787, -0.120576, -0.425154, -0.085897});
  const c10::Stack ragged = call_all("aten::quantized_gru", "data", {data, sizes, h, cells, true, 2, 0.0, false, true});
  expect_numbers(ragged[0], {0.081756,  -0.26505,  -0.210653, -0.115639, -0.278233, 0.119518,  -0.380146,
                             -0.0542,   -0.165017, -0.192999, -0.149764, -0.177318, -0.367651, 0.141775,
                             -0.332806, -0.017261, -0.341971, -0.09623,  0.028093,  -0.289528});
  expect_numbers(ragged[1], {-0.351253, 0.129559, -0.347096, 0.249873, -0.18073, -0.044443, -0.131375, 0.088218,
                             -0.341971, -0.09623, -0.367651, 0.141775, -0.210653, -0.115639, -0.380146, -0.0542});
  // Layers of this size without dropout's training are the same with it, the last layer's results are never dropped.
  const c10::Stack same = call_all("aten::quantized_gru", "input", {x, h, cells, true, 2, 0.9, false, true, true});
  EXPECT_EQ(at::testing::values(same[0].toTensor()), at::testing::values(dense[0].toTensor()));
}

TEST(QuantizedLayers, TakePackedWeightsOnly) {
  const Tensor x = sequence(5, {2, 3, 3}), data = sequence(5, {5, 3}), h = sequence(4, {1, 2, 2}),
               sizes = tensor_of({2, 2, 1}, {3}, at::kLong);
  const std::vector<Tensor> states{h, h}, weights{x};
  const auto refuse = [&](const char* op, const std::string& overload, c10::Stack arguments) {
    expect_error<c10::Error>([&] { call_all(op, overload, arguments); },
                             "weights as a list of tensors are no longer supported");
  };
  refuse("aten::quantized_lstm", "input_legacy",
         {x, states, weights, true, 1, 0.0, false, false, true, IValue(), false});
  refuse("aten::quantized_lstm", "data_legacy",
         {data, sizes, states, weights, true, 1, 0.0, false, false, IValue(), false});
  refuse("aten::quantized_gru", "input_legacy", {x, h, weights, true, 1, 0.0, false, false, true});
  refuse("aten::quantized_gru", "data_legacy", {data, sizes, h, weights, true, 1, 0.0, false, false});
}

TEST(QuantizedCells, AreKeptAsTheirState) {
  const Tensor wi = sequence(3, {8, 3}), wh = sequence(5, {8, 2}), bi = sequence(5, {8}), bh = sequence(2, {8}),
               x = sequence(7, {4, 1, 3}), zero = at::zeros({1, 1, 2});
  const auto lstm = [&](const IValue& cell) {
    return call_all("aten::quantized_lstm", "input",
                    {x, std::vector<Tensor>{zero, zero}, list_of({cell}), true, 1, 0.0, false, false, false, IValue(),
                     false})[0]
        .toTensor();
  };
  const Tensor expected = std::get<0>(at::lstm(x, {zero, zero}, {wi, wh, bi, bh}, true, 1, 0, false, false, false));
  const IValue dynamic = call("make_quantized_cell_params_dynamic", packed(wi, bi), packed(wh, bh), bi, bh, true),
               halves = call("make_quantized_cell_params_fp16", call("linear_prepack_fp16", wi, bi),
                             call("linear_prepack_fp16", wh, bh)),
               whole = call("make_quantized_cell_params", wi, wh, bi, bh);
  expect_close(lstm(halves), expected, 1e-5, 1e-5);  // sixteenths are halves
  for (const IValue& cell : {dynamic, whole}) expect_close(lstm(cell), expected, 0.02, 0.01);
  for (const IValue& cell : {dynamic, halves, whole}) {
    EXPECT_EQ(state_of(cell).toTuple()->elements()[4].toListRef().size(), 2u);
  }
  EXPECT_EQ(state_of(dynamic).toTuple()->elements()[0].toStringRef(), "quantized_dynamic");
}

TEST(HalfPrecision, IsTheWeightsOnly) {
  const Tensor w = tensor_of({0.1, -0.5, 0.3, 1.0, 0.2, -0.7, 0.05, 0.6, 0.9, -1.2, 0.4, 0.0}, {4, 3}),
               x = tensor_of({0.2, -0.9, 1.5, 0.4, 0.1, -0.3}, {2, 3}), bias = tensor_of({0.1, 0.2, 0.3, 0.4}, {4});
  const IValue packed_weight = call("linear_prepack_fp16", w, bias);
  const Tensor expected = at::matmul(x, w.to(at::kHalf).to(at::kFloat).t()) + bias;
  expect_close(call("linear_dynamic_fp16", x, packed_weight).toTensor(), expected, 1e-6, 1e-6);
  expect_close(call("linear_relu_dynamic_fp16", x, packed_weight).toTensor(), at::relu(expected), 1e-6, 1e-6);
  expect_close(call("linear_dynamic", x, packed_weight, false).toTensor(), expected, 1e-6, 1e-6);
  expect_close(call("linear_dynamic_fp16_unpacked_weight", x, w, bias).toTensor(), expected, 1e-6, 1e-6);
  expect_close(call("linear_dynamic_fp16_unpacked_weight", x, w, IValue()).toTensor(), expected - bias, 1e-6, 1e-6);
  const c10::Stack unpacked = call_all("quantized::linear_unpack_fp16", "", {packed_weight});
  EXPECT_EQ(at::testing::values(unpacked[0].toTensor()), at::testing::values(w.to(at::kHalf)));
  EXPECT_EQ(unpacked[0].toTensor().scalar_type(), at::kFloat);
  EXPECT_EQ(at::testing::values(unpacked[1].toTensor()), at::testing::values(bias));
  const IValue far = call("linear_prepack_fp16", tensor_of({1e6, -1e6, 1e-9}, {1, 3}), IValue());
  EXPECT_EQ(at::testing::values(call_all("quantized::linear_unpack_fp16", "", {far})[0].toTensor()),
            (Numbers{65504, -65504, 0}));
  expect_error<c10::Error>([&] { call("linear_dynamic_fp16", x.slice(1, 0, 2), packed_weight); }, "3 columns");
  expect_error<c10::Error>([&] { call("linear_dynamic_fp16", x[0], packed_weight); }, "at least 2 dimensions");
  expect_error<c10::Error>([&] { call("linear_prepack_fp16", w.to(at::kDouble), bias); }, "dtype Float");
  expect_error<c10::Error>(
      [&] { call("linear", at::quantize_per_tensor(x, 0.1, 10, at::kQUInt8), packed_weight, 0.1, 0); },
      "half precision");
}

}  // namespace
