#pragma once

#include "c10/dispatch/registry.h"
