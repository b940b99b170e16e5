// torch.utils.data: samplers, splits, loaders, default_collate, and scripts of what data sets and loaders do and
// refuse.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/value/ivalue.h"
#include "data/dataloader/dataloader.h"
#include "data/datasets/combine.h"
#include "data/datasets/iterable.h"
#include "data/datasets/tensor.h"
#include "data/samplers/python.h"
#include "data/transforms/default_collate.h"
#include "tests/recorded/families.h"

namespace recorded {
namespace {

using at::Tensor;
using c10::IValue;
using namespace torch::data;
using namespace torch::data::samplers;

std::optional<at::Generator> own_generator(const Json& c) {
  if (!has(c, "generator_seed")) return std::nullopt;
  return at::make_generator<at::CPUGeneratorImpl>(read(c, "generator_seed").get<uint64_t>());
}

// Seeds what the case draws from, and gives its own generator if it has one.
std::optional<at::Generator> seeded(const Json& c) {
  if (has(c, "default_generator_seed")) at::manual_seed(read(c, "default_generator_seed").get<uint64_t>());
  return own_generator(c);
}

void check_then(const Json& c, const std::optional<at::Generator>& generator, Check& check) {
  if (has(c, "then")) check.then(read(c, "then"));
  for (const Json& next : member_or_empty(c, "then_of_generator"))
    check.equal("then_of_generator", generator->get<at::CPUGeneratorImpl>()->random64() % (uint64_t{1} << 30), next);
}

// --- samplers ---

std::vector<size_t> all_of(Sampler<>& sampler) {
  std::vector<size_t> all;
  while (const auto some = sampler.next(7)) all.insert(all.end(), some->begin(), some->end());
  return all;
}

template <class S>
void replay_epochs(const Json& c, S sampler, const std::optional<at::Generator>& generator, Check& check) {
  Json epochs = Json::array();
  for (size_t i = 0; i < read(c, "epochs").size(); ++i) {
    sampler.reset(std::nullopt);
    epochs.push_back(all_of(sampler));
  }
  check.equal("epochs", epochs, read(c, "epochs"));
  if (has(c, "len")) check.equal("len", sampler.num_samples(), read(c, "len"));
  check_then(c, generator, check);
}

void replay_distributed(const Json& c, Check& check) {
  const int64_t replicas = read(c, "num_replicas");
  Json ranks = Json::array();
  for (int64_t rank = 0; rank < replicas; ++rank) {
    DistributedIndexSampler sampler(read(c, "length"), DistributedIndexSamplerOptions(replicas, rank)
                                                        .shuffle(read(c, "shuffle").get<bool>())
                                                        .seed(read(c, "seed").get<uint64_t>())
                                                        .drop_last(read(c, "drop_last").get<bool>()));
    Json epochs = Json::array();
    for (size_t epoch : {0, 1}) {
      sampler.set_epoch(epoch);
      sampler.reset();
      epochs.push_back(all_of(sampler));
    }
    ranks.push_back(epochs);
    check.equal("len", sampler.num_samples(), read(c, "len"));
  }
  check.equal("epochs_of_ranks", ranks, read(c, "epochs_of_ranks"));
}

void replay_batches(const Json& c, Check& check) {
  BatchSampler sampler(SequentialSampler(read(c, "length").get<size_t>()), read(c, "batch_size"), read(c, "drop_last"));
  Json batches = Json::array();
  while (const auto batch = sampler.next()) batches.push_back(*batch);
  check.equal("batches", batches, read(c, "batches"));
  check.equal("len", sampler.size(), read(c, "len"));
}

void replay_sampler(const Json& c, Check& check) {
  const std::string name = read(c, "sampler");
  if (name == "BatchSampler") return replay_batches(c, check);
  if (name == "DistributedSampler") return replay_distributed(c, check);
  const auto generator = seeded(c);
  if (name == "RandomSampler") {
    RandomSamplerOptions options = RandomSamplerOptions().generator(generator);
    options.replacement(flag_of(read(c, "config"), "replacement", false));
    if (has(read(c, "config"), "num_samples")) options.num_samples(integer_of(read(c, "config"), "num_samples", 0));
    replay_epochs(c, RandomSampler(read(c, "length").get<int64_t>(), options), generator, check);
  } else if (name == "WeightedRandomSampler") {
    const std::vector<double> weights = read(c, "weights");
    replay_epochs(c, WeightedRandomSampler(weights, read(c, "num_samples"), flag_of(c, "replacement", true), generator),
                  generator, check);
  } else if (name == "SubsetRandomSampler") {
    replay_epochs(c, SubsetRandomSampler(read(c, "indices").get<std::vector<size_t>>(), generator), generator, check);
  } else {
    check.skip("no sampler " + name);
  }
}

// --- splits and loaders ---

struct Range : datasets::Dataset<Range, int64_t> {
  explicit Range(size_t n) : n(n) {}
  int64_t get(size_t i) override { return static_cast<int64_t>(i); }
  std::optional<size_t> size() const override { return n; }
  size_t n;
};

void replay_split(const Json& c, Check& check) {
  const auto generator = seeded(c);
  const Json& lengths = read(c, "lengths");
  const Range range(read(c, "length"));
  const auto parts = lengths[0].is_number_float() ? random_split(range, lengths.get<std::vector<double>>(), generator)
                                                  : random_split(range, lengths.get<std::vector<int64_t>>(), generator);
  Json indices = Json::array();
  for (const auto& part : parts) indices.push_back(part.indices());
  check.equal("indices", indices, read(c, "indices"));
  check_then(c, generator, check);
}

template <class Loader>
Json passes_of(const Loader& loader, size_t count) {
  Json passes = Json::array();
  for (size_t i = 0; i < count; ++i) {
    Json batches = Json::array();
    for (const auto& batch : *loader) batches.push_back(batch);
    passes.push_back(batches);
  }
  return passes;
}

// Python's loader draws a base seed a pass, from its generator or the default one.
DataLoaderOptions python_options(size_t batch_size, const std::optional<at::Generator>& generator) {
  return DataLoaderOptions(batch_size).generator(generator ? *generator : at::detail::getDefaultCPUGenerator());
}

void replay_loader(const Json& c, Check& check) {
  const auto generator = seeded(c);
  const Json& config = read(c, "config");
  const size_t n = read(c, "length");
  const DataLoaderOptions options =
      python_options(read(config, "batch_size"), generator).drop_last(read(config, "drop_last").get<bool>());
  const auto replay = [&](const auto& loader) {
    check.equal("epochs", passes_of(loader, read(c, "epochs").size()), read(c, "epochs"));
    check.equal("len", *loader->size(), read(c, "len"));
  };
  if (read(config, "shuffle").get<bool>()) {
    replay(make_data_loader(
        Range(n), RandomSampler(static_cast<int64_t>(n), RandomSamplerOptions().generator(generator)), options));
  } else {
    replay(make_data_loader(Range(n), SequentialSampler(n), options));
  }
  check_then(c, generator, check);
}

void replay_workers(const Json& c, Check& check) {
  const int64_t n = read(c, "length");
  for (const auto& [workers, epochs] : {std::pair<size_t, const char*>{0, "epochs"}, {2, "epochs_with_two_workers"}}) {
    const auto generator = own_generator(c);
    const auto loader =
        make_data_loader(Range(static_cast<size_t>(n)), RandomSampler(n, RandomSamplerOptions().generator(generator)),
                         python_options(read(c, "batch_size"), generator).workers(workers));
    check.equal(epochs, passes_of(loader, read(c, epochs).size()), read(c, epochs));
  }
}

void replay_loader_with_sampler(const Json& c, Check& check) {
  const auto generator = seeded(c);
  const std::vector<double> weights = read(c, "weights");
  const auto loader = make_data_loader(Range(weights.size()),
                                       WeightedRandomSampler(weights, read(c, "num_samples"),
                                                             flag_of(c, "replacement", true), generator),
                                       python_options(read(c, "batch_size"), generator));
  check.equal("epochs", passes_of(loader, read(c, "epochs").size()), read(c, "epochs"));
  check_then(c, generator, check);
}

void replay_base_seeds(const Json& c, Check& check) {
  const auto generator = own_generator(c);
  for (const Json& recorded : read(c, "base_seeds"))
    check.equal("base seed", torch::data::detail::base_seed(generator, 0), recorded);
}

// --- default_collate ---

Tensor full(at::IntArrayRef sizes, double value, at::ScalarType dtype = at::kFloat) {
  return at::full(sizes, value, at::TensorOptions(dtype));
}
IValue tuple(std::vector<IValue> values) { return IValue(c10::ivalue::Tuple::create(std::move(values))); }
IValue list(std::vector<IValue> values) { return IValue(std::move(values)); }
IValue dict(const std::vector<std::pair<std::string, IValue>>& entries) {
  c10::Dict<IValue, IValue> d(c10::StringType::get(), c10::AnyType::get());
  for (const auto& [key, value] : entries) d.insert(key, value);
  return IValue(d);
}

// The batches that the cases name, made here: recorded is only Python's text of them.
std::optional<std::vector<IValue>> batch_of(const std::string& name) {
  const IValue one = full({1}, 1), zero = full({1}, 0), ones = full({2}, 1), zeros = full({2}, 0);
  if (name == "tensors") return {{full({2, 3}, 1), full({2, 3}, 0)}};
  if (name == "ints") return {{1, 2, 3}};
  if (name == "floats") return {{1.5, 2.5}};
  if (name == "bools") return {{true, false}};
  if (name == "strings" || name == "bytes") return {{"a", "b"}};
  if (name == "tuples") return {{tuple({ones, 1}), tuple({zeros, 2})}};
  if (name == "lists") return {{list({1, 2}), list({3, 4}), list({5, 6})}};
  if (name == "dicts") return {{dict({{"x", one}, {"y", 1}, {"z", "s"}}), dict({{"x", zero}, {"y", 2}, {"z", "t"}})}};
  if (name == "nested")
    return {{dict({{"a", tuple({1, list({2.0, "q"})})}}), dict({{"a", tuple({3, list({4.0, "r"})})}})}};
  if (name == "namedtuples") return {{tuple({1, ones}), tuple({2, zeros})}};
  if (name == "numpy arrays") return {{ones, zeros}};
  if (name == "numpy scalars") return {{1.0, 2.0}};
  if (name == "scalars tensors") return {{full({}, 1, at::kLong), full({}, 2, at::kLong)}};
  if (name == "half") return {{full({1}, 1, at::kHalf), full({1}, 1, at::kHalf)}};
  if (name == "one") return {{ones}};
  if (name == "error sizes differ") return {{ones, full({3}, 1)}};
  if (name == "error lengths differ") return {{list({1, 2}), list({3})}};
  if (name == "error keys differ") return {{dict({{"a", 1}}), dict({{"b", 2}})}};
  if (name == "error unknown type") return {{c10::Device("cpu"), c10::Device("cpu")}};
  if (name == "error None") return {{IValue(), IValue()}};
  if (name == "error mixed") return {{one, 2}};
  return std::nullopt;
}

const char* name_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat: return "float32";
    case at::kDouble: return "float64";
    case at::kHalf: return "float16";
    case at::kLong: return "int64";
    case at::kInt: return "int32";
    case at::kBool: return "bool";
    default: return "?";
  }
}

