#include "aten/codegen/emit.h"
#include "aten/codegen/formula.h"
#include "gtest/gtest.h"

namespace kindling::codegen {
namespace {

Table table_of(const std::string& text) {
  std::string error;
  auto table = read_table("demo", text, &error);
  EXPECT_TRUE(table.has_value()) << error;
  return table.has_value() ? *std::move(table) : Table{};
}

std::string error_of(const std::string& text) {
  std::string error;
  EXPECT_FALSE(read_table("demo", text, &error).has_value());
  return error;
}

std::string declaration_of(const std::string& schema) {
  const Signature signature = cpp_signature(c10::parse_schema(schema), {});
  return signature.result + "(" + signature.declaration(false) + ")";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Signature, TypesAreThoseOfTheCppApi) {
  EXPECT_EQ(declaration_of("f(Tensor self, Tensor? w=None, *, Scalar alpha=1) -> Tensor"),
            "Tensor(const Tensor& self, const std::optional<Tensor>& w = {}, const Scalar& alpha = 1)");
  EXPECT_EQ(declaration_of("f(Tensor[] t, Tensor?[] i, int[2] s=1, int[1]? d=None, float[]? x=None) -> Tensor[]"),
            "std::vector<Tensor>(TensorList t, const c10::List<std::optional<Tensor>>& i, IntArrayRef s = 1, "
            "OptionalIntArrayRef d = "
            "std::nullopt, std::optional<ArrayRef<double>> x = std::nullopt)");
  EXPECT_EQ(
      declaration_of("f(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
                     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
      "Tensor(IntArrayRef size, TensorOptions options = {}, std::optional<MemoryFormat> memory_format = std::nullopt)");
  EXPECT_EQ(declaration_of("f(str a='x', bool[3] m=True, int r=Mean, Generator? generator=None) -> (Tensor, int)"),
            "std::tuple<Tensor, int64_t>(std::string_view a = \"x\", std::array<bool, 3> m = {true, true, true}, "
            "int64_t r = at::Reduction::Mean, "
            "std::optional<Generator> generator = std::nullopt)");
  EXPECT_EQ(declaration_of("f_(Tensor(a!) self) -> Tensor(a!)"), "Tensor&(Tensor& self)");
  EXPECT_EQ(declaration_of("resize_(Tensor(a!) self, int[] size) -> Tensor(a!)"),
            "const Tensor&(const Tensor& self, IntArrayRef size)");
}

TEST(Signature, DefaultsOnlyAtTheEnd) {
  EXPECT_EQ(declaration_of("f(int a=1, int b, int c=2) -> ()"), "void(int64_t a, int64_t b, int64_t c = 2)");
}

// "before|name" for each name, with a mark: . for members, ( for what is called; then what is left.
std::vector<std::string> names_in(const std::string& formula) {
  std::vector<std::string> all;
  FormulaNames names(formula);
  while (names.next()) {
    all.push_back(std::string(names.before()) + "|" + names.name() + (names.is_member() ? "." : "") +
                  (names.is_called() ? "(" : ""));
  }
  all.emplace_back(names.before());
  return all;
}

TEST(Formula, NamesAndWhatStandsBetweenThem) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(names_in(""), Words{""});
  EXPECT_EQ(names_in("mul(grad, self.sizes(), 2)"), (Words{"|mul(", "(|grad", ", |self", ".|sizes.(", "(), 2)"}));
  EXPECT_EQ(names_in("at::real(x) - p->y"), (Words{"|at.", "::|real.(", "(|x", ") - |p", "->|y.", ""}));
  EXPECT_EQ(names_in("a . b :: c"), (Words{"|a", " . |b.", " :: |c.", ""})) << "spaces change nothing";
  EXPECT_EQ(names_in("a>b ? a:b"), (Words{"|a", ">|b", " ? |a", ":|b", ""})) << "comparisons and choices are no access";
  EXPECT_EQ(names_in("f(\"a b\\\" c\", 'd', e)"), (Words{"|f(", "(\"a b\\\" c\", 'd', |e", ")"}));
  EXPECT_EQ(names_in("1e5 + 2.f * x1 - \"open"), (Words{"1e5 + 2.f * |x1", " - \"open"}));
  FormulaNames names("x.sizes()[0] + y");
  EXPECT_TRUE(names.next());
  EXPECT_FALSE(names.take(".size()"));
  EXPECT_TRUE(names.take(".sizes()"));
  EXPECT_TRUE(names.next());
  EXPECT_EQ(names.before(), "[0] + ");
  EXPECT_EQ(names.name(), "y");
  EXPECT_FALSE(names.next());
}

TEST(Table, ErrorsNameTheEntry) {
  EXPECT_TRUE(contains(error_of("op { schema: 1 }"), "line 1"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensr x) -> Tensor\" }"), "expected a type"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f() -> Tensor\" } op { schema: \"f() -> Tensor\" }"), "twice"));
  EXPECT_TRUE(contains(
      error_of("op { schema: \"f(Tensor x) -> Tensor\" out { schema: \"f_(Tensor(a!) self) -> Tensor(a!)\" } }"),
      "not the form"));
  EXPECT_TRUE(
      contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" out { schema: \"f.out(Tensor y, *, Tensor(a!) out) -> "
                        "Tensor(a!)\" } }"),
               "differ"));
  EXPECT_TRUE(contains(
      error_of("op { schema: \"f(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"f\" } kernel { key: ANY "
               "function: \"g\" } }"),
      "only one of CPU"));
  EXPECT_TRUE(
      contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" derivative { input: \"y\" formula: \"grad\" } }"),
               "no tensor argument"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(int x) -> Tensor\" method: true }"), "needs an argument 'self'"));
}

TEST(Table, CompositeStandsAloneOrBesideCpu) {
  const auto with = [](const std::string& kernels) {
    return "op { schema: \"f(Tensor x) -> Tensor\" " + kernels + " }";
  };
  const std::string cpu = "kernel { key: CPU function: \"c\" } ",
                    composite = "kernel { key: COMPOSITE function: \"f\" } ";
  table_of(with(cpu + composite));
  EXPECT_TRUE(contains(error_of(with(composite + "kernel { key: META function: \"g\" }")),
                       "beside one of COMPOSITE only one of CPU"));
  EXPECT_TRUE(contains(error_of(with(cpu + composite + "kernel { key: META function: \"g\" }")), "only one of CPU"));
  EXPECT_TRUE(
      contains(error_of(with(cpu + composite + "derivative { input: \"x\" formula: \"grad\" }")), "never used"));
  EXPECT_TRUE(contains(error_of(with("meta: \"m\" " + cpu + composite)), "kernels of backends only"));
}

