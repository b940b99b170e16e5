// Norms, recurrent networks, attention, transforms of signals.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "aten/aten.h"
#include "export/onnx/boxed.h"
#include "export/onnx/callables.h"
#include "export/onnx/runtime.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

// --- norms ---

Ints sizes_from(const Tensor& x, int64_t axis) {
  axis = axis_of(x, axis);
  return Ints(x.sizes().begin() + axis, x.sizes().end());
}
std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& x, const Tensor& scale, const MaybeTensor& bias,
                                              int64_t axis, double epsilon) {
  const auto [normed, mean, rstd] = at::native_layer_norm(x, sizes_from(x, axis), std::nullopt, std::nullopt, epsilon);
  Tensor out = at::mul(normed, scale);
  if (bias.has_value()) out = at::add(out, *bias);
  return {out, at::to(mean, ScalarType::Float), at::to(rstd, ScalarType::Float)};
}
Tensor rms_norm(const Tensor& x, const Tensor& scale, int64_t axis, double epsilon) {
  const Ints sizes = sizes_from(x, axis);
  if (scale.sizes() == c10::IntArrayRef(sizes)) return at::rms_norm(x, sizes, scale, epsilon);
  return at::mul(at::rms_norm(x, sizes, std::nullopt, epsilon), scale);
}
Tensor for_each_channel(const Tensor& one_a_group, const Tensor& x) {
  const int64_t groups = one_a_group.numel();
  TORCH_CHECK_VALUE(x.dim() >= 2 && groups > 0 && x.size(1) % groups == 0, x.sizes(), " channels in ", groups,
                    " groups");
  return at::repeat_interleave(one_a_group, x.size(1) / groups);
}
std::tuple<Tensor, Tensor> dropout(const Tensor& x, const MaybeTensor& ratio, const Tensor& training) {
  const double p = ratio.has_value() ? ratio->item().toDouble() : 0.5;
  if (!training.item().toBool() || p == 0) return {x, at::ones_like(x, at::TensorOptions().dtype(ScalarType::Bool))};
  TORCH_CHECK_VALUE(p > 0 && p < 1, "Dropout with a ratio of ", p);
  const Tensor mask = at::bernoulli(at::full_like(x, 1 - p));
  return {at::mul(at::mul(x, mask), 1 / (1 - p)), at::to(mask, ScalarType::Bool)};
}

// --- recurrent networks ---

struct Activation {
  std::string name;
  double alpha, beta;

  Tensor operator()(const Tensor& x) const {
    if (name == "sigmoid") return at::sigmoid(x);
    if (name == "tanh") return at::tanh(x);
    if (name == "relu") return at::relu(x);
    if (name == "affine") return at::add(at::mul(x, alpha), beta);
    if (name == "leakyrelu") return at::leaky_relu(x, alpha);
    if (name == "thresholdedrelu") return at::threshold(x, alpha, 0);
    if (name == "scaledtanh") return at::mul(at::tanh(at::mul(x, beta)), alpha);
    if (name == "hardsigmoid") return at::clamp(at::add(at::mul(x, alpha), beta), 0, 1);
    if (name == "elu") return at::elu(x, alpha);
    if (name == "softsign") return at::div(x, at::add(at::abs(x), 1));
    if (name == "softplus") return at::softplus(x);
    TORCH_CHECK_VALUE(false, "an unknown activation '", name.substr(0, 40), "'");
  }
};
// The functions of all directions in a row, with their numbers.
std::vector<Activation> activations_of(const std::string& kind, size_t directions,
                                       const std::vector<std::string>& names, const std::vector<double>& alphas,
                                       const std::vector<double>& betas) {
  std::vector<std::string> own = names;
  if (own.empty()) {
    for (size_t d = 0; d < directions; ++d) {
      if (kind != "rnn") own.emplace_back("sigmoid");
      own.emplace_back("tanh");
      if (kind == "lstm") own.emplace_back("tanh");
    }
  }
  const size_t wanted = directions * (kind == "lstm" ? 3 : kind == "gru" ? 2 : 1);
  TORCH_CHECK_VALUE(own.size() == wanted, "expected ", wanted, " activations, but got ", own.size());
  std::vector<Activation> all;
  for (size_t k = 0; k < own.size(); ++k) {
    std::string name = own[k];
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const double alpha = name == "leakyrelu"     ? 0.01
                         : name == "hardsigmoid" ? 0.2
                                                 : 1,
                 beta = name == "hardsigmoid"  ? 0.5
                        : name == "scaledtanh" ? 1
                                               : 0;
    all.push_back({name, k < alphas.size() ? alphas[k] : alpha, k < betas.size() ? betas[k] : beta});
  }
  return all;
}

