// All of torch::quantization: observers, fake quantizers, configurations, and the quantization of exported programs.
#pragma once

#include "quantization/fx/quantize_fx.h"
#include "quantization/lowering/lowering.h"
#include "quantization/observers/fake_quantize.h"
#include "quantization/observers/observer.h"
#include "quantization/pt2e/pt2e.h"
#include "quantization/pt2e/quantizer.h"
#include "quantization/qconfig.h"
#include "quantization/quantizers/x86_inductor_quantizer.h"
#include "quantization/quantizers/xnnpack_quantizer.h"
