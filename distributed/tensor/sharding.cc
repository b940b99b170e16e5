#include "distributed/tensor/sharding.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "aten/codegen/sharding_table.h"
#include "c10/util/exception.h"

namespace torch::distributed::tensor {
namespace {

using c10d::ReduceOp;
using Words = std::vector<std::string>;

Words split(std::string_view text, char separator) {
  Words words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// One word of a rule: "along(dim)".
struct Word {
  std::string name;
  Words arguments;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (const std::string& part : split(text, ' ')) {
    const size_t open = part.find('(');
    Word word{part.substr(0, open), {}};
    if (open != std::string::npos) {
      TORCH_CHECK_VALUE(part.back() == ')', "sharding: '", part, "' has no closing parenthesis");
      const std::string inner = part.substr(open + 1, part.size() - open - 2);
      word.arguments = word.name == "einsum" ? Words{inner} : split(inner, ',');
    }
    words.push_back(std::move(word));
  }
  return words;
}

// Which inputs must be whole whatever the rest is: those of the named arguments.
std::vector<bool> whole_inputs(const ShardedCall& call, const Words& names) {
  std::vector<bool> whole(call.inputs.size(), false);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string& name = call.schema.arguments()[call.inputs[i].argument].name();
    whole[i] = std::find(names.begin(), names.end(), name) != names.end();
  }
  return whole;
}

// The inputs of `names` partial, all others whole, the outputs partial.
void add_partial(ShardedCall& call, const Words& names, std::initializer_list<ReduceOp::RedOpType> ops) {
  for (const ReduceOp::RedOpType op : ops) {
    Strategy strategy = call.whole();
    const std::vector<bool> partial = whole_inputs(call, names);
    if (std::find(partial.begin(), partial.end(), true) == partial.end()) return;
    for (size_t i = 0; i < partial.size(); ++i) {
      if (!partial[i]) continue;
      strategy.inputs[i] = Partial(op);
      // Numbers that are rounded to integers are not added first.
      const bool rounds = c10::isFloatingType(call.inputs[i].spec->dtype()) && !call.outputs.empty() &&
                          c10::isIntegralType(call.outputs[0].dtype, true);
      if (rounds) return;
    }
    for (Placement& output : strategy.outputs) output = Partial(op);
    call.add(std::move(strategy));
  }
}

// What a rule may say beside how dimensions are sharded:
//   linear(a,b)  the result is linear in these together: it is a partial sum (or average) where they are
//   scale(a,b)   it is linear in each of them by itself
//   same(a)      elements of the result are elements of a: it is partial in whatever way that is
void add_linearity(ShardedCall& call, const std::vector<Word>& words) {
  for (const Word& word : words) {
    if (word.name == "linear") add_partial(call, word.arguments, {ReduceOp::SUM, ReduceOp::AVG});
    if (word.name == "scale") {
      for (const std::string& name : word.arguments) add_partial(call, {name}, {ReduceOp::SUM, ReduceOp::AVG});
    }
    if (word.name == "same") {
      for (const ReduceOp::RedOpType op : kAllReductions) add_partial(call, word.arguments, {op});
    }
  }
}

const Word* find(const std::vector<Word>& words, std::string_view name) {
  for (const Word& word : words) {
    if (word.name == name) return &word;
  }
  return nullptr;
}

Words arguments_of(const std::vector<Word>& words, std::string_view name) {
  const Word* word = find(words, name);
  return word != nullptr ? word->arguments : Words{};
}

// Inputs broadcast to the outputs, which are of the same sizes.
void element_wise(ShardedCall& call, const std::vector<Word>& words) {
  if (call.outputs.empty()) return;
  call.empty_parts = true;
  const std::vector<bool> whole = whole_inputs(call, arguments_of(words, "whole"));
  const std::vector<int64_t>& sizes = call.outputs[0].sizes;
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; d < ndim; ++d) {
    if (sizes[static_cast<size_t>(d)] < 2) continue;
    Strategy strategy = call.all(Shard(d));
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const ShardedCall::Input& input = call.inputs[i];
      const int64_t own = d - (ndim - input.dim());
      const bool broadcast = own < 0 || input.sizes()[static_cast<size_t>(own)] != sizes[static_cast<size_t>(d)];
      strategy.inputs[i] = whole[i] || broadcast ? Placement() : static_cast<Placement>(Shard(own));
    }
    strategy.any_parts = true;
    call.add(std::move(strategy));
  }
  add_linearity(call, words);
}

