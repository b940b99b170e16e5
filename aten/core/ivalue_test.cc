#include "c10/value/ivalue.h"

#include <array>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "aten/core/tensor.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "c10/value/future.h"
#include "c10/value/object.h"
#include "gtest/gtest.h"

namespace c10 {
namespace {

using c10::testing::message_of;
using ivalue::Future;

std::string text_of(const IValue& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(IValue, KindsAndTheirTypes) {
  struct Kind {
    IValue value;
    const char* tag;
    const char* type;
  };
  const auto color = EnumType::create("__torch__.Col", IntType::get(), {{"R", IValue(1)}});
  for (const Kind& kind : {
           Kind{IValue(), "None", "NoneType"},
           {IValue(true), "Bool", "bool"},
           {IValue(3), "Int", "int"},
           {IValue(SymInt(3)), "Int", "int"},
           {IValue(2.5), "Double", "float"},
           {IValue(complex<double>(1, 2)), "ComplexDouble", "complex"},
           {IValue("a"), "String", "str"},
           {IValue(Device("cuda:1")), "Device", "Device"},
           {IValue(Stream(c10::Stream::UNSAFE, Device("cpu"), 0)), "Stream", "Stream"},
           {IValue(at::ones({2})), "Tensor", "Tensor"},
           {IValue(at::ones({2}).storage()), "Storage", "Storage"},
           {IValue(at::make_generator<at::CPUGeneratorImpl>(7)), "Generator", "Generator"},
           {IValue(ScalarType::Half), "Int", "int"},
           {IValue(std::vector<int64_t>{1}), "GenericList", "int[]"},
           {IValue(std::array<bool, 2>{true, false}), "GenericList", "bool[]"},
           {IValue(std::vector<std::string>{"a"}), "GenericList", "str[]"},
           {IValue(std::vector<std::vector<double>>{{1.}}), "GenericList", "float[][]"},
           {IValue(std::vector<IValue>{1, "a"}), "GenericList", "Any[]"},
           {IValue(std::map<std::string, int64_t>{{"a", 1}}), "GenericDict", "Dict(str, int)"},
           {IValue(std::unordered_map<int64_t, at::Tensor>{}), "GenericDict", "Dict(int, Tensor)"},
           {IValue(std::tuple<int64_t, std::string>(1, "a")), "Tuple", "(int, str)"},
           {IValue(make_intrusive<Future>(IntType::get())), "Future", "Future[int]"},
           {IValue(make_intrusive<ivalue::Await>(IntType::get())), "Await", "Await(int)"},
           {IValue(make_intrusive<ivalue::EnumHolder>(color, "R", IValue(1))), "Enum", "Enum<__torch__.Col>"},
       }) {
    EXPECT_EQ(kind.value.tagKind(), kind.tag);
    EXPECT_EQ(kind.value.type()->str(), kind.type);
    const IValue copy = kind.value;
    EXPECT_TRUE(copy.is(kind.value)) << kind.tag;
  }
}

TEST(IValue, Conversions) {
  EXPECT_EQ(IValue(std::vector<int64_t>{1, 2}).to<std::vector<int64_t>>(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(IValue(std::vector<double>{1, 2}).toDoubleVector(), (std::vector<double>{1, 2}));
  EXPECT_THROW(IValue(std::vector<int64_t>{1, 2}).toDoubleVector(), Error);
  EXPECT_THROW(IValue(1).toDouble(), Error);
  EXPECT_EQ((IValue(std::array<int64_t, 2>{1, 2}).to<std::array<int64_t, 2>>()), (std::array<int64_t, 2>{1, 2}));
  EXPECT_EQ((IValue(std::map<std::string, int64_t>{{"a", 1}}).to<std::map<std::string, int64_t>>().at("a")), 1);
  EXPECT_EQ((IValue(std::tuple<int64_t, std::string>(1, "a")).to<std::tuple<int64_t, std::string>>()),
            (std::tuple<int64_t, std::string>(1, "a")));
  EXPECT_EQ(IValue().toOptional<int64_t>(), std::nullopt);
  EXPECT_EQ(IValue(4).toOptional<int64_t>(), 4);
  EXPECT_EQ(IValue(std::optional<double>()).isNone(), true);
  EXPECT_EQ(IValue("cuda:1").toDevice(), Device("cuda:1"));
  EXPECT_EQ(IValue(4).toScalarType(), ScalarType::Long);
  EXPECT_EQ(IValue(std::vector<std::optional<at::Tensor>>{std::nullopt, at::ones({})}).toOptionalTensorVector().size(), 2u);
  const at::Tensor t = at::ones({2});
  EXPECT_TRUE(IValue(std::vector<at::Tensor>{t}).toTensorVector()[0].is_same(t));
  EXPECT_EQ(message_of([&] { IValue(t).toInt(); }), "Expected Int but got Tensor");
  EXPECT_EQ(message_of([&] { IValue(1).toTensor(); }), "Expected Tensor but got Int");
  EXPECT_EQ(message_of([&] { IValue(std::vector<double>{1}).toIntList(); }), "Expected IntList but got float[]");
  EXPECT_EQ(message_of([&] { IValue(std::vector<double>{1}).to<List<std::string>>(); }),
            "Tried to cast a container of float to one of str");
  EXPECT_THROW(IValue(std::vector<int64_t>{1}).to<std::vector<std::string>>(), TypeError);
  EXPECT_THROW((IValue(std::tuple<int64_t>(1)).to<std::tuple<int64_t, int64_t>>()), TypeError);
  EXPECT_THROW(IValue(99).toLayout(), TypeError);
}

TEST(IValue, IntegersBeyondInt64) {
  const uint64_t big = (uint64_t{1} << 63) + 5;
  const IValue value = Scalar(big);
  EXPECT_EQ(value.tagKind(), "UInt");
  EXPECT_FALSE(value.isInt());
  EXPECT_TRUE(value.isUnsigned());
  EXPECT_TRUE(value.isScalar());
  EXPECT_EQ(value.toUInt(), big);
  EXPECT_EQ(value.toScalar().toUInt64(), big);
  EXPECT_EQ(value.toScalar().type(), kUInt64);
  EXPECT_THROW(value.toInt(), Error);
  EXPECT_EQ(text_of(value), "9223372036854775813");
  EXPECT_EQ(value, IValue(Scalar(big)));
  EXPECT_FALSE(value == IValue(static_cast<int64_t>(big)));
  EXPECT_EQ(IValue::hash(value), IValue::hash(IValue(Scalar(big))));
  const IValue copy = value;
  EXPECT_EQ(copy.deepcopy().toUInt(), big);
  EXPECT_EQ(IValue(Scalar(uint64_t{7})).tagKind(), "Int");
  EXPECT_TRUE(IValue(7).isUnsigned());
  EXPECT_FALSE(IValue(-7).isUnsigned());
}

TEST(IValue, ContainersAreShared) {
  List<int64_t> list({1, 2});
  List<int64_t> same = list;
  const IValue value(list);
  value.toIntList().push_back(3);
  EXPECT_EQ(list.vec(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(same.is(list));
  EXPECT_FALSE(list.copy().is(list));
  EXPECT_EQ(list.copy(), list);
  EXPECT_EQ(list.use_count(), 3u);
  list[0] = 7;
  EXPECT_EQ(static_cast<int64_t>(same[0]), 7);
  EXPECT_EQ(*list.insert(list.begin() + 1, 8), 8);
  EXPECT_EQ(list.vec(), (std::vector<int64_t>{7, 8, 2, 3}));
  EXPECT_EQ(*list.erase(list.begin(), list.begin() + 2), 2);
  list.resize(4, 9);
  list.append(List<int64_t>({5}));
  EXPECT_EQ(list.vec(), (std::vector<int64_t>{2, 3, 9, 9, 5}));
  list.pop_back();
  swap(list[0], list[1]);
  EXPECT_EQ(list.extract(0), 3);
  list.emplace(list.begin(), 1);
  EXPECT_EQ(list.get(0), 1);
  EXPECT_THROW(list.get(17), IndexError);
  list.clear();
  EXPECT_THROW(list.pop_back(), IndexError);
  const impl::GenericList generic = impl::toList(same);
  EXPECT_TRUE(impl::toTypedList<int64_t>(generic).is(same));
  EXPECT_THROW(impl::toTypedList<double>(generic), TypeError);

  List<std::optional<at::Tensor>> optional({std::nullopt, at::ones({2})});
  EXPECT_FALSE(optional.get(0).has_value());
  EXPECT_EQ(optional.begin()->unsafeGetTensorImpl(), nullptr);
  int defined = 0;
  for (const std::optional<at::Tensor>& t : optional) defined += t.has_value();
  EXPECT_EQ(defined, 1);
}

TEST(IValue, DictsKeepTheirOrder) {
  Dict<std::string, int64_t> dict;
  for (int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(dict.insert("k" + std::to_string(i), i).second);
  EXPECT_FALSE(dict.insert("k3", 7).second);
  EXPECT_EQ(dict.at("k3"), 3);
  dict.insert_or_assign("k3", 7);
  for (int64_t i = 0; i < 1000; i += 2) EXPECT_EQ(dict.erase("k" + std::to_string(i)), 1u);
  EXPECT_EQ(dict.erase("absent"), 0u);
  EXPECT_EQ(dict.size(), 500u);
  int64_t expected = 1;
  for (const auto& entry : dict) {
    EXPECT_EQ(entry.key(), "k" + std::to_string(expected));
    EXPECT_EQ(entry.value(), expected == 3 ? 7 : expected);
    entry.setValue(entry.value() + 1);
    expected += 2;
  }
  EXPECT_EQ(dict.at("k3"), 8);
  EXPECT_THROW(dict.at("k4"), std::out_of_range);
  Dict<std::string, int64_t> same = dict;
  same.insert("new", 1);
  EXPECT_TRUE(dict.contains("new"));
  EXPECT_EQ(dict.copy(), dict);
  EXPECT_FALSE(dict.copy().is(dict));
  for (auto it = dict.begin(); it != dict.end(); ++it) dict.erase(it);
  EXPECT_TRUE(dict.empty());
  for (int64_t i = 0; i < 100000; ++i) {
    dict.insert("churn", i);
    dict.erase("churn");
  }
  EXPECT_TRUE(dict.empty());
  const at::Tensor a = at::ones({2}), b = at::ones({2});
  Dict<at::Tensor, int64_t> by_tensor;
  by_tensor.insert(a, 1);
  EXPECT_TRUE(by_tensor.contains(a));
  EXPECT_FALSE(by_tensor.contains(b));
  EXPECT_THROW((IValue(dict).to<Dict<std::string, double>>()), TypeError);
}

TEST(IValue, Equality) {
  EXPECT_EQ(IValue(1), IValue(1));
  EXPECT_NE(IValue(1), IValue(1.0));
  EXPECT_NE(IValue(1), IValue(true));
  EXPECT_EQ(IValue("a"), IValue("a"));
  EXPECT_EQ(IValue(std::vector<int64_t>{1, 2}), IValue(std::vector<int64_t>{1, 2}));
  EXPECT_NE(IValue(std::vector<int64_t>{1, 2}), IValue(std::vector<int64_t>{1}));
  EXPECT_EQ(IValue(ivalue::Tuple::create(1, "a")), IValue(ivalue::Tuple::create(1, "a")));
  Dict<std::string, int64_t> x, y;
  x.insert("a", 1);
  x.insert("b", 2);
  y.insert("b", 2);
  y.insert("a", 1);
  EXPECT_EQ(x, y);
  y.insert_or_assign("a", 3);
  EXPECT_NE(x, y);
  const IValue t(at::ones({2}));
  EXPECT_TRUE(t.equals(IValue(at::ones({2}))).isTensor());
  EXPECT_THROW((void)(t == IValue(at::ones({2}))), Error);
  EXPECT_TRUE(IValue(at::ones({1})) == IValue(at::ones({1})));
  // Identity comes first in containers.
  EXPECT_EQ(IValue(std::vector<IValue>{t}), IValue(std::vector<IValue>{t}));
  EXPECT_EQ(IValue(ivalue::Tuple::create(1, "a")).hash(), IValue(ivalue::Tuple::create(1, "a")).hash());
  EXPECT_THROW(IValue(x).hash(), Error);
}

// As libtorch 2.15's.
TEST(IValue, Hashes) {
  EXPECT_EQ(IValue(-1).hash().toInt(), -1);
  EXPECT_EQ(IValue(true).hash().toInt(), 1);
  EXPECT_EQ(IValue(2.5).hash().toInt(), -9080642332174582316);
  EXPECT_EQ(IValue("hello world").hash().toInt(), 5577293430985752569);
  EXPECT_EQ(IValue(std::make_tuple(1, 2)).hash().toInt(), 175247769363);
  EXPECT_EQ(IValue(std::make_tuple(std::make_tuple(1), 2)).hash().toInt(), 348789858340);
  EXPECT_EQ(message_of([] { IValue(std::vector<int64_t>{1}).hash(); }), "unhashable type: 'List[int]'");
}

// What PyTorch 2.15 prints.
TEST(IValue, Text) {
  EXPECT_EQ(text_of(IValue(2.0)), "2.");
  EXPECT_EQ(text_of(IValue(-0.0)), "0.");
  EXPECT_EQ(text_of(IValue(1e18)), "1000000000000000000.");
  EXPECT_EQ(text_of(IValue(1e19)), "1e+19");
  EXPECT_EQ(text_of(IValue(0.1)), "0.10000000000000001");
  EXPECT_EQ(text_of(IValue(1e20)), "1e+20");
  EXPECT_EQ(text_of(IValue(true)), "True");
  EXPECT_EQ(text_of(IValue()), "None");
  EXPECT_EQ(text_of(IValue(std::vector<int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(text_of(IValue(ivalue::Tuple::create(1, 2.0))), "(1, 2.)");
  EXPECT_EQ(text_of(IValue(ivalue::Tuple::create(1))), "(1,)");
  EXPECT_EQ(text_of(IValue(complex<double>(1, 2))), "1.+2.j");
  EXPECT_EQ(text_of(IValue(complex<double>(0, -1.5))), "0.-1.5j");
  EXPECT_EQ(text_of(IValue("a\"b")), "a\"b");
  EXPECT_EQ(IValue("a\"b\n").repr(), "\"a\\\"b\\n\"");
  Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  dict.insert("b", 2);
  EXPECT_EQ(text_of(IValue(dict)), "{a: 1, b: 2}");
  EXPECT_EQ(IValue(dict).repr(), "{\"a\": 1, \"b\": 2}");
  EXPECT_EQ(IValue(std::vector<double>()).repr(), "annotate(List[float], [])");
  EXPECT_EQ(text_of(IValue(at::ones({2}))), " 1\n 1\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text_of(IValue(Device("cuda:1"))), "cuda:1");
  EXPECT_THROW(IValue(at::ones({2})).repr(), Error);
}

// A formatter stands for the values it writes, wherever they are, and only for those.
TEST(IValue, ReprAsksTheFormatter) {
  const auto text = [](const IValue& value) {
    std::ostringstream out;
    int asked = 0;
    value.repr(out, [&asked](std::ostream& stream, const IValue& part) {
      ++asked;
      if (part.isTensor()) stream << "<" << part.toTensor().numel() << ">";
      return part.isTensor();
    });
    return out.str() + " " + std::to_string(asked);
  };
  EXPECT_EQ(text(at::ones({2})), "<2> 1");
  EXPECT_EQ(text("a"), "\"a\" 1");
  EXPECT_EQ(text(std::make_tuple(1, at::ones({3}), at::ones({4}), std::string("q"))), "(1, <3>, <4>, \"q\") 5");
  Dict<std::string, at::Tensor> dict;
  dict.insert("k", at::ones({5}));
  EXPECT_EQ(text(dict), "{\"k\": <5>} 3");
  std::ostringstream out;
  const std::function<bool(std::ostream&, const IValue&)> none = [](std::ostream&, const IValue&) { return false; };
  EXPECT_EQ(&IValue(2.5).repr(out, none), &out);
  EXPECT_EQ(out.str(), "2.5");
  EXPECT_THROW(IValue(at::ones({2})).repr(out, none), Error);
}

TEST(IValue, DeepCopiesKeepWhatIsShared) {
  const at::Tensor t = at::ones({2});
  const List<at::Tensor> inner({t, t});
  const IValue original(ivalue::Tuple::create(inner, inner, t));
  const IValue copy = original.deepcopy();
  const auto& parts = copy.toTupleRef().elements();
  EXPECT_TRUE(parts[0].is(parts[1]));
  EXPECT_FALSE(parts[0].is(original.toTupleRef().elements()[0]));
  EXPECT_TRUE(parts[0].toListRef()[0].is(parts[2]));
  EXPECT_FALSE(parts[2].isAliasOf(IValue(t)));
  EXPECT_FALSE(copy.overlaps(original));
  EXPECT_TRUE(original.overlaps(IValue(t)));
  // A list that holds itself.
  impl::GenericList cycle(AnyType::get());
  cycle.push_back(IValue(cycle));
  const IValue cycle_copy = IValue(cycle).deepcopy();
  EXPECT_TRUE(cycle_copy.toListRef()[0].is(cycle_copy));
  cycle_copy.toList().clear();
  cycle.clear();
}

TEST(IValue, SubValues) {
  const at::Tensor t = at::ones({2});
  Dict<std::string, at::Tensor> dict;
  dict.insert("a", t);
  const IValue value(ivalue::Tuple::create(1, dict, std::vector<int64_t>{2, 3}));
  std::vector<IValue> all;
  value.getSubValues(all);
  EXPECT_EQ(all.size(), 8u);
  int visited = 0;
  value.visit([&](const IValue& v) {
    ++visited;
    return v.isGenericDict();
  });
  EXPECT_EQ(visited, 6);
}

TEST(IValue, DeepNestingIsFreed) {
  IValue list(std::vector<IValue>{}), tuple(ivalue::Tuple::create(1)), dict(1);
  for (int i = 0; i < 100000; ++i) {
    list = IValue(std::vector<IValue>{std::move(list)});
    tuple = IValue(ivalue::Tuple::create(std::vector<IValue>{std::move(tuple)}));
    impl::GenericDict next(StringType::get(), AnyType::get());
    next.insert(IValue("a"), dict);
    dict = IValue(next);
  }
  list = IValue();
  tuple = IValue();
  dict = IValue();
}

TEST(IValue, Objects) {
  const auto type = ClassType::create("__torch__.K");
  type->addAttribute("a", IntType::get());
  type->addAttribute("b", TensorType::get());
  auto object = ivalue::Object::create(type, 2);
  object->setAttr("a", IValue(3));
  EXPECT_EQ(object->getSlot(0).toInt(), 3);
  EXPECT_TRUE(object->getAttr("b").isNone());
  EXPECT_THROW(object->getAttr("c"), Error);
  type->addAttribute("c", IntType::get());
  object->setAttr("c", IValue(5));
  const IValue value(object);
  EXPECT_EQ(value.type()->str(), "__torch__.K");
  const IValue copy = value.deepcopy();
  copy.toObject()->setAttr("a", IValue(4));
  EXPECT_EQ(object->getAttr("a").toInt(), 3);
  EXPECT_EQ(text_of(value).rfind("<__torch__.K object at 0x", 0), 0u);
}

TEST(Future, ValuesErrorsAndCallbacks) {
  auto future = make_intrusive<Future>(IntType::get());
  auto doubled = future->then([](Future& f) { return IValue(f.value().toInt() * 2); }, IntType::get());
  auto chained = doubled->thenAsync(
      [](Future& f) {
        auto inner = make_intrusive<Future>(StringType::get());
        inner->markCompleted(IValue(std::to_string(f.value().toInt())));
        return inner;
      },
      StringType::get());
  auto failed = future->then([](Future&) -> IValue { TORCH_CHECK_VALUE(false, "no"); }, IntType::get());
  EXPECT_THROW(future->value(), Error);
  EXPECT_FALSE(future->completed());
  std::thread other([&] { future->markCompleted(21); });
  chained->wait();
  other.join();
  EXPECT_EQ(chained->value().toStringRef(), "42");
  failed->wait();
  EXPECT_TRUE(failed->hasError());
  EXPECT_FALSE(failed->hasValue());
  EXPECT_EQ(failed->tryRetrieveErrorMessage(), "no");
  EXPECT_THROW(failed->waitAndThrow(), ValueError);
  EXPECT_THROW(failed->value(), ValueError);
  EXPECT_THROW(future->markCompleted(1), Error);
  EXPECT_THROW(future->tryRetrieveErrorMessage(), Error);
  future->setErrorIfNeeded(std::make_exception_ptr(std::runtime_error("late")));
  EXPECT_FALSE(future->hasError());
  int now = 0;
  future->addCallback([&](Future&) { ++now; });
  EXPECT_EQ(now, 1);
}

TEST(Future, ManyThreads) {
  for (int round = 0; round < 50; ++round) {
    List<intrusive_ptr<Future>> futures(FutureType::create(IntType::get()));
    for (int i = 0; i < 4; ++i) futures.push_back(make_intrusive<Future>(IntType::get()));
    auto all = ivalue::collectAll(futures);
    auto any = ivalue::collectAny(futures);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([f = futures.get(static_cast<size_t>(i)), i] { f->markCompleted(i); });
    all->wait();
    any->wait();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(all->value().toListRef().size(), 4u);
    EXPECT_TRUE(any->value().isInt());
  }
}

TEST(Await, ComputesOnce) {
  int calls = 0;
  auto await = make_intrusive<ivalue::Await>(IntType::get(), [&] { return IValue(++calls); });
  EXPECT_THROW(await->value(), Error);
  EXPECT_EQ(await->wait().toInt(), 1);
  EXPECT_EQ(await->wait().toInt(), 1);
  EXPECT_TRUE(await->completed());
}

TEST(SymInt, IsAPlainNumber) {
  const SymInt n = 6;
  EXPECT_EQ(n * 2 + 1 - n / 4 % 2, 12);
  EXPECT_TRUE(2 < n && n <= 6 && n != 5);
  EXPECT_EQ(n.guard_int(__FILE__, __LINE__), 6);
  EXPECT_EQ(n.expect_int(), 6);
  EXPECT_EQ(n.maybe_as_int(), 6);
  EXPECT_FALSE(n.is_symbolic());
  EXPECT_THROW((void)(n / 0), ValueError);
  EXPECT_TRUE(n.sym_gt(2).guard_bool(__FILE__, __LINE__));
  const std::vector<SymInt> sizes{2, 3};
  EXPECT_EQ(C10_AS_INTARRAYREF_SLOW(sizes), IntArrayRef({2, 3}));
  EXPECT_EQ(fromIntArrayRefSlow(IntArrayRef({2, 3}))[1], 3);
  EXPECT_EQ((SymFloat(1.5) + n).expect_float(), 7.5);
  EXPECT_EQ(IValue(std::vector<SymInt>{1, 2}).toIntVector(), (std::vector<int64_t>{1, 2}));
}

}  // namespace
}  // namespace c10
