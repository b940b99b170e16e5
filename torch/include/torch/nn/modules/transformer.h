#pragma once

#include "nn/layers/transformer.h"