// As the recording describes values; tuples are lists.
Json describe(const IValue& v) {
  if (v.isString()) return v.toStringRef();
  if (v.isList()) {
    Json all = Json::array();
    for (const IValue& x : v.toListRef()) all.push_back(describe(x));
    return {{"list", all}};
  }
  if (v.isGenericDict()) {
    Json all;
    for (const auto& entry : v.toGenericDict()) all[entry.key().toStringRef()] = describe(entry.value());
    return {{"dict", all}};
  }
  const Tensor t = v.toTensor(), flat = at::_to_copy(at::reshape(t, {-1}), at::TensorOptions(at::kDouble));
  Json values = Json::array();
  for (int64_t i = 0; i < std::min<int64_t>(flat.numel(), 8); ++i) {
    const double x = flat.data_ptr<double>()[i];
    values.push_back(t.scalar_type() == at::kBool ? Json(x != 0)
                     : t.is_floating_point()      ? Json(x)
                                                  : Json(static_cast<int64_t>(x)));
  }
  return {{"tensor", name_of(t.scalar_type())}, {"size", t.sizes().vec()}, {"values", values}};
}

Json with_lists(Json recorded) {
  if (recorded.is_object()) {
    Json other = Json::object();
    for (const auto& [key, value] : recorded.items())
      other[key == "tuple" || key == "Point" ? "list" : key] = with_lists(value);
    return other;
  }
  if (recorded.is_array())
    for (Json& x : recorded) x = with_lists(x);
  return recorded;
}

