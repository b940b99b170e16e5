#pragma once

namespace kindling {

// How the tables say an operator is differentiated.
enum class Gradient {
  kNoKernel,           // a call throws NotImplementedError
  kNone,               // it can be called, but backward through it throws
  kNondifferentiable,  // its results never require a gradient
  kComposed,           // by differentiating the operators it calls
  kDerivative,         // by a formula of its own
};

// A functional or in-place form of an operator: "add.Tensor", "add_.Tensor".
struct OperatorFacts {
  const char* name;
  const char* family;
  Gradient gradient;
  Gradient forward;  // of the tangent
  // What autocast does with it, e.g. "FP32"; empty: nothing.
  const char* autocast_cpu;
  const char* autocast_cuda;
};

// All of them, in the order of the tables.
inline constexpr OperatorFacts kOperatorFacts[] = {
#include "aten/codegen/operator_facts.inc"
};

}  // namespace kindling
