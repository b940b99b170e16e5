#pragma once

#include "c10/dispatch/function_schema.h"
