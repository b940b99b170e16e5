// torch.ops.quantized and torch.ops.quantized_decomposed, called by name.
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/quantized/packed_weights.h"
#include "aten/testing/testing.h"
#include "c10/dispatch/registry.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_close;
using at::testing::expect_error;
using at::testing::sample;
using at::testing::tensor_of;
using c10::IValue;
using Numbers = std::vector<double>;

using Ints = std::vector<int64_t>;

c10::Stack call_all(const std::string& name, const std::string& overload, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).callBoxed(stack);
  return stack;
}
template <class... A>
IValue call(const std::string& name, A... arguments) {
  const size_t dot = name.find('.');
  return call_all("quantized::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1),
                  c10::Stack{IValue(arguments)...})[0];
}

Tensor quantized(const Tensor& x, double scale = 0.05, int64_t zero_point = 60, at::ScalarType dtype = at::kQUInt8) {
  return at::quantize_per_tensor(x, scale, zero_point, dtype);
}
Tensor channels(const Tensor& w, int64_t axis = 0) {
  Numbers scales;
  for (int64_t i = 0; i < w.size(axis); ++i) scales.push_back(0.02 + 0.01 * static_cast<double>(i));
  const int64_t n = w.size(axis);
  return at::quantize_per_channel(w, tensor_of(scales, {n}, at::kDouble), at::zeros({n}, at::kLong), axis, at::kQInt8);
}

// At most one integer from the float computation of the same numbers.
void expect_near(const IValue& got, const Tensor& numbers) {
  const Tensor q = got.toTensor(),
               expected = at::quantize_per_tensor(numbers, q.q_scale(), q.q_zero_point(), at::kQUInt8);
  ASSERT_EQ(q.sizes(), expected.sizes());
  EXPECT_LE(at::testing::values((q.int_repr().to(at::kLong) - expected.int_repr().to(at::kLong)).abs().max())[0], 1);
}

// Vectors, what is left over, other orders of memory, halves to even.
TEST(Arithmetic, AddsAndMultipliesAllElementsAlike) {
  for (const at::ScalarType dtype : {at::kQUInt8, at::kQInt8, at::kQInt32}) {
    Numbers x, y, sums, products;
    for (int i = 0; i < 70; ++i) x.push_back((i % 23 - 11) * 0.5), y.push_back((i % 17 - 8) * 0.5);
    for (size_t i = 0; i < 70; ++i) {
      sums.push_back(std::nearbyint(x[i] + y[i]) + 40);
      products.push_back(std::max(std::nearbyint(x[i] * y[i]), 0.0) + 40);
    }
    const Tensor a = quantized(tensor_of(x, {7, 10}), 0.5, 30, dtype);
    const Tensor b = quantized(tensor_of(y, {7, 10}), 0.5, 25, dtype);
    EXPECT_EQ(at::testing::values(call("add", a, b, 1.0, int64_t{40}).toTensor().int_repr()), sums);
    EXPECT_EQ(at::testing::values(call("mul_relu", a, b, 1.0, int64_t{40}).toTensor().int_repr()), products);
    EXPECT_EQ(at::testing::values(call("add", a.t(), b.t(), 1.0, int64_t{40}).toTensor().t().int_repr()), sums);
    const Tensor turned = quantized(tensor_of(y, {7, 10}).t().contiguous(), 0.5, 25, dtype).t();
    EXPECT_EQ(at::testing::values(call("add", a, turned, 1.0, int64_t{40}).toTensor().int_repr()), sums);
  }
}

// The product of the distances is exact: 19 * 11 half steps are more than 104.5 of them in float32, not fewer.
TEST(Arithmetic, MultipliesDistancesFirst) {
  const Tensor a = quantized(at::full({40}, -1.9f), 0.1, 20), b = quantized(at::full({40}, -1.1f), 0.1, 20);
  const Tensor whole = at::full({40}, 125, at::kByte);
  EXPECT_TRUE(at::equal(call("mul", a, b, 0.02, 20).toTensor().int_repr(), whole));
  EXPECT_TRUE(at::equal(
      call("mul_relu", a.reshape({40, 1}), b.slice(0, 0, 1), 0.02, 20).toTensor().int_repr().flatten(), whole));
}