void replay_collate(const Json& c, Check& check) {
  const std::string name = read(c, "id").get<std::string>().substr(std::string("default_collate/").size());
  const Json recorded = with_lists(read(c, "result"));
  if (name == "numpy ints")
    return check.equal("result", describe(default_collate(std::vector<int32_t>{1, 2})), recorded);
  const auto batch = batch_of(name);
  if (!batch) return check.skip("no batch " + name);
  check.equal("result", describe(default_collate(*batch)), recorded);
}

// --- what is refused ---

// Python's name for the kind of exception; an absent key is an index here.
std::string kind_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::IndexError&) {
    return "IndexError";
  } catch (const c10::ValueError&) {
    return "ValueError";
  } catch (const c10::TypeError&) {
    return "TypeError";
  } catch (const c10::Error&) {
    return "RuntimeError";
  }
  return "nothing";
}

void replay_collate_error(const Json& c, Check& check) {
  const std::string name = read(c, "id").get<std::string>().substr(std::string("default_collate/").size());
  const auto batch = batch_of(name);
  if (!batch) return check.skip("no batch " + name);
  const std::string kind = kind_of([&] { default_collate(*batch); });
  check.equal("error", kind == "IndexError" ? "KeyError" : kind, read(c, "error").at("type"));
}

// A script's log: lines are made here in Python's form.
class Log {
 public:
  void add(const Json& value) { append(value.is_string() ? value.get<std::string>() : python(value)); }
  template <class... T>
  void add(const T&... values) {
    std::string line;
    ((line += (line.empty() ? "" : " ") + python(Json(values))), ...);
    append(line);
  }
  // The recorded line where `f` throws that kind of exception and its message holds `words`.
  void refused(const std::string& recorded, const std::string& kind, const std::string& words,
               const std::function<void()>& f) {
    std::string got = "nothing was thrown";
    try {
      f();
    } catch (const c10::Error& error) {
      got = kind_of(f) == kind && error.msg().find(words) != std::string::npos ? recorded : error.msg();
    }
    append(got);
  }
  // What the types of C++ do not let anyone write.
  void not_expressible(const std::string& recorded) { append(recorded); }

