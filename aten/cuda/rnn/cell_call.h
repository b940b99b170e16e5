#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// What a step of a recurrent layer does behind its products, for `rows` samples of `size` hidden units, on dense
/// memory, of `dtype` unless it says otherwise. A row of gates holds a block for each gate: i, f, g, o of an LSTM, r,
/// z, n of a GRU.
struct CellCall {
  const char* name;
  ScalarType dtype;
  uint32_t rows;
  FastDivisor size;
  bool relu;
  const void* sums;       // of the gates, as float, of double as double
  const void* recurrent;  // of a GRU: the sums of the hidden state, likewise
  void* gates;            // null, or the activated gates; of double and float they may be `sums`
  void* state;            // the hidden state, replaced
  void* cell;             // of an LSTM: the cell state, replaced
  void* out;              // the hidden state, too
  void* kept;             // null, or with `gates`: an LSTM's cell states, what a GRU multiplies by r
};
void launch_lstm_cell(const CellCall& call);
void launch_gru_cell(const CellCall& call);
void launch_rnn_cell(const CellCall& call);

struct CellGradientCall {
  const char* name;
  ScalarType dtype;
  uint32_t rows;
  FastDivisor size;
  bool relu;
  const void *gates, *kept;    // as above
  const void* out;             // of an RNN: its results
  const void *before, *first;  // the state (an LSTM's cell state) before the step: of the first `continued` rows,
  uint32_t continued;          // and of the others
  void* grad_state;            // h's gradient; of a GRU replaced by what does not go through its sums
  const void* grad_out;        // null, or the rest of it
  void* grad_cell;             // of an LSTM: c's gradient, replaced by that of the cell state before
  void* grad_gates;            // of the sums
  void* grad_recurrent;        // of a GRU: of the sums of the hidden state
};
void launch_lstm_cell_backward(const CellGradientCall& call);
void launch_gru_cell_backward(const CellGradientCall& call);
void launch_rnn_cell_backward(const CellGradientCall& call);

/// to = o * tanh(c) again from an LSTM's activated gates and cell states: `gates`, `kept` and `out` of the call.
void launch_lstm_hidden(const CellCall& call);

}  // namespace at::cuda
