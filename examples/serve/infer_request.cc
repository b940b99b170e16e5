#include "examples/serve/infer_request.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "aten/core/empty.h"
#include "c10/util/exception.h"
#include "examples/serve/json_numbers.h"

namespace serve {

using nlohmann::json;

namespace {

constexpr size_t kDeepest = 64;   // arrays and objects within each other
constexpr size_t kMostRank = 64;  // of a tensor
constexpr size_t kMostTensors = 1000;
constexpr size_t kLongest = 200;  // letters of the client's that a message repeats

std::string shortened(const std::string& text) {
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}
template <class... Parts>
[[noreturn]] void bad(const Parts&... parts) {
  throw BadRequest(400, c10::str(parts...));
}

// An input as it stands in the document.
struct JsonInput {
  std::optional<std::string> name, datatype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<JsonNumbers> data;
  std::vector<size_t> nesting;  // sizes of the arrays in data, outermost first
  std::optional<uint64_t> binary_size;
  std::string said() const { return "input '" + shortened(name.value_or("")) + "'"; }
};

// Reads the document without making a tree of it: data arrays are most of it.
class DocumentReader final : public nlohmann::json_sax<json> {
 public:
  InferRequest request;
  std::vector<JsonInput> inputs;

  bool null() override { return value(Kind::kNull); }
  bool boolean(bool v) override {
    if (top() == Where::kData) return number(v);
    flag_ = v;
    return value(Kind::kBool);
  }
  bool number_integer(number_integer_t v) override {
    if (top() == Where::kData) return number(static_cast<int64_t>(v));
    return value(Kind::kNumber);
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (top() == Where::kData) return number(static_cast<uint64_t>(v));
    whole_ = v;
    return value(Kind::kWhole);
  }
  bool number_float(number_float_t v, const string_t&) override {
    if (top() == Where::kData) return number(static_cast<double>(v));
    return value(Kind::kNumber);
  }
  bool string(string_t& v) override {
    text_ = std::move(v);
    return value(Kind::kText);
  }
  bool binary(binary_t&) override { return value(Kind::kNull); }
  bool key(string_t& v) override {
    key_ = std::move(v);
    if (top() == Where::kRequest && (key_ == "inputs" || key_ == "outputs") && !seen_.insert(key_).second) {
      bad("'", key_, "' is there twice");
    }
    return true;
  }
  bool start_object(size_t) override {
    switch (top()) {
      case Where::kTop:
        return enter(Where::kRequest);
      case Where::kInputs:
        if (inputs.size() >= kMostTensors) bad("more than ", kMostTensors, " inputs");
        inputs.emplace_back();
        return enter(Where::kInput);
      case Where::kOutputs:
        if (request.outputs.size() >= kMostTensors) bad("more than ", kMostTensors, " outputs");
        request.outputs.emplace_back();
        return enter(Where::kOutput);
      case Where::kRequest:
        if (key_ == "parameters") return enter(Where::kParameters);
        break;
      case Where::kInput:
        if (key_ == "parameters") return enter(Where::kInputParameters);
        break;
      case Where::kOutput:
        if (key_ == "parameters") return enter(Where::kOutputParameters);
        break;
      case Where::kData:
        bad(inputs.back().said(), ": data holds an object; expected numbers");
      default:
        break;
    }
    refuse_known("an object");
    return enter(Where::kSkip);
  }
  bool end_object() override {
    if (top() == Where::kOutput && request.outputs.back().name.empty()) bad("an output has no name");
    return leave();
  }
  bool start_array(size_t) override {
    switch (top()) {
      case Where::kTop:
        bad("the request is an array; expected an object");
      case Where::kRequest:
        if (key_ == "inputs") return enter(Where::kInputs);
        if (key_ == "outputs") return enter(Where::kOutputs);
        break;
      case Where::kInput:
        if (key_ == "shape") {
          if (inputs.back().shape.has_value()) bad(inputs.back().said(), ": shape is there twice");
          inputs.back().shape.emplace();
          return enter(Where::kShape);
        }
        if (key_ == "data") {
          if (inputs.back().data.has_value()) bad(inputs.back().said(), ": data is there twice");
          inputs.back().data.emplace();
          leaf_depth_ = 0;
          counts_.assign(1, 0);
          return enter(Where::kData);
        }
        break;
      case Where::kData:
        if (leaf_depth_ == counts_.size()) ragged();
        ++counts_.back();
        counts_.push_back(0);
        return enter(Where::kData);
      default:
        break;
    }
    refuse_known("an array");
    return enter(Where::kSkip);
  }
  bool end_array() override {
    if (top() == Where::kData) {
      std::vector<size_t>& nesting = inputs.back().nesting;
      const size_t depth = counts_.size() - 1;
      if (nesting.size() <= depth) nesting.resize(depth + 1, kOpen);
      if (nesting[depth] != kOpen && nesting[depth] != counts_[depth]) ragged();
      nesting[depth] = counts_[depth];
      counts_.pop_back();
    }
    return leave();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string why = error.what();
    if (!why.empty() && why[0] == '[') why = why.substr(std::min(why.find(']') + 2, why.size()));
    bad("the request is no JSON: ", shortened(why));
  }

