// Data sets, samplers, transforms and loaders of a program.
#include <torch/torch.h>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <sstream>

#include "tests/api/programs/program.h"

namespace {

using namespace torch::data;
struct SeriesDataset : datasets::Dataset<SeriesDataset, Example<torch::Tensor, torch::Tensor>> {
  SeriesDataset(int64_t n, int64_t w) : w(w) { s = torch::sin(torch::arange(n, torch::kFloat) * 0.1); }
  Example<torch::Tensor, torch::Tensor> get(size_t i) override { return {s.slice(0, i, i + w), s[i + w]}; }
  torch::optional<size_t> size() const override { return s.size(0) - w; }
  torch::Tensor s;
  int64_t w;
};
struct Scale : transforms::TensorTransform<> {
  double k;
  explicit Scale(double k) : k(k) {}
  torch::Tensor operator()(torch::Tensor t) override { return t * k; }
};
struct AddNoise : transforms::Transform<Example<>, Example<>> {
  Example<> apply(Example<> e) override {
    e.data = e.data + 0.5;
    return e;
  }
};
struct Pair {
  int a;
  std::string b;
};
struct PairSet : datasets::Dataset<PairSet, Pair> {
  Pair get(size_t i) override { return {(int)i, std::string(i, 'x')}; }
  c10::optional<size_t> size() const override { return 7; }
};
struct SumCollate : transforms::Collation<std::string, std::vector<Pair>> {
  std::string apply_batch(std::vector<Pair> v) override {
    std::string s;
    for (auto& p : v) s += std::to_string(p.a) + ":" + p.b + " ";
    return s;
  }
};
struct EvenSampler : samplers::Sampler<> {
  explicit EvenSampler(size_t n) : n(n) {}
  void reset(torch::optional<size_t> s = torch::nullopt) override {
    if (s) n = *s;
    i = 0;
  }
  torch::optional<std::vector<size_t>> next(size_t b) override {
    if (i >= n) return torch::nullopt;
    std::vector<size_t> v;
    while (v.size() < b && i < n) {
      v.push_back(i);
      i += 2;
    }
    return v;
  }
  void save(torch::serialize::OutputArchive& a) const override { a.write("i", torch::tensor((int64_t)i)); }
  void load(torch::serialize::InputArchive& a) override {
    torch::Tensor t;
    a.read("i", t);
    i = t.item<int64_t>();
  }
  size_t n, i = 0;
};
struct Stateful : datasets::StatefulDataset<Stateful, std::vector<Example<>>, size_t> {
  size_t c = 0;
  std::shared_ptr<std::mutex> m = std::make_shared<std::mutex>();
  torch::optional<std::vector<Example<>>> get_batch(size_t b) override {
    std::lock_guard<std::mutex> l(*m);
    if (c >= 4) return torch::nullopt;
    ++c;
    std::vector<Example<>> v;
    for (size_t i = 0; i < b; ++i) v.push_back({torch::full({2}, (double)c), torch::tensor({(int64_t)i})});
    return v;
  }
  torch::optional<size_t> size() const override { return torch::nullopt; }
  void reset() override { c = 0; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
};
struct Streamed : datasets::StreamDataset<Streamed, std::vector<int>> {
  int n = 0;
  std::vector<int> get_batch(size_t b) override {
    std::vector<int> v;
    for (size_t i = 0; i < b; ++i) v.push_back(n++);
    return v;
  }
  torch::optional<size_t> size() const override { return torch::nullopt; }
};
struct Thrower : datasets::Dataset<Thrower, int> {
  int get(size_t i) override {
    if (i == 3) throw std::runtime_error("bad item 3");
    return i;
  }
  c10::optional<size_t> size() const override { return 5; }
};
void run() {
  torch::manual_seed(4);
  {
    auto ds = SeriesDataset(30, 4)
                  .map(Scale(2))
                  .map(transforms::Lambda<Example<>>([](Example<> e) {
                    e.target = e.target.unsqueeze(0);
                    return e;
                  }))
                  .map(transforms::Stack<>());
    auto loader = make_data_loader(std::move(ds), DataLoaderOptions().batch_size(8).workers(2).enforce_ordering(true));
    for (auto& b : *loader) std::cout << b.data.sizes() << b.target.sizes() << b.data.sum().item<float>() << "\n";
  }
  {
    auto ds = PairSet();
    auto sz = *ds.size();
    auto loader = make_data_loader(std::move(ds).map(SumCollate()), samplers::RandomSampler(sz),
                                   DataLoaderOptions(3).drop_last(false));
    for (std::string& s : *loader) std::cout << s << "\n";
  }
  {
    auto loader = make_data_loader(PairSet(), EvenSampler(7), 2);
    for (auto& b : *loader) {
      for (auto& p : b) std::cout << p.a << " ";
      std::cout << "|";
    }
    std::cout << "\n";
  }
  {
    auto loader = make_data_loader(Stateful().map(transforms::Stack<>()), DataLoaderOptions(2));
    for (int e = 0; e < 2; ++e)
      for (auto& b : *loader) std::cout << b.data.sum().item<float>() << " ";
    std::cout << "\n";
  }
  {
    auto loader = make_data_loader(Streamed(), samplers::StreamSampler(10), 4);
    for (auto& b : *loader) std::cout << b << " ";
    std::cout << "\n";
  }
  {
    auto loader = make_data_loader(Thrower(), samplers::SequentialSampler(5), DataLoaderOptions(2).workers(1));
    try {
      for (auto& b : *loader) std::cout << b << "\n";
    } catch (const WorkerException& e) {
      std::cout << "caught " << e.what() << "\n";
      try {
        std::rethrow_exception(e.original_exception);
      } catch (std::runtime_error& x) {
        std::cout << x.what() << "\n";
      }
    }
  }
  {
    auto shared = datasets::make_shared_dataset<SeriesDataset>(20, 3);
    auto loader = make_data_loader(shared, DataLoaderOptions().batch_size(5));
    int n = 0;
    for (auto& b : *loader) n += b.size();
    std::cout << n << " " << shared->w << "\n";
  }
  samplers::RandomSampler r(6);
  auto i1 = r.next(4);
  std::cout << *i1 << " " << r.index() << " ";
  torch::serialize::OutputArchive o;
  r.save(o);
  std::stringstream ss;
  o.save_to(ss);
  torch::serialize::InputArchive in;
  in.load_from(ss);
  samplers::RandomSampler r2(6);
  r2.load(in);
  std::cout << *r2.next(4) << *r.next(4) << (r.next(1) == torch::nullopt) << "\n";
  samplers::DistributedRandomSampler d(10, 2, 0, false);
  d.set_epoch(3);
  d.reset();
  std::cout << d.next(10).value().size() << " " << d.epoch() << "\n";
  samplers::DistributedSequentialSampler q(10, 3, 1, true);
  std::cout << *q.next(5) << "\n";
  std::vector<Example<>> v;
  for (int i = 0; i < 3; ++i) v.emplace_back(torch::full({2}, i), torch::tensor(i));
  auto st = transforms::Stack<>().apply_batch(v);
  std::cout << st.data << st.target << "\n";
  TensorExample te(torch::ones(2));
  auto tst = transforms::Stack<TensorExample>().apply_batch({te, te});
  std::cout << tst.data.sizes() << "\n";
  datasets::TensorDataset td(std::vector<torch::Tensor>{torch::zeros(2), torch::ones(2)});
  std::cout << td.get(1).data << td.size().value() << "\n";
  auto b = AddNoise().apply_batch(v);
  std::cout << b.size() << b[1].data << "\n";
}

}  // namespace

KINDLING_PROGRAM(loading, run);
