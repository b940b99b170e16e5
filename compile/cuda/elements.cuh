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

/// A row in a group: its elements come from what `Place` computes, and go to what it computes of them.
///     template <int kCount> void values(uint32_t i, T* x) const;  // of the elements from i on
///     template <int kCount> void weight(uint32_t i, T* x) const;
///     template <int kCount> void bias(uint32_t i, T* x) const;
///     template <int kCount> void finish(uint32_t i, const T* y) const;
/// kPiece neighbours are one thread's, as in the operator's kernel, kTogether are computed together.
template <class T, int kLanes, bool kHolds, class Place, int kPiece, int kTogether>
struct GroupRow : RowThread<GroupRow<T, kLanes, kHolds, Place, kPiece, kTogether>, T, kLanes, kHolds> {
  struct Call {
    int64_t size;
    double eps;
    const void* in[3];  // no addresses: whether there is a weight, a bias
  };
  Place elements_of;
  Call call;
  uint32_t first;

  KD_DEVICE GroupRow(const Place& elements_of, const Call& call, uint32_t first, int lane, char* scratch)
      : RowThread<GroupRow, T, kLanes, kHolds>(lane, scratch), elements_of(elements_of), call(call), first(first) {}

  static KD_DEVICE int piece() { return kPiece; }
  template <int kInput>
  KD_DEVICE void load_input(T (&x)[kRowVector], int n, int u) const {
#pragma unroll
    for (int j = 0; j < kRowVector; ++j) x[j] = 0;
#pragma unroll
    for (int j = 0; j < kRowVector; j += kTogether) {
      if (j >= n) continue;
      if constexpr (kInput == 0)
        elements_of.template values<kTogether>(at(u, j), x + j);
      else if constexpr (kInput == 1)
        elements_of.template weight<kTogether>(at(u, j), x + j);
      else
        elements_of.template bias<kTogether>(at(u, j), x + j);
    }
  }
  KD_DEVICE void store(const T (&y)[kRowVector], int n, int u) const {
#pragma unroll
    for (int j = 0; j < kRowVector; j += kTogether) {
      if (j < n) elements_of.template finish<kTogether>(at(u, j), y + j);
    }
  }
  KD_DEVICE T element(int, int64_t k) const {
    T x[1];
    elements_of.template values<1>(first + static_cast<uint32_t>(k), x);
    return x[0];
  }
  template <int k>
  KD_DEVICE void set_number(T) const {}

 private:
  KD_DEVICE uint32_t at(int u, int j) const { return first + static_cast<uint32_t>(this->place(u, j)); }
};

}  // namespace at::cuda
