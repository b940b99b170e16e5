// The operators of torch.ops.quantized: their schemas, and the classes of packed weights.
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/core/custom_class.h"
#include "aten/core/library.h"
#include "aten/quantized/packed_weights.h"

namespace at::quantized {
namespace {

template <class T>
using Handle = c10::intrusive_ptr<T>;
using State = std::tuple<Tensor, std::optional<Tensor>>;

// `packed`: the class of its weights.
template <class Packed>
void define_convolution(torch::Library& m, const std::string& name, const std::string& packed, bool transposed) {
  const std::string geometry = transposed
                                   ? "int[] stride, int[] padding, int[] output_padding, int[] dilation, int groups"
                                   : "int[] stride, int[] padding, int[] dilation, int groups";
  const std::string own = packed + " packed_weights";
  m.def(name + "_prepack(Tensor weight, Tensor? bias, " + geometry + ") -> " + packed);
  m.def(name + "_unpack(" + own + ") -> (Tensor unpacked_weights, Tensor? B_origin)",
        [](const Handle<Packed>& w) -> State { return w->unpack(); });
  // Those of one dimension are kept as two.
  const bool one = name.ends_with("1d");
  if (!one) {
    m.def(name + "_stride(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->stride; });
    m.def(name + "_padding(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->padding; });
    m.def(name + "_output_padding(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->output_padding; });
    m.def(name + "_dilation(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->dilation; });
    m.def(name + "_groups(" + own + ") -> int", [](const Handle<Packed>& w) { return w->groups; });
    m.def(name + "_transpose(" + own + ") -> int",
          [](const Handle<Packed>& w) { return static_cast<int64_t>(w->transposed); });
  }
  const std::string call =
      "(Tensor qx, " + packed + " packed_weight, float output_scale, int output_zero_point) -> Tensor";
  if (transposed || one) {
    m.def(name + call);
    if (one && !transposed) m.def(name + "_relu" + call);
  } else {
    // The geometry of the calls without "new" is that of the weights.
    const std::string old =
        "(Tensor qx, " + packed + " weight, " + geometry + ", float output_scale, int output_zero_point) -> Tensor";
    for (const std::string relu : {"", "_relu"}) {
      m.def(name + relu + ".new" + call);
      m.def(name + relu + old);
    }
  }
  m.def(name + "_dynamic(Tensor qx, " + packed + " packed_weight, bool reduce_range=False) -> Tensor");
}

template <class Packed>
void define_convolution_class(torch::Library& m, const std::string& name) {
  m.class_<Packed>(name)
      .def("unpack", [](const Handle<Packed>& w) -> State { return w->unpack(); })
      .def("stride", [](const Handle<Packed>& w) { return w->stride; })
      .def("padding", [](const Handle<Packed>& w) { return w->padding; })
      .def("output_padding", [](const Handle<Packed>& w) { return w->output_padding; })
      .def("dilation", [](const Handle<Packed>& w) { return w->dilation; })
      .def("groups", [](const Handle<Packed>& w) { return w->groups; })
      .def("transpose", [](const Handle<Packed>& w) { return w->transposed; });
}

// The sizes of weight and bias, stride, padding, dilation and groups.
c10::IValue sizes_of_convolution(const c10::IValue& packed_weights) {
  const auto w = packed_weights.toCustomClass<Conv2dPackedParams>();
  const auto sizes = [](const Tensor& t) { return c10::IValue(t.sizes().vec()); };
  const c10::IValue bias = w->bias.has_value() ? sizes(*w->bias) : c10::IValue();
  return c10::ivalue::Tuple::create({sizes(w->weight), bias, w->stride, w->padding, w->dilation, w->groups});
}

}  // namespace

TORCH_LIBRARY(quantized, m) {
  m.class_<LinearPackedParams>("LinearPackedParamsBase")
      .def("unpack", [](const Handle<LinearPackedParams>& w) -> State { return w->unpack(); })
      .def("bias", [](const Handle<LinearPackedParams>& w) { return w->bias; })
      .def_pickle(
          [](const Handle<LinearPackedParams>& w) -> State { return w->unpack(); },
          [](State state) { return c10::make_intrusive<LinearPackedParams>(std::get<0>(state), std::get<1>(state)); });
  define_convolution_class<Conv2dPackedParams>(m, "Conv2dPackedParamsBase");
  define_convolution_class<Conv3dPackedParams>(m, "Conv3dPackedParamsBase");
  // A version, the weight and its bits.
  using EmbeddingState = std::tuple<int64_t, std::vector<Tensor>, std::vector<double>, std::vector<int64_t>>;
  m.class_<EmbeddingPackedParams>("EmbeddingPackedParamsBase")
      .def("bit_rate", [](const Handle<EmbeddingPackedParams>& w) { return static_cast<int64_t>(w->bits); })
      .def("unpack", [](const Handle<EmbeddingPackedParams>& w) { return w->unpack(); })
      .def("version", [](const Handle<EmbeddingPackedParams>&) -> int64_t { return 1; })
      .def_pickle(
          [](const Handle<EmbeddingPackedParams>& w) -> EmbeddingState {
            return {1, {w->unpack()}, {}, {w->bits}};
          },
          [](EmbeddingState state) {
            TORCH_CHECK(std::get<1>(state).size() == 1, "EmbeddingPackedParamsBase: expected one weight, but got ",
                        std::get<1>(state).size());
            return c10::make_intrusive<EmbeddingPackedParams>(std::get<1>(state)[0]);
          });

  const std::string classes = "__torch__.torch.classes.quantized.", linear = classes + "LinearPackedParamsBase";
  const std::string output = ", float output_scale, int output_zero_point) -> Tensor";

  // --- arithmetic ---
  for (const std::string op : {"add", "mul"}) {
    for (const std::string relu : {"", "_relu"}) {
      const std::string into = "Tensor(a!) out) -> Tensor(a!) out";
      m.def(op + relu + "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc");
      m.def(op + relu + ".out(Tensor qa, Tensor qb, " + into);
      m.def(op + relu + "_out(Tensor qa, Tensor qb, " + into);
      m.def(op + relu + ".Scalar(Tensor qa, Scalar b) -> Tensor qc");
      m.def(op + relu + ".Scalar2(Scalar b, Tensor qa) -> Tensor qc");
      m.def(op + relu + ".Scalar_out(Tensor qa, Scalar b, " + into);
      m.def(op + "_scalar" + relu + "(Tensor qa, Scalar b) -> Tensor qc");
      m.def(op + "_scalar" + relu + ".Tensor(Tensor qa, Tensor b) -> Tensor qc");
      m.def(op + "_scalar" + relu + "_out(Tensor qa, Scalar b, " + into);
      m.def(op + "_scalar" + relu + "_out.Tensor(Tensor qa, Tensor b, " + into);
    }
  }
  m.def("cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor");
  m.def("cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor");
  m.def("cat_out(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)");
  m.def("cat_relu_out(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)");
  m.def("matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc");

  // --- activations ---
  m.def("sigmoid(Tensor qx" + output);
  m.def("hardswish(Tensor input" + output);
  m.def("softmax(Tensor qx, int dim" + output);
  m.def("prelu(Tensor qx, Tensor weight" + output);
  m.def("celu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1) -> Tensor");
  m.def(
      "elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, Scalar scale=1, "
      "Scalar input_scale=1) -> Tensor");
  m.def("leaky_relu(Tensor qx, Scalar negative_slope, bool inplace" + output);
  m.def("threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy");
  m.def("clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy");
  m.def("relu6(Tensor qx, bool inplace=False) -> Tensor");
  m.def("dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, bool training=False) -> Tensor");

  // --- pooling and normalisation ---
  for (const std::string dims : {"1", "2", "3"}) {
    m.def("max_pool" + dims +
          "d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, "
          "bool ceil_mode) -> Tensor");
  }
  for (const std::string dims : {"", "1d", "2d", "3d"}) {
    for (const std::string relu : {"", "_relu"}) {
      m.def("batch_norm" + dims + relu +
            "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps" + output);
    }
  }
  m.def("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps" + output);
  m.def("group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps" + output);
  m.def("instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps" + output);

  // --- layers ---
  m.def("linear_prepack(Tensor W, Tensor? B=None) -> " + linear + " W_prepack");
  m.def("linear_unpack(" + linear + " W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
        [](const Handle<LinearPackedParams>& w) -> State { return w->unpack(); });
  const std::string linear_arguments = "(Tensor X, " + linear + " W_prepack, float Y_scale_i, int Y_zero_point_i";
  m.def("linear" + linear_arguments + ") -> Tensor Y");
  m.def("linear_relu" + linear_arguments + ") -> Tensor Y");
  m.def("linear_leaky_relu" + linear_arguments + ", float negative_slope) -> Tensor Y");
  m.def("linear_tanh" + linear_arguments + ") -> Tensor Y");
  m.def("linear_dynamic(Tensor X, " + linear + " W_prepack, bool reduce_range=False) -> Tensor Y");
  m.def("linear_relu_dynamic(Tensor X, " + linear + " W_prepack, bool reduce_range=False) -> Tensor Y");
  m.def("linear_prepack_fp16(Tensor W, Tensor? B=None) -> " + linear + " W_prepack");
  m.def("linear_unpack_fp16(" + linear + " W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
        [](const Handle<LinearPackedParams>& w) -> State { return w->unpack(); });
  m.def("linear_dynamic_fp16(Tensor X, " + linear + " W_prepack) -> Tensor Y");
  m.def("linear_relu_dynamic_fp16(Tensor X, " + linear + " W_prepack) -> Tensor Y");
  m.def("linear_dynamic_fp16_unpacked_weight(Tensor X, Tensor weight, Tensor? bias) -> Tensor Y");
  m.def("int4mm_packed_weight_cpu(Tensor self, Tensor mat2, Tensor qGroupSize, Tensor qScaleAndZeros) -> Tensor");
  for (const std::string relu : {"", "_relu"}) {
    m.def("linear_with_input_q_dq_qweight_dq" + relu + "_output_fp32(Tensor X, float X_scale, int X_zero_point, " +
          linear + " W_prepack) -> Tensor Y");
  }
  define_convolution<Conv2dPackedParams>(m, "conv1d", classes + "Conv2dPackedParamsBase", false);
  define_convolution<Conv2dPackedParams>(m, "conv2d", classes + "Conv2dPackedParamsBase", false);
  define_convolution<Conv3dPackedParams>(m, "conv3d", classes + "Conv3dPackedParamsBase", false);
  define_convolution<Conv2dPackedParams>(m, "conv_transpose1d", classes + "Conv2dPackedParamsBase", true);
  define_convolution<Conv2dPackedParams>(m, "conv_transpose2d", classes + "Conv2dPackedParamsBase", true);
  define_convolution<Conv3dPackedParams>(m, "conv_transpose3d", classes + "Conv3dPackedParamsBase", true);

  // Before there was a class a dimension, and with something added.
  const std::string conv2d = classes + "Conv2dPackedParamsBase";
  m.def("conv_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> " +
        conv2d);
  m.def("conv_unpack(" + conv2d + " packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
        [](const Handle<Conv2dPackedParams>& w) -> State { return w->unpack(); });
  m.def("conv2d_unpack_sizes(Any packed_weights) -> Any", &sizes_of_convolution);
  for (const std::string relu : {"", "_relu"}) {
    m.def("conv2d_add" + relu + "(Tensor qx, Tensor qaccum, " + conv2d + " packed_weight" + output);
  }

  // --- tables of vectors ---
  const std::string table = classes + "EmbeddingPackedParamsBase";
  m.def("embedding_bag_prepack(Tensor weight) -> " + table + " W_prepack");
  m.def("embedding_bag_unpack(" + table + " W_prepack) -> Tensor W_origin",
        [](const Handle<EmbeddingPackedParams>& w) { return w->unpack(); });
  const std::string bags =
      " weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool "
      "pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "
      "include_last_offset=False) -> Tensor";
  for (const std::string bits : {"byte", "4bit"}) {
    m.def("embedding_" + bits + "(" + table + " weight, Tensor indices, bool pruned_weights=False) -> Tensor");
    m.def("embedding_bag_" + bits + "(" + table + bags);
  }
  for (const std::string bits : {"byte", "4bit", "2bit"}) {
    const std::string name = "embedding_bag_" + bits,
                      search = bits == "byte" ? "" : ", bool optimized_qparams=False, int nbins=200, float ratio=0.16";
    m.def(name + "_prepack(Tensor weight" + search + ") -> Tensor");
    m.def(name + "_prepack_with_rowwise_min_max(Tensor weight, Tensor rowwise_min_max" + search + ") -> Tensor");
    m.def(name + "_unpack(Tensor weight) -> Tensor");
    m.def(name + "_rowwise_offsets(Tensor" + bags);
  }
}

// Operators of above and of aten under names of their own, as exported programs have them.
TORCH_LIBRARY(_quantized, m) {
  const std::string classes = "__torch__.torch.classes.quantized.", linear = classes + "LinearPackedParamsBase";
  const std::string geometry = "int[] dilation, int groups) -> ";
  m.def("add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc");
  for (const std::string dims : {"1d", "2d", "3d"}) {
    const std::string packed = classes + (dims == "3d" ? "Conv3dPackedParamsBase" : "Conv2dPackedParamsBase");
    const std::string call =
        "(Tensor qx, " + packed + " packed_weight, float output_scale, int output_zero_point) -> Tensor";
    m.def("conv_transpose" + dims +
          "_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, " + geometry +
          packed);
    if (dims != "3d") m.def("conv_transpose" + dims + call);
    if (dims == "1d") continue;
    m.def("conv" + dims + "_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, " + geometry + packed);
    for (const std::string relu : {"", "_relu"}) m.def("conv" + dims + relu + call);
  }
  m.def("linear(Tensor X, " + linear + " W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y");
  m.def("linear_dynamic(Tensor X, " + linear + " W_prepack, bool reduce_range=False) -> Tensor Y");
  m.def("linear_prepack(Tensor W, Tensor? B=None) -> " + linear + " W_prepack");
  m.def("linear_prepack_fp16(Tensor W, Tensor? B=None) -> " + linear + " W_prepack");
  m.def("wrapped_fbgemm_pack_gemm_matrix_fp16(Tensor W) -> Tensor");
  m.def("wrapped_fbgemm_linear_fp16_weight(Tensor X, Tensor W, Tensor B, int out_channel) -> Tensor");
  m.def(
      "wrapped_quantized_linear(Tensor X, Tensor X_scale, Tensor X_zero_point, Tensor W, Tensor W_scale, Tensor "
      "W_zero_point, Tensor B, Tensor output_scale, Tensor output_zero_point, int out_channel) -> Tensor Y");
}

}  // namespace at::quantized