TEST(Table, AnInputHasOneDerivative) {
  const std::string op = "op { schema: \"f(Tensor x, Tensor y) -> Tensor\" kernel { key: CPU function: \"f\" } ";
  EXPECT_TRUE(contains(
      error_of(op +
               "derivative { input: \"x\" formula: \"grad\" } derivative { input: \"y, x\" formula: \"g(grad)\" } }"),
      "two derivatives for 'x'"));
  EXPECT_TRUE(contains(error_of(op + "derivative { input: \"x, x\" formula: \"grad\" } }"), "two derivatives for 'x'"));
  table_of(op + "derivative { input: \"x\" formula: \"grad\" } derivative { input: \"y\" formula: \"grad\" } }");
}

TEST(Table, AnArgumentHidesNoFunction) {
  const auto with = [](const std::string& formula) {
    return "op { schema: \"f(Tensor real, Tensor imag) -> Tensor\" kernel { key: CPU function: \"f\" } derivative { "
           "input: \"real\" "
           "formula: \"" +
           formula + "\" } }";
  };
  EXPECT_TRUE(contains(error_of(with("real(grad)")), "calls 'real'"));
  EXPECT_TRUE(contains(error_of(with("mul(2, imag (grad))")), "calls 'imag'"));
  table_of(with("at::real(grad)"));
  table_of(with("mul(real, x.real())"));
}

TEST(Table, ForwardDerivativesCoverWhatHasADerivative) {
  const auto with = [](const std::string& lines) {
    return "op { schema: \"f(Tensor x, Tensor y, Tensor[] l) -> Tensor\" kernel { key: CPU function: \"f\" } "
           "derivative { input: \"x, y\" "
           "formula: \"g(grad)\" } " +
           lines + " }";
  };
  table_of(with(""));
  table_of(with("forward { formula: \"auto_linear\" }"));
  table_of(
      with("forward { input: \"x\" formula: \"auto_linear\" } forward { input: \"y\" formula: \"auto_adjoint\" }"));
  EXPECT_TRUE(contains(error_of(with("forward { input: \"x\" formula: \"x_t\" }")),
                       "'y' has a derivative, but no forward derivative"));
  EXPECT_TRUE(contains(error_of(with("forward { formula: \"x_t\" } forward { input: \"y\" formula: \"y_t\" }")),
                       "two forward derivatives for 'y'"));
  EXPECT_TRUE(contains(error_of(with("forward { input: \"z\" formula: \"z_t\" }")), "no tensor argument"));
  EXPECT_TRUE(
      contains(error_of(with("forward { input: \"l\" formula: \"auto_element_wise\" }")), "which has no derivative"));
  EXPECT_TRUE(contains(error_of(with("forward { formula: \"x_t\" result: 1 }")), "result 1"));
  EXPECT_TRUE(contains(error_of(with("forward { formula: \"y(x_t)\" }")), "calls 'y'"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"f\" } "
                                "forward { input: \"x\" formula: "
                                "\"x_t\" } }"),
                       "never used"));
  EXPECT_TRUE(contains(
      error_of(
          "op { schema: \"f_(Tensor(a!) self) -> Tensor(a!)\" kernel { key: CPU function: \"f\" } forward { input: "
          "\"self\" formula: \"auto_linear\" } }"),
      "auto_linear"));
}

TEST(Table, RulesForBatchesAutocastAndDistributedTensors) {
  const auto with = [](const std::string& lines) {
    return "op { schema: \"f.o(Tensor x, *, ScalarType? dtype=None) -> Tensor\" kernel { key: CPU function: \"f\" } " +
           lines + " }";
  };
  for (const char* lines :
       {"batch: \"auto_element_wise\"", "batch: \"along(dim)\"", "batch: \"f\"",
        "autocast { cpu: \"LOWER_PRECISION_FP\" }", "autocast { cpu: \"FP32\" cuda: \"FP32_SET_OPT_DTYPE\" }",
        "sharding: \"auto_replicate\"", "sharding: \"rule\"", "sharding: \"along(dim) scale(x)\"",
        "decomposition: \"core::f\""}) {
    EXPECT_EQ(table_of(with(lines)).operators.size(), 1u) << lines;
  }
  const auto problem = [&](const std::string& lines) {
    const std::string text = error_of(with(lines));
    EXPECT_TRUE(contains(text, "operator \"f.o(")) << "it names the entry: " << text;
    return text;
  };
  EXPECT_TRUE(contains(problem("batch: \"auto_elementwise\""), "batch is the unknown word 'auto_elementwise'"));
  EXPECT_TRUE(contains(problem("batch: \"at:f\""), "no function's name"));
  EXPECT_TRUE(contains(problem("batch: \"auto_view\""), "no result is a view"));
  EXPECT_TRUE(contains(problem("batch: \"along(dim\""), "do not close"));
  EXPECT_TRUE(contains(problem("autocast { cuda: \"FP64\" }"), "autocast is the unknown policy 'FP64'"));
  EXPECT_TRUE(contains(problem("sharding: \"auto_split\""), "sharding is the unknown word 'auto_split'"));
  EXPECT_TRUE(contains(problem("sharding: \"along(dim\""), "do not close"));
  EXPECT_TRUE(contains(problem("decomposition: \"f(x)\""), "decomposition is 'f(x)', which is no function's name"));
  const std::string composed = "op { schema: \"f(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"f\" } ";
  table_of(composed + "batch: \"b\" }");
  EXPECT_TRUE(contains(error_of(composed + "decomposition: \"g\" }"), "never used"));
  // Beside a kernel for the CPU it is used.
  table_of(composed + "kernel { key: CPU function: \"f_cpu\" } decomposition: \"g\" }");
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" kernel { key: CPU function: \"f\" } autocast { "
                                "cuda: \"FP32_SET_OPT_DTYPE\" } }"),
                       "no argument 'dtype'"));
  table_of("op { schema: \"v(Tensor(a) x) -> Tensor(a)\" kernel { key: ANY function: \"v\" } batch: \"auto_view\" }");
}