 private:
  enum class Where : uint8_t {
    kTop,
    kRequest,
    kInputs,
    kInput,
    kShape,
    kData,
    kOutputs,
    kOutput,
    kParameters,
    kInputParameters,
    kOutputParameters,
    kSkip,  // what has no meaning here
  };
  enum class Kind : uint8_t { kNull, kBool, kWhole, kNumber, kText };
  static constexpr size_t kOpen = SIZE_MAX;

  Where top() const { return stack_.empty() ? Where::kTop : stack_.back(); }
  bool enter(Where where) {
    if (stack_.size() >= kDeepest) bad("the request has more than ", kDeepest, " arrays and objects within each other");
    stack_.push_back(where);
    return true;
  }
  bool leave() {
    stack_.pop_back();
    return true;
  }
  [[noreturn]] void ragged() const { bad(inputs.back().said(), ": the arrays of data differ in length or depth"); }

  template <class T>
  bool number(T v) {
    if (leaf_depth_ == 0) {
      const std::vector<size_t>& nesting = inputs.back().nesting;
      if (nesting.size() > counts_.size()) ragged();
      leaf_depth_ = counts_.size();
    }
    if (leaf_depth_ != counts_.size()) ragged();
    ++counts_.back();
    inputs.back().data->push(v);
    return true;
  }

  // What has a meaning and another type.
  void refuse_known(const char* got) const {
    const auto expected = [&](const char* what) { bad("'", key_, "' is ", got, "; expected ", what); };
    switch (top()) {
      case Where::kTop:
        bad("the request is ", got, "; expected an object");
      case Where::kRequest:
        if (key_ == "id") expected("a text");
        if (key_ == "inputs" || key_ == "outputs") expected("an array of objects");
        if (key_ == "parameters") expected("an object");
        return;
      case Where::kInputs:
        bad("'inputs' holds ", got, "; expected objects");
      case Where::kOutputs:
        bad("'outputs' holds ", got, "; expected objects");
      case Where::kInput:
        if (key_ == "name" || key_ == "datatype") expected("a text");
        if (key_ == "shape") expected("an array of whole numbers");
        if (key_ == "data") expected("an array of numbers");
        if (key_ == "parameters") expected("an object");
        return;
      case Where::kShape:
        bad(inputs.back().said(), ": shape holds ", got, "; expected whole numbers, 0 or more");
      case Where::kData:
        bad(inputs.back().said(), ": data holds ", got, "; expected numbers");
      case Where::kOutput:
        if (key_ == "name") expected("a text");
        if (key_ == "parameters") expected("an object");
        return;
      case Where::kParameters:
        if (key_ == "binary_data_output") expected("true or false");
        if (key_ == "timeout") expected("microseconds, a whole number");
        return;
      case Where::kInputParameters:
        if (key_ == "binary_data_size") expected("a number of bytes");
        return;
      case Where::kOutputParameters:
        if (key_ == "binary_data") expected("true or false");
        if (key_ == "classification") bad("'classification' is not supported");
        return;
      case Where::kSkip:
        return;
    }
  }

