#pragma once

#include "nn/options/transformer_layer.h"
