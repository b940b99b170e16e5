#pragma once

#include "nn/module/sequential.h"
