#pragma once
// The pointwise part of a recurrent cell for one sample of `n` hidden units, for float, double, c10::Half and
// c10::BFloat16, computed in the compute type. A block of gates holds n numbers for each gate: i, f, g, o of an LSTM,
// r, z, n of a GRU. Nothing here allocates or starts threads.

#include <cstdint>

namespace at::cpu {

// gates: sums, made activated gates. c = f * c_prev + i * g, h = o * tanh(c); c == c_prev allowed.
template <class T>
void lstm_row(T* gates, const T* c_prev, T* c, T* h, int64_t n);
// From the activated gates: h again, for the gradient of a projection.
template <class T>
void lstm_hidden_row(const T* gates, const T* c, T* h, int64_t n);
// grad_h1 + grad_h2 (the second may be null) is h's gradient; grad_c is c's and becomes that of c_prev.
template <class T>
void lstm_row_backward(const T* gates, const T* c_prev, const T* c, const T* grad_h1, const T* grad_h2, T* grad_c,
                       T* grad_gates, int64_t n);

// gates: the sums of the input, made activated gates; `recurrent`: those of the hidden state, of which the last block
// goes to `kept` too, where that is not null. h = (1 - z) * n + z * h_prev with n = tanh(gates_n + r * recurrent_n).
template <class T>
void gru_row(T* gates, const T* recurrent, const T* h_prev, T* h, T* kept, int64_t n);
// grad_h1 becomes the part of h_prev's gradient that does not go through the recurrent sums.
template <class T>
void gru_row_backward(const T* gates, const T* kept, const T* h_prev, T* grad_h1, const T* grad_h2, T* grad_gates,
                      T* grad_recurrent, int64_t n);

// h = tanh(gates) or relu(gates), and the gradient of the sums from h.
template <class T>
void rnn_row(const T* gates, T* h, int64_t n, bool relu);
template <class T>
void rnn_row_backward(const T* h, const T* grad_h1, const T* grad_h2, T* grad_gates, int64_t n, bool relu);

}  // namespace at::cpu