// Every dimension but those that the argument names (all, where it names none) is computed by itself: tensors have the
// first input's sizes there.
void along(ShardedCall& call, const std::vector<Word>& words) {
  if (call.inputs.empty() || call.outputs.empty()) return;
  const int64_t ndim = call.inputs[0].dim();
  const std::vector<int64_t> named = call.integers(words[0].arguments.at(0));
  const std::vector<bool> whole = whole_inputs(call, arguments_of(words, "whole"));
  for (int64_t d = 0; d < ndim && !named.empty(); ++d) {
    const bool taken =
        std::any_of(named.begin(), named.end(), [&](int64_t n) { return at::maybe_wrap_dim(n, ndim) == d; });
    const size_t at = static_cast<size_t>(d);
    const int64_t size = call.inputs[0].sizes()[at];
    bool alike = !taken;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (!whole[i]) alike = alike && call.inputs[i].dim() == ndim && call.inputs[i].sizes()[at] == size;
    }
    for (const ShardedCall::Output& output : call.outputs) {
      alike = alike && static_cast<int64_t>(output.sizes.size()) == ndim && output.sizes[at] == size;
    }
    if (!alike) continue;
    Strategy strategy = call.all(Shard(d));
    for (size_t i = 0; i < whole.size(); ++i) {
      if (whole[i]) strategy.inputs[i] = Replicate();
    }
    call.add(std::move(strategy));
  }
  add_linearity(call, words);
}

// All dimensions of the first input but the last n are batches: tensors have the same sizes there.
void batch(ShardedCall& call, const std::vector<Word>& words, bool first_only) {
  if (call.inputs.empty() || call.outputs.empty()) return;
  const int64_t ndim = call.inputs[0].dim(), given = std::stoll(words[0].arguments.at(0));
  const int64_t batches = first_only ? (ndim == given ? 1 : 0) : ndim - given;
  const std::vector<bool> whole = whole_inputs(call, arguments_of(words, "whole"));
  if (const Word* sizes = find(words, "sizes")) call.sizes_argument = sizes->arguments.at(0);
  for (int64_t d = 0; d < batches; ++d) {
    const size_t at = static_cast<size_t>(d);
    const int64_t size = call.inputs[0].sizes()[at];
    const auto alike = [&](at::IntArrayRef sizes) { return sizes.size() > at && sizes[at] == size; };
    bool fits = true;
    for (size_t i = 0; i < whole.size(); ++i) fits = fits && (whole[i] || alike(call.inputs[i].sizes()));
    for (const ShardedCall::Output& output : call.outputs) fits = fits && alike(output.sizes);
    if (!fits) continue;
    Strategy strategy = call.all(Shard(d));
    for (size_t i = 0; i < whole.size(); ++i) {
      if (whole[i]) strategy.inputs[i] = Replicate();
    }
    call.add(std::move(strategy));
  }
  add_linearity(call, words);
}

// The first input loses the dimensions of the argument `dim` (all without one), or keeps them with one element each.
// Words of reduce(...) say of the results, in order, how parts of a reduced dimension become one; without words they do
// not.
void reduce(ShardedCall& call, const std::vector<Word>& words) {
  if (call.inputs.size() != 1 || call.outputs.empty()) return;
  const at::IntArrayRef sizes = call.inputs[0].sizes();
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  const std::vector<int64_t> named = call.has("dim") ? call.integers("dim") : std::vector<int64_t>{};
  const bool keep = call.is_given("keepdim") && call["keepdim"].toBool();
  const Words& ops = words[0].arguments;
  int64_t kept = 0;
  for (int64_t d = 0; d < ndim; ++d) {
    const bool reduced = named.empty() || std::any_of(named.begin(), named.end(),
                                                      [&](int64_t n) { return at::maybe_wrap_dim(n, ndim) == d; });
    Strategy strategy = call.all(Shard(d));
    if (!reduced) {
      for (Placement& output : strategy.outputs) output = Shard(keep ? d : kept);
      strategy.any_parts = true;
      call.add(std::move(strategy));
    }
    if (!reduced || keep) ++kept;
    if (!reduced || ops.empty()) continue;
    const bool even = sizes[static_cast<size_t>(d)] % call.parts_with(call.inputs[0], d) == 0;
    bool possible = true;
    for (size_t i = 0; i < strategy.outputs.size(); ++i) {
      const std::string& op = ops[std::min(i, ops.size() - 1)];
      possible = possible && (op != "avg" || even);
      strategy.outputs[i] = Partial(op);
    }
    // Smallest and largest elements of nothing do not exist.
    const bool empty = piece_of(sizes[static_cast<size_t>(d)], call.parts, call.parts - 1).size == 0;
    possible = possible && !(empty && (ops[0] == "min" || ops[0] == "max"));
    if (possible) call.add(std::move(strategy));
  }
  add_linearity(call, words);
}