TEST(QuantizedOperators, ComputeWithNumbers) {
  const Tensor a = quantized(sample({2, 3, 4})), b = quantized(sample({2, 3, 4}, at::kFloat, 2), 0.1, 30);
  const Tensor x = a.dequantize(), y = b.dequantize();
  expect_near(call("add", a, b, 0.1, 40), x + y);
  expect_near(call("add_relu", a, b, 0.1, 40), at::relu(x + y));
  expect_near(call("mul", a, b, 0.1, 40), x * y);
  expect_near(call("mul_relu", a, b, 0.1, 40), at::relu(x * y));
  for (const double number : {0.5, -1.25, 2.0, 100.0, -100.0, 0.0}) {
    const Tensor sum = call("add.Scalar", a, number).toTensor(), product = call("mul.Scalar", a, number).toTensor();
    expect_close(sum.dequantize(), x + number, 0, std::max(0.03, sum.q_scale()));
    expect_close(product.dequantize(), x * number, 1e-5, 1e-5);
    EXPECT_GE(at::testing::values(call("add_relu.Scalar", a, number).toTensor().dequantize().min())[0], 0);
    EXPECT_GE(at::testing::values(call("mul_scalar_relu", a, number).toTensor().dequantize().min())[0], 0);
  }
  expect_near(call("cat", std::vector<Tensor>{a, b}, 1, 0.1, 40), at::cat({x, y}, 1));
  expect_near(call("matmul", a, b.transpose(1, 2), 0.1, 40), at::matmul(x, y.transpose(1, 2)));
  expect_near(call("softmax", a, -1, 1.0 / 256, 0), at::softmax(x, -1));
  expect_near(call("hardswish", a, 0.1, 40), at::hardswish(x));
  expect_near(call("elu", a, 0.1, 40, 1.0, 1.0, 1.0), at::elu(x));
  expect_near(call("layer_norm", a, Ints{4}, IValue(), IValue(), 1e-5, 0.1, 40), at::layer_norm(x, {4}));
  expect_near(call("instance_norm", a, IValue(), IValue(), 1e-5, 0.1, 40), at::group_norm(x, 3));
  const Tensor mean = tensor_of({0.1, 0.2, 0.3}, {3}), var = tensor_of({1, 2, 3}, {3});
  expect_near(call("batch_norm1d", a, IValue(), IValue(), mean, var, 1e-5, 0.1, 40),
              (x - mean.reshape({3, 1})) / (var.reshape({3, 1}) + 1e-5).sqrt());
}

TEST(QuantizedLayers, AreProductsOfIntegers) {
  const Tensor w = sample({5, 4}, at::kFloat, 3), bias = sample({5}, at::kFloat, 4), x = sample({2, 3, 4});
  const Tensor q = quantized(x);
  for (const Tensor& weight : {quantized(w, 0.02, 0, at::kQInt8), channels(w)}) {
    const IValue packed = call("linear_prepack", weight, bias);
    EXPECT_TRUE(at::equal(call_all("quantized::linear_unpack", "", {packed})[0].toTensor(), weight));
    const Tensor expected = at::linear(q.dequantize(), weight.dequantize(), bias);
    expect_near(call("linear", q, packed, 0.1, 100), expected);
    expect_near(call("linear_relu", q, packed, 0.1, 100), at::relu(expected));
    const Tensor numbers = call("linear_dynamic", x, packed, false).toTensor();
    const Tensor own = at::quantize_per_tensor_dynamic(x, at::kQUInt8, false).dequantize();
    expect_close(numbers, at::linear(own, weight.dequantize(), bias), 1e-4, 1e-4);
    EXPECT_EQ(call("linear_with_input_q_dq_qweight_dq_output_fp32", x, 0.05, 60, packed).toTensor().sizes(),
              numbers.sizes());
  }
  // Many columns: sums beyond what float32 holds exactly.
  const Tensor wide = at::ones({1, 3000}), heavy = quantized(wide, 1.0 / 127, 0, at::kQInt8);
  expect_near(call("linear", quantized(wide, 1.0 / 255, 0), call("linear_prepack", heavy, IValue()), 16.0, 0),
              at::full({1, 1}, 3000.0));
}

