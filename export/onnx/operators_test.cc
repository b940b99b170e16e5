// What operators mean in each opset, as far as files do not show it.
#include "gtest/gtest.h"

#include <cmath>
#include <filesystem>

#include "aten/aten.h"
#include "c10/dispatch/registry.h"
#include "export/onnx/onnx.h"
#include "graph/ir/text.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/serialize/file_io.h"

namespace torch::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

AttributeProto whole(const char* name, int64_t v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::INT);
  a.set_i(v);
  return a;
}
AttributeProto real(const char* name, float v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::FLOAT);
  a.set_f(v);
  return a;
}
AttributeProto text(const char* name, const char* v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::STRING);
  a.set_s(v);
  return a;
}
AttributeProto wholes(const char* name, const std::vector<int64_t>& v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::INTS);
  for (const int64_t one : v) a.add_ints(one);
  return a;
}
AttributeProto reals(const char* name, const std::vector<float>& v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::FLOATS);
  for (const float one : v) a.add_floats(one);
  return a;
}

int type_of(c10::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return TensorProto::FLOAT;
    case at::kDouble:
      return TensorProto::DOUBLE;
    case at::kLong:
      return TensorProto::INT64;
    case at::kInt:
      return TensorProto::INT32;
    case at::kByte:
      return TensorProto::UINT8;
    case at::kBool:
      return TensorProto::BOOL;
    default:
      return 0;
  }
}

// A model of nodes, whose inputs are "x", "y", "z" of any sizes.
class Model {
 public:
  explicit Model(int64_t opset) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
  }
  Model& node(const char* op, const std::vector<const char*>& inputs, const std::vector<const char*>& outputs,
              const std::vector<AttributeProto>& attributes = {}) {
    NodeProto* made = model_.mutable_graph()->add_node();
    made->set_op_type(op);
    for (const char* one : inputs) made->add_input(one);
    for (const char* one : outputs) made->add_output(one);
    for (const AttributeProto& one : attributes) *made->add_attribute() = one;
    return *this;
  }
  Model& known(const char* name, const std::vector<int64_t>& values) {
    TensorProto* made = model_.mutable_graph()->add_initializer();
    made->set_name(name);
    made->set_data_type(TensorProto::INT64);
    made->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t one : values) made->add_int64_data(one);
    return *this;
  }
  ModelProto& proto() { return model_; }

  ExportedProgram loaded(const std::vector<at::Tensor>& inputs, const std::vector<const char*>& outputs) {
    ModelProto whole = model_;
    constexpr const char* kNames[] = {"x", "y", "z"};
    for (size_t k = 0; k < inputs.size(); ++k) {
      auto* input = whole.mutable_graph()->add_input();
      input->set_name(kNames[k]);
      input->mutable_type()->mutable_tensor_type()->set_elem_type(type_of(inputs[k].scalar_type()));
    }
    for (const char* one : outputs) whole.mutable_graph()->add_output()->set_name(one);
    return load_from_memory(whole.SerializeAsString());
  }
  at::Tensor run(const std::vector<at::Tensor>& inputs, const char* output = "out") {
    return loaded(inputs, {output}).run({inputs.begin(), inputs.end()})[0].toTensor();
  }

 private:
  ModelProto model_;
};

at::Tensor longs(const std::vector<int64_t>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong));
}
at::Tensor number(double value, c10::ScalarType dtype = at::kFloat) {
  return at::scalar_tensor(value, at::TensorOptions().dtype(dtype));
}
at::Tensor floats(const std::vector<float>& values, at::IntArrayRef sizes) {
  return at::tensor(values, at::TensorOptions().dtype(at::kFloat)).reshape(sizes);
}
void expect_same(const at::Tensor& got, const at::Tensor& want) {
  ASSERT_EQ(got.scalar_type(), want.scalar_type());
  ASSERT_EQ(got.sizes(), want.sizes());
  const at::Tensor a = at::to(got, at::kDouble), b = at::to(want, at::kDouble);
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-6, true)) << got << want;
}
const at::Tensor x23 = floats({-1, 2, 3, 4, -5, 6}, {2, 3});

