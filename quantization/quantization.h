// All of torch::quantization: observers, fake quantizers, configurations, and the quantization of modules and of exported
// programs.
#pragma once

#include "quantization/eager/dynamic_layers.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/quantizable.h"
#include "quantization/eager/quantize.h"
#include "quantization/eager/quantized_functional.h"
#include "quantization/eager/quantized_layers.h"
#include "quantization/eager/quantized_linear.h"
#include "quantization/eager/trained_tables.h"
#include "quantization/fx/quantize_fx.h"
#include "quantization/lowering/lowering.h"
#include "quantization/observers/fake_quantize.h"
#include "quantization/observers/observer.h"
#include "quantization/pt2e/pt2e.h"
#include "quantization/pt2e/quantizer.h"
#include "quantization/qconfig.h"
#include "quantization/quantizers/x86_inductor_quantizer.h"
#include "quantization/quantizers/xnnpack_quantizer.h"
