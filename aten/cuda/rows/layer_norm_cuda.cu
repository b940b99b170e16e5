// Layer normalisation of rows.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {

constinit const RowsLaunchers kLayerNormRows = rows_launchers<LayerNorm>();

}  // namespace at::cuda
