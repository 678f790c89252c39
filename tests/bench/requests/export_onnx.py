"""Model (a) for ONNX Runtime: its BeamSearch operator around the T5, by ONNX Runtime's own converter.

    python export_onnx.py MODEL     writes MODEL/beam_search.onnx

With onnx, onnxruntime, torch and transformers before 5 (the converter reads the key-value cache in the form of those).
It cannot do Llama. SPDX-License-Identifier: Apache-2.0"""
import pathlib
import shutil
import sys
import tempfile

from onnxruntime.transformers import convert_generation

# Its fusions for T5 want a hidden size that the heads divide (128, 6 heads), and make operators that only CUDA has.
# What the session fuses when it loads the model remains.
HELPER = convert_generation.export_t5_onnx_models.__globals__["T5Helper"]
HELPER.optimize_onnx = staticmethod(lambda model, output, *_, **__: shutil.copy(model, output))


def main():
    model = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "beam_search.onnx"
        arguments = convert_generation.parse_arguments(
            ["-m", str(model), "--model_type", "t5", "--output", str(output), "--output_sequences_scores",
             "--encoder_decoder_init"])  # a first step with the encoder: faster than two models
        convert_generation.convert_generation_model(arguments)
        shutil.copy(output, model / output.name)


if __name__ == "__main__":
    main()
