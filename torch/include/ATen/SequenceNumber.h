#pragma once

#include "aten/core/sequence_number.h"