  bool value(Kind kind) {
    switch (top()) {
      case Where::kRequest:
        if (key_ == "id" && kind == Kind::kText) {
          request.id = std::move(text_);
          return true;
        }
        break;
      case Where::kInput:
        if ((key_ == "name" || key_ == "datatype") && kind == Kind::kText) {
          std::optional<std::string>& place = key_ == "name" ? inputs.back().name : inputs.back().datatype;
          if (place.has_value()) bad(inputs.back().said(), ": ", key_, " is there twice");
          place = std::move(text_);
          return true;
        }
        break;
      case Where::kShape:
        if (kind == Kind::kWhole && whole_ <= static_cast<uint64_t>(INT64_MAX)) {
          std::vector<int64_t>& shape = *inputs.back().shape;
          if (shape.size() >= kMostRank) bad(inputs.back().said(), " has more than ", kMostRank, " dimensions");
          shape.push_back(static_cast<int64_t>(whole_));
          return true;
        }
        bad(inputs.back().said(), ": shape holds ", kind == Kind::kWhole ? std::to_string(whole_) : name_of(kind),
            "; expected whole numbers, 0 or more");
      case Where::kOutput:
        if (key_ == "name" && kind == Kind::kText) {
          request.outputs.back().name = std::move(text_);
          return true;
        }
        break;
      case Where::kParameters:
        if (key_ == "binary_data_output" && kind == Kind::kBool) {
          request.binary_output = flag_;
          return true;
        }
        if (key_ == "timeout" && kind == Kind::kWhole) {
          constexpr uint64_t kMost = uint64_t{1} << 40;  // twelve days
          request.timeout = std::chrono::microseconds(static_cast<int64_t>(std::min(whole_, kMost)));
          return true;
        }
        break;
      case Where::kInputParameters:
        if (key_ == "binary_data_size" && kind == Kind::kWhole) {
          inputs.back().binary_size = whole_;
          return true;
        }
        break;
      case Where::kOutputParameters:
        if (key_ == "binary_data" && kind == Kind::kBool) {
          request.outputs.back().binary = flag_;
          return true;
        }
        break;
      default:
        break;
    }
    refuse_known(name_of(kind));
    return true;
  }
  static const char* name_of(Kind kind) {
    switch (kind) {
      case Kind::kNull:
        return "null";
      case Kind::kBool:
        return "a truth value";
      case Kind::kWhole:
      case Kind::kNumber:
        return "a number";
      case Kind::kText:
        return "a text";
    }
    return "";
  }

  std::vector<Where> stack_;
  std::set<std::string> seen_;
  std::string key_, text_;
  bool flag_ = false;
  uint64_t whole_ = 0;
  // Of the data array that is being read: elements so far at each depth, and the depth of numbers (0: none yet).
  std::vector<size_t> counts_;
  size_t leaf_depth_ = 0;
};

// Throws where it is more than an int64_t holds, also where sizes of 0 stand among the others.
int64_t elements_of(const JsonInput& input) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : *input.shape) {
    empty = empty || size == 0;
    if (size != 0 && __builtin_mul_overflow(product, size, &product)) {
      bad(input.said(), ": the sizes of its shape are too large");
    }
  }
  return empty ? 0 : product;
}

