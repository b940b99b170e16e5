#include "examples/serve/infer_request.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "aten/core/empty.h"
#include "examples/serve/json_numbers.h"
#include "examples/serve/testing.h"

namespace serve {
namespace {

using nlohmann::json;
using testing::floats;
using testing::values_of;

InferRequest parse(const std::string& text) {
  return parse_infer_request(text, std::nullopt);
}

// What parse says is wrong; empty where nothing is.
std::string refusal(const std::string& text, std::optional<size_t> json_bytes = std::nullopt) {
  try {
    parse_infer_request(text, json_bytes);
  } catch (const BadRequest& error) {
    EXPECT_EQ(error.status(), 400);
    return error.what();
  }
  return "";
}

std::string input(const std::string& members) {
  return R"({"inputs":[{)" + members + "}]}";
}
std::string x_of(const std::string& datatype, const std::string& shape, const std::string& data) {
  return input(R"("name":"x","datatype":")" + datatype + R"(","shape":)" + shape + R"(,"data":)" + data);
}
template <class T>
std::vector<T> elements(const at::Tensor& t) {
  return std::vector<T>(t.data_ptr<T>(), t.data_ptr<T>() + t.numel());
}

TEST(InferRequest, ReadsADocument) {
  const InferRequest request = parse(R"({
    "id": "seven", "extra": {"deep": [1, {"inputs": []}]},
    "parameters": {"binary_data_output": true, "timeout": 1500, "other": [1]},
    "inputs": [
      {"data": [1, 2.5, -3e2, 4], "shape": [2, 2], "name": "x", "datatype": "FP32", "note": null},
      {"name": "mask", "datatype": "BOOL", "shape": [2], "data": [true, false], "parameters": {"what": 1}}],
    "outputs": [{"name": "y"}, {"name": "z", "parameters": {"binary_data": false}}]})");
  EXPECT_EQ(request.id, "seven");
  EXPECT_TRUE(request.binary_output);
  EXPECT_EQ(request.timeout, std::chrono::microseconds(1500));
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].name, "x");
  EXPECT_EQ(request.inputs[0].tensor.sizes().vec(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values_of(request.inputs[0].tensor), (std::vector<float>{1, 2.5, -300, 4}));
  EXPECT_EQ(elements<bool>(request.inputs[1].tensor), (std::vector<bool>{true, false}));
  ASSERT_EQ(request.outputs.size(), 2u);
  EXPECT_EQ(request.outputs[0].name, "y");
  EXPECT_FALSE(request.outputs[0].binary.has_value());
  EXPECT_EQ(request.outputs[1].binary, false);
}

