// softmax, log_softmax.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {

constinit const RowsLaunchers kSoftmaxRows = rows_launchers<Softmax<false>>();
constinit const RowsLaunchers kLogSoftmaxRows = rows_launchers<Softmax<true>>();

}  // namespace at::cuda