TEST(OnnxOperators, AxesAreAttributesAndThenInputs) {
  const at::Tensor want = at::sum(x23, at::IntArrayRef{1}, true);
  expect_same(Model(11).node("ReduceSum", {"x"}, {"out"}, {wholes("axes", {1})}).run({x23}), want);
  expect_same(Model(13).known("axes", {1}).node("ReduceSum", {"x", "axes"}, {"out"}).run({x23}), want);
  expect_same(Model(13).node("ReduceSum", {"x", "y"}, {"out"}).run({x23, longs({1})}), want);
  expect_same(Model(17).node("ReduceMax", {"x"}, {"out"}, {wholes("axes", {0}), whole("keepdims", 0)}).run({x23}),
              at::amax(x23, {0}));
  expect_same(Model(18).known("axes", {0}).node("ReduceMax", {"x", "axes"}, {"out"}, {whole("keepdims", 0)}).run({x23}),
              at::amax(x23, {0}));
  expect_same(Model(13).node("ReduceSum", {"x"}, {"out"}, {whole("noop_with_empty_axes", 1)}).run({x23}), x23);
  const std::vector<int64_t> none;
  expect_same(
      Model(13).node("ReduceSum", {"x", "y"}, {"out"}, {whole("noop_with_empty_axes", 1)}).run({x23, longs(none)}),
      x23);
  const at::Tensor one = x23.reshape({1, 2, 1, 3});
  expect_same(Model(11).node("Squeeze", {"x"}, {"out"}, {wholes("axes", {0, -2})}).run({one}), x23);
  expect_same(Model(13).node("Squeeze", {"x", "y"}, {"out"}).run({one, longs({0, 2})}), x23);
  expect_same(Model(11).node("Unsqueeze", {"x"}, {"out"}, {wholes("axes", {0, -2})}).run({x23}), one);
  expect_same(Model(13).node("Unsqueeze", {"x", "y"}, {"out"}).run({x23, longs({-4, 2})}), one);
  // The attribute of an older opset.
  EXPECT_THROW(Model(13).node("ReduceSum", {"x"}, {"out"}, {wholes("axes", {1})}).run({x23}), c10::NotImplementedError);
}

TEST(OnnxOperators, SoftmaxOverAllFromTheAxisOn) {
  const at::Tensor x = at::arange(0, 12, at::TensorOptions().dtype(at::kFloat)).reshape({2, 2, 3});
  expect_same(Model(11).node("Softmax", {"x"}, {"out"}).run({x}), at::softmax(x.reshape({2, 6}), 1).reshape({2, 2, 3}));
  expect_same(Model(13).node("Softmax", {"x"}, {"out"}).run({x}), at::softmax(x, -1));
  expect_same(Model(11).node("LogSoftmax", {"x"}, {"out"}, {whole("axis", 2)}).run({x}), at::log_softmax(x, 2));
}

TEST(OnnxOperators, OfOldOpsets) {
  expect_same(Model(7).node("Clip", {"x"}, {"out"}, {real("min", 0), real("max", 3)}).run({x23}), at::clamp(x23, 0, 3));
  expect_same(Model(11).node("Clip", {"x", "", "y"}, {"out"}).run({x23, number(3)}), at::clamp_max(x23, 3));
  expect_same(
      Model(9)
          .node("Slice", {"x"}, {"out"}, {wholes("starts", {-2}), wholes("ends", {INT64_MAX}), wholes("axes", {1})})
          .run({x23}),
      at::slice(x23, 1, 1, 3));
  expect_same(Model(9).node("TopK", {"x"}, {"out", ""}, {whole("k", 2)}).run({x23}), floats({3, 2, 6, 4}, {2, 2}));
  expect_same(Model(10).node("Pad", {"x"}, {"out"}, {wholes("pads", {0, 1, 1, 0}), real("value", 9)}).run({x23}),
              floats({9, -1, 2, 3, 9, 4, -5, 6, 9, 9, 9, 9}, {3, 4}));
  expect_same(Model(11).node("Split", {"x"}, {"", "out"}, {whole("axis", 1), wholes("split", {1, 2})}).run({x23}),
              at::narrow(x23, 1, 1, 2));
  expect_same(Model(8).node("Upsample", {"x"}, {"out"}, {reals("scales", {1, 2})}).run({x23}),
              at::repeat_interleave(x23, 2, 1));
  expect_same(Model(7).node("Dropout", {"x"}, {"out"}, {real("ratio", 0.5)}).run({x23}), x23);
  EXPECT_THROW(Model(17).node("Gelu", {"x"}, {"out"}).run({x23}), c10::NotImplementedError);
  EXPECT_THROW(Model(6).node("Relu", {"x"}, {"out"}).run({x23}), c10::NotImplementedError);
  EXPECT_THROW(Model(29).node("Relu", {"x"}, {"out"}).run({x23}), c10::NotImplementedError);
}

