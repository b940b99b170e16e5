// Values of any type: text, types, conversions, containers.
#include <ATen/core/ivalue.h>
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using c10::IValue;
void run() {
  std::vector<IValue> all{IValue(),
                          IValue(1),
                          IValue(2.5),
                          IValue(true),
                          IValue("text"),
                          IValue(torch::ones(2)),
                          IValue(c10::List<int64_t>({1, 2})),
                          IValue(c10::List<double>({1.5, 2})),
                          IValue(c10::List<bool>({true})),
                          IValue(c10::List<torch::Tensor>({torch::ones(1)})),
                          IValue(c10::List<std::string>({"a", "b"})),
                          IValue(std::make_tuple(1, 2.0, std::string("z"))),
                          IValue(torch::Device("cpu")),
                          IValue(torch::Scalar(3)),
                          IValue(torch::Scalar(2.5)),
                          IValue(c10::complex<double>(1, -2)),
                          IValue(torch::kFloat),
                          IValue(torch::kStrided),
                          IValue(std::optional<int64_t>()),
                          IValue(std::optional<int64_t>(4)),
                          IValue(c10::ivalue::Tuple::create({IValue(1)})),
                          IValue(c10::ivalue::Tuple::create(std::vector<IValue>{})),
                          IValue(1.0),
                          IValue(1e20),
                          IValue(1e-7),
                          IValue(-0.0),
                          IValue(INFINITY),
                          IValue(NAN),
                          IValue("it's \"q\"\n"),
                          IValue(std::vector<int64_t>{}),
                          IValue(INT64_MAX)};
  c10::Dict<std::string, int64_t> d;
  d.insert("x", 1);
  d.insert("y", 2);
  all.push_back(d);
  c10::impl::GenericDict gd(c10::StringType::get(), c10::AnyType::get());
  gd.insert("k", IValue(torch::ones(1)));
  all.push_back(gd);
  c10::impl::GenericList gl(c10::AnyType::get());
  gl.push_back(1);
  gl.push_back("s");
  gl.push_back(IValue());
  all.push_back(gl);
  c10::Dict<int64_t, double> d2;
  d2.insert(3, .5);
  all.push_back(d2);
  all.push_back(c10::List<c10::List<int64_t>>({c10::List<int64_t>({1}), c10::List<int64_t>({2, 3})}));
  for (auto& v : all) {
    std::cout << v << " | " << v.tagKind() << " | " << v.type()->str() << " | " << v.type()->repr_str() << " | "
              << v.isNone() << v.isInt() << v.isDouble() << v.isBool() << v.isString() << v.isTensor() << v.isList()
              << v.isTuple() << v.isGenericDict() << v.isScalar() << v.isIntList() << v.isTensorList() << v.isDevice()
              << v.isComplexDouble() << v.isPtrType() << "\n";
  }
  const auto throws = [](auto call) {
    try {
      call();
      return false;
    } catch (const std::exception&) {
      return true;
    }
  };
  std::cout << throws([] { IValue(1).toDouble(); }) << throws([] { IValue(1.5).toInt(); })
            << throws([] { IValue(1).toBool(); }) << throws([] { IValue("s").toTensor(); })
            << throws([] { IValue(1).to<double>(); }) << throws([] { IValue(1).toStringRef(); })
            << throws([] { IValue(3).toOptional<double>(); }) << throws([&] { gd.at("nope"); })
            << throws([] { c10::List<int64_t>({1}).get(3); }) << throws([] { IValue(true).toInt(); })
            << throws([] { IValue(1).toList(); })
            << throws([] { IValue(std::make_tuple(1, 2)).toTupleRef().elements()[0].toDouble(); }) << "\n";
  std::cout << IValue(1).toInt() << IValue(1.5).to<double>() << IValue("s").toStringRef()
            << IValue(std::vector<int64_t>{1, 2}).toIntVector()
            << IValue(c10::List<torch::Tensor>({torch::ones(1)})).toTensorVector()
            << IValue(std::make_tuple(1, true)).toTuple()->elements().size() << (IValue(1) == IValue(1))
            << (IValue(1) == IValue(1.0)) << (IValue("a") == IValue("a")) << (IValue(1) != IValue(2))
            << IValue(1).is(IValue(1)) << IValue(torch::ones(1)).is(IValue(torch::ones(1))) << IValue(4).to<int>()
            << IValue(true).to<bool>() << IValue(3).toScalar() << IValue(2.5).toScalar()
            << IValue(std::optional<int64_t>(4)).toOptional<int64_t>().value()
            << IValue().toOptional<int64_t>().has_value() << "\n";
  auto l = c10::List<int64_t>({3, 1, 2});
  auto l2 = l;
  l2.push_back(9);
  std::cout << l.size() << l.get(0) << l[1] << (l == l2) << l.is(l2) << l.copy().is(l) << l.use_count() << "\n";
  l.erase(l.begin());
  l.insert(l.begin(), 7);
  l.set(1, 8);
  l[2] = 5;
  for (int64_t v : l) std::cout << v << ",";
  l.reserve(9);
  l.resize(2);
  l.pop_back();
  std::cout << l.size() << l.empty() << l.vec() << "\n";
  std::sort(l2.begin(), l2.end());
  auto gd2 = gd;
  gd2.insert_or_assign("k", IValue(2));
  gd2.insert("m", IValue("v"));
  std::cout << gd.size() << gd.contains("m") << gd.at("k") << gd.erase("k") << gd.size() << gd.keyType()->str()
            << gd.valueType()->str() << "\n";
  for (auto& e : gd) std::cout << e.key() << "=" << e.value() << ";";
  for (auto it = d.begin(); it != d.end(); ++it) {
    std::cout << it->key() << it->value();
    it->setValue(it->value() * 10);
  }
  std::cout << d.at("x") << (d.find("q") == d.end()) << "\n";
  auto tup = IValue(std::make_tuple(torch::ones(1), 2, "x"));
  auto& el = tup.toTupleRef().elements();
  std::cout << el[1] << el[2] << tup.toTupleRef().size() << "\n";
  auto [p, q] = IValue(std::make_tuple(int64_t(1), 2.5)).to<std::tuple<int64_t, double>>();
  std::cout << p << q << "\n";
  std::unordered_map<std::string, int64_t> um{{"only", 1}};
  std::cout << IValue(um) << "\n";
  auto fut = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  fut->addCallback([](c10::ivalue::Future& f) { std::cout << "cb " << f.value() << "\n"; });
  std::cout << fut->completed();
  fut->markCompleted(IValue(42));
  std::cout << fut->completed() << fut->value() << fut->hasError() << "\n";
  auto f2 = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  f2->setError(std::make_exception_ptr(std::runtime_error("bad")));
  REFUSED(f2->value());
  std::cout << f2->hasError() << f2->tryRetrieveErrorMessage() << "\n";
  IValue mv(torch::ones(2));
  auto tt = std::move(mv).toTensor();
  std::cout << mv.isNone() << tt.sum().item<float>() << "\n";
  std::cout << c10::ListType::ofInts()->str()
            << c10::TupleType::create({c10::IntType::get(), c10::TensorType::get()})->str()
            << c10::OptionalType::create(c10::FloatType::get())->str()
            << c10::DictType::create(c10::StringType::get(), c10::TensorType::get())->str() << *c10::IntType::get()
            << (*c10::IntType::get() == *c10::IntType::get())
            << c10::IntType::get()->isSubtypeOf(c10::NumberType::get())
            << c10::IntType::get()->isSubtypeOf(*c10::FloatType::get()) << c10::TensorType::get()->annotation_str()
            << c10::getTypePtr<std::vector<int64_t>>()->str() << c10::getTypePtr<std::optional<torch::Tensor>>()->str()
            << c10::typeKindToString(c10::IntType::get()->kind()) << c10::BoolType::get()->str()
            << c10::NoneType::get()->str() << c10::AnyType::get()->str() << c10::DeviceObjType::get()->str() << "\n";
  IValue un;
  un = 5;
  un = std::string("re");
  un = torch::ones(1);
  std::cout << un << IValue(un).use_count() << un.isAliasOf(un) << un.deepcopy()
            << un.toTensor().is_same(IValue(un).toTensor()) << "\n";
  std::cout << IValue(std::vector<std::string>{"q"}) << IValue(std::array<int64_t, 2>{1, 2})
            << IValue(at::IntArrayRef({4, 5})) << IValue(std::vector<torch::Tensor>{torch::ones(1)})
            << IValue(std::vector<double>{.5}) << "\n";
}
}  // namespace

KINDLING_PROGRAM(values, run);
