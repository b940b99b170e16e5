// Every operator over memory that this library did not make: bool elements of any byte but 0 for true, and addresses that are
// no multiple of the element's size. A call gives what it gives over plain copies of the same values.
//
//   bazel run //tests/fuzz:foreign_memory_test -- --op='index_*' --seed=3 --calls=5000
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "aten/core/empty.h"
#include "aten/core/from_blob.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/nested/nested_tensor_impl.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/flags.h"
#include "c10/util/exception.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/runner.h"

namespace fuzz {
namespace {

using at::Tensor;
using c10::IValue;

struct Flags {
  std::string op = "*";
  uint64_t seed = 1;
  int calls = 60;
  int call = -1;
} flags;

// The arguments of a call over other memory; what shared a storage does so again.
class Copies {
 public:
  Copies(bool odd_bools, bool misaligned) : odd_bools_(odd_bools), misaligned_(misaligned) {}

  IValue copy(const IValue& value) {
    if (value.isTensor()) return IValue(copy(value.toTensor()));
    if (value.tag() == IValue::Tag::Generator) {
      return IValue(IValue::Tag::Generator, at::make_generator<at::CPUGeneratorImpl>(7).getIntrusivePtr());
    }
    if (!value.isTensorList() && !value.isOptionalTensorList()) return value;
    std::vector<IValue> list;
    for (const IValue& element : value.toListRef()) list.push_back(copy(element));
    return IValue(std::move(list));
  }
  c10::Stack copy(const c10::Stack& stack) {
    c10::Stack result;
    for (const IValue& value : stack) result.push_back(copy(value));
    return result;
  }
  // Whether the memory differs from plain memory at all.
  bool foreign() const { return foreign_; }

 private:
  Tensor copy(const Tensor& t) {
    if (!t.defined() || t.is_meta()) return t;
    Tensor& result = tensors_[t.unsafeGetTensorImpl()];
    if (!result.defined()) result = fresh_copy(t);
    return result;
  }

  Tensor fresh_copy(const Tensor& t) {
    if (t.storage().nbytes() == 0) return at::empty_with_strides(t.sizes(), t.strides(), t.scalar_type(), t.device());
    Tensor& whole = storages_[t.storage().data()];
    if (!whole.defined()) whole = whole_storage(t);
    Tensor result(c10::TensorImpl::strided(whole.unsafeGetTensorImpl()->storage(), t.scalar_type(), t.device(), t.sizes(),
                                           t.strides(), t.storage_offset()));
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) result.unsafeGetTensorImpl()->set_wrapped_number(true);
    return result;
  }

  Tensor whole_storage(const Tensor& t) {
    const size_t bytes = t.storage().nbytes();
    const bool shift = misaligned_ && t.itemsize() > 1;
    auto* block = static_cast<unsigned char*>(std::malloc(bytes + 1));
    auto* start = block + (shift ? 1 : 0);
    std::memcpy(start, t.storage().data(), bytes);
    foreign_ = foreign_ || shift;
    if (odd_bools_ && t.scalar_type() == at::kBool) {
      static constexpr unsigned char kTrue[] = {255, 2, 128, 1, 254, 16};
      for (size_t i = 0; i < bytes; ++i) {
        if (start[i] == 0) continue;
        start[i] = kTrue[i % sizeof(kTrue)];
        foreign_ = true;
      }
    }
    return at::from_blob(start, {static_cast<int64_t>(bytes)}, [block](void*) { std::free(block); }, at::kByte);
  }

  const bool odd_bools_, misaligned_;
  bool foreign_ = false;
  std::map<const void*, Tensor> storages_, tensors_;
};

// Bytes of one element as a number to compare: two doubles, real and imaginary.
struct Number {
  double re, im;
};
Number number_at(const char* p, at::ScalarType type) {
  const auto as = [&](auto like) {
    decltype(like) v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  };
  switch (type) {
    case at::kBool: return {*p != 0 ? 1.0 : 0.0, 0};
    case at::kByte: return {static_cast<double>(as(uint8_t{})), 0};
    case at::kChar: return {static_cast<double>(as(int8_t{})), 0};
    case at::kShort: return {static_cast<double>(as(int16_t{})), 0};
    case at::kInt: return {static_cast<double>(as(int32_t{})), 0};
    case at::kLong: return {static_cast<double>(as(int64_t{})), 0};
    case at::kHalf: return {static_cast<double>(static_cast<float>(as(at::Half{}))), 0};
    case at::kBFloat16: return {static_cast<double>(static_cast<float>(as(at::BFloat16{}))), 0};
    case at::kFloat: return {static_cast<double>(as(float{})), 0};
    case at::kDouble: return {as(double{}), 0};
    case at::kComplexFloat: {
      const auto z = as(c10::complex<float>{});
      return {static_cast<double>(z.real()), static_cast<double>(z.imag())};
    }
    case at::kComplexDouble: {
      const auto z = as(c10::complex<double>{});
      return {z.real(), z.imag()};
    }
    default: return {0, 0};
  }
}

double tolerance(at::ScalarType type) {
  return type == at::kHalf ? 4e-3 : type == at::kBFloat16 ? 4e-2 : type == at::kFloat || type == at::kComplexFloat ? 1e-4 : 1e-6;
}

// `largest`: the largest finite magnitude among the arguments, beside which a sum may lose what is small.
bool close(double a, double b, double tolerance, double largest) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(a) + largest / 100);
}

