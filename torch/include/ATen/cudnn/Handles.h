#pragma once

#include <ATen/cudnn/Handle.h>
