// QEngine: the libraries that quantized operators may use.
#pragma once

#include <cstdint>
#include <string>

namespace c10 {

enum class QEngine : uint8_t { NoQEngine = 0, FBGEMM = 1, QNNPACK = 2, ONEDNN = 3, X86 = 4 };

inline constexpr QEngine kNoQEngine = QEngine::NoQEngine, kFBGEMM = QEngine::FBGEMM, kQNNPACK = QEngine::QNNPACK,
                         kONEDNN = QEngine::ONEDNN, kX86 = QEngine::X86;

inline std::string toString(QEngine engine) {
  constexpr const char* kNames[] = {"NoQEngine", "FBGEMM", "QNNPACK", "ONEDNN", "X86"};
  const auto i = static_cast<uint8_t>(engine);
  return i < 5 ? kNames[i] : "unknown";
}

}  // namespace c10

namespace at {
using c10::kNoQEngine;
using c10::QEngine;
}  // namespace at
