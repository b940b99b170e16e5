#pragma once

#include "c10/value/type_parser.h"
