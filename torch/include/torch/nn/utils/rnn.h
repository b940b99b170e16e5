#pragma once

#include "nn/utils/rnn.h"
