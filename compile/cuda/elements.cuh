// Several neighbouring elements as kernels of groups read and write them; rows as they see them.
#pragma once

namespace at::cuda {

// In pieces of at most 16 bytes: `address` is a multiple of a piece.
template <class T, int kCount>
struct Elements {
  static constexpr int kTogether = sizeof(T) * kCount <= 16 ? kCount : static_cast<int>(16 / sizeof(T));
  struct alignas(sizeof(T) * kTogether) Piece {
    T of[kTogether];
  };
  Piece pieces[kCount / kTogether];

  KD_DEVICE T& operator[](int i) { return pieces[i / kTogether].of[i % kTogether]; }
  KD_DEVICE const T& operator[](int i) const { return pieces[i / kTogether].of[i % kTogether]; }
};

template <class T, int kCount>
KD_DEVICE Elements<T, kCount> load_elements(const T* address) {
  using E = Elements<T, kCount>;
  E elements;
#pragma unroll
  for (int i = 0; i < kCount / E::kTogether; ++i) {
    elements.pieces[i] = c10::cuda::load_aligned<typename E::Piece>(address + i * E::kTogether);
  }
  return elements;
}
template <class T, int kCount>
KD_DEVICE void store_elements(T* address, const Elements<T, kCount>& elements) {
  using E = Elements<T, kCount>;
#pragma unroll
  for (int i = 0; i < kCount / E::kTogether; ++i) {
    c10::cuda::store_aligned(address + i * E::kTogether, elements.pieces[i]);
  }
}

/// A function of rows in a group: the elements come from what `Place` computes, and go to what it computes of them.
///     template <int kCount> void values(uint32_t i, T* x, T* weight, T* bias) const;  // of the elements from i on
///     template <int kCount> void finish(uint32_t i, const T* y) const;
/// kVector neighbours are one thread's, as in the operator's kernel, kTogether are computed together.
template <class T, int kLanes, class Place, int kVector, int kTogether>
struct GroupRow {
  using Number = T;
  // What functions of rows ask of a call.
  struct Call {
    int64_t size;
    double eps;
    const void* in[3];  // no addresses: whether there is a weight, a bias
  };
  Place place;
  Call call;
  uint32_t first;
  int lane;
  char* scratch;

  template <int... kWhich, class F>
  KD_DEVICE void each(const F& f) const {
    for (int64_t k = lane * kVector; k < call.size; k += kLanes * kVector) {
      T x[1][kVector], weight[kVector], bias[kVector];
      load(k, x[0], weight, bias);
      f(k, x);
    }
  }
  template <int... kWhich, class F>
  KD_DEVICE void map(const F& f) const {
    for (int64_t k = lane * kVector; k < call.size; k += kLanes * kVector) {
      T x[3][kVector], y[kVector];
      load(k, x[0], x[1], x[2]);
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const T v[] = {x[kWhich][j]...};
        y[j] = f(k + j, v);
      }
#pragma unroll
      for (int j = 0; j < kVector; j += kTogether) {
        place.template finish<kTogether>(first + static_cast<uint32_t>(k) + j, y + j);
      }
    }
  }
  KD_DEVICE T first_of(int) const {
    T x[1], weight[1], bias[1];
    place.template values<1>(first, x, weight, bias);
    return x[0];
  }
  template <class V, class Join>
  KD_DEVICE V together(V value, const Join& join) const {
    return at::cuda::together<kLanes>(value, lane, scratch, join);
  }
  KD_DEVICE T sum(T value) const {
    return together(value, [](T& into, const T& from) { into += from; });
  }
  template <int k>
  KD_DEVICE void set_number(T) const {}

 private:
  KD_DEVICE void load(int64_t k, T* x, T* weight, T* bias) const {
#pragma unroll
    for (int j = 0; j < kVector; j += kTogether) {
      place.template values<kTogether>(first + static_cast<uint32_t>(k) + j, x + j, weight + j, bias + j);
    }
  }
};

}  // namespace at::cuda