// The losses of a pair of elements, which broadcast, and their sum or mean.
void loss(ShardedCall& call, const std::vector<Word>& words) {
  const int64_t reduction = call["reduction"].toInt();
  if (reduction == 0) return element_wise(call, words);
  const at::IntArrayRef sizes = call.inputs[0].sizes();
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; d < ndim; ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (size < 2 || (reduction == 1 && size % call.parts_with(call.inputs[0], d) != 0)) continue;
    Strategy strategy = call.all(Shard(d));
    bool fits = true;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const int64_t own = d - (ndim - call.inputs[i].dim());
      fits = fits && call.inputs[i].dim() <= ndim;
      const bool broadcast = own < 0 || call.inputs[i].sizes()[static_cast<size_t>(own)] != size;
      // A mean is over the elements of all inputs together.
      fits = fits && (!broadcast || i >= 2);
      strategy.inputs[i] = broadcast ? Placement() : static_cast<Placement>(Shard(own));
    }
    for (Placement& output : strategy.outputs) output = Partial(reduction == 1 ? ReduceOp::AVG : ReduceOp::SUM);
    if (fits) call.add(std::move(strategy));
  }
}

// The text of an einsum: "mk,kn->mn". An operand behind + is added to the result, to which it broadcasts; "..." stands
// for dimensions that the others leave.
struct Einsum {
  struct Operand {
    std::string letters;
    bool added = false;
  };
  std::vector<Operand> operands;
  std::vector<std::string> results;
};

Einsum parse_einsum(const std::string& text) {
  Einsum einsum;
  const size_t arrow = text.find("->");
  TORCH_CHECK_VALUE(arrow != std::string::npos, "sharding: einsum(", text, ") has no ->");
  for (std::string letters : split(text.substr(0, arrow), ',')) {
    const bool added = !letters.empty() && letters[0] == '+';
    einsum.operands.push_back({added ? letters.substr(1) : letters, added});
  }
  einsum.results = split(text.substr(arrow + 2), ',');
  return einsum;
}

// `letters` for a tensor of that many dimensions, "..." as capital letters from the right; empty optional where it does
// not fit.
std::optional<std::string> letters_for(const std::string& letters, int64_t ndim, bool broadcast) {
  const size_t dots = letters.find("...");
  std::string result = letters;
  if (dots != std::string::npos) {
    const int64_t missing = ndim - static_cast<int64_t>(letters.size()) + 3;
    if (missing < 0 || missing > 26) return std::nullopt;
    std::string capitals;
    for (int64_t i = missing; i-- > 0;) capitals += static_cast<char>('A' + i);
    result = letters.substr(0, dots) + capitals + letters.substr(dots + 3);
  }
  const int64_t size = static_cast<int64_t>(result.size());
  if (size == ndim) return result;
  if (broadcast && ndim < size) return result.substr(static_cast<size_t>(size - ndim));
  return std::nullopt;
}