TEST(Emit, ForwardDerivatives) {
  const Table table = table_of(R"pb(
    op {
      schema: "f(Tensor self, Tensor? other=None, *, Scalar s=1) -> Tensor"
      inplace { schema: "f_(Tensor(a!) self, Tensor? other=None, *, Scalar s=1) -> Tensor(a!)" }
      out { schema: "f.out(Tensor self, Tensor? other=None, *, Scalar s=1, Tensor(a!) out) -> Tensor(a!)" }
      kernel { key: CPU function: "f" }
      derivative { input: "self" formula: "g(grad, result, self)" }
      derivative { input: "other" formula: "h(grad, other, self.sizes())" }
      forward { formula: "auto_element_wise" }
    }
    op {
      schema: "split(Tensor(a -> *) self, int n) -> Tensor(a)[]"
      kernel { key: ANY function: "split" }
      derivative { input: "self" formula: "grads" }
      forward { formula: "auto_linear" }
    }
    op {
      schema: "pair(Tensor self) -> (Tensor, Tensor)"
      kernel { key: CPU function: "pair" }
      derivative { input: "self" formula: "grad" }
      forward { formula: "p(self_t, result1)" result: 1 }
    }
    op {
      schema: "none(Tensor self) -> Tensor"
      kernel { key: CPU function: "none" }
      derivative { input: "self" formula: "grad" }
    })pb");
  const std::string text = emit_forward(table);
  EXPECT_TRUE(contains(text,
                       "elementwise_tangent(self_t, result, [&]([[maybe_unused]] const Tensor& grad) -> Tensor { "
                       "return g(grad, result, self); })"));
  EXPECT_TRUE(contains(text, "{ return h(grad, or_undefined(other), self.sizes()); }"));
  // In place: what needs the result and the old self gets a copy of that, and a graph a copy of the old tangent.
  EXPECT_TRUE(contains(text, "const bool recorded = is_recorded(self, other, self_t, other_t);"));
  EXPECT_TRUE(contains(text, "const Tensor self_before = any_defined(self_t) ? saved_before_inplace(self) : self;"));
  EXPECT_TRUE(contains(text, "if (recorded && self_t.defined()) self_t = at::clone(self_t);"));
  EXPECT_TRUE(contains(text, "refuse_tangents(\"f_out\", true, has_tangent(self, other, out));"));
  EXPECT_TRUE(contains(text,
                       "set_tangents(result, any_defined(self_t) ? operators::split(or_zeros(self_t, "
                       "or_undefined(self)), n) : std::vector<Tensor>());"));
  EXPECT_TRUE(contains(text, "refuse_tangents(\"pair\", false, is_differentiable(result0) && (any_defined(self_t)));"));
  EXPECT_TRUE(contains(text, "tangent1.add(p(self_t, result1));"));
  EXPECT_TRUE(contains(text, "refuse_tangents(\"none\", false, has_tangent(self));"));
  EXPECT_TRUE(
      contains(emit_operators(table), ".autograd = &autograd_kernels::none, .forward = &forward_kernels::none"));
}

TEST(Emit, StructuredOperator) {
  const Table table = table_of(R"pb(
    op { schema: "add(Tensor self, Tensor other) -> Tensor" function: true method: true
         inplace { schema: "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)" method: true }
         out { schema: "add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)" }
         meta: "add_meta" kernel { key: CPU function: "add_cpu" }
         derivative { input: "self" formula: "grad" } derivative { input: "other" formula: "grad" } })pb");
  const std::string functions = emit_functions(table);
  EXPECT_TRUE(contains(functions, "Tensor add(const Tensor& self, const Tensor& other);"));
  EXPECT_TRUE(contains(functions, "Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other);"));
  EXPECT_TRUE(contains(functions, "Tensor& add_outf(const Tensor& self, const Tensor& other, Tensor& out);"));
  const std::string kernels = emit_kernel_declarations(table);
  EXPECT_TRUE(contains(kernels, "TensorSpec add_meta(const Tensor& self, const Tensor& other);\n"
                                "void add_cpu(const Tensor& self, const Tensor& other, Tensor& out);\n"));
  const std::string operators = emit_operators(table);
  EXPECT_TRUE(contains(operators, "#include \"aten/ops/demo/kernels.h\""));
  EXPECT_TRUE(contains(operators, "[[gnu::weak]] Tensor add(const Tensor& self, const Tensor& other);"));
  EXPECT_TRUE(contains(operators, "c10::Differentiation::kRecord"));
  EXPECT_TRUE(contains(operators, "c10::Differentiation::kRefuse"));
  EXPECT_TRUE(contains(operators, "Tensor& Tensor::add_(const Tensor& other) const"));
  EXPECT_EQ(emit_methods({table}).find("out"), std::string::npos);
  EXPECT_TRUE(
      contains(emit_registry(table), "\"add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\""));
}

