#pragma once

#include "nn/layers/rnn.h"