void einsum_rule(ShardedCall& call, const Einsum& einsum) {
  // The tensor arguments by their number among those of the schema.
  std::vector<std::optional<size_t>> place;
  for (size_t a = 0; a < call.schema.arguments().size() && place.size() < einsum.operands.size(); ++a) {
    if (call.schema.arguments()[a].type()->kind() != c10::TypeKind::TensorType &&
        call.schema.arguments()[a].type()->str() != "Tensor?" &&
        call.schema.arguments()[a].type()->str() != "Optional[Tensor]") {
      continue;
    }
    std::optional<size_t> found;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.inputs[i].argument == a) found = i;
    }
    place.push_back(found);
  }
  call.empty_parts = true;
  if (place.size() != einsum.operands.size() || call.outputs.size() != einsum.results.size()) return;
  std::vector<std::string> letters(call.inputs.size()), results;
  std::vector<bool> added(call.inputs.size(), false);
  for (size_t o = 0; o < place.size(); ++o) {
    if (!place[o]) continue;
    const auto fitting =
        letters_for(einsum.operands[o].letters, call.inputs[*place[o]].dim(), einsum.operands[o].added);
    if (!fitting) return;
    letters[*place[o]] = *fitting;
    added[*place[o]] = einsum.operands[o].added;
  }
  for (size_t r = 0; r < einsum.results.size(); ++r) {
    const auto fitting = letters_for(einsum.results[r], static_cast<int64_t>(call.outputs[r].sizes.size()), false);
    if (!fitting) return;
    results.push_back(*fitting);
  }
  std::string all;
  for (size_t i = 0; i < letters.size(); ++i) {
    for (const char letter : letters[i]) {
      if (!added[i] && all.find(letter) == std::string::npos) all += letter;
    }
  }
  for (const char letter : all) {
    Strategy strategy = call.whole();
    int64_t size = 0;
    bool fits = true;
    for (size_t i = 0; i < letters.size(); ++i) {
      const size_t at = letters[i].find(letter);
      if (added[i] || at == std::string::npos) continue;
      const int64_t own = call.inputs[i].sizes()[at];
      fits = fits && (size == 0 || own == size);
      size = own;
      strategy.inputs[i] = Shard(static_cast<int64_t>(at));
    }
    for (size_t r = 0; r < results.size(); ++r) {
      const size_t at = results[r].find(letter);
      strategy.outputs[r] = at == std::string::npos ? static_cast<Placement>(Partial(ReduceOp::SUM))
                                                    : static_cast<Placement>(Shard(static_cast<int64_t>(at)));
    }
    for (size_t i = 0; i < letters.size(); ++i) {
      if (!added[i]) continue;
      const size_t at = letters[i].find(letter);
      if (strategy.outputs[0].is_partial()) {
        strategy.inputs[i] = Partial(ReduceOp::SUM);
      } else if (at != std::string::npos && call.inputs[i].sizes()[at] == size) {
        strategy.inputs[i] = Shard(static_cast<int64_t>(at));
      }
    }
    strategy.any_parts = true;
    if (fits && size > 1) call.add(std::move(strategy));
  }
  for (size_t i = 0; i < letters.size(); ++i) {
    if (added[i]) continue;
    Strategy strategy = call.whole();
    for (size_t k = 0; k < letters.size(); ++k) {
      if (k == i || added[k]) strategy.inputs[k] = Partial(ReduceOp::SUM);
    }
    for (Placement& output : strategy.outputs) output = Partial(ReduceOp::SUM);
    call.add(std::move(strategy));
  }
}

// Element-wise in sizes and placement, with values of its own.
void like(ShardedCall& call, const std::vector<Word>&) {
  call.empty_parts = true;
  for (int64_t d = 0; d < call.inputs[0].dim(); ++d) {
    Strategy strategy = call.all(Shard(d));
    strategy.any_parts = true;
    call.add(std::move(strategy));
  }
  for (const ReduceOp::RedOpType op : kAllReductions) {
    Strategy strategy = call.whole();
    strategy.inputs[0] = Partial(op);
    call.add(std::move(strategy));
  }
}

// A new whole tensor, of which the input only says dtype and device.
void fresh(ShardedCall& call, const std::vector<Word>& words) {
  like(call, words);
  for (Strategy& strategy : call.take()) {
    for (Placement& output : strategy.outputs) output = Replicate();
    call.add(std::move(strategy));
  }
}

using Rule = void (*)(ShardedCall&, const std::vector<Word>&);
constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"auto_element_wise", &element_wise},
    {"element_wise", &element_wise},
    {"along", &along},
    {"batch", [](ShardedCall& call, const std::vector<Word>& words) { batch(call, words, false); }},
    {"samples", [](ShardedCall& call, const std::vector<Word>& words) { batch(call, words, true); }},
    {"reduce", &reduce},
    {"loss", &loss},
    {"like", &like},
    {"fresh", &fresh},
    {"auto_replicate", [](ShardedCall&, const std::vector<Word>&) {}},
};