// A kernel of its own for a form does not take the shape rule away from it.
TEST(Emit, FormsWithKernelsOfTheirOwnHaveTheShapeRule) {
  const std::string text = emit_operators(table_of(R"pb(
    op {
      schema: "put(Tensor self) -> Tensor"
      inplace {
        schema: "put_(Tensor(a!) self) -> Tensor(a!)"
        kernel { key: CPU function: "put_inplace" }
      }
      meta: "put_meta"
      nondifferentiable: true
      kernel { key: CPU function: "put_cpu" }
    })pb"));
  EXPECT_TRUE(contains(text,
                       "static Tensor& put__meta(Tensor& self) {\n"
                       "  const TensorSpec spec = native::put_meta(self);\n"));
  EXPECT_TRUE(contains(text, ".cpu = &put__cpu, .meta = &put__meta"));
}

// The registry names a constant that only the leaf of decompositions has; the shape rule refuses bad arguments first.
TEST(Emit, Decompositions) {
  const Table table = table_of(R"pb(
    op {
      schema: "add(Tensor self, Tensor other) -> Tensor"
      inplace { schema: "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)" }
      meta: "add_meta"
      kernel { key: CPU function: "add_cpu" }
      decomposition: "add"
    }
    op {
      schema: "zero_(Tensor(a!) self) -> Tensor(a!)"
      kernel { key: CPU function: "zero_cpu_" }
      decomposition: "zero"
    }
    op {
      schema: "draw.out(Tensor self, *, Tensor(a!) out, Tensor(b!) seed) -> (Tensor(a!), Tensor(b!))"
      kernel { key: ANY function: "draw_out" }
      decomposition: "draw"
    }
    op {
      schema: "t(Tensor(a) self) -> Tensor(a)"
      inplace { schema: "t_(Tensor(a!) self) -> Tensor(a!)" }
      kernel { key: ANY function: "t" }
      decomposition: "native::t"
    }
    op {
      schema: "both(Tensor self) -> Tensor"
      kernel { key: CPU function: "both" }
      kernel { key: COMPOSITE function: "both" }
      decomposition: "native::both"
    }
    op { schema: "plain(Tensor self) -> Tensor" kernel { key: CPU function: "plain" } }
    op { schema: "later(Tensor self) -> Tensor" decomposition: "later" })pb");
  const std::string declarations = emit_decomposition_declarations(table);
  EXPECT_TRUE(contains(declarations,
                       "namespace at::decompositions {\n\nTensor add(const Tensor& self, const Tensor& other);\n"
                       "Tensor zero(const Tensor& self);\nstd::tuple<Tensor, Tensor> draw(const Tensor& self);\n\n}"));
  const std::string constants = emit_decompositions(table);
  EXPECT_TRUE(contains(constants, "TensorSpec add_meta(const Tensor&, const Tensor&);\nTensor t(const Tensor&);\n"
                                  "Tensor both(const Tensor&, bool);\n"));
  EXPECT_TRUE(contains(constants, "  native::add_meta(self, other);\n  return decompositions::add(self, other);\n"));
  EXPECT_TRUE(contains(constants,
                       "constinit const c10::TypedDecomposition<Tensor, const Tensor&, const Tensor&> add = "
                       "boxing::decomposition_of(operators::add, add_parts);\n"));
  EXPECT_TRUE(contains(constants, "Tensor zero__parts(const Tensor& self) {\n  return decompositions::zero(self);\n}"));
  EXPECT_TRUE(contains(constants, "Tensor t_parts(const Tensor& self) {\n  return native::t(self);\n}"));
  EXPECT_TRUE(contains(constants, "Tensor both_parts(const Tensor& self) {\n  return native::both(self, false);\n}"));
  const std::string registry = emit_registry(table);
  EXPECT_TRUE(contains(registry, "[[gnu::weak]] extern const c10::TypedDecomposition<Tensor, const Tensor&> zero_;\n"));
  EXPECT_TRUE(contains(registry, "boxing::boxing_of(operators::add), &decomposition_constants::add},\n"));
  EXPECT_TRUE(contains(registry, "boxing::boxing_of(operators::add_), &decomposition_constants::add},\n"));
  // What changes sizes in place has no value to copy there, and what has no kernel none to decompose.
  EXPECT_TRUE(contains(registry, "&operators::t_, boxing::boxing_of(operators::t_)},\n"));
  EXPECT_TRUE(contains(registry, "&operators::plain, boxing::boxing_of(operators::plain)},\n"));
  EXPECT_TRUE(contains(registry, "&operators::later, boxing::boxing_of(operators::later)},\n"));
  EXPECT_FALSE(contains(constants + declarations, "later"));
  const Table plain = table_of(R"(op { schema: "f(Tensor self) -> Tensor" kernel { key: CPU function: "f" } })");
  EXPECT_EQ(emit_decompositions(plain), "");
}

// torch:: has functions that make tensors; what only writes into one that is given stays in at::.
TEST(Emit, FactoriesAreNoOutForms) {
  const std::string options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
  const std::string functional = "schema: \"draw(float mean, *, " + options + ") -> Tensor\"";
  const std::string out = "schema: \"draw.out(Tensor self, float mean, *, Tensor(a!) out) -> Tensor(a!)\"";
  const std::string text =
      emit_factories({table_of("op { function: true kernel { key: ANY function: \"f\" } " + functional +
                               " } op { function: true kernel { key: ANY function: \"g\" } " + out + " }")});
  EXPECT_TRUE(contains(text, "inline Tensor draw(double mean, TensorOptions options = {}) {"));
  EXPECT_FALSE(contains(text, "Tensor& out"));
}

// The shape rule and the kernel both get the generator.
TEST(Emit, StructuredOperatorWithGenerator) {
  const std::string text = emit_operators(table_of(R"pb(
    op {
      schema: "draw(Tensor self, Generator? generator=None) -> Tensor"
      meta: "draw_meta"
      nondifferentiable: true
      kernel { key: CPU function: "draw_cpu" }
    })pb"));
  EXPECT_TRUE(contains(text,
                       "empty_spec(native::draw_meta(self, generator));\n"
                       "  native::draw_cpu(self, std::move(generator), out);\n"));
}

TEST(Emit, CompositeBesideCpu) {
  const Table table = table_of(R"pb(
    op {
      schema: "f(Tensor[] self) -> Tensor[]"
      inplace {
        schema: "f_(Tensor(a!)[] self) -> ()"
        kernel { key: CPU function: "f_cpu_" }
        kernel { key: COMPOSITE function: "f_each_" }
      }
      out { schema: "f.out(Tensor[] self, *, Tensor(a!)[] out) -> ()" }
      kernel { key: CPU function: "f" }
      kernel { key: COMPOSITE function: "f" }
    }
    op {
      schema: "g(Tensor self) -> Tensor"
      nondifferentiable: true
      kernel { key: CPU function: "g_cpu" }
      kernel { key: COMPOSITE function: "g" }
    }
    op {
      schema: "h(Tensor[] self, Tensor x) -> Tensor[]"
      kernel { key: CPU function: "h_cpu" }
      kernel { key: CUDA function: "h_cuda" }
      kernel { key: COMPOSITE function: "h" }
    })pb");
  const std::string text = emit_operators(table);
  // One function for both is told as which it is called.
  EXPECT_TRUE(contains(emit_kernel_declarations(table),
                       "std::vector<Tensor> f(TensorList self, bool as_kernel);\nvoid f_cpu_(TensorList self);\n"));
  EXPECT_TRUE(contains(text, "f_any(TensorList self) {\n  return native::f(self, false);\n}"));
  EXPECT_TRUE(contains(text, "f_cpu(TensorList self) {\n  return native::f(self, true);\n}"));
  EXPECT_TRUE(
      contains(text,
               "c10::Kernels::kAny, c10::Differentiation::kRecord, {.cpu = &f_cpu, .cuda = &f_any, .meta = &f_any, "
               ".autograd = &f_any, .forward = &f_any}"));
  // Of two, the one for the CPU has its writes counted.
  EXPECT_TRUE(contains(text, "native::f_cpu_(self);\n  structured::mark_written(self);"));
  EXPECT_TRUE(
      contains(text,
               "{.cpu = &f__cpu, .cuda = &native::f_each_, .meta = &native::f_each_, .autograd = &native::f_each_, "
               ".forward = &native::f_each_}"));
  // out= forms refuse gradients.
  EXPECT_TRUE(contains(text, "structured::assign_out(\"f\", out, native::f(self, true));"));
  EXPECT_TRUE(
      contains(text,
               "c10::Kernels::kAny, c10::Differentiation::kRefuse, {.cpu = &f_out_cpu, .cuda = &f_out_any, .meta = "
               "&f_out_any, .forward = &forward_kernels::f_out}"));
  EXPECT_TRUE(
      contains(text,
               "c10::Kernels::kAny, c10::Differentiation::kNone, {.cpu = &native::g_cpu, .cuda = &native::g, .meta = "
               "&native::g}"));
  EXPECT_FALSE(contains(emit_derivatives(table), "f("));
  // The function of all backends stands in CUDA's slot: what plug-in devices do does not depend on whether CUDA is linked.
  EXPECT_TRUE(contains(
      text,
      "h_all(TensorList self, const Tensor& x) {\n  const bool on_cuda = ((c10::detail::keys_of(self) | "
      "c10::detail::keys_of(x)) & c10::DispatchKeySet(c10::DispatchKey::CUDA).raw()) != 0;\n  if (on_cuda && "
      "cuda_kernels::h != nullptr) return cuda_kernels::h(self, x);\n  return native::h(self, x);\n}"));
  EXPECT_TRUE(contains(text, "{.cpu = &native::h_cpu, .cuda = &h_all, .meta = &native::h, .autograd = &native::h"));
}

TEST(Emit, DocCommentsAndExamples) {
  const Table table = table_of(R"pb(
    op { schema: "f(Tensor self) -> Tensor" }
    op { schema: "f.n(Tensor self, int n) -> Tensor" kernel { key: CPU function: "f" }
         doc: "Of self,\nits \"f\"." example { code: "at::f(x)" gives: "{1}" } example { code: "at::f(y)" } }
    op { schema: "g(Tensor self) -> Tensor" alias_of: "f" }
    op { schema: "h(Tensor self) -> Tensor" }
    op { schema: "_foreach_f_(Tensor(a!)[] self) -> ()" kernel { key: CPU function: "each" } })pb");
  Evidence evidence;
  evidence.add("docs/accuracy.md", "| `f.n` | 1 | 0.51 |  |  | of sorts |\n| `other` | 2 | 2 | | | |\n");
  evidence.add("docs/operator_dtypes.txt", "f.n: floating\n");
  const std::string functions = emit_documented_functions(table, evidence);
  EXPECT_TRUE(contains(functions,
                       "/// Of self,\n/// its \"f\".\n/// Dtypes: floating. Accuracy in units of the last place: "
                       "float32 1, float64 0.51; of sorts.\n///\n"
                       "///   at::f(x)  // {1}\n///   at::f(y)\nTensor f(const Tensor& self);\n"));
  EXPECT_TRUE(contains(functions, "/// Another name of `f`.\nTensor g("));
  EXPECT_TRUE(contains(functions, "/// Declared only: a call throws NotImplementedError.\nTensor h("));
  EXPECT_TRUE(contains(functions, "/// `f` of each tensor of the lists"));
  EXPECT_FALSE(contains(emit_functions(table), "///"));
  const std::string examples = emit_examples(table);
  EXPECT_TRUE(contains(examples, "TEST(Examples_demo, f_n_1) {\n  EXPECT_EQ(text_of(at::f(x)), \"{1}\");\n}"));
  EXPECT_TRUE(contains(examples, "TEST(Examples_demo, f_n_2) {\n  text_of(at::f(y));\n}"));
  EXPECT_EQ(undocumented(table), "");
  const auto problem = [](const char* entry) { return undocumented(table_of(entry)); };
  EXPECT_TRUE(contains(problem(R"pb(op {
                                      schema: "f(Tensor self) -> Tensor"
                                      kernel { key: CPU function: "f" }
                                    })pb"),
                       "doc is missing"));
  EXPECT_TRUE(contains(problem(R"pb(op {
                                      schema: "f(Tensor self) -> Tensor"
                                      kernel { key: CPU function: "f" }
                                      doc: "F."
                                    })pb"),
                       "an example is missing"));
}