TEST(QuantizedLayers, Convolve) {
  for (const int64_t dims : {1, 2, 3}) {
    const std::string name = "conv" + std::to_string(dims) + "d", overload = dims > 1 ? ".new" : "";
    at::DimVector size{2, 4}, kernel{6, 2};
    for (int64_t d = 0; d < dims; ++d) size.push_back(5 - d), kernel.push_back(2);
    const Tensor q = quantized(sample(size)), w = sample(kernel, at::kFloat, 5), bias = sample({6}, at::kFloat, 6);
    const Ints stride(dims, 2), padding(dims, 1), dilation(dims, 1), none(dims, 0);
    for (const Tensor& weight : {quantized(w, 0.02, 0, at::kQInt8), channels(w)}) {
      const IValue packed = call(name + "_prepack", weight, bias, stride, padding, dilation, 2);
      const Tensor expected =
          at::convolution(q.dequantize(), weight.dequantize(), bias, stride, padding, dilation, false, none, 2);
      expect_near(call(name + overload, q, packed, 0.1, 100), expected);
      expect_near(call(name + "_relu" + overload, q, packed, 0.1, 100), at::relu(expected));
      EXPECT_EQ(call(name + "_dynamic", sample(size), packed, true).toTensor().sizes(), expected.sizes());
      if (dims > 1) {
        EXPECT_EQ(call(name + "_groups", packed).toInt(), 2);
        // The geometry that is named with the input is not read.
        const Tensor same = call(name + overload, q, packed, 0.1, 100).toTensor();
        EXPECT_TRUE(at::equal(call(name, q, packed, dilation, none, dilation, 1, 0.1, 100).toTensor(), same));
        EXPECT_TRUE(at::equal(call(name + "_relu", q, packed, dilation, none, dilation, 1, 0.1, 100).toTensor(),
                              call(name + "_relu.new", q, packed, 0.1, 100).toTensor()));
      }
    }
    at::DimVector back{4, 3};
    for (int64_t d = 0; d < dims; ++d) back.push_back(2);
    const Tensor weight = quantized(sample(back, at::kFloat, 7), 0.02, 0, at::kQInt8);
    const std::string transposed = "conv_transpose" + std::to_string(dims) + "d";
    const IValue packed = call(transposed + "_prepack", weight, bias, stride, padding, none, dilation, 2);
    expect_near(call(transposed, q, packed, 0.1, 100),
                at::convolution(q.dequantize(), weight.dequantize(), bias, stride, padding, dilation, true, none, 2));
  }
}

// testdata/operators.txt has PyTorch's schemas; those with a reason are not here.
TEST(QuantizedOperators, HavePyTorchsNamesAndArguments) {
  std::ifstream file("aten/quantized/testdata/operators.txt");
  int found = 0, absent = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t reason = line.find(" # ");
    const auto schema = c10::parse_schema(line.substr(0, reason));
    const auto own = c10::Dispatcher::singleton().findSchema(schema.operator_name());
    if (reason != std::string::npos) {
      EXPECT_FALSE(own.has_value()) << line;
      ++absent;
      continue;
    }
    ASSERT_TRUE(own.has_value()) << line;
    EXPECT_EQ(own->schema().str(), schema.str());
    ++found;
  }
  EXPECT_EQ(found, 197);
  EXPECT_EQ(absent, 8);
}

TEST(QuantizedLayers, TellTheirSizes) {
  const IValue packed = call("conv2d_prepack", quantized(sample({3, 2, 2, 2}), 0.02, 0, at::kQInt8), IValue(),
                             Ints{1, 1}, Ints{0, 0}, Ints{1, 1}, 1);
  const auto sizes = call("conv2d_unpack_sizes", packed).toTuple()->elements();
  EXPECT_EQ(sizes[0].toIntVector(), (Ints{3, 2, 2, 2}));
  EXPECT_TRUE(sizes[1].isNone());
  EXPECT_EQ(sizes[5].toInt(), 1);
  EXPECT_THROW(call("conv2d_unpack_sizes", 1), c10::Error);
}

TEST(QuantizedLayers, HaveOtherNames) {
  const Tensor x = sample({2, 3}), w = sample({4, 3}, at::kFloat, 2), bias = sample({4}, at::kFloat, 3);
  const auto number = [](double value) { return tensor_of({value}, {}); };
  const auto other = [](const std::string& name, c10::Stack stack) {
    return call_all("_quantized::" + name, "", std::move(stack))[0];
  };
  const IValue packed = other("linear_prepack", {quantized(w, 0.02, 3, at::kQInt8), bias});
  const Tensor q = quantized(x), product = call("linear", q, packed, 0.1, 120).toTensor();
  EXPECT_TRUE(at::equal(other("linear", {q, packed, 0.1, 120}).toTensor(), product));
  EXPECT_TRUE(at::equal(other("wrapped_quantized_linear", {x, number(0.05), number(60), w, number(0.02), number(3),
                                                           bias, number(0.1), number(120), 4})
                            .toTensor(),
                        product.dequantize()));
  const Tensor halves = other("wrapped_fbgemm_pack_gemm_matrix_fp16", {w}).toTensor();
  expect_close(other("wrapped_fbgemm_linear_fp16_weight", {x, halves, bias, 4}).toTensor(),
               other("linear_dynamic", {x, other("linear_prepack_fp16", {w, bias}), false}).toTensor(), 1e-6, 1e-6);
  EXPECT_TRUE(at::equal(other("add", {q, q, 0.1, 40}).toTensor(), call("add", q, q, 0.1, 40).toTensor()));
  const Tensor image = quantized(sample({1, 2, 3, 3})), window = quantized(sample({2, 2, 2, 2}), 0.02, 0, at::kQInt8);
  const Ints ones{1, 1}, none{0, 0};
  const IValue conv = other("conv2d_prepack", {window, IValue(), ones, none, ones, 1}),
               back = other("conv_transpose2d_prepack", {window, IValue(), ones, none, none, ones, 1});
  EXPECT_TRUE(at::equal(other("conv2d_relu", {image, conv, 0.1, 40}).toTensor(),
                        call("conv2d_relu.new", image, conv, 0.1, 40).toTensor()));
  EXPECT_TRUE(at::equal(other("conv_transpose2d", {image, back, 0.1, 40}).toTensor(),
                        call("conv_transpose2d", image, back, 0.1, 40).toTensor()));
}

