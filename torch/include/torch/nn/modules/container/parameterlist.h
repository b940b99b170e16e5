#pragma once

#include "nn/module/parameter_containers.h"
