#pragma once

#include "c10/core/stream_guard.h"