TEST(QuantizedLayers, AddToAConvolution) {
  const Tensor x = quantized(sample({1, 2, 3, 3})),
               w = quantized(sample({3, 2, 2, 2}, at::kFloat, 5), 0.02, 0, at::kQInt8),
               bias = sample({3}, at::kFloat, 6), other = quantized(sample({1, 3, 2, 2}, at::kFloat, 7), 0.2, 7);
  const Ints ones{1, 1}, none{0, 0};
  const IValue packed = call("conv_prepack", w, bias, ones, none, ones, 1);
  EXPECT_TRUE(at::equal(call_all("quantized::conv_unpack", "", {packed})[0].toTensor(), w));
  const Tensor sum = at::conv2d(x.dequantize(), w.dequantize(), bias) + other.dequantize();
  expect_near(call("conv2d_add", x, other, packed, 0.1, 40), sum);
  expect_near(call("conv2d_add_relu", x, other, packed, 0.1, 40), at::relu(sum));
  expect_error<c10::Error>([&] { call("conv2d_add", x, other.slice(3, 1), packed, 0.1, 40); }, "qaccum of size");
}

TEST(QuantizedOperators, TakeNumbersInManyForms) {
  const Tensor t = at::_make_per_tensor_quantized_tensor(tensor_of({1, 5, 3, 20}, {2, 2}, at::kByte), 0.5, 3),
               number = tensor_of({-2}, {});
  for (const std::string op : {"add", "mul"}) {
    for (const std::string relu : {"", "_relu"}) {
      const Tensor expected = call(op + relu + ".Scalar", t, -2.0).toTensor();
      const auto check = [&](const IValue& got) { EXPECT_TRUE(at::equal(got.toTensor(), expected)) << op << relu; };
      const auto given = [] { return at::_make_per_tensor_quantized_tensor(at::zeros({0}, at::kByte), 1, 0); };
      check(call(op + relu + ".Scalar2", -2.0, t));
      check(call(op + "_scalar" + relu, t, -2.0));
      check(call(op + "_scalar" + relu + ".Tensor", t, number));
      const Tensor outs[] = {given(), given(), given()};
      check(call(op + relu + ".Scalar_out", t, -2.0, outs[0]));
      check(call(op + "_scalar" + relu + "_out", t, -2.0, outs[1]));
      check(call(op + "_scalar" + relu + "_out.Tensor", t, number, outs[2]));
      for (const Tensor& out : outs) check(out);
      // Two tensors, into the steps of a given one.
      for (const std::string name : {op + relu + ".out", op + relu + "_out"}) {
        const Tensor sum = at::_make_per_tensor_quantized_tensor(at::zeros({1}, at::kByte), 0.5, 3);
        call(name, t, t, sum);
        EXPECT_TRUE(at::equal(sum, call(op + relu, t, t, 0.5, 3).toTensor())) << name;
      }
    }
  }
  EXPECT_EQ(at::testing::values(call("add.Scalar2", -2.0, t).toTensor().int_repr()), (Numbers{1, 5, 3, 20}));
  const Tensor joined = at::_make_per_tensor_quantized_tensor(at::zeros({0}, at::kByte), 1, 1);
  call("cat_out", std::vector<Tensor>{t, t}, 0, joined);
  EXPECT_EQ(at::testing::values(joined.int_repr()), (Numbers{0, 2, 1, 9, 0, 2, 1, 9}));
  call("cat_relu_out", std::vector<Tensor>{t, t}, 0, joined);
  EXPECT_EQ(at::testing::values(joined.int_repr()), (Numbers{1, 2, 1, 9, 1, 2, 1, 9}));
  EXPECT_EQ(at::testing::values(call("max_pool2d", tensor_of({0, 1, 2, 3, 4, 5}, {1, 1, 2, 3}, at::kByte), Ints{2, 2},
                            Ints{1, 1}, Ints{0, 0}, Ints{1, 1}, false)
                           .toTensor()),
            (Numbers{4, 5}));
  expect_error<c10::NotImplementedError>(
      [&] {
        call("max_pool2d", at::ones({1, 1, 2, 2}), Ints{2, 2}, Ints{1, 1}, Ints{0, 0}, Ints{1, 1}, false);
      },
      "dtype Byte");
}