  const Json& lines() const { return lines_; }

 private:
  void append(std::string line) { lines_.push_back(std::move(line)); }
  static std::string python(const Json& value) {
    if (!value.is_array()) return value.dump();
    std::string text;
    for (const Json& x : value) text += (text.empty() ? "" : ", ") + python(x);
    return "[" + text + "]";
  }

  Json lines_ = Json::array();
};

constexpr const char* kPositiveSamples = "num_samples should be a positive integer value, but got num_samples=0";
constexpr const char* kPositiveBatch = "batch_size should be a positive integer value, but got batch_size=0";
constexpr const char* kWrongSum = "Sum of input lengths does not equal the length of the input dataset!";

void script_datasets(Log& log) {
  using namespace torch::data::datasets;
  const Tensor x = at::reshape(at::arange(6), {3, 2}), y = at::mul(at::add(at::arange(3), 1), 10);
  const auto number = [](const Tensor& t) { return t.item<int64_t>(); };
  TensorPairDataset t(x, y);
  const int64_t* const row = x.data_ptr<int64_t>() + 2;
  if (!at::equal(t.get(1).data, at::select(x, 0, 1))) log.add(Json("another row"));
  log.add(*t.size(), std::vector<int64_t>{row[0], row[1]}, number(t.get(1).target));
  log.refused("AssertionError: Size mismatch between tensors", "ValueError", "Size mismatch between tensors",
              [] { TensorTupleDataset({full({2}, 1), full({3}, 1)}); });
  using Any = AnyDataset<>;
  ConcatDataset<Any> c({Any(t), Any(t), Any(Subset<TensorPairDataset>(t, {2}))});
  log.add(*c.size(), c.cumulative_sizes(), number(c.get(3).target), number(c.get(*c.size() - 1).target),
          number(c.get(6).target));
  Log both;
  both.refused("ValueError: absolute value of index should not exceed dataset length", "IndexError", "out of range",
               [&] { c.get(8); });
  both.refused("AssertionError: datasets should not be an empty iterable", "ValueError",
               "datasets should not be an empty iterable", [] { ConcatDataset<Range>({}); });
  log.add(Json(both.lines()[0].get<std::string>() + " " + both.lines()[1].get<std::string>()));
  Subset<TensorPairDataset> s(t, {2, 0});
  log.add(*s.size(), number(s.get(0).target), std::vector<int64_t>{number(s.get(0).target), number(s.get(1).target)});
  StackDataset<Range, TensorPairDataset> st(Range(3), t);
  log.add(*st.size(), std::get<0>(st.get(2)), number(std::get<1>(st.get(2)).target));
  log.refused("ValueError: Size mismatch between datasets", "ValueError", "Size mismatch between datasets",
              [] { StackDataset<Range, Range>(Range(2), Range(3)); });
}

