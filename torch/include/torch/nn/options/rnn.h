#pragma once

#include "nn/options/rnn.h"