std::tuple<Tensor, Tensor, Tensor> recurrent(const std::string& kind, const Tensor& input, const Tensor& w,
                                             const Tensor& r, const MaybeTensor& b, const MaybeTensor& lengths,
                                             const MaybeTensor& initial_h, const MaybeTensor& initial_c,
                                             const MaybeTensor& peephole, const std::string& direction, int64_t hidden,
                                             bool batch_first, double clip, bool before_reset, bool coupled,
                                             const std::vector<std::string>& names, const std::vector<double>& alphas,
                                             const std::vector<double>& betas) {
  const int64_t gates = kind == "lstm" ? 4 : kind == "gru" ? 3 : 1;
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  TORCH_CHECK_VALUE(input.dim() == 3 && w.dim() == 3 && r.dim() == 3 && w.size(0) == directions &&
                        r.size(0) == directions && w.size(1) == r.size(1) && r.size(1) == gates * r.size(2) &&
                        (hidden == 0 || hidden == r.size(2)) && w.size(2) == input.size(2),
                    "a recurrent network (", kind, ", ", direction, ", hidden size ", hidden, ") of sizes ",
                    input.sizes(), " with weights of sizes ", w.sizes(), " and ", r.sizes());
  hidden = r.size(2);
  const Tensor x = batch_first ? at::transpose(input, 0, 1) : input;  // time, batch, values
  const int64_t time = x.size(0), batch = x.size(1);
  const auto check = [&](const MaybeTensor& t, const Ints& sizes, const char* what) {
    TORCH_CHECK_VALUE(!t.has_value() || t->sizes() == c10::IntArrayRef(sizes), "expected ", what, " of sizes ", sizes,
                      ", but got ", t->sizes());
  };
  const Ints state = batch_first ? Ints{batch, directions, hidden} : Ints{directions, batch, hidden};
  check(b, {directions, 2 * gates * hidden}, "a bias");
  check(lengths, {batch}, "lengths");
  check(initial_h, state, "an initial state");
  check(initial_c, state, "an initial cell");
  check(peephole, {directions, 3 * hidden}, "peepholes");
  const std::vector<Activation> activations =
      activations_of(kind, static_cast<size_t>(directions), names, alphas, betas);
  const size_t functions = activations.size() / static_cast<size_t>(directions);
  const auto clipped = [&](const Tensor& v) { return clip > 0 ? at::clamp(v, -clip, clip) : v; };
  Tensor step_of_length;
  if (lengths.has_value()) step_of_length = at::to(*lengths, ScalarType::Long).reshape({batch, 1});

  std::vector<Tensor> outputs, last_h, last_c;
  for (int64_t d = 0; d < directions; ++d) {
    const bool backward = direction == "reverse" || d == 1;
    const Activation* f = &activations[static_cast<size_t>(d) * functions];
    const Tensor r_d = at::select(r, 0, d);
    Tensor bias_x, bias_h;
    if (b.has_value()) {
      const Tensor both = at::select(*b, 0, d);
      bias_x = at::narrow(both, 0, 0, gates * hidden), bias_h = at::narrow(both, 0, gates * hidden, gates * hidden);
    } else {
      bias_x = bias_h = at::zeros({gates * hidden}, x.options());
    }
    const auto initial = [&](const MaybeTensor& given) {
      if (!given.has_value()) return at::zeros({batch, hidden}, x.options());
      return at::select(*given, batch_first ? 1 : 0, d);
    };
    Tensor h = initial(initial_h), c = initial(initial_c);
    const auto part = [hidden](const Tensor& v, int64_t k) { return at::narrow(v, -1, k * hidden, hidden); };
    Tensor p_i, p_o, p_f;
    if (peephole.has_value()) {
      const Tensor p = at::select(*peephole, 0, d);
      p_i = part(p, 0), p_o = part(p, 1), p_f = part(p, 2);
    }
    // All products with the inputs at once.
    const Tensor from_x = at::linear(x, at::select(w, 0, d), bias_x);
    std::vector<Tensor> steps(static_cast<size_t>(time));
    for (int64_t k = 0; k < time; ++k) {
      const int64_t t = backward ? time - 1 - k : k;
      const Tensor g_x = at::select(from_x, 0, t);
      Tensor next_h, next_c = c;
      if (kind == "rnn") {
        next_h = f[0](clipped(at::add(g_x, at::linear(h, r_d, bias_h))));
      } else if (kind == "gru") {
        const Tensor zr_r = at::narrow(r_d, 0, 0, 2 * hidden), h_r = at::narrow(r_d, 0, 2 * hidden, hidden);
        const Tensor zr = f[0](clipped(
            at::add(at::narrow(g_x, -1, 0, 2 * hidden), at::linear(h, zr_r, at::narrow(bias_h, 0, 0, 2 * hidden)))));
        const Tensor z = part(zr, 0), reset = part(zr, 1), own_bias = at::narrow(bias_h, 0, 2 * hidden, hidden);
        const Tensor from_h =
            before_reset ? at::linear(at::mul(reset, h), h_r, own_bias) : at::mul(reset, at::linear(h, h_r, own_bias));
        const Tensor candidate = f[1](clipped(at::add(part(g_x, 2), from_h)));
        next_h = at::add(at::mul(at::rsub(z, 1), candidate), at::mul(z, h));
      } else {
        const Tensor g = at::add(g_x, at::linear(h, r_d, bias_h));
        const auto looking = [&](const Tensor& v, const Tensor& p, const Tensor& cell) {
          return p.defined() ? at::add(v, at::mul(p, cell)) : v;
        };
        const Tensor in = f[0](clipped(looking(part(g, 0), p_i, c)));
        const Tensor forget = coupled ? at::rsub(in, 1) : f[0](clipped(looking(part(g, 2), p_f, c)));
        next_c = at::add(at::mul(forget, c), at::mul(in, f[1](clipped(part(g, 3)))));
        const Tensor out = f[0](clipped(looking(part(g, 1), p_o, next_c)));
        next_h = at::mul(out, f[2](next_c));
      }
      if (step_of_length.defined()) {
        // Beyond the end of a sequence its state stays, and its output is 0.
        const Tensor runs = at::gt(step_of_length, t);
        steps[static_cast<size_t>(t)] = at::where(runs, next_h, at::zeros_like(next_h));
        next_h = at::where(runs, next_h, h), next_c = at::where(runs, next_c, c);
      } else {
        steps[static_cast<size_t>(t)] = next_h;
      }
      h = next_h, c = next_c;
    }
    outputs.push_back(time == 0 ? at::zeros({0, batch, hidden}, x.options()) : at::stack(steps, 0));
    last_h.push_back(h), last_c.push_back(c);
  }
  // time, direction, batch, hidden; or batch, time, direction, hidden.
  Tensor y = at::stack(outputs, 1);
  if (batch_first) y = at::permute(y, {2, 0, 1, 3});
  const int64_t at = batch_first ? 1 : 0;
  return {y, at::stack(last_h, at), at::stack(last_c, at)};
}

