// Lazy layers, SyncBatchNorm and containers, as recorded.
#include "aten/ops/creation/ops.h"
#include "nn/layers/layers.h"
#include "nn/module/module_dict.h"
#include "nn/module/module_list.h"
#include "nn/module/parameter_containers.h"
#include "nn/module/sequential.h"
#include "tests/recorded/modules.h"

namespace recorded {
namespace {

namespace nn = torch::nn;
using at::Tensor;
using Tensors = std::vector<Tensor>;

template <size_t D>
torch::ExpandingArray<D> array_of(const Json& c, const char* key, int64_t otherwise) {
  std::vector<int64_t> all = has(c, key) ? integers(c.at(key)) : std::vector<int64_t>{otherwise};
  if (all.size() == 1) all.assign(D, all[0]);
  return torch::ExpandingArray<D>(all);
}

template <typename Holder>
Built plain(Holder holder) {
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors { return {holder->forward(call.inputs.at(0))}; }};
}

template <size_t D, typename Holder>
Built lazy_conv(const Json& c) {
  nn::ConvOptions<D> options(0, integer_of(c, "out_channels", 1), array_of<D>(c, "kernel_size", 1));
  options.stride(array_of<D>(c, "stride", 1))
      .dilation(array_of<D>(c, "dilation", 1))
      .groups(integer_of(c, "groups", 1))
      .bias(flag_of(c, "bias", true));
  if (has(c, "padding") && read(c, "padding").is_string()) {
    if (read(c, "padding") == "same") {
      options.padding(torch::kSame);
    } else {
      options.padding(torch::kValid);
    }
  } else {
    options.padding(array_of<D>(c, "padding", 0));
  }
  const std::string mode = text_of(c, "padding_mode", "zeros");
  if (mode == "reflect") {
    options.padding_mode(torch::kReflect);
  } else if (mode == "replicate") {
    options.padding_mode(torch::kReplicate);
  } else if (mode == "circular") {
    options.padding_mode(torch::kCircular);
  } else if (mode != "zeros") {
    refuse_value("padding_mode", mode);
  }
  return plain(Holder(nn::LazyConvOptions<D>(options)));
}

template <size_t D, typename Holder>
Built lazy_conv_transpose(const Json& c) {
  nn::ConvTransposeOptions<D> options(0, integer_of(c, "out_channels", 1), array_of<D>(c, "kernel_size", 1));
  options.stride(array_of<D>(c, "stride", 1))
      .padding(array_of<D>(c, "padding", 0))
      .output_padding(array_of<D>(c, "output_padding", 0))
      .groups(integer_of(c, "groups", 1))
      .bias(flag_of(c, "bias", true))
      .dilation(array_of<D>(c, "dilation", 1));
  Holder holder((nn::LazyConvTransposeOptions<D>(options)));
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            if (!has(*call.kwargs, "output_size")) return {holder->forward(call.inputs.at(0))};
            const std::vector<int64_t> size = integers(read(*call.kwargs, "output_size"));
            return {holder->forward(call.inputs.at(0), c10::IntArrayRef(size))};
          }};
}

nn::BatchNormOptions batch_norm_options(const Json& c) {
  nn::BatchNormOptions options(integer_of(c, "num_features", 0));
  options.eps(number_of(c, "eps", 1e-5))
      .affine(flag_of(c, "affine", true))
      .track_running_stats(flag_of(c, "track_running_stats", true));
  if (c.contains("momentum"))
    options.momentum(has(c, "momentum") ? std::optional<double>(number_of(c, "momentum", 0)) : std::nullopt);
  return options;
}
nn::LazyInstanceNormOptions instance_norm_options(const Json& c) {
  return nn::InstanceNormOptions(0)
      .eps(number_of(c, "eps", 1e-5))
      .momentum(number_of(c, "momentum", 0.1))
      .affine(flag_of(c, "affine", true))
      .track_running_stats(flag_of(c, "track_running_stats", true));
}

}  // namespace