std::string shape_said(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

void check_complete(const JsonInput& input) {
  if (!input.name.has_value() || input.name->empty()) bad("an input has no name");
  if (!input.datatype.has_value()) bad(input.said(), " has no datatype");
  if (!input.shape.has_value()) bad(input.said(), " has no shape");
  if (!input.data.has_value() && !input.binary_size.has_value()) {
    bad(input.said(), " has neither data nor the parameter binary_data_size");
  }
  if (input.data.has_value() && input.binary_size.has_value()) {
    bad(input.said(), " has both data and the parameter binary_data_size");
  }
}

// `rest`: the bytes behind the document that no input before has taken.
at::Tensor tensor_of(const JsonInput& input, std::string_view& rest) {
  check_complete(input);
  const std::optional<c10::ScalarType> dtype = dtype_named(*input.datatype);
  if (!dtype.has_value()) {
    bad(input.said(), " has datatype '", shortened(*input.datatype), "', which is ",
        *input.datatype == "BYTES" ? "not supported" : "not known");
  }
  const int64_t elements = elements_of(input);
  const auto count = static_cast<uint64_t>(elements), item = static_cast<uint64_t>(c10::elementSize(*dtype));
  if (input.data.has_value()) {
    if (input.data->size() != count) {
      bad(input.said(), " has shape ", shape_said(*input.shape), ", which is ", count, " elements, but ",
          input.data->size(), " in data");
    }
    if (input.nesting.size() > 1 &&
        !std::equal(input.nesting.begin(), input.nesting.end(), input.shape->begin(), input.shape->end(),
                    [](size_t nested, int64_t size) { return nested == static_cast<uint64_t>(size); })) {
      bad(input.said(), " has shape ", shape_said(*input.shape), ", but the arrays of data have another");
    }
  } else {
    if (count > UINT64_MAX / item || count * item != *input.binary_size) {
      bad(input.said(), " has shape ", shape_said(*input.shape), " of ", *input.datatype,
          ", which is another number of bytes than binary_data_size, ", *input.binary_size);
    }
    if (*input.binary_size > rest.size()) {
      bad(input.said(), " has binary_data_size ", *input.binary_size, ", but ", rest.size(), " bytes are left");
    }
  }
  at::Tensor tensor;
  try {
    tensor = at::empty_contiguous(*input.shape, *dtype);
  } catch (const c10::OutOfMemoryError&) {
    throw std::bad_alloc();
  } catch (const c10::Error& error) {
    bad(input.said(), ": ", error.msg());
  }
  if (input.data.has_value()) {
    input.data->copy_to(tensor, shortened(*input.name));
  } else if (*dtype == c10::ScalarType::Bool) {
    // Other bytes than 0 and 1 are no bool of C++.
    for (size_t i = 0; i < count; ++i) tensor.data_ptr<bool>()[i] = rest[i] != 0;
    rest.remove_prefix(count);
  } else {
    if (count > 0) std::memcpy(tensor.data_ptr(), rest.data(), *input.binary_size);
    rest.remove_prefix(*input.binary_size);
  }
  return tensor;
}

}  // namespace

InferRequest parse_infer_request(std::string_view body, std::optional<size_t> json_bytes) {
  if (json_bytes.has_value() && *json_bytes > body.size()) {
    bad("Inference-Header-Content-Length is ", *json_bytes, ", but the body has ", body.size(), " bytes");
  }
  const std::string_view document = body.substr(0, json_bytes.value_or(body.size()));
  std::string_view rest = body.substr(document.size());
  DocumentReader reader;
  json::sax_parse(document.begin(), document.end(), &reader);
  InferRequest request = std::move(reader.request);
  std::set<std::string> names;
  for (const JsonInput& input : reader.inputs) {
    at::Tensor tensor = tensor_of(input, rest);
    if (!names.insert(*input.name).second) bad(input.said(), " is there twice");
    request.inputs.push_back({*input.name, std::move(tensor)});
  }
  if (!rest.empty()) bad(rest.size(), " bytes follow the last tensor");
  names.clear();
  for (const RequestedOutput& output : request.outputs) {
    if (!names.insert(output.name).second) bad("output '", shortened(output.name), "' is there twice");
  }
  return request;
}

}  // namespace serve