TEST(Emit, ElementWiseIsOneFact) {
  const auto with = [](const std::string& lines) {
    return "op { schema: \"f(Tensor x) -> Tensor\" out { schema: \"f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\" "
           "} meta: \"m\" "
           "kernel { key: CPU function: \"f\" } derivative { input: \"x\" formula: \"g(grad)\" } " +
           lines + " }";
  };
  const Table fact = table_of(with("element_wise: true")),
              word = table_of(with("forward { formula: \"auto_element_wise\" }"));
  EXPECT_EQ(emit_forward(fact), emit_forward(word));
  EXPECT_TRUE(contains(emit_operators(fact), "structured::overlap(out, x), false, true);"));
  EXPECT_TRUE(contains(emit_operators(word), "structured::overlap(out, x), false, false);"));
  // A forward derivative of its own comes first.
  EXPECT_TRUE(contains(emit_forward(table_of(with("element_wise: true forward { formula: \"auto_linear\" }"))),
                       "operators::f(or_zeros(x_t"));
  EXPECT_TRUE(contains(
      error_of("op { schema: \"f(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"f\" } element_wise: true }"),
      "element_wise"));
  EXPECT_TRUE(contains(
      error_of("op { schema: \"f(Tensor(a) x) -> Tensor(a)\" kernel { key: ANY function: \"f\" } element_wise: true }"),
      "element_wise"));
  EXPECT_TRUE(contains(error_of("elementwise: true"), "elementwise"));
}

TEST(Emit, FormulasKeepOnlyWhatTheyUse) {
  const Table table = table_of(R"pb(
    op { schema: "f(Tensor self, Tensor weight, int dim, str mode) -> Tensor" kernel { key: CPU function: "f" }
         derivative { input: "self" formula: "g(grad, self.sizes(), dim, x.dim, at::mode)" }
         derivative { input: "weight" formula: "h(grad, self)" } })pb");
  const std::string text = emit_derivatives(table);
  EXPECT_TRUE(contains(text, "Kept<IntArrayRef> self_sizes;"));
  EXPECT_TRUE(contains(text, "Kept<int64_t> dim;"));
  EXPECT_FALSE(contains(text, "mode;")) << "at::mode is no argument";
  EXPECT_TRUE(contains(text, "if (node->needs(1)) node->save(0, or_undefined(self));"));
  EXPECT_FALSE(contains(text, "or_undefined(weight));\n    if")) << "weight itself is not kept";
  EXPECT_TRUE(contains(text, "g(grad, self_sizes, dim, x.dim, at::mode)"));
}

