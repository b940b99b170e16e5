#pragma once

#include "nn/functional/functional.h"
