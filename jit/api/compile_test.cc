#include <gtest/gtest.h>

#include "aten/aten.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "c10/value/type_parser.h"
#include "jit/api/compilation_unit.h"
#include "jit/api/jit_exception.h"
#include "jit/frontend/source_range.h"

namespace torch::jit {
namespace {

using at::Tensor;
using c10::IValue;

IValue run(const std::string& source, std::vector<IValue> arguments = {}, const Kwargs& named = {}) {
  return compile(source)->get_function("f")(std::move(arguments), named);
}
std::string text(const IValue& value) {
  std::string out;
  c10::to_text(out, value);
  return out;
}
std::string error_of(const std::string& source, std::vector<IValue> arguments = {}) {
  try {
    run(source, std::move(arguments));
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

// The body of "def f():" that returns an expression, and how its value prints.
TEST(Compile, Expressions) {
  const std::pair<const char*, const char*> cases[] = {
      {"7 // -2, -7 % 3, 7 / 2, 2 ** 3, 6 & 3, 6 | 1, 6 ^ 2, 1 << 3, -8 >> 1, ~5",
       "(-4, 2, 3.5, 8., 2, 7, 4, 8, -4, -6)"},
      {"1 + 2.5, 2 * 3j, -(1.5), +2, abs(-3), round(2.5), 7.5 // 2, -7.5 % 2",
       "(3.5, 0.+6.j, -1.5, 2, 3, 2., 3., 0.5)"},
      {"1 < 2, 1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, 'a' < 'b', not True, True and False or True",
       "(True, True, False, True, True, False, True)"},
      {"max(1, 2), min([3, 1]), max(1, 2.5), sum([1, 2]), sum([1.5, 2.]), any([0, 1]), all([True, False])",
       "(2, 1, 2.5, 3, 3.5, True, False)"},
      {"int(2.7), int('3'), float('2.5'), float(2), bool(0), str(1.0), str(2), str(True)",
       "(2, 3, 2.5, 2., False, 1., 2, True)"},
      {"1 if 2 > 3 else 4, (1, 'x')[1], (1, 2, 3)[:-1], len((1, 2)), divmod(7, 2)", "(4, x, (1, 2), 2, (3, 1))"},
      {"'a' + 'b', 'ab' * 2, 'abc'[1:], 'abc'[-1], 'b' in 'abc', len('abc'), 'a,b'.split(','), '-'.join(['a', 'b'])",
       "(ab, abab, bc, c, True, 3, [a, b], a-b)"},
      {"' a '.strip(), 'aBc'.upper(), 'abab'.replace('a', 'c', 1), 'abc'.find('c'), 'abc'.startswith('ab'), ord('a'), "
       "chr(98), list('ab')",
       "(a, ABC, cbab, 2, True, 97, b, [a, b])"},
      {"[1, 2] + [3], [1] * 3, [1, 2, 3][1:], [1, 2, 3][::-1], [1, 2] == [1, 2], 2 in [1, 2], 3 not in [1, 2], "
       "sorted([3, 1])",
       "([1, 2, 3], [1, 1, 1], [2, 3], [3, 2, 1], True, True, True, [1, 3])"},
      {"[1, 2, 1].count(1), [1, 2].index(2), list(range(2, 8, 3)), list(reversed([1, 2])), list((1, 2)), len([1])",
       "(2, 1, [2, 5], [2, 1], [1, 2], 1)"},
      {"[i * 2 for i in range(3)], [i for i in [1, 2, 3] if i > 1], {i: str(i) for i in [1, 2]}",
       "([0, 2, 4], [2, 3], {1: 1, 2: 2})"},
      {"[i + j for i, j in zip([1, 2], [3, 4])], [k for k in {'a': 1}], list(enumerate(['x']))",
       "([4, 6], [a], [(0, x)])"},
      {"{'a': 1, 'b': 2}['b'], {'a': 1}.get('z', 5), 'a' in {'a': 1}, {'a': 1}.items(), {'a': 1}.keys(), len({'a': 1})",
       "(2, 5, True, [(a, 1)], [a], 1)"},
      {"'heLLO wORLD'.capitalize(), 'heLLO 2wORLD'.title(), 'aB1'.swapcase(), 'Ab Cd'.istitle(), 'Ab CD'.istitle()",
       "(Hello world, Hello 2World, Ab1, True, False)"},
      {"'ab'.ljust(4, '.'), 'ab'.rjust(4, '.'), 'ab'.center(5, '*'), 'abc'.center(6, '*'), '-7'.zfill(4), "
       "'abc'.zfill(2)",
       "(ab.., ..ab, **ab*, *abc**, -007, abc)"},
      {"'12'.isdigit(), ''.isdigit(), 'a1'.isalpha(), 'a1'.isalnum(), ' '.isspace(), 'A1'.isupper(), '1'.islower(), "
       "'_a1'.isidentifier(), '1a'.isidentifier(), 'a\\n'.isprintable()",
       "(True, False, False, True, True, True, False, True, False, False)"},
      {"'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('-'), 'abc'.rpartition('-')",
       "((a, -, b-c), (a-b, -, c), (abc, , ), (, , abc))"},
      {"'a b c'.rsplit(' ', 1), 'a b c'.rsplit(), 'a\\nb\\r\\nc'.splitlines(), 'a\\tbc\\td'.expandtabs(4)",
       "([a b, c], [a, b, c], [a, b, c], a   bc  d)"},
      {"hex(255), hex(-1), oct(8), bin(5), bin(0)", "(0xff, -0x1, 0o10, 0b101, 0b0)"},
      {"torch.gcd(-12, 18), torch.gcd(0, 0), torch.factorial(5), torch.copysign(3, -1.5), torch.mathremainder(7, 4)",
       "(6, 0, 120, -3., -1.)"},
      {"torch.ldexp(1.5, 3), torch.frexp(10.), torch.modf(-2.5), torch.degrees(torch.radians(90)), torch.fabs(-2)",
       "(12., (0.625, 4), (-0.5, -2.), 90., 2.)"},
      {"torch.log2(8), torch.log10(100.), torch.expm1(0.), torch.erf(0), torch.gamma(5), torch.lgamma(1.), "
       "torch.acosh(1)",
       "(3., 2., 0., 0., 24., 0., 0.)"},
      {"torch.ones([2, 3]).stride(), torch.broadcast_shapes([2, 1], [3]), torch.ones([2]).itemsize, "
       "torch.ones([2]).nbytes, torch.ones([2]).get_device(), torch.ones([2]).is_meta",
       "([3, 1], [2, 3], 4, 8, -1, False)"},
      {"ops.prim.is_cpu(torch.ones([2])), ops.prim.is_xpu(torch.ones([2])), ops.prim.is_sparse_csr(torch.ones([2])), "
       "torch._infer_size([2, 1], [3]), torch.is_scripting(), torch._is_tracing(), torch.is_autocast_cpu_enabled()",
       "(True, False, False, [2, 3], True, False, False)"},
      {"torch.as_tensor([1, 2]).dtype, torch.as_tensor(1.5).dtype, torch.as_tensor(True).dtype, "
       "torch.as_tensor([[1.5]], dtype=torch.float64).shape, torch.as_tensor(torch.ones([2]), dtype=torch.int64).dtype",
       "(4, 6, 11, [1, 1], 4)"},
      {"torch.ones([2]).requires_grad_().requires_grad, torch.ones([2]).requires_grad_(False).requires_grad",
       "(True, False)"},
      {"annotate(List[List[int]], torch.tensor([[1, 2], [3, 4]]).tolist()), annotate(float, "
       "torch.tensor(1.5).tolist()), "
       "annotate(List[bool], torch.tensor([True, False]).tolist()), annotate(List[float], torch.ones([0]).tolist())",
       "([[1, 2], [3, 4]], 1.5, [True, False], [])"},
      {"None is None, torch.float32, torch.int64, torch.device('cpu').type, annotate(List[int], []), "
       "annotate(Optional[int], 3)",
       "(True, 6, 4, cpu, [], 3)"},
      {"torch.ones([2]).size(0), torch.zeros(2, 3).shape, torch.ones(2).dtype, torch.ones(2).numel(), "
       "torch.ones(3).sum().item()",
       "(2, [2, 3], 6, 2, 3.)"},
  };
  for (const auto& [expression, value] : cases) {
    const std::string source = std::string("def f():\n  return ") + expression;
    try {
      EXPECT_EQ(text(run(source)), value) << expression;
    } catch (const std::exception& error) {
      ADD_FAILURE() << expression << "\n" << error.what();
    }
  }
}

TEST(Compile, Statements) {
  const std::pair<const char*, const char*> cases[] = {
      {"a, (b, c) = 1, (2, 3)\n  d = e = a + b\n  return d, e, c", "(3, 3, 3)"},
      {"x = [1, 2]\n  x[0] = 5\n  x += [7]\n  x.append(8)\n  x.insert(0, 9)\n  y = x.pop()\n  del x[1]\n  "
       "x.reverse()\n  return x, y",
       "([7, 2, 9], 8)"},
      {"x = [3, 1]\n  x.sort()\n  y = x.copy()\n  y.extend([4])\n  y.remove(1)\n  x.clear()\n  return x, y",
       "([], [3, 4])"},
      {"d: Dict[str, int] = {}\n  d['a'] = 1\n  d['b'] = 2\n  del d['a']\n  n = d.pop('b')\n  return d, n, len(d)",
       "({}, 2, 0)"},
      {"x = 0\n  while True:\n    x += 1\n    if x % 2 == 0:\n      continue\n    if x > 6:\n      break\n  return x",
       "7"},
      {"x = 0\n  for i in range(10):\n    for j in [1, 2]:\n      if j == 2:\n        break\n      x += i * j\n  "
       "return x",
       "45"},
      {"x = ''\n  for i, (c, d) in enumerate(zip('abc', [1, 2, 3])):\n    x += c * d + str(i)\n  return x",
       "a0bb1ccc2"},
      {"for i in range(5):\n    if i == 3:\n      return i\n  return -1", "3"},
      {"x = 5\n  x //= 2\n  x **= 2\n  y = 7\n  y <<= 1\n  y |= 1\n  return x, y", "(4., 15)"},
      {"x: Optional[int] = None\n  if x is None:\n    x = 3\n  return x + 1", "4"},
      {"x = 1\n  if x > 0:\n    y = 2\n  elif x == 0:\n    y = 3\n  else:\n    y = 4\n  return y", "2"},
      {"x = []  # type: List[int]\n  x.append(1); x.append(2)\n  return x", "[1, 2]"},
      {"assert 1 < 2, 'no'\n  pass\n  \"\"\"a text\"\"\"\n  return None", "None"},
      {"i = 3\n  x = [i for i in [1, 2]]\n  return i, x", "(3, [1, 2])"},
      {"r = torch.max(torch.ones([2, 3]), 1)\n  v, i = r\n  return r.values.sum().item(), i[0].item()", "(2., 0)"},
      {"torch.manual_seed(3)\n  a = torch.rand([2])\n  torch.manual_seed(3)\n  return torch.equal(a, torch.rand([2]))",
       "True"},
      {"x = 2\n  def __forked_function():\n    return x * 2\n  a = fork(__forked_function)\n  def "
       "__forked_function0():\n    "
       "return x * 3\n  b = fork(__forked_function0)\n  return torch.wait(a), torch.wait(b)",
       "(4, 6)"},
      {"return", "None"},
  };
  for (const auto& [body, value] : cases) {
    try {
      EXPECT_EQ(text(run(std::string("def f():\n  ") + body)), value) << body;
    } catch (const std::exception& error) {
      ADD_FAILURE() << body << "\n" << error.what();
    }
  }
}

TEST(Compile, TensorsAsInCpp) {
  const Tensor a = at::arange(6, at::kFloat).view({2, 3}), b = at::full({2, 3}, 2.0f), i = at::arange(6).view({2, 3});
  const std::pair<const char*, Tensor> cases[] = {
      {"a * b + 1", a * b + 1},
      {"2 - a", 2 - a},
      {"1 / b", 1 / b},
      {"2 ** a", at::pow(2, a)},
      {"a @ b.t()", a.matmul(b.t())},
      {"torch.relu(a - 3) // 2", at::floor_divide(at::relu(a - 3), 2)},
      {"(1 < a) & (a < 4)", (1 < a).logical_and(a < 4)},
      {"a[0]", a[0]},
      {"a[1:, None, ..., 0]", a.slice(0, 1).unsqueeze(1).select(2, 0)},
      {"a[a > 2]", a.masked_select(a > 2)},
      {"a[[1, 0]]", a.flip(0)},
      {"a[:, ::2]", a.slice(1, 0, 3, 2)},
      {"a.sum(0)", a.sum(0)},
      {"a.sum(dim=[0, 1], keepdim=True)", a.sum(at::IntArrayRef({0, 1}), true)},
      {"a.view(3, 2)", a.view({3, 2})},
      {"a.view((3, -1)).T", a.view({3, 2}).t()},
      {"torch.cat([a, b], dim=1)", at::cat({a, b}, 1)},
      {"torch.stack([r * 2 for r in a])", a * 2},
      {"torch.tensor([[1, 2], [3, 4]])", at::arange(1, 5).view({2, 2})},
      {"torch.tensor([1.5, 2.0], dtype=torch.float64)", at::tensor({1.5, 2.0}, at::kDouble)},
      {"torch.where(a > 2, a, -b)", at::where(a > 2, a, -b)},
      {"a.to(torch.int64).float()", a},
      {"torch.clamp(a, min=1, max=3)", at::clamp(a, 1, 3)},
      {"torch.zeros(2, dtype=torch.int64)", at::zeros({2}, at::kLong)},
      {"i + 0.5", i + 0.5},
      {"1.5 * i", i * 1.5},
      {"a + True", a + 1},
      {"i % 2 == 0", i % 2 == 0},
      {"-a.T", -a.t()},
      {"~(a > 1)", a <= 1},
      {"torch.softmax(a, -1)", at::softmax(a, -1)},
  };
  for (const auto& [expression, expected] : cases) {
    try {
      const Tensor value = run(std::string("def f(a, b, i):\n  return ") + expression, {a, b, i}).toTensor();
      EXPECT_EQ(value.scalar_type(), expected.scalar_type()) << expression;
      EXPECT_TRUE(at::equal(value, expected)) << expression;
    } catch (const std::exception& error) {
      ADD_FAILURE() << expression << "\n" << error.what();
    }
  }
}

TEST(Compile, MixedNumbersHaveOneType) {
  const auto unit = compile("def f(a: int, b: float):\n  return a * b, b - a, a ** 2, max(a, b), a < b, a + 2j\n");
  EXPECT_EQ(unit->get_function("f").getSchema().str(),
            "f(int a, float b) -> ((float, float, float, float, bool, complex))");
}

TEST(Compile, DefaultsAreTuplesToo) {
  const auto unit =
      compile("def f(a: int, t: Tuple[int, float]=(1, 2.), s: str=\"x\"):\n  return t[1] + t[0] + a, s\n");
  EXPECT_EQ(text(unit->get_function("f")({3})), "(6., x)");
  const c10::IValue given = c10::ivalue::Tuple::create({IValue(4), IValue(0.5)});
  EXPECT_EQ(text(unit->get_function("f")({3, given})), "(7.5, x)");
  EXPECT_NE(c10::str(unit->get_function("f").getSchema()).find("t=(1, 2.)"), std::string::npos)
      << unit->get_function("f").getSchema();
}

TEST(Compile, WritesIntoTensors) {
  const Tensor a = at::arange(6).view({2, 3}).clone();
  run("def f(a):\n  a[0] = 1\n  a[:, 1] = a[:, 0]\n  a[a > 3] = 0\n  a[0, 2] += 5\n  a -= 1", {a});
  EXPECT_TRUE(at::equal(a, at::tensor({0, 0, 5, 2, 2, -1}).view({2, 3}).to(at::kLong)));
}

TEST(Compile, GradientsFlow) {
  const auto unit = compile(R"(
    def scaled(x, n: int):
      for i in range(n):
        x = x * x
      return x
    def f(x):
      with torch.no_grad():
        y = x * 100
      return scaled(x, 2).sum() + y.sum()
  )");
  Tensor x = at::full({3}, 2.0f).set_requires_grad(true);
  const Tensor y = unit->run_method("f", x).toTensor();
  EXPECT_EQ(y.item<float>(), 648);
  y.backward();
  EXPECT_TRUE(at::equal(x.grad(), at::full({3}, 32.0f)));
}

TEST(Compile, TypesAreNarrowed) {
  const auto unit = compile(R"(
    def f(a: Optional[int]):
      if a is None or a > 3:
        return 0
      return a
    def g(a: Union[int, str]):
      if isinstance(a, int):
        return a + 1
      else:
        return len(a)
    def h(a: Optional[List[int]], b: int | None = None) -> int:
      assert a is not None
      return a[0] if b is None else a[0] + b
  )");
  EXPECT_EQ(unit->run_method("f", IValue()).toInt(), 0);
  EXPECT_EQ(unit->run_method("f", 2).toInt(), 2);
  EXPECT_EQ(unit->get_function("f").getSchema().str(), "f(int? a) -> int");
  EXPECT_EQ(unit->run_method("g", "abc").toInt(), 3);
  EXPECT_EQ(unit->run_method("g", 4).toInt(), 5);
  EXPECT_EQ(unit->run_method("h", std::vector<int64_t>{5}).toInt(), 5);
  EXPECT_EQ(unit->run_method("h", std::vector<int64_t>{5}, 2).toInt(), 7);
}

TEST(Compile, ArgumentsAreChecked) {
  const std::string source = "def f(a: List[int], b: int = 2, *, c: str = 'x'):\n  return a, b, c\n";
  const IValue list = std::vector<int64_t>{1};
  EXPECT_EQ(compile(source)->get_function("f").getSchema().str(),
            "f(int[] a, int b=2, *, str c=\"x\") -> ((int[], int, str))");
  EXPECT_EQ(text(run(source, {list})), "([1], 2, x)");
  EXPECT_EQ(text(run(source, {list}, {{"c", "y"}, {"b", 3}})), "([1], 3, y)");
  EXPECT_EQ(error_of(source, {3}),
            "f() Expected a value of type 'List[int]' for argument 'a' but instead found type 'int'.\nPosition: "
            "0\nDeclaration: "
            "f(int[] a, int b=2, *, str c=\"x\") -> ((int[], int, str))");
  EXPECT_EQ(error_of(source).substr(0, 60), "f() is missing value for argument 'a'. Declaration: f(int[] ");
  EXPECT_EQ(error_of(source, {list, 2, "x", 4}).substr(0, 60),
            "f() expected at most 3 argument(s) but received 4 argument(s");
  EXPECT_THROW(run(source, {list}, {{"d", 1}}), c10::Error);
  EXPECT_THROW(run(source, {list}, {{"a", list}}), c10::Error);
  EXPECT_THROW(compile(source)->run_method("g"), c10::Error);
  EXPECT_EQ(compile(source)->find_function("g"), nullptr);
}

TEST(Compile, UnitsGrow) {
  CompilationUnit unit;
  EXPECT_EQ(unit.define(std::nullopt, "def f(a: int):\n  return a + 1\n").size(), 1u);
  unit.define(std::nullopt, "def g(a: int):\n  return f(a) * late(a)\ndef late(a: int):\n  return a\n");
  EXPECT_EQ(unit.run_method("g", 3).toInt(), 12);
  EXPECT_THROW(unit.define(std::nullopt, "def new():\n  return 1\ndef f():\n  return 1\n"), c10::Error);
  EXPECT_EQ(unit.find_function("new"), nullptr);
  unit.define(c10::QualifiedName("a.b"), "def f():\n  return 7\n");
  EXPECT_EQ(unit.run_method("a.b.f").toInt(), 7);
  EXPECT_EQ(unit.get_functions().size(), 4u);
  const CompilationUnit moved = std::move(unit);
  EXPECT_EQ(moved.get_function("g")({2}).toInt(), 6);
}

TEST(Compile, RunTimeErrorsShowTheirPlaces) {
  EXPECT_EQ(error_of("def g(a: int):\n  return 5 // a\ndef f(a: int):\n  return g(a)\n", {0}),
            "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent "
            "call last):\n"
            "  File \"<string>\", line 4, in f\n  return 5 // a\ndef f(a: int):\n  return g(a)\n         ~ <--- HERE\n"
            "  File \"<string>\", line 2, in g\ndef g(a: int):\n  return 5 // a\n         ~~~~~~ <--- HERE\ndef f(a: "
            "int):\n  return g(a)\n"
            "RuntimeError: division by 0\n");
  const std::pair<const char*, const char*> cases[] = {
      {"x = [1]\n  return x[1]", "RuntimeError: list index out of range\n"},
      {"x = {'a': 1}\n  return x['b']", "RuntimeError: KeyError: b\n"},
      {"assert 1 > 2, 'no'", "RuntimeError: AssertionError: no\n"},
      {"raise ValueError('bad')", "builtins.ValueError: bad\n"},
      {"raise Exception", "RuntimeError: \n"},
      {"return torch.ones(2, 3) @ torch.ones(2, 3)", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)\n"},
      {"a, b = [1, 2, 3]\n  return a", "RuntimeError: Expected 2 elements in a list but found 3\n"},
      {"return int('x')", "RuntimeError: invalid literal for a number: 'x'\n"},
      {"return range(1, 2, 0)", "RuntimeError: range() arg 3 must not be zero\n"},
  };
  for (const auto& [body, end] : cases) {
    const std::string error = error_of(std::string("def f():\n  ") + body);
    EXPECT_EQ(error.substr(error.size() - std::min(error.size(), std::string(end).size())), end) << body << "\n"
                                                                                                 << error;
    EXPECT_NE(error.find("<--- HERE"), std::string::npos) << body;
  }
  try {
    run("def f():\n  raise ValueError('bad')");
    FAIL();
  } catch (const JITException& error) {
    EXPECT_EQ(error.getPythonClassName(), "builtins.ValueError");
    EXPECT_EQ(error.getOriginalMsg(), "bad");
  }
}

TEST(Compile, ProgramsThatAreWrongAreRefused) {
  EXPECT_EQ(
      error_of("def f(a, b):\n  return a * c\n"),
      "\nundefined value c:\n  File \"<string>\", line 2\ndef f(a, b):\n  return a * c\n             ~ <--- HERE\n\n");
  const std::pair<const char*, const char*> cases[] = {
      {"a, b: int):\n  if a:\n    c = 1\n  return c", "\nc is not defined in the false branch:\n"},
      {"a):\n  if a:\n    c = 1\n  else:\n    c = 'x'\n  return c",
       "\nType mismatch: c is set to type int in the true branch and type str in the false branch:\n"},
      {"a: int):\n  for i in range(a):\n    b = i\n  return b", "\nundefined value b:\n"},
      {"a: int):\n  if a > 0:\n    a = 'x'\n  return 1",
       "\nVariable 'a' previously had type int but is now being assigned to a value of type str\n:\n"},
      {"a: int) -> float:\n  return a",
       "\nReturn value was annotated as having type float but is actually of type int:\n"},
      {"a: int):\n  if a:\n    return 1\n  return 'a'",
       "\nPrevious return statement returned a value of type int but this return statement returns a value of type "
       "str:\n"},
      {"a: Foo):\n  return a", "\nUnknown type name 'Foo':\n"},
      {"a):\n  return torch.foo(a)", "\nobject has no attribute foo:\n"},
      {"a: int):\n  return a.foo()", "\n'int' object has no attribute or method 'foo'.:\n"},
      {"a: int):\n  return foo(a)", "\nundefined value foo:\n"},
      {"a: int):\n  return f(a)", "\n function 'f' is called recursively. Recursive calls are not supported:\n"},
      {"a):\n  return a(1)", "\ncannot call a value of type 'Tensor':\n"},
      {"a: int):\n  return a[0]", "\n'int' object is not subscriptable:\n"},
      {"a: int):\n  for i in a:\n    pass", "\n'int' object is not iterable:\n"},
      {"a: int):\n  b: int = 'x'\n  return a",
       "\nVariable 'b' is annotated with type int but is being assigned to a value of type str:\n"},
      {"a: Tuple[int, str]):\n  x, y, z = a\n  return x", "\nneed 3 values to unpack but found only 2:\n"},
      {"a: Tuple[int, str], b: int):\n  return a[b]",
       "\nCannot index into a Tuple[int, str] with a non-integer literal because we cannot resolve the output type:\n"},
      {"a: int):\n  break", "\nSyntaxError: 'break' outside loop:\n"},
      {"a: int):\n  a.x = 1", "\nTried to set an attribute: x on a non-class: int:\n"},
      {"a: str):\n  if a:\n    return 1", "\nCould not cast value of type str to bool:\n"},
      {"a: int):\n  x = []\n  x.append(a)",
       "\n\naten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!):\nCould not match type int to t in argument 'el': "},
      {"a):\n  return torch.relu('x')",
       "\nArguments for call are not valid.\nThe following variants are available:\n  \n  aten::relu(Tensor self) -> "
       "Tensor:\n  Expected a value of "
       "type 'Tensor' for argument 'self' but instead found type 'str'.\n"},
      {"a):\n  with a:\n    pass", "\n'with' is supported for torch.no_grad()"},
      {"a):\n  def g():\n    pass", "\nfunctions inside functions are not supported:\n"},
      {"a, a):\n  pass", "\nduplicate parameter 'a':\n"},
      {"a: int = 'x'):\n  pass", "\nExpected a default value of type int but it is of type str:\n"},
      {"a: Dict[str, int] = {}):\n  pass", "\na default value of type Dict[str, int] is not supported:\n"},
      {"a):\n  return a.tolist()", "\nExpected type hint for result of tolist()"},
      {"a=[1] * 99999999999):\n  pass", "\na default value that is computed is not supported:\n"},
      {"a):\n  return torch.from_file('x')", "\nobject has no attribute from_file:\n"},
  };
  for (const auto& [rest, message] : cases) {
    const std::string error = error_of(std::string("def f(") + rest);
    EXPECT_EQ(error.substr(0, std::string(message).size()), message) << rest;
    EXPECT_NE(error.find("<--- HERE"), std::string::npos) << rest << error;
  }
  EXPECT_THROW(run("class A:\n  pass\n"), ErrorReport);
  EXPECT_EQ(
      error_of("def f(a: str):\n  return g(a)\ndef g(a: int):\n  return a\n").substr(0, 105),
      "\n\ng(int a) -> int:\nExpected a value of type 'int' for argument 'a' but instead found type 'str'.\n:\n  File");
}

// Whatever a program says, compiling it ends with functions or an error of one of these kinds.
TEST(Mutations, NeverCrashTheCompiler) {
  const std::string base = R"(
def g(a: int, b: Optional[List[int]] = None, *, c: Tuple[int, str]) -> int:
  d, (e, h) = a, c
  if b is not None and len(b) > 1:
    return b[0] + d
  elif isinstance(b, int): pass
  return len(h) * -a // 2
def f(x, n: int, y: Dict[str, Tensor]):
  z = [i * 2 for i in range(n) if i < 3]
  for k, (v, w) in enumerate(zip(z, [1, 2])):
    x += v * w - k
    while x.sum() > 3:
      x[0, ..., None:2] = y['a'][x > 1] if n else x
      if n in z: break
      else: continue
  with torch.no_grad():
    z.append(g(n, z, c=(2, "y")))
  assert n < 9, 'no'
  del y['b']
  return torch.cat([x, x.T], dim=0).size(0), {1: z}, torch.max(x, 0).values, x.to(torch.int64), str(z[::-1])
)";
  ASSERT_NO_THROW(compile(base));
  const std::vector<std::string> words = {"None", "1",    "1.5", "'a'", "x",         "n",    "z",      "y",   "g",
                                          "f",    "(",    ")",   "[",   "]",         "{}",   ",",      ":",   ".",
                                          "=",    "not ", "in",  "is",  "-",         "**",   "//",     "...", "torch.",
                                          ".T",   "(x)",  "[0]", "int", "List[int]", "\n  ", "return "};
  uint64_t state = 11;
  const auto random = [&](size_t n) {
    return (state = state * 6364136223846793005u + 1442695040888963407u, static_cast<size_t>(state >> 33)) % n;
  };
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = base;
    for (size_t edits = 1 + random(3); edits > 0; --edits) {
      const size_t at = random(text.size());
      if (random(3) == 0) {
        text.erase(at, 1 + random(6));
      } else {
        text.replace(at, random(4), words[random(words.size())]);
      }
    }
    try {
      compile(text);
      ++accepted;
    } catch (const ErrorReport&) {
    } catch (const c10::Error& error) {
      EXPECT_NE(std::string(error.what_without_backtrace()).find("already defined"), std::string::npos)
          << error.what_without_backtrace();
    }
  }
  EXPECT_GT(accepted, 30);
}

}  // namespace
}  // namespace torch::jit