TEST(Emit, ArgumentsThatACallWritesToAreKeptAsItLeavesThem) {
  const std::string text = emit_derivatives(table_of(R"pb(
    op { schema: "f(Tensor self, Tensor(b!) noise) -> Tensor" kernel { key: CPU function: "f" }
         inplace { schema: "f_(Tensor(a!) self, Tensor(b!) noise) -> Tensor(a!)" kernel { key: CPU function: "f_" } }
         derivative { input: "self" formula: "g(grad, noise)" } })pb"));
  const char* save = "    if (node->needs(0)) node->save(0, or_undefined(noise));\n";
  EXPECT_TRUE(contains(text, "    set_history(result, node, 0);\n" + std::string(save)));
  EXPECT_TRUE(contains(text, "    rebase_history(self, node);\n" + std::string(save)));
}

TEST(Emit, AFormulaOfSeveralInputsGivesGradientsOfLists) {
  const std::string text = emit_derivatives(table_of(R"pb(
    op { schema: "f(Tensor x, Tensor[] w, Tensor h) -> Tensor" kernel { key: CPU function: "f" }
         derivative { input: "x, w, h" formula: "g(grad, grad_input_mask)" } })pb"));
  EXPECT_TRUE(contains(text, "grad_input_mask{node.needs(0), needs_any(node, 1, w_count), node.needs(1 + w_count)}"));
  EXPECT_TRUE(contains(text,
                       "    if (needs_any(node, 1, w_count)) put_list(node, grad_inputs, 1, "
                       "std::move(std::get<1>(grads_of_inputs)));\n"));
  EXPECT_TRUE(contains(text, "    if (node.needs(1 + w_count)) grad_inputs[1 + w_count] = "));
}

TEST(Emit, NothingIsLeftOutSilently) {
  const Table table = table_of(R"pb(
    op { schema: "f(Tensor self) -> Tensor" kernel { key: CPU function: "f" } }
    op { schema: "g(Tensor self) -> Tensor" kernel { key: CPU function: "g" } nondifferentiable: true }
    op { schema: "h(Tensor self) -> Tensor" kernel { key: COMPOSITE function: "h" } }
    op { schema: "i(Tensor self) -> Tensor" })pb");
  const std::string text = emit_derivatives(table);
  EXPECT_TRUE(contains(text, "not_implemented_node(\"f\", 1, self)"));
  EXPECT_FALSE(contains(text, "Tensor g("));
  EXPECT_FALSE(contains(text, "Tensor h("));
  EXPECT_FALSE(contains(text, "Tensor i("));
}

TEST(Emit, AnIntIsADimensionWhereAnotherOverloadTakesABool) {
  const Table table = table_of(R"pb(
    op { schema: "v(Tensor self, bool unbiased=True) -> Tensor" function: true required_in_cpp: "unbiased" }
    op {
      schema: "v.dim(Tensor self, int[1]? dim, bool unbiased=True) -> Tensor"
      function: true
      required_in_cpp: "unbiased"
    }
    op {
      schema: "v.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None) -> Tensor"
      function: true
      method: true
    }
    op { schema: "s(Tensor self, int dim=-1, bool descending=False) -> Tensor" function: true }
    op { schema: "s.stable(Tensor self, *, bool stable, int dim=-1) -> Tensor" function: true }
    op { schema: "p(Tensor self, int[2] dim) -> Tensor" function: true }
    op { schema: "p.all(Tensor self, bool keepdim=False) -> Tensor" function: true }
    op { schema: "q(Tensor self, int dim) -> Tensor" function: true method: true })pb");
  EXPECT_EQ(emit_int_functions(table),
            "inline Tensor v(const Tensor& self, int64_t dim) { return v(self, IntArrayRef(dim)); }\n"
            "inline Tensor v(const Tensor& self, int dim) { return v(self, static_cast<int64_t>(dim)); }\n"
            "inline Tensor s(const Tensor& self, int dim) { return s(self, static_cast<int64_t>(dim)); }\n");
  EXPECT_EQ(emit_int_methods(table),
            "Tensor v(int64_t dim) const { return v(IntArrayRef(dim)); }\n"
            "Tensor v(int dim) const { return v(static_cast<int64_t>(dim)); }\n");
}

TEST(Emit, OperatorsAreListedByTheirFunctionalForm) {
  EXPECT_EQ(emit_operator_families({table_of(R"pb(
    op { schema: "f.Tensor(Tensor self, Tensor other) -> Tensor" }
    op { schema: "zero_(Tensor(a!) self) -> Tensor(a!)" }
    op { schema: "__and__.Scalar(Tensor self, Scalar other) -> Tensor" })pb")}),
            "__and__ demo\nf demo\nzero demo\n");
}

TEST(Emit, ShardingNamesEveryForm) {
  const std::string text = emit_sharding({table_of(R"pb(
    op { schema: "f.Tensor(Tensor self, Tensor other) -> Tensor" kernel { key: CPU function: "f" } element_wise: true
         inplace { schema: "f_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" }
         out { schema: "f.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)" } }
    op { schema: "g(Tensor self, int dim) -> Tensor" kernel { key: CPU function: "g" } sharding: "along(dim)" }
    op { schema: "composed(Tensor self) -> Tensor" kernel { key: COMPOSITE function: "c" } }
    op { schema: "beside(Tensor self) -> Tensor" kernel { key: COMPOSITE function: "b" }
         kernel { key: CPU function: "b_cpu" } }
    op { schema: "zero(Tensor self) -> Tensor" kernel { key: COMPOSITE function: "z" }
         inplace { schema: "zero_(Tensor(a!) self) -> Tensor(a!)" kernel { key: CPU function: "z_cpu_" }
                   kernel { key: COMPOSITE function: "z_" } } }
    op { schema: "none(Tensor self) -> Tensor" kernel { key: CPU function: "n" } })pb")});
  EXPECT_TRUE(contains(text, "{\"zero_\", \"compose\", \"\"},\n"));
  EXPECT_FALSE(contains(text, "{\"zero\""));
  EXPECT_TRUE(contains(text, "{\"f.Tensor\", \"auto_element_wise\", \"\"},\n"));
  EXPECT_TRUE(contains(text, "{\"f_.Tensor\", \"auto_element_wise\", \"\"},\n"));
  EXPECT_TRUE(contains(text, "{\"f.out\", \"auto_element_wise\", \"aten::f.Tensor\"},\n"));
  EXPECT_TRUE(contains(text, "{\"g\", \"along(dim)\", \"\"},\n"));
  EXPECT_TRUE(contains(text, "{\"beside\", \"compose\", \"\"},\n"));
  EXPECT_FALSE(contains(text, "\"composed\""));
  EXPECT_FALSE(contains(text, "\"none\""));
}

TEST(Emit, GroupsHaveTheirOperatorsUnderShortNames) {
  const std::string text = emit_group({table_of(R"pb(
    op { schema: "special_f(Tensor self, int n=1) -> Tensor" function: true
         out { schema: "special_f.out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)" } }
    op { schema: "g(Tensor self) -> Tensor" function: true })pb")}, "special");
  EXPECT_TRUE(contains(text, "namespace torch::special {"));
  EXPECT_TRUE(contains(text, "inline Tensor f(const Tensor& self, int64_t n = 1) { return at::special_f(self, n); }\n"));
  EXPECT_TRUE(contains(text, "inline Tensor& f_out(Tensor& out, const Tensor& self, int64_t n = 1) "
                             "{ return at::special_f_out(out, self, n); }\n"));
  EXPECT_FALSE(contains(text, "at::g"));
}

TEST(Emit, MetaFunctionsTakeTensorsToTheMetaDevice) {
  const std::string text = emit_meta_functions({table_of(R"pb(
    op { schema: "f(Tensor self, Tensor[] others, int n) -> Tensor" function: true kernel { key: ANY function: "f" } }
    op { schema: "w(Tensor self, Tensor(a!) noise) -> Tensor" function: true kernel { key: ANY function: "w" } }
    op { schema: "none(Tensor self) -> Tensor" function: true })pb")});
  EXPECT_TRUE(contains(text, "{ return at::f(detail::on_meta(self), detail::on_meta(others), n); }\n"));
  EXPECT_FALSE(contains(text, "at::w("));
  EXPECT_FALSE(contains(text, "at::none("));
}

TEST(Emit, KernelsAreDeclaredAsTheirFilesDefineThem) {
  const std::string text = emit_kernel_declarations(table_of(R"pb(
    op { schema: "f(Tensor self) -> (Tensor a, Tensor b)" meta: "f_meta" kernel { key: CPU function: "f_cpu" } }
    op { schema: "g_(Tensor(a!) self) -> Tensor(a!)" kernel { key: ANY function: "g_any" } })pb"));
  EXPECT_TRUE(contains(text, "std::array<TensorSpec, 2> f_meta(const Tensor& self);\n"
                             "void f_cpu(const Tensor& self, Tensor& out0, Tensor& out1);\n"));
  EXPECT_TRUE(contains(text, "Tensor& g_any(Tensor& self);\n"));
}

TEST(Emit, AliasesCallWhatTheyAreAnotherNameOf) {
  const Table table = table_of(R"pb(
    op { schema: "neg(Tensor self) -> Tensor" kernel { key: CPU function: "neg" } }
    op { schema: "negative(Tensor self) -> Tensor" alias_of: "neg"
         inplace { schema: "negative_(Tensor(a!) self) -> Tensor(a!)" }
         out { schema: "negative.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)" } }
    op { schema: "special_exp2(Tensor self) -> Tensor" alias_of: "unary/exp2" })pb");
  const std::string text = emit_operators(table);
  EXPECT_TRUE(contains(text, "return at::neg(self);"));
  EXPECT_TRUE(contains(text, "return at::neg_(self);"));
  EXPECT_TRUE(contains(text, "return at::neg_outf(self, out);"));
  EXPECT_TRUE(contains(text, "#include \"aten/ops/unary/ops.h\""));
  EXPECT_TRUE(contains(text, "return at::exp2(self);"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" alias_of: \"g\" }"), "not in this table"));
}

TEST(Emit, FunctionalFormsOfInPlaceOperatorsChangeACopy) {
  const char* zero = "op { schema: \"zero_(Tensor(a!) self, float to) -> Tensor(a!)\" kernel { key: CPU function: \"zero\" } }";
  const std::string text = emit_operators(table_of(zero + std::string(R"pb(
    op { schema: "zero(Tensor self, float to) -> Tensor" copy_of: "zero_"
         out { schema: "zero.out(Tensor self, float to, *, Tensor(a!) out) -> Tensor(a!)" } })pb")));
  EXPECT_TRUE(contains(text, "  return changed(self, [&](Tensor& copy) { at::zero_(copy, to); });\n"));
  EXPECT_TRUE(contains(text, "assign_out(\"zero\", out, changed(self, [&](Tensor& copy) { at::zero_(copy, to); }));"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" copy_of: \"f_\" }"), "not in this table"));
}

TEST(Emit, OutFormsMayCallTheFunctionalForm) {
  const std::string form =
      R"pb(out { schema: "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)" calls_functional: true })pb";
  const std::string text = emit_operators(table_of(
      "op { schema: \"f(Tensor x) -> Tensor\" kernel { key: SPARSE_CPU function: \"f_sparse\" }" + form + "}" + R"pb(
        op {
          schema: "g(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                  "bool? pin_memory=None) -> Tensor"
          kernel { key: ANY function: "g" }
          nondifferentiable: true
          out { schema: "g.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)" calls_functional: true }
        })pb"));
  EXPECT_TRUE(contains(text, "  return structured::assign_out_of_any_layout(\"f\", out, operators::f(x));\n"));
  EXPECT_TRUE(contains(
      text, "structured::assign_out_of_any_layout(\"g\", out, operators::g.call_by_options(size, out.options()));"));
  EXPECT_TRUE(contains(text,
                       "f_out{\"f.out\", \"demo\",\n    c10::Kernels::kComposite, c10::Differentiation::kRefuse, "
                       "{.cpu = &f_out_call, .cuda = &f_out_call, .meta = &f_out_call, "));
  EXPECT_TRUE(
      contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" out { schema: \"f.out(Tensor x, *, Tensor(a!) out) -> "
                        "Tensor(a!)\" calls_functional: true kernel { key: CPU function: \"f\" } } }"),
               "calls_functional of a form with a kernel of its own"));
  EXPECT_TRUE(contains(
      error_of("op { schema: \"f(Tensor x) -> (Tensor, Tensor)\" out { schema: \"f.out(Tensor x, *, Tensor(a!) "
               "out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))\" calls_functional: true } }"),
      "operators that return one tensor"));
}

TEST(Emit, CopiesOfViewsCloneWhatTheViewGives) {
  const std::string text = emit_operators(table_of(R"pb(
    op { schema: "t(Tensor(a) self) -> Tensor(a)" kernel { key: ANY function: "t" } }
    op { schema: "t_copy(Tensor self) -> Tensor" copy_of: "t"
         out { schema: "t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)" } })pb"));
  EXPECT_TRUE(contains(text, "  return copied(at::t(self));\n"));
  EXPECT_TRUE(contains(text, "structured::assign_out(\"t_copy\", out, copied(at::t(self)));"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" copy_of: \"g\" }"), "not in this table"));
  EXPECT_TRUE(contains(error_of("op { schema: \"t(Tensor(a) x) -> Tensor(a)\" kernel { key: ANY function: \"t\" } }"
                                "op { schema: \"f(Tensor x) -> Tensor\" copy_of: \"t\" nondifferentiable: true }"),
                       "a copy has no kernel"));
}

}  // namespace
TEST(Layers, OneFunctionServesSeveralKeys) {
  const auto text = [](const std::string& kernels) {
    return emit_operators(table_of("op { schema: \"f(Tensor x) -> bool\" nondifferentiable: true " + kernels + " }"));
  };
  EXPECT_EQ(text("kernel { key: ANY function: \"f\" also: SPARSE_CPU also: NESTED_CPU }"),
            text("kernel { key: ANY function: \"f\" } kernel { key: SPARSE_CPU function: \"f\" } "
                 "kernel { key: NESTED_CPU function: \"f\" }"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> bool\" kernel { key: ANY function: \"f\" also: ANY } }"),
                       "two kernels of the key ANY"));
}

TEST(Layers, KernelsOfLayoutsAreConstantsThatOperatorsNameWeakly) {
  const Table table = table_of(
      "op { schema: \"f(Tensor x) -> Tensor\" function: true inplace { schema: \"f_(Tensor(a!) x) -> Tensor(a!)\" "
      "kernel { key: SPARSE_CPU function: \"f_sparse_\" } } kernel { key: CPU function: \"f_cpu\" } "
      "kernel { key: SPARSE_CPU function: \"f_sparse\" } kernel { key: NESTED_CPU function: \"f_nested\" } "
      "kernel { key: QUANTIZED_CPU also: QUANTIZED_CUDA function: \"f_quantized\" } "
      "autocast { cpu: \"FP32\" } }"
      "op { schema: \"g(Tensor x) -> Tensor\" kernel { key: CPU function: \"g_cpu\" } autocast { cpu: \"FP32\" } }");
  const std::string operators = emit_operators(table), layers = emit_layers(table), autocast = emit_autocast(table);
  EXPECT_TRUE(contains(operators, ", &layer_kernels::f};"));
  EXPECT_TRUE(contains(operators, ", &layer_kernels::f_};"));
  EXPECT_TRUE(contains(operators, ", &autocast_kernels::g};"));
  EXPECT_TRUE(contains(layers, "[[gnu::weak]] Tensor f_sparse(const Tensor&);"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::SparseCPU, &at::native::f_sparse)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::SparseCsrCPU, &at::native::f_sparse)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::NestedTensorCPU, &at::native::f_nested)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::QuantizedCPU, &at::native::f_quantized)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::QuantizedCUDA, &at::native::f_quantized)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::AutocastCPU, &at::autocast_kernels::f_cpu)"));
  EXPECT_FALSE(contains(layers, "> g"));
  EXPECT_FALSE(contains(autocast, "constinit c10::detail::TypedKernels<Tensor (*)(const Tensor&)> f "));
  EXPECT_TRUE(contains(autocast, "constinit c10::detail::TypedKernels<Tensor (*)(const Tensor&)> g "));
  EXPECT_TRUE(contains(emit_kernel_declarations(table), "Tensor& f_sparse_(Tensor& x);"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"f\" } "
                                "kernel { key: SPARSE_CPU function: \"s\" } }"),
                       "an operator that is COMPOSITE never reaches a kernel of a layout"));
}

TEST(Layers, WhatWorksElementByElementHasAFunctionForNestedTensors) {
  const std::string entry =
      "op { schema: \"f(Tensor x) -> Tensor\" inplace { schema: \"f_(Tensor(a!) x) -> Tensor(a!)\" } "
      "out { schema: \"f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\" } kernel { key: CPU function: \"f_cpu\" } ";
  const Table table = table_of(entry + "element_wise: true autocast { cpu: \"FP32\" } }");
  const std::string layers = emit_layers(table), nested = emit_nested(table), operators = emit_operators(table);
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::AutogradNestedTensor, &at::nested_kernels::f)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::NestedTensorCPU, &at::nested_kernels::f_)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::NestedTensorCUDA, &at::nested_kernels::f_)"));
  EXPECT_FALSE(contains(layers, "AutogradNestedTensor, &at::nested_kernels::f_)"));
  EXPECT_FALSE(contains(layers, "f_out"));
  EXPECT_TRUE(contains(operators, ", &layer_kernels::f};"));
  EXPECT_TRUE(contains(operators, ", &layer_kernels::f_};"));
  EXPECT_TRUE(contains(nested, "Tensor f(const Tensor& x) {\n  return nested::element_wise(operators::f, x);\n}"));
  EXPECT_TRUE(contains(nested, "  return nested::element_wise_in_place(operators::f_, x);"));
  EXPECT_FALSE(contains(emit_autocast(table), "TypedKernels<Tensor (*)(const Tensor&)> f "));
  // One with a function of its own, and one that says nothing.
  const Table others = table_of(entry + "kernel { key: NESTED_COMPOSITE function: \"g\" } element_wise: true }");
  EXPECT_FALSE(contains(emit_nested(others), "element_wise(operators::f,"));
  EXPECT_TRUE(contains(emit_nested(others), "element_wise_in_place(operators::f_"));
  EXPECT_FALSE(contains(emit_nested(table_of(entry + "}")), "operators::f"));
}

