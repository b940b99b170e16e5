// Which libraries this one uses on CUDA devices, by libtorch's names.
#pragma once

#define AT_CUDNN_ENABLED() 1
#define AT_CUSPARSELT_ENABLED() 0
#define AT_HIPSPARSELT_ENABLED() 0
#define AT_MAGMA_ENABLED() 0
#define AT_ROCM_ENABLED() 0
#define USE_CUDNN 1
