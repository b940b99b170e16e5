#include "tests/recorded/recordings.h"

#include <algorithm>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/device.h"

namespace recorded {

namespace {

void check_read_below(const Json& v, const std::string& what) {
  if (v.is_array()) {
    for (const Json& part : v) check_read_below(part, what);
  } else if (v.is_object()) {
    for (const char* name : {"config", "kwargs"}) {
      if (v.contains(name) && v.at(name).is_object()) check_all_read(v.at(name), what + " " + name);
    }
  }
}

}  // namespace

void check_all_read(const Json& c, const std::string& what, std::initializer_list<std::string_view> apart) {
  for (const auto& [key, value] : c.items()) {
    if (std::find(apart.begin(), apart.end(), key) != apart.end()) continue;
    if (reads().count({&c, key}) == 0) throw std::runtime_error(what + " \"" + key + "\" is not known to the replay");
    if ((key == "config" || key == "kwargs") && value.is_object()) {
      check_all_read(value, what + " " + key);
    } else {
      check_read_below(value, what + " " + key);
    }
  }
}

namespace {

using at::Tensor;
using conformance::BadSet;

void flatten_into(const Json& v, std::vector<Json>& all) {
  if (v.is_array() && (v.empty() || !v[0].is_number())) {
    for (const Json& x : v) flatten_into(x, all);
  } else {
    all.push_back(v);
  }
}

double weight(int64_t i, int64_t k) {
  return static_cast<double>((7 * i + 3 * k + 3) % 11 - 5) / 8;
}

// Changes the first element whatever its type.
void change_first(Tensor& t) {
  if (t.numel() == 0) return;
  Tensor first = at::select(at::reshape(t, {-1}), 0, 0);
  Tensor other = t.scalar_type() == at::kBool ? at::eq(first, false) : at::add(at::nan_to_num(first), 1);
  // 1 is lost in a large number of few digits.
  if (c10::isReducedFloatingType(t.scalar_type())) other = at::add(other, at::abs(other));
  Tensor flat = at::clone(at::reshape(t, {-1}));
  flat.select(0, 0).copy_(other);
  t = at::reshape(flat, t.sizes());
}

}  // namespace

Recordings::Recordings(const conformance::CaseSet& set, const std::string& family) {
  const std::string file = family + ".jsonl";
  const std::string lines = set.read(file);
  for (size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    Json one = Json::parse(lines.begin() + at, lines.begin() + end, nullptr, /*allow_exceptions=*/false);
    if (!one.is_object()) throw BadSet(set.describe(file) + ": a line is not an object");
    if (one.contains("id")) cases_.push_back(std::move(one));
  }
  if (cases_.empty()) throw BadSet(set.describe(file) + ": no case");
  const std::string tensors = family + ".safetensors";
  if (set.contains(tensors)) blobs_ = torch::safetensors::File::from_bytes(set.read(tensors));
}

Tensor Recordings::tensor(const Json& value) const {
  if (!blobs_) throw BadSet("this family has no tensors");
  const conformance::CaseValues values(*blobs_, conformance::Layout::kRecorded, c10::kCPU);
  Tensor t = values.recorded(value);
  if (conformance::is_marked(value, "planted")) change_first(t);
  return t;
}

std::vector<Json> flatten(const Json& nested) {
  std::vector<Json> all;
  flatten_into(nested, all);
  return all;
}

Tensor cotangent(const Tensor& like, int64_t k) {
  const auto values = [&](int64_t shift) {
    Tensor t = at::empty(like.sizes(), at::TensorOptions(at::kDouble));
    for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<double>()[i] = weight(i + shift, k);
    return t;
  };
  return at::to(like.is_complex() ? at::complex(values(0), values(4)) : values(0), like.scalar_type());
}

}  // namespace recorded