// --- attention ---

Tensor heads_of(const Tensor& x, int64_t heads) {
  if (x.dim() == 4) return x;
  TORCH_CHECK_VALUE(x.dim() == 3 && heads > 0 && x.size(2) % heads == 0, "attention of sizes ", x.sizes(), " with ",
                    heads, " heads");
  return at::transpose(x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
std::tuple<Tensor, Tensor, Tensor, Tensor> attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                                                     const MaybeTensor& mask, const MaybeTensor& past_k,
                                                     const MaybeTensor& past_v, const MaybeTensor& lengths, bool causal,
                                                     int64_t q_heads, int64_t kv_heads, std::optional<double> scale,
                                                     double softcap, int64_t mode, int64_t left, int64_t right,
                                                     ScalarType softmax_dtype) {
  TORCH_CHECK_VALUE(past_k.has_value() == past_v.has_value(), "attention with a past of keys or values alone");
  const Tensor q = heads_of(q_in, q_heads);
  Tensor k = heads_of(k_in, kv_heads), v = heads_of(v_in, kv_heads);
  int64_t past = 0;
  if (past_k.has_value()) {
    past = past_k->dim() == 4 ? past_k->size(2) : 0;
    k = at::cat({*past_k, k}, 2), v = at::cat({*past_v, v}, 2);
  }
  TORCH_CHECK_VALUE(k.size(1) > 0 && q.size(1) % k.size(1) == 0 && v.size(1) == k.size(1) && v.size(2) == k.size(2),
                    "attention of ", q.sizes(), " to ", k.sizes(), " and ", v.sizes());
  const int64_t queries = q.size(2), keys = k.size(2), repeats = q.size(1) / k.size(1);
  const Tensor all_k = repeats == 1 ? k : at::repeat_interleave(k, repeats, 1);
  const Tensor all_v = repeats == 1 ? v : at::repeat_interleave(v, repeats, 1);
  const double factor = std::sqrt(scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3)))));
  Tensor scores = at::matmul(at::mul(q, factor), at::transpose(at::mul(all_k, factor), 2, 3));
  Tensor shown = scores;
  if (softcap > 0) scores = at::mul(at::tanh(at::div(scores, softcap)), softcap);
  if (mode == 1) shown = scores;

  // Which keys each query sees.
  const auto options = at::TensorOptions().dtype(ScalarType::Long);
  const Tensor key = at::arange(0, keys, options);
  Tensor offset = at::full({1, 1, 1, 1}, past, options);
  Tensor seen;
  const auto also = [&](const Tensor& more) { seen = seen.defined() ? at::logical_and(seen, more) : more; };
  if (lengths.has_value()) {
    TORCH_CHECK_VALUE(lengths->dim() == 1, "expected a length for each of a batch, but got sizes ", lengths->sizes());
    const Tensor valid = at::to(*lengths, ScalarType::Long).reshape({-1, 1, 1, 1});
    also(at::lt(key, valid));
    if (!past_k.has_value()) offset = at::sub(valid, queries);
  }
  const Tensor place = at::add(at::arange(0, queries, options).reshape({queries, 1}), offset);
  if (causal) also(at::le(key, place));
  if (left >= 0) also(at::ge(key, at::sub(place, std::min(left, keys + queries))));
  if (right >= 0) also(at::le(key, at::add(place, std::min(right, keys + queries))));
  if (mask.has_value()) {
    const int64_t missing = keys - mask->size(-1);
    TORCH_CHECK_VALUE(missing >= 0, "a mask of sizes ", mask->sizes(), " for ", keys, " keys");
    if (mask->scalar_type() == ScalarType::Bool) {
      also(missing == 0 ? *mask : at::constant_pad_nd(*mask, Ints{0, missing}, false));
    } else {
      scores = at::add(scores, missing == 0 ? *mask : at::constant_pad_nd(*mask, Ints{0, missing}, -INFINITY));
    }
  }
  if (seen.defined()) scores = at::masked_fill(scores, at::logical_not(seen), -INFINITY);
  if (mode == 2) shown = scores;
  const ScalarType dtype = softmax_dtype == ScalarType::Undefined ? scores.scalar_type() : softmax_dtype;
  Tensor weights = at::to(at::softmax(scores, -1, dtype), q.scalar_type());
  // A query that sees no key gets zeros.
  weights = at::masked_fill(weights, at::all(at::eq(scores, -INFINITY), -1, true), 0);
  if (mode == 3) shown = weights;
  Tensor y = at::matmul(weights, all_v);
  if (q_in.dim() == 3) y = at::transpose(y, 1, 2).reshape({y.size(0), y.size(2), y.size(1) * y.size(3)});
  return {y, k, v, shown};
}
Tensor rotary_embedding(const Tensor& x, const Tensor& cos, const Tensor& sin, const MaybeTensor& places,
                        bool interleaved, int64_t heads, int64_t rotated) {
  TORCH_CHECK_VALUE(x.dim() == 4 || (x.dim() == 3 && heads > 0 && x.size(2) % heads == 0),
                    "a rotary embedding of sizes ", x.sizes(), " with ", heads, " heads");
  const Tensor y = heads_of(x, heads);  // batch, head, time, values
  if (rotated == 0) rotated = y.size(3);
  TORCH_CHECK_VALUE(rotated > 0 && rotated % 2 == 0 && rotated <= y.size(3), "a rotation of ", rotated, " of ",
                    y.size(3));
  const auto table = [&](const Tensor& cache) {
    Tensor t = cache;
    if (places.has_value()) {
      TORCH_CHECK_VALUE(cache.dim() == 2, "a cache of sizes ", cache.sizes());
      Ints sizes(places->sizes().begin(), places->sizes().end());
      sizes.push_back(cache.size(1));
      t = at::index_select(cache, 0, at::to(*places, ScalarType::Long).reshape({-1})).reshape(sizes);
    }
    TORCH_CHECK_VALUE(t.dim() == 3 && t.size(2) == rotated / 2, "a cache of sizes ", cache.sizes(),
                      " for a rotation of ", rotated);
    return t.unsqueeze(1);
  };
  const Tensor c = table(cos), s = table(sin), turning = at::narrow(y, 3, 0, rotated);
  const Tensor a = interleaved ? at::slice(turning, 3, 0, rotated, 2) : at::narrow(turning, 3, 0, rotated / 2);
  const Tensor b =
      interleaved ? at::slice(turning, 3, 1, rotated, 2) : at::narrow(turning, 3, rotated / 2, rotated / 2);
  const Tensor real = at::sub(at::mul(c, a), at::mul(s, b)), imaginary = at::add(at::mul(s, a), at::mul(c, b));
  const Tensor turned =
      interleaved ? at::flatten(at::stack({real, imaginary}, -1), 3, 4) : at::cat({real, imaginary}, 3);
  const Tensor out = at::cat({turned, at::narrow(y, 3, rotated, y.size(3) - rotated)}, 3);
  return x.dim() == 4 ? out : at::transpose(out, 1, 2).reshape(x.sizes());
}