TEST(QuantizedLayers, LookUpVectors) {
  const Tensor table = at::quantize_per_channel(sample({5, 4}), tensor_of({0.01, 0.02, 0.03, 0.04, 0.05}, {5}),
                                                tensor_of({100, 90, 80, 70.5, 60}, {5}), 0, at::kQUInt8);
  const Tensor numbers = table.dequantize(), indices = tensor_of({0, 4, 2, 2}, {4}, at::kLong);
  const IValue packed = call("embedding_bag_prepack", table);
  expect_close(call("embedding_byte", packed, indices, false).toTensor(), numbers.index_select(0, indices));
  expect_close(call("embedding_bag_byte", packed, indices, tensor_of({0, 1}, {2}, at::kLong), false, 0, false, IValue(),
                    IValue(), false)
                   .toTensor(),
               at::stack({numbers[0], numbers[4] + numbers[2] * 2}));
}

TEST(QuantizedLayers, RefuseBadWeights) {
  const Tensor w = sample({3, 4}), q = quantized(sample({2, 3}));
  expect_error<c10::Error>([&] { call("linear_prepack", quantized(w), IValue()); }, "dtype QInt8");
  const IValue packed = call("linear_prepack", quantized(w, 0.1, 0, at::kQInt8), IValue());
  expect_error<c10::Error>([&] { call("linear", q, packed, 0.1, 0); }, "4 columns");
  expect_error<c10::NotImplementedError>([&] { call("linear", w, packed, 0.1, 0); }, "Could not run");
  expect_error<c10::Error>([&] { call("linear_prepack", quantized(w, 0.1, 0, at::kQInt8), w); },
                           "bias should be a vector");
  // A view may have more channels than its quantizer has scales.
  const Tensor turned = channels(sample({4, 6})).view({6, 4});
  expect_error<c10::Error>([&] { call("linear_prepack", turned, IValue()); }, "a scale for each of 6 channels");
  for (const double number : {1e30, HUGE_VAL, std::nan("")}) {
    expect_error<c10::Error>([&] { call("add.Scalar", q, number); }, "without overflow");
  }
}

TEST(DecomposedOperators, QuantizeIntoDenseIntegers) {
  const auto decomposed = [](const std::string& name, const std::string& overload, c10::Stack stack) {
    return call_all("quantized_decomposed::" + name, overload, std::move(stack));
  };
  const Tensor x = tensor_of({-1, 0.26, 100}, {3});
  const IValue q = decomposed("quantize_per_tensor", "", {x, 0.5, 1, -128, 127, at::kChar})[0];
  EXPECT_EQ(at::testing::values(q.toTensor()), (Numbers{-1, 2, 127}));
  EXPECT_EQ(q.toTensor().scalar_type(), at::kChar);
  EXPECT_EQ(
      at::testing::values(decomposed("dequantize_per_tensor", "", {q, 0.5, 1, -128, 127, at::kChar})[0].toTensor()),
      (Numbers{-1, 0.5, 63}));
  const c10::Stack chosen =
      decomposed("choose_qparams", "tensor", {tensor_of({-1, 1.55}, {2}), 0, 255, 1e-6, at::kByte});
  EXPECT_NEAR(at::testing::values(chosen[0].toTensor())[0], 0.01, 1e-8);
  EXPECT_EQ(at::testing::values(chosen[1].toTensor())[0], 100);
  const IValue rows = decomposed("quantize_per_channel", "",
                                 {x.reshape({3, 1}), tensor_of({1, 0.25, 50}, {3}),
                                  tensor_of({0, 1, 2}, {3}, at::kLong), 0, -128, 127, at::kChar})[0];
  EXPECT_EQ(at::testing::values(rows.toTensor()), (Numbers{-1, 2, 4}));
}

}  // namespace
