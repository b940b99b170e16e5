// Modules that hold others: lists, dictionaries, sequences, parameters; their names, text and errors.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using namespace torch::nn;
struct BlockImpl : Module {
  Conv2d c{nullptr};
  BatchNorm2d b{nullptr};
  BlockImpl(int i, int o) {
    c = register_module("c", Conv2d(Conv2dOptions(i, o, 3).padding(1).bias(false)));
    b = register_module("b", BatchNorm2d(o));
  }
  torch::Tensor forward(torch::Tensor x) { return torch::relu(b(c(x))); }
};
TORCH_MODULE(Block);
struct NetImpl : Module {
  Sequential s;
  ModuleList l;
  ModuleDict d;
  ParameterList pl;
  ParameterDict pd;
  torch::Tensor w, buf;
  NetImpl() {
    s = register_module("s", Sequential(Block(3, 4), MaxPool2d(2), Functional(torch::relu), Flatten()));
    l = register_module("l", ModuleList(Linear(2, 2), Dropout(0.3)));
    d = register_module("d", ModuleDict());
    d->update({{"act", ReLU().ptr()}, {"lin", Linear(3, 1).ptr()}});
    w = register_parameter("w", torch::ones({2}));
    buf = register_buffer("buf", torch::zeros({2}, torch::kLong));
    register_parameter("none", torch::Tensor(), false);
    pl = register_module("pl", ParameterList());
    pl->append(torch::ones({3}));
    pd = register_module("pd", ParameterDict());
    pd->insert("k", torch::ones({1, 2}));
  }
  void pretty_print(std::ostream& o) const override { o << "MyNet(custom)"; }
};
TORCH_MODULE(Net);
void run() {
  torch::manual_seed(1);
  Net n;
  std::cout << n << "\n" << n->s << "\n" << n->l << "\n" << n->d << "\n" << n->pl << "\n" << n->pd << "\n";
  for (auto& p : n->named_parameters()) std::cout << p.key() << " " << p.value().sizes() << "\n";
  for (auto& p : n->named_buffers()) std::cout << p.key() << " " << p.value().dtype() << "\n";
  for (auto& p : n->named_modules("root")) std::cout << p.key() << " " << p.value()->name() << "\n";
  for (auto& c : n->named_children()) std::cout << c.key() << "\n";
  std::cout << n->parameters().size() << n->parameters(false).size() << n->buffers().size() << n->modules().size()
            << n->modules(false).size() << n->children().size() << "\n";
  n->to(torch::kDouble);
  for (auto& p : n->named_parameters()) std::cout << p.key() << " " << p.value().dtype() << "\n";
  for (auto& p : n->named_buffers()) std::cout << p.key() << " " << p.value().dtype() << "\n";
  n->to(torch::kFloat);
  std::cout << n->is_training() << n->s[0]->is_training();
  n->eval();
  std::cout << n->is_training() << n->l[1]->is_training() << "\n";
  n->train();
  n->apply([](Module& m) { std::cout << m.name() << ";"; });
  std::cout << "\n";
  n->apply([](const std::string& k, Module& m) { std::cout << k << ";"; }, "x");
  std::cout << "\n";
  auto y = n->s->forward(torch::ones({2, 3, 4, 4}));
  std::cout << y.sizes() << "\n";
  y.sum().backward();
  for (auto& p : n->named_parameters()) std::cout << p.key() << p->grad().defined();
  std::cout << "\n";
  n->zero_grad();
  std::cout << n->s[0]->parameters()[0].grad().defined() << "\n";
  auto c = n.ptr();
  REFUSED(n->clone());
  {
    torch::NoGradGuard g;
    c->w.add_(1);
  }
  std::cout << n->w << c->w << c->named_parameters().size() << "\n";
  REFUSED(n->register_parameter("w", torch::ones(1)));
  REFUSED(n->register_parameter("a.b", torch::ones(1)));
  REFUSED(n->register_parameter("", torch::ones(1)));
  REFUSED(n->register_buffer("w", torch::ones(1)));
  REFUSED(n->register_module("s", Linear(1, 1)));
  REFUSED(n->register_module("buf2", Linear(nullptr)));
  REFUSED(n->unregister_module("nope"));
  REFUSED(n->register_parameter("intp", torch::ones({1}, torch::kLong)));
  REFUSED(n->l[7]);
  REFUSED(n->s[9]);
  REFUSED(n->d["zz"]);
  REFUSED(n->s->at<LinearImpl>(0));
  REFUSED(Linear(nullptr)->weight);
  REFUSED(Sequential()->forward(torch::ones(1)));
  REFUSED(Sequential(Linear(1, 1))->forward<int>(torch::ones({1, 1})));
  REFUSED(AnyModule(Linear(1, 1)).get<ReLU>());
  REFUSED(AnyModule(Linear(1, 1)).forward(1));
  REFUSED(n->d->pop("zz"));
  REFUSED(n->pd->get("z"));
  REFUSED(n->pd->pop("z"));
  REFUSED(n->pl->at(5));
  REFUSED(n->register_parameter("gr", torch::ones({1}, torch::requires_grad()) * 2));
  REFUSED(n->l->insert(9, Linear(1, 1)));
  std::cout << n->d->size() << n->d->contains("act") << n->d->empty();
  for (auto& k : n->d->keys()) std::cout << k << ",";
  std::cout << "\n";
  n->pd->insert("q", torch::zeros({2}));
  std::cout << n->pd->size() << n->pd->keys() << n->pd->pop("k") << n->pd << "\n";
  n->pd->clear();
  std::cout << n->pd << n->pd->empty() << "\n";
  n->pl->append(torch::ones({2, 2}, torch::requires_grad()));
  std::cout << n->pl << (*n->pl)[1] << "\n";
  for (auto it = n->pl->begin(); it != n->pl->end(); ++it) std::cout << it->key() << it->value().sizes();
  std::cout << "\n";
  n->l->push_back(Linear(2, 3));
  n->l->extend(std::vector<std::shared_ptr<Module>>{ReLU().ptr()});
  std::cout << n->l << n->l->size() << "\n";
  for (const auto& m : *n->l) std::cout << m->name() << ",";
  std::cout << "\n";
  Sequential sq({{"a", Linear(2, 3)}, {"b", ReLU()}});
  sq->push_back("c", Linear(3, 1));
  std::cout << sq << sq->size() << "\n";
  for (auto& m : *sq) std::cout << m.ptr()->name() << " ";
  for (auto& p : sq->named_parameters()) std::cout << p.key() << " ";
  std::cout << sq->is_empty() << (*sq)[0]->name() << "\n";
  Sequential s2;
  s2->extend(*sq);
  std::cout << s2 << "\n";
  auto sc = std::dynamic_pointer_cast<SequentialImpl>(sq->clone());
  std::cout << sc->size() << torch::equal(sc->parameters()[0], sq->parameters()[0]) << "\n";
  REFUSED(sq->push_back("c", ReLU()));
  REFUSED(sq->push_back("x.y", ReLU()));
  AnyModule am(Linear(2, 2));
  std::cout << am.get<Linear>()->weight.sizes() << am.is_empty() << am.forward(torch::ones({1, 2})).sizes()
            << am.ptr()->name() << "\n";
  std::cout << Linear(1, 2) << Linear(LinearOptions(1, 2).bias(false))
            << Conv2d(Conv2dOptions(1, 2, 3).stride(2).padding(1).dilation(2).bias(false).padding_mode(torch::kReflect))
            << Conv2d(Conv2dOptions(4, 4, {1, 2}).groups(2).padding(torch::kSame))
            << ConvTranspose2d(ConvTranspose2dOptions(1, 2, 3).stride(2).output_padding(1)) << BatchNorm1d(3)
            << LayerNorm(LayerNormOptions({2, 3}).elementwise_affine(false)) << GroupNorm(1, 2) << InstanceNorm2d(3)
            << LSTM(LSTMOptions(2, 3).num_layers(2).bidirectional(true).dropout(.5).batch_first(true)) << GRU(2, 3)
            << RNN(RNNOptions(2, 3).nonlinearity(torch::kReLU)) << LSTMCell(1, 2)
            << Embedding(EmbeddingOptions(3, 4).padding_idx(0)) << EmbeddingBag(3, 4) << MultiheadAttention(4, 2)
            << Dropout2d(.25) << MaxPool2d(MaxPool2dOptions(2).stride(1).ceil_mode(true)) << AvgPool2d(2)
            << AdaptiveAvgPool2d(1) << AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({torch::nullopt, 2})) << Softmax(1)
            << LogSoftmax(LogSoftmaxOptions(1)) << LeakyReLU(LeakyReLUOptions().negative_slope(.1).inplace(true))
            << ELU() << PReLU() << GELU() << SiLU() << Hardtanh() << Softplus() << Threshold(1, 2)
            << Upsample(
                   UpsampleOptions().scale_factor(std::vector<double>({2})).mode(torch::kBilinear).align_corners(true))
            << ZeroPad2d(1) << ConstantPad1d(ConstantPad1dOptions({1, 2}, 3.5)) << ReflectionPad2d(1) << PixelShuffle(2)
            << Identity() << Flatten() << Unflatten(1, std::vector<int64_t>{2, 2}) << Fold(FoldOptions({3, 3}, {2, 2}))
            << Bilinear(1, 2, 3) << CosineSimilarity(CosineSimilarityOptions().dim(1)) << CrossEntropyLoss()
            << MSELoss() << L1Loss() << SmoothL1Loss() << BCELoss() << NLLLoss() << KLDivLoss() << TripletMarginLoss()
            << TransformerEncoderLayer(4, 2) << LocalResponseNorm(2) << CrossMapLRN2d(2) << MaxUnpool2d(2)
            << FractionalMaxPool2d(FractionalMaxPool2dOptions(2).output_size(1)) << LPPool2d(2, 3) << GLU() << RReLU()
            << CELU() << Softshrink() << Tanhshrink() << LogSigmoid() << Hardshrink() << Mish() << Softmax2d()
            << Softsign() << Unfold(2) << PairwiseDistance() << HingeEmbeddingLoss() << CTCLoss() << PoissonNLLLoss()
            << MarginRankingLoss() << HuberLoss() << AlphaDropout() << "\n";
  std::cout << TransformerEncoder(TransformerEncoderLayer(4, 2), 2) << Transformer(TransformerOptions(4, 2, 1, 1))
            << "\n";
  struct Plain : torch::nn::Module {};
  Plain p;
  std::cout << p.name() << "|" << Module("given").name() << "\n";
  auto sp = std::make_shared<Plain>();
  std::cout << *sp << (sp->as<Linear>() == nullptr) << (n->s[0]->as<Block>() != nullptr) << "\n";
  REFUSED(sp->clone());
}
}  // namespace

KINDLING_PROGRAM(containers, run);
