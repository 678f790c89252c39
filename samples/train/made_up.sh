#!/usr/bin/env bash
# Makes the weights beside this script: a decoder for the made-up catalogue of `recommend --made-up`, which the
# quickstart runs. About 70 s of CPU time.
#   PYTHON=python3 bash samples/train/made_up.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build/release/samples/recommend --made-up --write build/made_up
exec "${PYTHON:-python3}" samples/train/train.py build/made_up/made_up.index.json --codes 64 --hidden 64 --ffn 176 \
  --epochs 10 --out samples/train/made_up
