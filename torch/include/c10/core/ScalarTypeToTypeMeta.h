#pragma once

#include "c10/core/type_meta.h"
