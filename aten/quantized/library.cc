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

// `base`: "conv2d", `packed`: the class of its weights.
template <class Packed>
void define_convolution(torch::Library& m, const std::string& name, const std::string& packed, bool transposed) {
  const std::string geometry = transposed
                                   ? "int[] stride, int[] padding, int[] output_padding, int[] dilation, int groups"
                                   : "int[] stride, int[] padding, int[] dilation, int groups";
  const std::string own = packed + " packed_weights";
  m.def(name + "_prepack(Tensor weight, Tensor? bias, " + geometry + ") -> " + packed);
  m.def(name + "_unpack(" + own + ") -> (Tensor unpacked_weights, Tensor? B_origin)",
        [](const Handle<Packed>& w) -> State { return w->unpack(); });
  m.def(name + "_stride(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->stride; });
  m.def(name + "_padding(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->padding; });
  m.def(name + "_output_padding(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->output_padding; });
  m.def(name + "_dilation(" + own + ") -> int[]", [](const Handle<Packed>& w) { return w->dilation; });
  m.def(name + "_groups(" + own + ") -> int", [](const Handle<Packed>& w) { return w->groups; });
  m.def(name + "_transpose(" + own + ") -> int",
        [](const Handle<Packed>& w) { return static_cast<int64_t>(w->transposed); });
  const std::string call =
      "(Tensor qx, " + packed + " packed_weight, float output_scale, int output_zero_point) -> Tensor";
  // Names with the overload "new" took the geometry of other ones, which are gone.
  const bool has_new = !transposed && name != "conv1d";
  m.def(name + (has_new ? ".new" : "") + call);
  if (!transposed) m.def(name + "_relu" + (has_new ? ".new" : "") + call);
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
  m.class_<EmbeddingPackedParams>("EmbeddingPackedParamsBase")
      .def("embeddingbag_byte_weight", [](const Handle<EmbeddingPackedParams>& w) { return w->weight; });

  const std::string classes = "__torch__.torch.classes.quantized.", linear = classes + "LinearPackedParamsBase";
  const std::string output = ", float output_scale, int output_zero_point) -> Tensor";

  // --- arithmetic ---
  for (const std::string op : {"add", "mul"}) {
    for (const std::string relu : {"", "_relu"}) {
      m.def(op + relu + "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc");
      m.def(op + relu + ".out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out");
      m.def(op + relu + ".Scalar(Tensor qa, Scalar b) -> Tensor qc");
      m.def(op + "_scalar" + relu + "(Tensor qa, Scalar b) -> Tensor qc");
    }
  }
  m.def("cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor");
  m.def("cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor");
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
  m.def("threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor");
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
  m.def("group_norm(Tensor qx, int num_groups, Tensor? weight, Tensor? bias, float eps" + output);
  m.def("instance_norm(Tensor qx, Tensor? weight, Tensor? bias, float eps" + output);

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

  // --- tables of vectors ---
  const std::string table = classes + "EmbeddingPackedParamsBase";
  m.def("embedding_bag_prepack(Tensor weight) -> " + table + " W_prepack");
  m.def("embedding_bag_unpack(" + table + " W_prepack) -> Tensor W_origin",
        [](const Handle<EmbeddingPackedParams>& w) { return w->weight; });
  m.def("embedding_byte(" + table + " weight, Tensor indices, bool pruned_weights=False) -> Tensor");
  m.def("embedding_bag_byte(" + table +
        " weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, "
        "int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, "
        "Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor");

  // --- recurrent cells ---
  const std::string weights = linear + " w_ih, " + linear + " w_hh, Tensor b_ih, Tensor b_hh";
  m.def("quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, " + weights + ") -> (Tensor, Tensor)");
  for (const std::string kind : {"gru", "rnn_relu", "rnn_tanh"}) {
    m.def("quantized_" + kind + "_cell_dynamic(Tensor input, Tensor hx, " + weights + ") -> Tensor");
  }
}

}  // namespace at::quantized
