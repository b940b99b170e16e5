#pragma once

#include "c10/core/dispatch_key_text.h"
