#pragma once

#include "c10/value/custom_class_registry.h"