// What is known by the name of an operator: the tables', and what programs registered.
struct Known {
  std::mutex mutex;
  std::unordered_map<std::string, Sharding> of_tables, of_programs;
  std::atomic<uint64_t> version{0};
};

Known& known() {
  static Known& instance = *[] {
    auto* made = new Known;
    for (const at::ShardingEntry& entry : at::kShardingTable) {
      Sharding sharding = parse_sharding(entry.words);
      sharding.functional = entry.functional;
      made->of_tables.emplace(std::string("aten::") + entry.name, std::move(sharding));
    }
    return made;
  }();
  return instance;
}

}  // namespace

const c10::IValue& ShardedCall::operator[](std::string_view name) const {
  const auto index = schema.argument_index(name);
  TORCH_CHECK(index.has_value(), "sharding of ", schema.name(), ": there is no argument '", name, "'");
  return arguments[*index];
}

bool ShardedCall::has(std::string_view name) const {
  return schema.argument_index(name).has_value();
}

std::vector<int64_t> ShardedCall::integers(std::string_view name) const {
  const c10::IValue& value = (*this)[name];
  if (value.isNone()) return {};
  return value.isInt() ? std::vector<int64_t>{value.toInt()} : value.toIntVector();
}

int64_t ShardedCall::parts_with(const Input& input, int64_t dim) const {
  const Placement& present = input.spec->placements()[mesh_dim];
  const bool counted = (present.is_shard() || present.is_strided_shard()) && present.dim() == dim;
  return input.spec->shards(dim) * (counted ? 1 : parts);
}

std::optional<size_t> ShardedCall::input(std::string_view name) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (schema.arguments()[inputs[i].argument].name() == name) return i;
  }
  return std::nullopt;
}

void ShardedCall::add(Strategy strategy) {
  TORCH_CHECK(strategy.inputs.size() == inputs.size() && strategy.outputs.size() == outputs.size(), "sharding of ",
              schema.name(), ": a strategy has placements of ", strategy.inputs.size(), " inputs and ",
              strategy.outputs.size(), " outputs, but there are ", inputs.size(), " and ", outputs.size());
  strategies_.push_back(std::move(strategy));
}

Strategy ShardedCall::all(const Placement& placement) const {
  return {std::vector<Placement>(inputs.size(), placement), std::vector<Placement>(outputs.size(), placement)};
}

Sharding parse_sharding(std::string_view text) {
  Sharding sharding;
  const std::vector<Word> words = words_of(text);
  const std::string& name = words[0].name;
  if (name == "compose") {
    sharding.kind = Sharding::Kind::kComposed;
    return sharding;
  }
  if (name == "random") {
    sharding.kind = Sharding::Kind::kRandom;
    return sharding;
  }
  if (name == "einsum") {
    sharding.rule = [einsum = parse_einsum(words[0].arguments.at(0))](ShardedCall& call) { einsum_rule(call, einsum); };
    return sharding;
  }
  for (const auto& [known_name, rule] : kRules) {
    if (known_name != name) continue;
    sharding.rule = [rule = rule, words](ShardedCall& call) { rule(call, words); };
    return sharding;
  }
  if (const ShardingRule* rule = detail::named_rule(name)) {
    sharding.rule = *rule;
    return sharding;
  }
  sharding.handler = detail::named_handler(name);
  TORCH_CHECK_VALUE(sharding.handler != nullptr, "sharding: there is no rule '", name, "'");
  sharding.kind = Sharding::Kind::kHandler;
  return sharding;
}

const Sharding* sharding_of(const c10::OperatorHandle& op) {
  Known& all = known();
  const std::string name = toString(op.operator_name());
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto* table : {&all.of_programs, &all.of_tables}) {
    if (const auto found = table->find(name); found != table->end()) return &found->second;
  }
  return nullptr;
}

void register_sharding(const std::string& op, ShardingRule rule) {
  Known& all = known();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Sharding& sharding = all.of_programs[op];
  TORCH_CHECK_VALUE(!sharding.rule, "register_sharding: ", op, " has a rule of this program already");
  sharding.rule = std::move(rule);
  ++all.version;
}

uint64_t detail::sharding_version() {
  return known().version.load();
}

}  // namespace torch::distributed::tensor