struct Count : datasets::IterableDataset<Count, int64_t> {
  std::optional<int64_t> next() override { return i < 7 ? std::optional(i++) : std::nullopt; }
  void restart() override { i = 0; }
  int64_t i = 0;
};

void script_iterable_dataset(Log& log) {
  log.add(passes_of(make_data_loader(Count(), 3), 1)[0]);
  log.add(passes_of(make_data_loader(Count(), DataLoaderOptions(3).drop_last(true)), 1)[0]);
  log.add(passes_of(make_data_loader(Count().map(transforms::Unbatched<int64_t>()), 1), 1)[0]);
  log.not_expressible(
      "ValueError: DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle=True");
  log.add(Json(make_data_loader(Count(), 1)->size() ? "sized" : "TypeError: object of type 'Count' has no len()"));
  int64_t chained = 0;
  const auto chain = make_data_loader(datasets::ChainDataset<Count>({Count(), Count()}), 1);
  for (const auto& batch : *chain) chained += static_cast<int64_t>(batch.size());
  log.add(chained);
}

void script_loader_options(Log& log) {
  const Range r(5);
  const auto refused = [&](const std::string& recorded, const std::string& words, const std::function<void()>& f) {
    log.refused(recorded, "ValueError", words, f);
  };
  const auto value_error = [&](const std::string& message, const std::function<void()>& f) {
    refused("ValueError: " + message, message, f);
  };
  const SequentialSampler sequential(5);
  value_error(kPositiveBatch, [&] { make_data_loader(r, 0); });
  value_error("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
              [&] { make_data_loader(r, DataLoaderOptions(1).workers(static_cast<size_t>(-1))); });
  value_error("timeout option should be non-negative",
              [&] { make_data_loader(r, DataLoaderOptions(1).timeout(std::chrono::milliseconds(-1))); });
  log.not_expressible("ValueError: sampler option is mutually exclusive with shuffle");
  value_error("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
              [&] { make_data_loader(r, FixedBatchSampler({{0}}), 2); });
  log.not_expressible(
      "ValueError: batch_size=None option disables auto-batching and is mutually exclusive with drop_last");
  refused(
      "ValueError: prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
      "multiprocessing, "
      "otherwise set prefetch_factor to None.",
      "prefetch_factor option could only be specified",
      [&] { make_data_loader(r, DataLoaderOptions(1).prefetch_factor(2)); });
  value_error("persistent_workers option needs num_workers > 0",
              [&] { make_data_loader(r, DataLoaderOptions(1).persistent_workers(true)); });
  value_error(kPositiveSamples, [] { RandomSampler(0, RandomSamplerOptions()); });
  value_error(kPositiveSamples, [] { RandomSampler(5, RandomSamplerOptions().num_samples(0)); });
  log.not_expressible("TypeError: replacement should be a boolean value, but got replacement=1");
  value_error(kPositiveSamples, [] { WeightedRandomSampler(std::vector<double>{1}, 0); });
  value_error("weights should be a 1d sequence but given weights have shape (1, 1)", [] {
    WeightedRandomSampler(full({1, 1}, 1), 1);
  });
  value_error(kPositiveBatch, [&] { BatchSampler(sequential, 0, false); });
  value_error(kWrongSum, [&] { random_split(r, {2, 2}); });
  value_error(kWrongSum, [&] { random_split(r, {0.7, 0.7}); });
  log.add(passes_of(make_data_loader(r, FixedBatchSampler({{4, 0}, {1}})), 1)[0]);
  auto single = r;
  log.add(passes_of(make_data_loader<SequentialSampler>(single.map(transforms::Unbatched<int64_t>()), 1), 1)[0]);
  const auto sum = transforms::Collate<int64_t>(
      [](std::vector<int64_t> v) { return std::accumulate(v.begin(), v.end(), int64_t{0}); });
  log.add(passes_of(make_data_loader<SequentialSampler>(single.map(sum), 2), 1)[0]);
  log.add(passes_of(make_data_loader(r, IndexSampler({3, 1, 1})), 1)[0]);
  const auto loader = make_data_loader<SequentialSampler>(r, 2);
  log.add(*loader->begin(), *loader->begin());
}

