#!/usr/bin/env bash
# Runs a program; it says itself what is wrong.
set -euo pipefail
"$1"