TEST(OnnxOperators, BatchesThatNormalizeThemselves) {
  const at::Tensor x = floats({1, 2, 3, 4, 5, 7, 9, 11}, {2, 2, 2});
  const at::Tensor mean = floats({3.75, 6.75}, {2}), var = floats({5.6875, 11.1875}, {2});
  Model model(15);
  model.node("Constant", {}, {"one"}, {reals("value_floats", {1, 2})});
  model.node("BatchNormalization", {"x", "one", "one", "y", "z"}, {"out", "mean", "var"},
             {real("epsilon", 0), real("momentum", 0.75), whole("training_mode", 1)});
  const at::Tensor before = floats({4, 8}, {2});
  const std::vector<c10::IValue> got =
      model.loaded({x, before, before}, {"out", "mean", "var"}).run({x, before, before});
  const auto by_channel = [](const at::Tensor& t) { return t.reshape({2, 1}); };
  const at::Tensor weight = by_channel(floats({1, 2}, {2}));
  expect_same(got[0].toTensor(), (x - by_channel(mean)) / at::sqrt(by_channel(var)) * weight + weight);
  expect_same(got[1].toTensor(), before * 0.75 + mean * 0.25);
  expect_same(got[2].toTensor(), before * 0.75 + var * 0.25);
  EXPECT_THROW(Model(13).node("BatchNormalization", {"x", "y", "y", "y", "y"}, {"out", "mean"}).run({x, before}),
               c10::NotImplementedError);
}

TEST(OnnxOperators, WholeNumbers) {
  const at::Tensor a = longs({-7, 7, -8}), b = longs({2, -2, 3});
  expect_same(Model(14).node("Div", {"x", "y"}, {"out"}).run({a, b}), longs({-3, -3, -2}));
  expect_same(Model(13).node("Mod", {"x", "y"}, {"out"}).run({a, b}), longs({1, -1, 1}));
  expect_same(Model(13).node("Mod", {"x", "y"}, {"out"}, {whole("fmod", 1)}).run({a, b}), longs({-1, 1, -2}));
  // The result is of the base's dtype.
  expect_same(Model(13).node("Pow", {"x", "y"}, {"out"}).run({longs({2, 3}), floats({3, 2}, {2})}), longs({8, 9}));
  expect_same(Model(18).node("ReduceMean", {"x"}, {"out"}, {whole("keepdims", 0)}).run({longs({1, 2, 4})}),
              number(2, at::kLong));
  const at::Tensor small = at::to(longs({1, 2}), at::kInt);
  expect_same(Model(13).node("ReduceSum", {"x"}, {"out"}).run({small}), at::to(longs({3}), at::kInt));
}

TEST(OnnxOperators, SizesThatAreComputed) {
  const at::Tensor x = at::arange(0, 24, at::TensorOptions().dtype(at::kFloat)).reshape({2, 3, 4});
  expect_same(Model(14).node("Reshape", {"x", "y"}, {"out"}).run({x, longs({0, -1})}), x.reshape({2, 12}));
  expect_same(Model(14).known("to", {0, 0, 2, -1}).node("Reshape", {"x", "to"}, {"out"}).run({x}),
              x.reshape({2, 3, 2, 2}));
  EXPECT_THROW(Model(14).known("to", {-1, 0}).node("Reshape", {"x", "to"}, {"out"}, {whole("allowzero", 1)}).run({x}),
               c10::Error);
  expect_same(Model(15).node("Shape", {"x"}, {"out"}, {whole("start", -2), whole("end", 9)}).run({x}), longs({3, 4}));
  expect_same(Model(13).node("Expand", {"x", "y"}, {"out"}).run({x23, longs({2, 1, 1})}), x23.expand({2, 2, 3}));
  expect_same(Model(13).node("Slice", {"x", "y", "z"}, {"out"}).run({x, longs({0, 1}), longs({-1, 100})}),
              x.slice(0, 0, 1).slice(1, 1, 3));
  expect_same(Model(13)
                  .known("s", {-1})
                  .known("e", {INT64_MIN})
                  .known("a", {2})
                  .known("t", {-2})
                  .node("Slice", {"x", "s", "e", "a", "t"}, {"out"})
                  .run({x}),
              at::index_select(x, 2, longs({3, 1})));
  expect_same(Model(13).node("Flatten", {"x"}, {"out"}, {whole("axis", -1)}).run({x}), x.reshape({6, 4}));
  expect_same(Model(13).node("Flatten", {"x"}, {"out"}, {whole("axis", 0)}).run({x}), x.reshape({1, 24}));
  expect_same(Model(13).node("Transpose", {"x"}, {"out"}).run({x}), x.permute({2, 1, 0}));
  expect_same(Model(18).node("Split", {"x"}, {"", "out"}, {whole("num_outputs", 2), whole("axis", 1)}).run({x}),
              x.narrow(1, 2, 1));
}

