// CUPTI, the toolkit's library of profiles. It is loaded when the first profile begins that asks for CUDA devices:
// programs do not link it, and run without it.
#pragma once

#include <cupti.h>

#include <string>

namespace c10::cuda::profiler {

#define KD_CUPTI_FUNCTIONS(X)               \
  X(cuptiActivityDisable)                   \
  X(cuptiActivityEnable)                    \
  X(cuptiActivityFlushAll)                  \
  X(cuptiActivityGetNextRecord)             \
  X(cuptiActivityGetNumDroppedRecords)      \
  X(cuptiActivityPopExternalCorrelationId)  \
  X(cuptiActivityPushExternalCorrelationId) \
  X(cuptiActivityRegisterCallbacks)         \
  X(cuptiGetCallbackName)                   \
  X(cuptiGetResultString)                   \
  X(cuptiGetTimestamp)                      \
  X(cuptiGetVersion)                        \
  X(cuptiSetThreadIdType)

/// Its functions.
struct Cupti {
#define KD_CUPTI_MEMBER(function) decltype(&::function) function = nullptr;
  KD_CUPTI_FUNCTIONS(KD_CUPTI_MEMBER)
#undef KD_CUPTI_MEMBER
};

/// The functions that the program links, else those of libcupti.so of this toolkit's major version: where the loader
/// finds it, then under CUDA_PATH (/usr/local/cuda). Null where there are none; `why` says so.
const Cupti* load_cupti(std::string& why);

}  // namespace c10::cuda::profiler