// --- signals; complex numbers are a last dimension of 2 ---

constexpr int64_t kLongest = int64_t{1} << 31;

Tensor complex_of(const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() > 1 && (x.size(-1) == 1 || x.size(-1) == 2), "a signal of sizes ", x.sizes());
  return x.size(-1) == 1 ? x.squeeze(-1) : at::view_as_complex(x.contiguous());
}
Tensor dft(const Tensor& x, std::optional<int64_t> length, int64_t axis, bool inverse, bool onesided) {
  axis = axis_of(x, axis);
  TORCH_CHECK_INDEX(axis < x.dim() - 1, "a transform along the last dimension of sizes ", x.sizes());
  TORCH_CHECK_VALUE(!length.has_value() || (*length > 0 && *length <= kLongest), "a transform of length ", *length);
  const ScalarType dtype = x.scalar_type();
  const bool rare = dtype == ScalarType::Half || dtype == ScalarType::BFloat16;
  const Tensor signal = complex_of(rare ? at::to(x, ScalarType::Float) : x);
  Tensor out;
  if (onesided && inverse) {
    out = at::fft_irfft(signal, length, axis).unsqueeze(-1);
  } else if (onesided) {
    out = at::view_as_real(at::fft_rfft(signal, length, axis));
  } else {
    out = at::view_as_real(inverse ? at::fft_ifft(signal, length, axis) : at::fft_fft(signal, length, axis));
  }
  return at::to(out, dtype);
}
Tensor stft(const Tensor& x, int64_t step, const MaybeTensor& window, std::optional<int64_t> frame, bool onesided) {
  TORCH_CHECK_VALUE(x.dim() == 2 || x.dim() == 3, "a signal of sizes ", x.sizes());
  const Tensor signal = x.dim() == 2 ? x : complex_of(x);  // batch, time
  const int64_t length = frame.value_or(window.has_value() ? window->numel() : signal.size(1));
  TORCH_CHECK_VALUE(step > 0 && length > 0 && length <= signal.size(1), "frames of ", length, " each ", step,
                    " of a signal of sizes ", x.sizes());
  TORCH_CHECK_VALUE(!window.has_value() || (window->dim() == 1 && window->numel() == length), "a window of sizes ",
                    window.has_value() ? window->sizes() : c10::IntArrayRef(), " for frames of ", length);
  Tensor frames = signal.unfold(1, length, step);
  if (window.has_value()) frames = at::mul(frames, *window);
  const bool half = onesided && !signal.is_complex();
  return at::view_as_real(half ? at::fft_rfft(frames) : at::fft_fft(frames));
}