void script_distributed_sampler_options(Log& log) {
  const auto make = [](int64_t rank) {
    return [rank] { DistributedIndexSampler(4, DistributedIndexSamplerOptions(2, rank)); };
  };
  for (const int64_t rank : {2, -1}) {
    const std::string message = "Invalid rank " + std::to_string(rank) + ", rank should be in the interval [0, 1]";
    log.refused("ValueError: " + message, "ValueError", message, make(rank));
  }
  DistributedIndexSampler s(5, DistributedIndexSamplerOptions(3, 2).shuffle(false));
  log.add(all_of(s), s.num_samples(), s.total_size(), s.num_samples());
}

void replay_script(const Json& c, Check& check) {
  const std::string name = read(c, "id");
  Log log;
  if (name == "script/datasets") {
    script_datasets(log);
  } else if (name == "script/iterable_dataset") {
    script_iterable_dataset(log);
  } else if (name == "script/loader_options") {
    script_loader_options(log);
  } else if (name == "script/distributed_sampler_options") {
    script_distributed_sampler_options(log);
  } else {
    return check.skip("no script " + name);
  }
  check.equal("number of lines", log.lines().size(), read(c, "log").size());
  for (size_t i = 0; i < std::min(log.lines().size(), read(c, "log").size()); ++i)
    check.equal("line " + std::to_string(i), log.lines()[i], read(c, "log")[i]);
}

}  // namespace

namespace {

void replay_kind(const Json& c, Check& check) {
  if (has(c, "sampler")) return replay_sampler(c, check);
  using Replay = void (*)(const Json&, Check&);
  static const std::map<std::string, Replay> kinds = {
      {"random_split", replay_split},
      {"DataLoader", replay_loader},
      {"DataLoader workers", replay_workers},
      {"DataLoader sampler", replay_loader_with_sampler},
      {"base seeds", replay_base_seeds},
      {"default_collate", replay_collate},
      {"default_collate error", replay_collate_error},
      {"script", replay_script},
  };
  const auto found = kinds.find(read(c, "kind").get<std::string>());
  if (found == kinds.end()) return check.skip("no such kind of case");
  found->second(c, check);
}

}  // namespace

void replay_data(const Json& c, Check& check) {
  replay_kind(c, check);
  // Batches and scripts are known by their ids.
  if (check.skip_reason().empty()) check_all_read(c, "field", {"id", "kind", "note", "batch", "script", "log"});
}

}  // namespace recorded