Built build_lazy(const std::string& name, const Json& c) {
  if (name == "SyncBatchNorm") return plain(nn::SyncBatchNorm(batch_norm_options(c)));
  if (name == "LazyLinear")
    return plain(
        nn::LazyLinear(nn::LazyLinearOptions(integer_of(c, "out_features", 1)).bias(flag_of(c, "bias", true))));
  if (name == "LazyConv1d") return lazy_conv<1, nn::LazyConv1d>(c);
  if (name == "LazyConv2d") return lazy_conv<2, nn::LazyConv2d>(c);
  if (name == "LazyConv3d") return lazy_conv<3, nn::LazyConv3d>(c);
  if (name == "LazyConvTranspose1d") return lazy_conv_transpose<1, nn::LazyConvTranspose1d>(c);
  if (name == "LazyConvTranspose2d") return lazy_conv_transpose<2, nn::LazyConvTranspose2d>(c);
  if (name == "LazyConvTranspose3d") return lazy_conv_transpose<3, nn::LazyConvTranspose3d>(c);
  if (name == "LazyBatchNorm1d") return plain(nn::LazyBatchNorm1d(batch_norm_options(c)));
  if (name == "LazyBatchNorm2d") return plain(nn::LazyBatchNorm2d(batch_norm_options(c)));
  if (name == "LazyBatchNorm3d") return plain(nn::LazyBatchNorm3d(batch_norm_options(c)));
  if (name == "LazyInstanceNorm1d") return plain(nn::LazyInstanceNorm1d(instance_norm_options(c)));
  if (name == "LazyInstanceNorm2d") return plain(nn::LazyInstanceNorm2d(instance_norm_options(c)));
  if (name == "LazyInstanceNorm3d") return plain(nn::LazyInstanceNorm3d(instance_norm_options(c)));
  return {};
}

std::shared_ptr<nn::Module> build_container(const std::string& id) {
  const std::string name = id.substr(id.find('/') + 1);
  const auto parameter = [](Tensor t) { return t.set_requires_grad(true); };
  if (name == "Sequential") return nn::Sequential(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2)).ptr();
  if (name == "Sequential named") {
    return nn::Sequential({{"conv", nn::Conv1d(2, 3, 2)}, {"act", nn::Tanh()}, {"flat", nn::Flatten()}}).ptr();
  }
  if (name == "Sequential nested") {
    nn::Linear first(2, 2);
    nn::Sequential inner(nn::BatchNorm1d(2), nn::ReLU());
    return nn::Sequential(nn::Sequential(first, inner), nn::Dropout(0.1),
                          nn::Linear(nn::LinearOptions(2, 1).bias(false)))
        .ptr();
  }
  if (name == "Sequential empty") return nn::Sequential().ptr();
  if (name == "ModuleList") {
    nn::ModuleList list;
    list->push_back(nn::Linear(2, 3));
    list->push_back(nn::Linear(3, 1));
    return list.ptr();
  }
  if (name == "ModuleList repeated") {
    nn::ModuleList list;
    for (int i = 0; i < 3; ++i) list->push_back(nn::Linear(2, 2));
    list->push_back(nn::ReLU());
    return list.ptr();
  }
  using Modules = std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>;
  if (name == "ModuleDict") {
    return nn::ModuleDict(Modules{{"conv", nn::Conv2d(1, 2, 3).ptr()}, {"pool", nn::MaxPool2d(2).ptr()}}).ptr();
  }
  if (name == "ParameterList") return nn::ParameterList(parameter(at::ones({2, 3})), parameter(at::zeros({4}))).ptr();
  if (name == "ParameterDict") {
    nn::ParameterDict dict;
    dict->insert("left", parameter(at::ones({2})));
    dict->insert("right", parameter(at::ones({2, 1})));
    return dict.ptr();
  }
  if (name == "mixed") {
    nn::ModuleList body;
    body->push_back(nn::Sequential(nn::Linear(2, 4), nn::GELU()));
    body->push_back(nn::Identity());
    return nn::ModuleDict(Modules{{"body", body.ptr()}, {"head", nn::Linear(4, 1).ptr()}}).ptr();
  }
  return nullptr;
}

}  // namespace recorded