// Triangles between places that are evenly spaced on the mel scale.
Tensor mel_weight_matrix(int64_t bands, int64_t length, int64_t rate, const Tensor& lowest, const Tensor& highest,
                         ScalarType dtype) {
  TORCH_CHECK_VALUE(bands > 0 && length > 0 && rate > 0 && bands <= 65536 && length <= (int64_t{1} << 24),
                    "a mel weight matrix of ", bands, " bands for a length of ", length, " and a rate of ", rate);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(lowest.item().toDouble()), high = mel(highest.item().toDouble());
  std::vector<int64_t> edges;
  const int64_t bins = length / 2 + 1;
  for (int64_t k = 0; k < bands + 2; ++k) {
    const double place = low + static_cast<double>(k) * (high - low) / static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10, place / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    TORCH_CHECK_VALUE(bin >= 0 && bin <= static_cast<double>(bins), "a mel band at bin ", bin, " of ", bins);
    edges.push_back(static_cast<int64_t>(bin));
  }
  const Tensor out = at::zeros({bins, bands}, at::TensorOptions().dtype(ScalarType::Double));
  double* to = out.data_ptr<double>();
  for (size_t k = 0; k + 2 < edges.size(); ++k) {
    const int64_t first = edges[k], peak = edges[k + 1], last = edges[k + 2];
    const auto put = [&](int64_t bin, double v) {
      if (bin < bins) to[bin * bands + static_cast<int64_t>(k)] = v;
    };
    if (first == peak) {
      put(peak, 1);
    } else {
      for (int64_t b = first; b <= peak; ++b)
        put(b, static_cast<double>(b - first) / static_cast<double>(peak - first));
    }
    for (int64_t b = peak; b < last; ++b) put(b, static_cast<double>(last - b) / static_cast<double>(last - peak));
  }
  return at::to(out, dtype);
}