TEST(OnnxOperators, Indices) {
  expect_same(Model(13).node("Gather", {"x", "y"}, {"out"}, {whole("axis", -1)}).run({x23, longs({-1, 0})}),
              at::index_select(x23, 1, longs({2, 0})));
  EXPECT_THROW(Model(13).node("Gather", {"x", "y"}, {"out"}).run({x23, longs({2})}), c10::Error);
  EXPECT_THROW(Model(13).node("Gather", {"x", "y"}, {"out"}).run({x23, longs({-3})}), c10::Error);
  expect_same(Model(13)
                  .node("GatherElements", {"x", "y"}, {"out"}, {whole("axis", 1)})
                  .run({x23, longs({-1, -2}).reshape({2, 1})}),
              floats({3, -5}, {2, 1}));
  expect_same(Model(13).node("GatherND", {"x", "y"}, {"out"}).run({x23, longs({1, -1, 0, 0}).reshape({2, 2})}),
              floats({6, -1}, {2}));
  EXPECT_THROW(Model(13).node("GatherND", {"x", "y"}, {"out"}).run({x23, longs({0, 3}).reshape({1, 2})}), c10::Error);
  // The first of equal ones, and the last.
  const at::Tensor ties = floats({1, 3, 3, 2}, {4});
  expect_same(Model(13).node("ArgMax", {"x"}, {"out"}).run({ties}), longs({1}));
  expect_same(Model(13).node("ArgMax", {"x"}, {"out"}, {whole("select_last_index", 1)}).run({ties}), longs({2}));
  expect_same(Model(11).node("TopK", {"x", "y"}, {"", "out"}).run({ties, longs({2})}), longs({1, 2}));
}

TEST(OnnxOperators, WindowsOfUnevenPads) {
  const at::Tensor x = at::arange(0, 16, at::TensorOptions().dtype(at::kFloat)).reshape({1, 1, 4, 4});
  const at::Tensor w = at::ones({1, 1, 3, 3});
  expect_same(Model(11)
                  .node("Conv", {"x", "y"}, {"out"}, {text("auto_pad", "SAME_UPPER"), wholes("kernel_shape", {3, 3})})
                  .run({x, w}),
              at::conv2d(x, w, std::nullopt, at::IntArrayRef{1, 1}, at::IntArrayRef{1, 1}));
  expect_same(Model(11).node("Conv", {"x", "y"}, {"out"}, {wholes("pads", {0, 1, 0, 0})}).run({x, w}),
              at::conv2d(at::constant_pad_nd(x, {1, 0, 0, 0}), w));
  expect_same(Model(12)
                  .node("MaxPool", {"x"}, {"out"}, {wholes("kernel_shape", {2, 2}), wholes("pads", {0, 0, 1, 1})})
                  .run({x}),
              at::max_pool2d(at::constant_pad_nd(x, {0, 1, 0, 1}, -INFINITY), {2, 2}, {1, 1}));
  const at::Tensor row = floats({1, 2, 3, 4}, {1, 1, 4});
  expect_same(
      Model(11).node("AveragePool", {"x"}, {"out"}, {wholes("kernel_shape", {2}), wholes("pads", {1, 0})}).run({row}),
      floats({1, 1.5, 2.5, 3.5}, {1, 1, 4}));
  expect_same(Model(11)
                  .node("AveragePool", {"x"}, {"out"},
                        {wholes("kernel_shape", {2}), wholes("pads", {1, 0}), whole("count_include_pad", 1)})
                  .run({row}),
              floats({0.5, 1.5, 2.5, 3.5}, {1, 1, 4}));
  expect_same(
      Model(12).node("MaxPool", {"x"}, {"", "out"}, {wholes("kernel_shape", {2}), wholes("strides", {2})}).run({row}),
      longs({1, 3}).reshape({1, 1, 2}));
}