double largest_of(const c10::Stack& values) {
  double largest = 0;
  for (const c10::IValue& value : values) {
    each_tensor(value, [&](const Tensor& t) {
      if (!t.defined() || t.is_meta() || !t.is_floating_point()) return;
      const auto item = static_cast<int64_t>(t.itemsize());
      const char* const bytes = static_cast<const char*>(t.storage().data());
      for (int64_t i = 0; i < static_cast<int64_t>(t.storage().nbytes()) / item; ++i) {
        const double x = std::fabs(number_at(bytes + i * item, t.scalar_type()).re);
        if (std::isfinite(x)) largest = std::max(largest, x);
      }
    });
  }
  return largest;
}

std::string difference(const Tensor& plain, const Tensor& foreign, double largest) {
  if (plain.defined() != foreign.defined()) return "one is undefined";
  if (!plain.defined() || plain.is_meta()) return "";
  if (plain.sizes() != foreign.sizes() || plain.scalar_type() != foreign.scalar_type()) return "another size or dtype";
  if (plain.is_sparse() && foreign.is_sparse()) {
    const at::SparseTensorImpl &x = at::sparse::impl_of("fuzz", plain), &y = at::sparse::impl_of("fuzz", foreign);
    const std::string text = difference(x.indices(), y.indices(), largest);
    return text.empty() ? difference(x.values(), y.values(), largest) : text;
  }
  if (at::sparse::is_compressed(plain) && plain.layout() == foreign.layout()) {
    const at::SparseCsrTensorImpl& x = at::sparse::compressed_impl_of("fuzz", plain);
    const at::SparseCsrTensorImpl& y = at::sparse::compressed_impl_of("fuzz", foreign);
    std::string text = difference(x.compressed(), y.compressed(), largest);
    if (text.empty()) text = difference(x.plain(), y.plain(), largest);
    return text.empty() ? difference(x.values(), y.values(), largest) : text;
  }
  if (plain.is_nested() && foreign.is_nested()) {
    const std::vector<Tensor> x = at::nested::impl_of("fuzz", plain).parts();
    const std::vector<Tensor> y = at::nested::impl_of("fuzz", foreign).parts();
    if (x.size() != y.size()) return "another number of parts";
    for (size_t i = 0; i < x.size(); ++i) {
      if (const std::string text = difference(x[i], y[i], largest); !text.empty()) return text;
    }
    return "";
  }
  if (plain.layout() != foreign.layout()) return "another layout";
  if (plain.numel() == 0) return "";
  // Copied here, byte by byte: the library's own copy is among what is tested.
  std::vector<int64_t> index(static_cast<size_t>(plain.dim()), 0);
  const double limit = tolerance(plain.scalar_type());
  for (int64_t i = 0; i < plain.numel(); ++i) {
    int64_t rest = i, a = 0, b = 0;
    for (int64_t d = plain.dim() - 1; d >= 0; --d) {
      a += rest % plain.size(d) * plain.stride(d);
      b += rest % plain.size(d) * foreign.stride(d);
      rest /= plain.size(d);
    }
    const auto item = static_cast<int64_t>(plain.itemsize());
    const Number x = number_at(static_cast<const char*>(plain.data_ptr()) + a * item, plain.scalar_type());
    const Number y = number_at(static_cast<const char*>(foreign.data_ptr()) + b * item, plain.scalar_type());
    if (!close(x.re, y.re, limit, largest) || !close(x.im, y.im, limit, largest)) {
      return "element " + std::to_string(i) + " is " + std::to_string(y.re) + ", not " + std::to_string(x.re);
    }
  }
  return "";
}

std::string difference(const c10::Stack& plain, const c10::Stack& foreign, double largest) {
  if (plain.size() != foreign.size()) return "another number of results";
  for (size_t i = 0; i < plain.size(); ++i) {
    std::vector<Tensor> a, b;
    each_tensor(plain[i], [&](const Tensor& t) { a.push_back(t); });
    each_tensor(foreign[i], [&](const Tensor& t) { b.push_back(t); });
    if (a.size() != b.size()) return "another number of tensors";
    for (size_t k = 0; k < a.size(); ++k) {
      const std::string text = difference(a[k], b[k], largest);
      if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
    }
    if (a.empty() && plain[i].isBool() && foreign[i].isBool() && plain[i].toBool() != foreign[i].toBool()) return "another bool";
  }
  return "";
}