constexpr OwnCallable kCallables[] = {
    {"onnx::attention(Tensor q, Tensor k, Tensor v, Tensor? mask, Tensor? past_k, Tensor? past_v, Tensor? lengths, "
     "bool causal, int q_heads, int kv_heads, float? scale, float softcap, int mode, int left, int right, "
     "ScalarType softmax_dtype) -> (Tensor, Tensor, Tensor, Tensor)",
     boxed<&attention>},
    {"onnx::dft(Tensor x, int? length, int axis, bool inverse, bool onesided) -> Tensor", boxed<&dft>},
    {"onnx::dropout(Tensor x, Tensor? ratio, Tensor training) -> (Tensor, Tensor)", boxed<&dropout>},
    {"onnx::for_each_channel(Tensor one_a_group, Tensor x) -> Tensor", boxed<&for_each_channel>},
    {"onnx::layer_norm(Tensor x, Tensor scale, Tensor? bias, int axis, float epsilon) -> (Tensor, Tensor, Tensor)",
     boxed<&layer_norm>},
    {"onnx::mel_weight_matrix(int bands, int length, int rate, Tensor lowest, Tensor highest, ScalarType dtype) -> "
     "Tensor",
     boxed<&mel_weight_matrix>},
    {"onnx::recurrent(str kind, Tensor x, Tensor w, Tensor r, Tensor? b, Tensor? lengths, Tensor? initial_h, "
     "Tensor? initial_c, Tensor? peephole, str direction, int hidden, bool batch_first, float clip, bool before_reset, "
     "bool coupled, str[] names, float[] alphas, float[] betas) -> (Tensor, Tensor, Tensor)",
     boxed<&recurrent>},
    {"onnx::rms_norm(Tensor x, Tensor scale, int axis, float epsilon) -> Tensor", boxed<&rms_norm>},
    {"onnx::rotary_embedding(Tensor x, Tensor cos, Tensor sin, Tensor? places, bool interleaved, int heads, int "
     "rotated) "
     "-> Tensor",
     boxed<&rotary_embedding>},
    {"onnx::stft(Tensor x, int step, Tensor? window, int? frame, bool onesided) -> Tensor", boxed<&stft>},
};

}  // namespace

c10::ArrayRef<OwnCallable> network_callables() {
  return kCallables;
}

}  // namespace torch::onnx