TEST(OnnxOperators, LoopsScansAndSequences) {
  // Powers of two, until the condition or the number of turns ends it.
  Model loop(13);
  AttributeProto body;
  body.set_name("body");
  body.set_type(AttributeProto::GRAPH);
  auto* graph = body.mutable_g();
  for (const char* name : {"turn", "goes_on", "value"}) graph->add_input()->set_name(name);
  for (const char* name : {"next_goes_on", "next", "seen"}) graph->add_output()->set_name(name);
  const auto add = [&](const char* op, const std::vector<const char*>& inputs, const char* output) {
    NodeProto* node = graph->add_node();
    node->set_op_type(op);
    for (const char* one : inputs) node->add_input(one);
    node->add_output(output);
  };
  add("Add", {"value", "value"}, "next");
  add("Identity", {"value"}, "seen");
  add("Less", {"next", "y"}, "next_goes_on");
  loop.node("Loop", {"z", "", "x"}, {"last", "out"}, {body});
  const at::Tensor one = number(1);
  expect_same(loop.run({one, number(100), longs({4})}), floats({1, 2, 4, 8}, {4}));
  expect_same(loop.run({one, number(3), longs({4})}), floats({1, 2}, {2}));
  expect_same(loop.run({one, number(3), longs({4})}, "last"), number(4));
  EXPECT_EQ(loop.run({one, number(3), longs({0})}).numel(), 0);

  Model sequence(13);
  sequence.node("SequenceConstruct", {"x", "y"}, {"s"}).node("SequenceInsert", {"s", "x", "z"}, {"t"});
  sequence.node("ConcatFromSequence", {"t"}, {"out"}, {whole("axis", 0)}).node("SequenceLength", {"s"}, {"length"});
  const at::Tensor a = longs({1}), b = longs({2});
  expect_same(sequence.run({a, b, longs({-1})}), longs({1, 1, 2}));
  expect_same(sequence.run({a, b, longs({-1})}, "length"), number(2, at::kLong));
  EXPECT_THROW(sequence.run({a, b, longs({5})}), c10::IndexError);
}

// A local function: its node sees the call's attribute.
TEST(OnnxOperators, LocalFunctions) {
  Model model(18);
  model.proto().add_opset_import()->set_domain("mine");
  model.proto().mutable_opset_import(1)->set_version(1);
  auto* function = model.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Leaky");
  function->add_input("a");
  function->add_input("b");
  function->add_output("c");
  function->add_attribute("slope");
  function->add_opset_import()->set_version(18);
  NodeProto* node = function->add_node();
  node->set_op_type("LeakyRelu");
  node->add_input("a");
  node->add_output("c");
  AttributeProto* slope = node->add_attribute();
  slope->set_name("alpha");
  slope->set_type(AttributeProto::FLOAT);
  slope->set_ref_attr_name("slope");
  model.node("Leaky", {"x"}, {"out"}, {real("slope", 0.25)});
  model.proto().mutable_graph()->mutable_node(0)->set_domain("mine");
  expect_same(model.run({x23}), at::leaky_relu(x23, 0.25));
  // Without it, the operator's own.
  model.proto().mutable_graph()->mutable_node(0)->clear_attribute();
  expect_same(model.run({x23}), at::leaky_relu(x23, 0.01));
}

TEST(OnnxOperators, WhatIsNotKnownIsNamed) {
  try {
    Model(18).node("Evil", {"x"}, {"a"}).node("Relu", {"x"}, {"b"}).node("Worse", {"x"}, {"c"}).run({x23}, "b");
    FAIL();
  } catch (const c10::NotImplementedError& error) {
    EXPECT_NE(error.msg().find("Evil Worse"), std::string::npos) << error.msg();
  }
  try {
    Model(18).node("Relu", {"x"}, {"out"}, {whole("odd", 1)}).run({x23});
    FAIL();
  } catch (const c10::NotImplementedError& error) {
    EXPECT_NE(error.msg().find("Relu: the attribute 'odd'"), std::string::npos) << error.msg();
  }
  EXPECT_THROW(Model(18).node("Relu", {"x", "x"}, {"out"}).run({x23}), c10::NotImplementedError);
  EXPECT_THROW(Model(18).node("Relu", {"x"}, {"out", "more"}).run({x23}), c10::NotImplementedError);
  EXPECT_THROW(load_from_memory("no model"), serialize::FormatError);
  EXPECT_THROW(load("/no/such/file.onnx"), serialize::IoError);
}

