// Formulas in one variable that recordings give as text, e.g. "0.9 ** n" or "lambda n: 1 / (1 + n)".
#pragma once

#include <functional>
#include <string>

namespace recorded {

// Numbers, + - * / // % **, comparisons, `a if b else c`, min, max, abs, int, float, round, math.pi and the functions
// of one number in math. Every other name is the variable. Throws std::runtime_error for anything else, at once.
std::function<double(double)> formula_of(const std::string& text);

}  // namespace recorded