TEST(Layers, ACompositionHasAFunctionOfItsOwnForNestedTensors) {
  const std::string composed = "op { schema: \"f(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"f\" } ";
  const Table table = table_of(composed +
                               "kernel { key: NESTED_COMPOSITE function: \"f_nested\" } }"
                               "op { schema: \"g(Tensor x) -> Tensor\" kernel { key: COMPOSITE function: \"g\" } }");
  const std::string operators = emit_operators(table), layers = emit_layers(table);
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::NestedTensorCPU, &at::native::f_nested)"));
  EXPECT_TRUE(contains(layers, ".set(c10::DispatchKey::AutogradNestedTensor, &at::native::f_nested)"));
  EXPECT_TRUE(contains(operators, ", c10::nested_ks};"));
  EXPECT_TRUE(contains(operators, "> g{\"g\""));
  EXPECT_TRUE(contains(error_of(composed + "kernel { key: NESTED_CPU function: \"n\" } }"), "below autograd"));
  EXPECT_TRUE(contains(error_of("op { schema: \"f(Tensor x) -> Tensor\" kernel { key: NESTED_CPU function: \"n\" } "
                                "kernel { key: NESTED_COMPOSITE function: \"m\" } }"),
                       "two kernels for nested tensors"));
}

}  // namespace kindling::codegen