TEST(InferRequest, DataMayBeNestedAsTheShapeIs) {
  EXPECT_EQ(values_of(parse(x_of("FP32", "[2,2]", "[[1,2],[3,4]]")).inputs[0].tensor),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(parse(x_of("FP32", "[2,0]", "[[],[]]")).inputs[0].tensor.sizes().vec(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(parse(x_of("FP32", "[0,3]", "[]")).inputs[0].tensor.sizes().vec(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(parse(x_of("FP32", "[]", "[7]")).inputs[0].tensor.dim(), 0);
  for (const char* data : {"[[1,2],[3]]", "[1,[2,3,4]]", "[[1,2],3,4]", "[[[1,2,3,4]]]", "[[1],[2],[3],[4]]",
                           "[[],[1,2,3,4]]", "[[1,2,3,4],[]]", "[[[1],[2]],[3,4]]"}) {
    EXPECT_NE(refusal(x_of("FP32", "[2,2]", data)), "") << data;
  }
}

TEST(InferRequest, NumbersOfEveryDatatype) {
  EXPECT_EQ(elements<int64_t>(
                parse(x_of("INT64", "[4]", "[-9223372036854775808,9223372036854775807,0,-1]")).inputs[0].tensor),
            (std::vector<int64_t>{INT64_MIN, INT64_MAX, 0, -1}));
  EXPECT_EQ(elements<uint64_t>(parse(x_of("UINT64", "[3]", "[1,18446744073709551615,2]")).inputs[0].tensor),
            (std::vector<uint64_t>{1, UINT64_MAX, 2}));
  EXPECT_EQ(elements<uint8_t>(parse(x_of("UINT8", "[3]", "[0,255,3.0]")).inputs[0].tensor),
            (std::vector<uint8_t>{0, 255, 3}));
  EXPECT_EQ(elements<int8_t>(parse(x_of("INT8", "[2]", "[-128,127]")).inputs[0].tensor),
            (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(elements<int16_t>(parse(x_of("INT16", "[1]", "[-32768]")).inputs[0].tensor),
            (std::vector<int16_t>{-32768}));
  EXPECT_EQ(elements<uint16_t>(parse(x_of("UINT16", "[1]", "[65535]")).inputs[0].tensor),
            (std::vector<uint16_t>{65535}));
  EXPECT_EQ(elements<int32_t>(parse(x_of("INT32", "[1]", "[-2147483648]")).inputs[0].tensor),
            (std::vector<int32_t>{INT32_MIN}));
  EXPECT_EQ(elements<uint32_t>(parse(x_of("UINT32", "[1]", "[4294967295]")).inputs[0].tensor),
            (std::vector<uint32_t>{UINT32_MAX}));
  EXPECT_EQ(elements<double>(parse(x_of("FP64", "[4]", "[1e308,-1,18446744073709551615,0.1]")).inputs[0].tensor),
            (std::vector<double>{1e308, -1, 18446744073709551615.0, 0.1}));
  EXPECT_EQ(elements<float>(parse(x_of("FP32", "[3]", "[3.4028234e38,-1,18446744073709551615]")).inputs[0].tensor),
            (std::vector<float>{std::numeric_limits<float>::max(), -1, 18446744073709551615.0f}));
  EXPECT_EQ(static_cast<float>(elements<c10::Half>(parse(x_of("FP16", "[1]", "[0.5]")).inputs[0].tensor)[0]), 0.5f);
  EXPECT_EQ(static_cast<float>(elements<c10::BFloat16>(parse(x_of("BF16", "[1]", "[-2]")).inputs[0].tensor)[0]), -2);
  EXPECT_EQ(elements<bool>(parse(x_of("BOOL", "[2]", "[1,0]")).inputs[0].tensor), (std::vector<bool>{true, false}));
}

TEST(InferRequest, NumbersThatAreNoneOfTheDatatype) {
  const auto said = [](const char* datatype, const char* value) {
    return refusal(x_of(datatype, "[2]", std::string("[0,") + value + "]"));
  };
  EXPECT_EQ(said("UINT8", "256"), "input 'x': data[1] is 256, which is no UINT8");
  EXPECT_EQ(said("UINT8", "-1"), "input 'x': data[1] is -1, which is no UINT8");
  EXPECT_EQ(said("INT8", "-129"), "input 'x': data[1] is -129, which is no INT8");
  EXPECT_EQ(said("INT64", "9223372036854775808"), "input 'x': data[1] is 9223372036854775808, which is no INT64");
  EXPECT_EQ(said("INT32", "1.5"), "input 'x': data[1] is 1.5, which is no INT32");
  EXPECT_EQ(said("UINT64", "1e20"), "input 'x': data[1] is 1e+20, which is no UINT64");
  EXPECT_EQ(said("INT64", "9223372036854775808.0"), "input 'x': data[1] is 9223372036854775808, which is no INT64");
  EXPECT_EQ(said("FP32", "1e39"), "input 'x': data[1] is 1e+39, which is no FP32");
  EXPECT_EQ(said("FP16", "70000"), "input 'x': data[1] is 70000, which is no FP16");
  EXPECT_EQ(said("BOOL", "2"), "input 'x': data[1] is 2, which is no BOOL");
  EXPECT_EQ(said("FP32", "true"), "input 'x': data has both numbers and truth values");
  EXPECT_EQ(refusal(x_of("FP32", "[1]", "[true]")), "input 'x': data has truth values; expected numbers");
  EXPECT_EQ(said("FP64", "1e999"), "the request is no JSON: number overflow parsing '1e999'");
  EXPECT_EQ(said("FP64", "\"1\""), "input 'x': data holds a text; expected numbers");
  EXPECT_EQ(said("FP64", "null"), "input 'x': data holds null; expected numbers");
  EXPECT_EQ(said("FP64", "{}"), "input 'x': data holds an object; expected numbers");
}

TEST(InferRequest, SaysWhatIsWrong) {
  const std::string deep = std::string(10000, '[') + std::string(10000, ']');
  const struct {
    std::string text, why;
  } cases[] = {
      {"", "the request is no JSON: "},
      {"{", "the request is no JSON: "},
      {"{} x", "the request is no JSON: "},
      {"{\"inputs\":[NaN]}", "the request is no JSON: "},
      {"\xff\xfe", "the request is no JSON: "},
      {"7", "the request is a number; expected an object"},
      {"[]", "the request is an array; expected an object"},
      {"null", "the request is null; expected an object"},
      {R"({"a":)" + deep + "}", "the request has more than 64 arrays and objects within each other"},
      {x_of("FP32", "[1]", deep), "the request has more than 64 arrays and objects within each other"},
      {R"({"inputs":{}})", "'inputs' is an object; expected an array of objects"},
      {R"({"inputs":[1]})", "'inputs' holds a number; expected objects"},
      {R"({"inputs":[[]]})", "'inputs' holds an array; expected objects"},
      {R"({"inputs":[],"inputs":[]})", "'inputs' is there twice"},
      {R"({"outputs":"y"})", "'outputs' is a text; expected an array of objects"},
      {R"({"outputs":[{}]})", "an output has no name"},
      {R"({"outputs":[{"name":"y"},{"name":"y"}]})", "output 'y' is there twice"},
      {R"({"outputs":[{"name":"y","parameters":{"classification":3}}]})", "'classification' is not supported"},
      {R"({"outputs":[{"name":"y","parameters":{"binary_data":1}}]})",
       "'binary_data' is a number; expected true or false"},
      {R"({"id":3})", "'id' is a number; expected a text"},
      {R"({"parameters":7})", "'parameters' is a number; expected an object"},
      {R"({"parameters":{"timeout":-1}})", "'timeout' is a number; expected microseconds, a whole number"},
      {R"({"parameters":{"binary_data_output":"yes"}})", "'binary_data_output' is a text; expected true or false"},
      {input(""), "an input has no name"},
      {input(R"("name":7)"), "'name' is a number; expected a text"},
      {input(R"("name":"x","name":"y")"), "input 'x': name is there twice"},
      {input(R"("name":"x")"), "input 'x' has no datatype"},
      {input(R"("name":"x","datatype":"FP32")"), "input 'x' has no shape"},
      {input(R"("name":"x","datatype":"FP32","shape":[1])"),
       "input 'x' has neither data nor the parameter binary_data_size"},
      {input(R"("name":"x","shape":[1],"shape":[1])"), "input 'x': shape is there twice"},
      {input(R"("name":"x","data":[1],"data":[1])"), "input 'x': data is there twice"},
      {input(R"("name":"x","shape":3)"), "'shape' is a number; expected an array of whole numbers"},
      {input(R"("name":"x","shape":[-1])"), "input 'x': shape holds a number; expected whole numbers, 0 or more"},
      {input(R"("name":"x","shape":[1.0])"), "input 'x': shape holds a number; expected whole numbers, 0 or more"},
      {input(R"("name":"x","shape":[9223372036854775808])"),
       "input 'x': shape holds 9223372036854775808; expected whole numbers, 0 or more"},
      {input(R"("name":"x","data":7)"), "'data' is a number; expected an array of numbers"},
      {x_of("FP31", "[1]", "[1]"), "input 'x' has datatype 'FP31', which is not known"},
      {x_of("BYTES", "[1]", "[1]"), "input 'x' has datatype 'BYTES', which is not supported"},
      {x_of("FP32", "[2,3]", "[1]"), "input 'x' has shape [2, 3], which is 6 elements, but 1 in data"},
      {x_of("FP32", "[2,2]", "[[1,2,3,4]]"), "input 'x' has shape [2, 2], but the arrays of data have another"},
      {x_of("FP32", "[4611686018427387904,4]", "[]"), "input 'x': the sizes of its shape are too large"},
      {x_of("FP32", "[0,4611686018427387904,4]", "[]"), "input 'x': the sizes of its shape are too large"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]},{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})",
       "input 'x' is there twice"},
  };
  for (const auto& one : cases) {
    const std::string why = refusal(one.text);
    EXPECT_EQ(why.substr(0, one.why.size()), one.why) << one.text.substr(0, 200);
    EXPECT_LT(why.size(), 400u);
  }
  std::string many = R"({"inputs":[{"name":"a","datatype":"FP32","shape":[1],"data":[1]})";
  for (int i = 0; i < 1000; ++i) many += R"(,{"name":"a","datatype":"FP32","shape":[1],"data":[1]})";
  EXPECT_EQ(refusal(many + "]}"), "more than 1000 inputs");
  std::string ranks = "[1";
  for (int i = 0; i < 64; ++i) ranks += ",1";
  EXPECT_EQ(refusal(x_of("FP32", ranks + "]", "[1]")), "input 'x' has more than 64 dimensions");
}

TEST(InferRequest, BinaryTensors) {
  const std::string document =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}},)"
      R"({"name":"b","datatype":"BOOL","shape":[3],"parameters":{"binary_data_size":3}},)"
      R"({"name":"j","datatype":"INT8","shape":[1],"data":[5]},)"
      R"({"name":"i","datatype":"INT64","shape":[1],"parameters":{"binary_data_size":8}}]})";
  const float x[] = {1.5f, std::numeric_limits<float>::quiet_NaN()};
  const int64_t i = -7;
  std::string body = document;
  body.append(reinterpret_cast<const char*>(x), sizeof(x));
  body += std::string("\x00\x01\x07", 3);
  body.append(reinterpret_cast<const char*>(&i), sizeof(i));
  const InferRequest request = parse_infer_request(body, document.size());
  ASSERT_EQ(request.inputs.size(), 4u);
  EXPECT_EQ(std::memcmp(request.inputs[0].tensor.data_ptr(), x, sizeof(x)), 0);
  EXPECT_EQ(elements<bool>(request.inputs[1].tensor), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(elements<int8_t>(request.inputs[2].tensor), (std::vector<int8_t>{5}));
  EXPECT_EQ(elements<int64_t>(request.inputs[3].tensor), (std::vector<int64_t>{-7}));

  EXPECT_EQ(refusal(body + "z", document.size()), "1 bytes follow the last tensor");
  EXPECT_EQ(refusal(body.substr(0, body.size() - 1), document.size()),
            "input 'i' has binary_data_size 8, but 7 bytes are left");
  EXPECT_EQ(refusal(body, body.size() + 1), "Inference-Header-Content-Length is " + std::to_string(body.size() + 1) +
                                                ", but the body has " + std::to_string(body.size()) + " bytes");
  EXPECT_NE(refusal(body, document.size() - 1), "");
  EXPECT_NE(refusal(body, std::nullopt), "");
  const auto sized = [](const std::string& size, const std::string& rest) {
    return input(R"("name":"x","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":)" + size + "}" + rest);
  };
  EXPECT_EQ(refusal(sized("7", "")),
            "input 'x' has shape [2] of FP32, which is another number of bytes than binary_data_size, 7");
  EXPECT_EQ(refusal(sized("8", R"(,"data":[1,2])")), "input 'x' has both data and the parameter binary_data_size");
  EXPECT_EQ(refusal(sized("-8", "")), "'binary_data_size' is a number; expected a number of bytes");
  EXPECT_EQ(refusal(input(R"("name":"x","datatype":"FP64","shape":[2305843009213693952],)"
                          R"("parameters":{"binary_data_size":0})")),
            "input 'x' has shape [2305843009213693952] of FP64, which is another number of bytes than "
            "binary_data_size, 0");
}

TEST(InferReply, IsWhatReadersOfJsonExpect) {
  at::Tensor whole = at::empty_contiguous({2}, c10::ScalarType::Long);
  whole.data_ptr<int64_t>()[0] = INT64_MIN;
  whole.data_ptr<int64_t>()[1] = 3;
  const Payload payload = write_infer_reply(
      {"net", "a\"b\xff", {{"y", floats({1.5, -0.0f, std::nanf("")}, {1, 3})}, {"i", whole}}, {false, false}});
  EXPECT_FALSE(payload.json_bytes.has_value());
  const json document = json::parse(payload.bytes);
  EXPECT_EQ(document["model_name"], "net");
  EXPECT_EQ(document["model_version"], "1");
  EXPECT_EQ(document["id"], "a\"b\xef\xbf\xbd");
  EXPECT_EQ(document["outputs"][0]["datatype"], "FP32");
  EXPECT_EQ(document["outputs"][0]["shape"], json({1, 3}));
  EXPECT_EQ(document["outputs"][0]["data"].dump(), "[1.5,-0.0,null]");
  EXPECT_EQ(document["outputs"][1]["data"].dump(), "[-9223372036854775808,3]");
}

TEST(InferReply, BinaryTensorsFollowTheDocument) {
  const at::Tensor y = floats({1.5f, -2}, {2}), z = floats({7}, {1});
  const Payload payload = write_infer_reply({"net", "", {{"y", y}, {"j", z}, {"z", z}}, {true, false, true}});
  ASSERT_TRUE(payload.json_bytes.has_value());
  const json document = json::parse(payload.bytes.substr(0, *payload.json_bytes));
  EXPECT_EQ(document["outputs"][0]["parameters"]["binary_data_size"], 8);
  EXPECT_FALSE(document["outputs"][0].contains("data"));
  EXPECT_EQ(document["outputs"][1]["data"], json({7.0}));
  const std::string rest = payload.bytes.substr(*payload.json_bytes);
  ASSERT_EQ(rest.size(), 12u);
  EXPECT_EQ(std::memcmp(rest.data(), y.data_ptr(), 8), 0);
  EXPECT_EQ(std::memcmp(rest.data() + 8, z.data_ptr(), 4), 0);
}

TEST(InferReply, WhatHasNoForm) {
  EXPECT_THROW(
      write_infer_reply({"net", "", {{"y", at::empty_contiguous({1}, c10::ScalarType::ComplexFloat)}}, {false}}),
      std::runtime_error);
  EXPECT_THROW(write_infer_reply({"net", "", {{"y", at::Tensor()}}, {false}}), std::runtime_error);
}

// What the reply writes the request reads: the same bits.
TEST(InferRequest, FloatsComeBackAsTheyWere) {
  std::mt19937 random(7);
  std::vector<float> values = {0.0f, -0.0f, 1e20f, -1, 16777216};
  while (values.size() < 20000) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
  }
  const at::Tensor x = floats(values, {20000});
  const json document = json::parse(write_infer_reply({"net", "", {{"x", x}}, {false}}).bytes);
  const std::string text = R"({"inputs":)" + document["outputs"].dump() + "}";
  const at::Tensor back = parse(text).inputs.at(0).tensor;
  EXPECT_EQ(std::memcmp(back.data_ptr(), x.data_ptr(), x.nbytes()), 0);
}

TEST(Signature, IsRead) {
  const Signature signature = parse_signature("x:FP32[-1,3,-1]; mask: BOOL [-1] ;n:INT64[]");
  ASSERT_EQ(signature.inputs.size(), 3u);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(shape_text(*signature.inputs[0].sizes), "[-1, 3, -1]");
  EXPECT_EQ((*signature.inputs[0].sizes)[0], (*signature.inputs[1].sizes)[0]);
  EXPECT_FALSE((*signature.inputs[0].sizes)[2] == (*signature.inputs[0].sizes)[0]);
  EXPECT_TRUE(signature.inputs[2].sizes->empty());
  for (const char* bad : {"x", "x:FP32", ":FP32[1]", "x:FP33[1]", "x:FP32[a]", "x:FP32[-2]", "x:FP32[1", "x:FP32[1,]x",
                          "x:FP32[1];x:FP32[1]", "[1]x:FP32"}) {
    EXPECT_THROW(parse_signature(bad), c10::ValueError) << bad;
  }
}

TEST(Signature, MismatchesAreNamed) {
  using torch::graph::IntExpr;
  Signature signature = parse_signature("x:FP32[-1,4]; m:FP32[-1]; n:FP32[2]");
  signature.symbols["batch"] = {2, 8};
  signature.inputs[2].sizes = std::vector<IntExpr>{2 * IntExpr::symbol("batch")};
  const auto zeros = [](std::vector<int64_t> sizes, c10::ScalarType dtype = c10::ScalarType::Float) {
    return at::empty_contiguous(sizes, dtype);
  };
  EXPECT_EQ(mismatch(signature, {zeros({2, 4}), zeros({2}), zeros({4})}), "");
  EXPECT_EQ(mismatch(signature, {zeros({2, 4}), at::Tensor(), zeros({4})}), "input 'm' is missing");
  EXPECT_EQ(mismatch(signature, {zeros({2, 4}, c10::ScalarType::Long), zeros({2}), zeros({4})}),
            "input 'x' has datatype INT64; expected FP32");
  EXPECT_EQ(mismatch(signature, {zeros({2, 5}), zeros({2}), zeros({4})}),
            "input 'x' has shape [2, 5]; expected [-1, 4]");
  EXPECT_EQ(mismatch(signature, {zeros({2}), zeros({2}), zeros({4})}), "input 'x' has shape [2]; expected [-1, 4]");
  EXPECT_EQ(mismatch(signature, {zeros({1, 4}), zeros({1}), zeros({2})}),
            "input 'x' has shape [1, 4]; expected [-1, 4], of which size 0 is 2 to 8");
  EXPECT_EQ(mismatch(signature, {zeros({2, 4}), zeros({3}), zeros({4})}),
            "input 'm' has shape [3]; expected [-1], of which size 0 is 2 in the inputs before");
  EXPECT_EQ(mismatch(signature, {zeros({2, 4}), zeros({2}), zeros({5})}),
            "input 'n' has shape [5]; expected [-1], of which size 0 is 2*batch = 4 here");
  signature.inputs[1].optional = true;
  EXPECT_EQ(mismatch(signature, {zeros({2, 4}), at::Tensor(), zeros({4})}), "");
}

}  // namespace
}  // namespace serve