// Beside the model, or beside what its name is a link to; nowhere else.
TEST(OnnxOperators, ExternalData) {
  namespace fs = std::filesystem;
  const fs::path base = fs::path(::testing::TempDir()) / "onnx_external", folder = base / "models",
                 other = base / "names";
  fs::remove_all(base);
  fs::create_directories(folder / "deeper");
  fs::create_directories(other);
  const float values[] = {1, 2, 3};
  const std::string bytes(reinterpret_cast<const char*>(values), sizeof values);
  for (const fs::path& file : {folder / "data", folder / "deeper" / "data", other / "secret"}) {
    serialize::write_file(file.string(), bytes);
  }
  fs::create_symlink(other / "secret", folder / "leads_out");
  const auto write = [&](const char* location) {
    ModelProto model;
    model.add_opset_import()->set_version(18);
    TensorProto* data = model.mutable_graph()->add_initializer();
    data->set_name("data");
    data->set_data_type(TensorProto::FLOAT);
    data->add_dims(3);
    data->set_data_location(TensorProto::EXTERNAL);
    auto* entry = data->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    model.mutable_graph()->add_output()->set_name("data");
    serialize::write_file((folder / "model.onnx").string(), model.SerializeAsString());
    return (folder / "model.onnx").string();
  };
  const at::Tensor want = floats({1, 2, 3}, {3});
  expect_same(load(write("deeper/data")).run({})[0].toTensor(), want);
  for (const char* location : {"../names/secret", "deeper/../../names/secret", "leads_out", "", ".", "deeper"}) {
    SCOPED_TRACE(location);
    EXPECT_THROW(load(write(location)), c10::Error);
  }
  EXPECT_THROW(load(write((other / "secret").c_str())), serialize::FormatError);
  fs::create_symlink(write("data"), other / "model.onnx");
  fs::create_symlink(folder / "data", other / "data");
  expect_same(load((other / "model.onnx").string()).run({})[0].toTensor(), want);
  const std::string model = serialize::read_file(write("data"));
  EXPECT_THROW(load_from_memory(model), serialize::FormatError);
  expect_same(load_from_memory(model, folder.string()).run({})[0].toTensor(), want);
  fs::remove_all(base);
}

// Names of sizes are symbols, and initializers tensors of the program.
TEST(OnnxOperators, ProgramsAsOthers) {
  Model model(18);
  model.known("n", {1, -1})
      .node("Reshape", {"x", "n"}, {"row"})
      .known("add", {1})
      .node("Cast", {"add"}, {"one"}, {whole("to", 1)});
  model.node("Add", {"row", "one"}, {"out"});
  auto* input = model.proto().mutable_graph()->add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("batch");
  type->mutable_shape()->add_dim()->set_dim_value(3);
  model.proto().mutable_graph()->add_output()->set_name("out");
  const ExportedProgram program = load_from_memory(model.proto().SerializeAsString());
  EXPECT_EQ(program.graph->block().input(0)->info()->sizes[0].str(), "batch");
  EXPECT_EQ(program.constants.size(), 1);
  EXPECT_EQ(program.constants.count("add"), 1);
  expect_same(program({x23}).toTensor(), at::add(x23.reshape({1, 6}), 1));
  EXPECT_THROW(program({at::ones({2, 4})}), c10::ValueError);
  // As text, and back.
  graph::TextNames names;
  const std::string text = print(*program.graph, &names.tensors);
  names.callable = [](std::string_view name) -> std::optional<graph::Callable> {
    if (const auto own = callable(name)) return own;
    const size_t dot = name.find('.');
    const std::string_view overload = dot == std::string_view::npos ? "" : name.substr(dot + 1);
    const auto op = c10::Dispatcher::singleton().findSchema(name.substr(0, dot), overload);
    return op.has_value() ? std::optional<graph::Callable>(*op) : std::nullopt;
  };
  EXPECT_EQ(print(*graph::parse_graph(text, names)), text) << text;
  EXPECT_THROW(program({longs({1})}), c10::ValueError);
}

}  // namespace
}  // namespace torch::onnx
