#pragma once

#include "c10/value/class_type.h"