struct Outcome {
  c10::Stack stack;
  std::string error;
};
Outcome run(const c10::OperatorHandle& op, const c10::Stack& arguments) {
  Outcome outcome{arguments, ""};
  at::manual_seed(5);
  try {
    op.callBoxed(outcome.stack);
  } catch (const c10::Error& e) {
    outcome.error = e.what_without_backtrace();
  }
  return outcome;
}

// Whether a tensor that is written has two elements at one place: what is left there depends on the order.
bool writes_places_twice(const c10::FunctionSchema& schema, const c10::Stack& arguments) {
  bool twice = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!schema.arguments()[i].is_write()) continue;
    each_tensor(arguments[i], [&](const Tensor& t) {
      std::set<int64_t> places;
      for (int64_t k = 0; k < t.numel() && !twice; ++k) {
        int64_t rest = k, place = 0;
        for (int64_t d = t.dim() - 1; d >= 0; --d) {
          place += rest % t.size(d) * t.stride(d);
          rest /= t.size(d);
        }
        twice = !places.insert(place).second;
      }
    });
  }
  return twice;
}

// Each kind of foreign memory by itself.
std::string check(const c10::OperatorHandle& op, uint64_t number) {
  c10::set_cpu_memory_limit(0);
  const c10::Stack arguments = generate_call(op.schema(), flags.seed, number, Temper::kTame);
  if (writes_places_twice(op.schema(), arguments)) return "";
  for (const bool bools : {true, false}) {
    Copies as_plain(false, false), as_foreign(bools, !bools);
    const c10::Stack plain_arguments = as_plain.copy(arguments), foreign_arguments = as_foreign.copy(arguments);
    if (!as_foreign.foreign()) continue;
    const Outcome plain = run(op, plain_arguments), foreign = run(op, foreign_arguments);
    const char* kind = bools ? "bool bytes: " : "misaligned: ";
    if (plain.error != foreign.error) return kind + ("\"" + foreign.error + "\", not \"" + plain.error) + "\"";
    if (!plain.error.empty()) continue;
    const std::string text = difference(plain.stack, foreign.stack, largest_of(arguments));
    if (!text.empty()) return kind + text;
  }
  return "";
}

// Their results are what memory happens to hold, or its bytes.
bool is_undetermined(const std::string& name) {
  for (const char* part : {"empty*", "new_empty*", "resize*", "_resize*", "set_*", "view.dtype"}) {
    if (matches(part, name)) return true;
  }
  return false;
}

class ForeignMemoryTest : public testing::Test {
 public:
  explicit ForeignMemoryTest(const c10::OperatorHandle& op) : op_(op) {}
  void TestBody() override {
    const Quiet quiet;
    const auto body = [this](int number) { return check(op_, static_cast<uint64_t>(number)); };
    if (flags.call >= 0) {
      std::printf("%s\n", describe(op_.schema(), generate_call(op_.schema(), flags.seed, static_cast<uint64_t>(flags.call), Temper::kTame)).c_str());
      std::fflush(stdout);
      EXPECT_EQ(body(flags.call), "");
      return;
    }
    for (const Finding& finding : run_isolated(0, flags.calls, 2, body)) {
      ADD_FAILURE() << "FINDING " << op_.schema().qualified_name() << " --call=" << finding.number << ": " << finding.what << "\n"
                    << describe(op_.schema(), generate_call(op_.schema(), flags.seed, static_cast<uint64_t>(finding.number), Temper::kTame));
    }
  }

 private:
  c10::OperatorHandle op_;
};

void register_tests() {
  for (const std::string& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.rfind("aten::", 0) != 0 || !matches(flags.op, name.substr(6)) || is_undetermined(name.substr(6))) continue;
    const size_t dot = name.find('.');
    const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
    std::string test = name.substr(6);
    for (char& c : test) c = c == '.' ? '@' : c;
    testing::RegisterTest("ForeignMemory", test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [op]() -> ForeignMemoryTest* { return new ForeignMemoryTest(op); });
  }
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  using fuzz::flags;
  testing::InitGoogleTest(&argc, argv);
  const auto status = c10::testing::parse_flags(
      argc, argv, {{"op", &flags.op}, {"seed", &flags.seed}, {"calls", &flags.calls}, {"call", &flags.call}});
  if (status.has_value()) return *status;
  fuzz::register_tests();
  return RUN_ALL_TESTS();
}
