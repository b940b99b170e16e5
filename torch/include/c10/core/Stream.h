#pragma once

#include "c10/core/stream.h"
