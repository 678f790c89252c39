// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Weights says how a model's weights are held in memory. Products are in float32 whatever they are.
type Weights int32

// Forms of weights.
const (
	WeightsStored Weights = iota // as in the file
	WeightsF32
	WeightsF16
	WeightsBF16
	WeightsInt8 // matrices as 8-bit integers with a scale per output; approximate
)

// String is the form's name, as the command's --weights has it.
func (w Weights) String() string { return name(int32(w), "stored", "f32", "f16", "bf16", "int8") }

// ModelConfig says how a model is opened; the zero value is as stored, on the CPU.
type ModelConfig struct {
	Weights Weights
	Device  Device
	Base    string   // folder of the model that a LoRA adapter changes; "": found beside the adapter's folder
	Log     LogLevel // see SetLogger; a warning names the tensors that the file has and the config does not ask for
}

// Model is a model's weights: immutable, to be shared by every runner and goroutine. Runners hold what they need.
type Model struct {
	handle *handle
	info   ModelInfo
}

// ModelInfo is what a model is.
type ModelInfo struct {
	Family                          string // as the config's model_type: "t5", "qwen3"
	Layers                          int    // of the decoder
	EncoderLayers                   int    // 0: a decoder alone
	Hidden, Heads, KVHeads, HeadDim int
	Weights                         Weights // of the matrices, as held
	Vocabulary                      int64   // token ids are 0 .. Vocabulary-1
	MaxPositions                    int64   // that the config names, or its attention's window if less; 0: none
	Parameters                      int64   // elements of all weights
	MemoryBytes                     int64
}

// OpenModel opens the folder of a checkpoint: config.json, and model.safetensors or its shards, of a T5, mT5, umT5,
// Llama, Mistral, Qwen2, Qwen3 or Phi-3, or of a LoRA adapter of one, which is merged. Nothing of the folder is needed
// afterwards. Errors: IOError, Corrupt (the message names the tensor that is missing, has another shape or is not
// finite), InvalidArgument (16-bit weights do not hold a number), Unsupported (another family, a setting that is not
// implemented, or no libsidbeam_runner.so.1), NoDevice, OutOfMemory.
func OpenModel(folder string, config ModelConfig) (*Model, error) {
	if err := firstError(checkABI(), cText("folder", folder), cText("base", config.Base)); err != nil {
		return nil, err
	}
	f := newFailure()
	box := native.Flat_model_open(folder, int(config.Weights), int(config.Device.Type), saturate(config.Device.ID),
		config.Base, int(config.Log)-1, f.bytes())
	drainLog()
	if err := f.done(); err != nil {
		return nil, err
	}
	model := &Model{handle: newHandle(box)}
	return model, model.read()
}

func (m *Model) read() error {
	numbers, family := make([]int64, native.FLAT_MODEL_COUNT), make([]byte, native.FLAT_MODEL_FAMILY_BYTES)
	f := newFailure()
	native.Flat_model_get_info(rawOf(m), numbers, family, f.bytes())
	runtime.KeepAlive(m)
	if err := f.done(); err != nil {
		return err
	}
	m.info = ModelInfo{
		Family:        cString(family),
		Layers:        int(numbers[native.FLAT_MODEL_LAYERS]),
		EncoderLayers: int(numbers[native.FLAT_MODEL_ENCODER_LAYERS]),
		Hidden:        int(numbers[native.FLAT_MODEL_HIDDEN]),
		Heads:         int(numbers[native.FLAT_MODEL_HEADS]),
		KVHeads:       int(numbers[native.FLAT_MODEL_KV_HEADS]),
		HeadDim:       int(numbers[native.FLAT_MODEL_HEAD_DIM]),
		Weights:       Weights(numbers[native.FLAT_MODEL_WEIGHTS]),
		Vocabulary:    numbers[native.FLAT_MODEL_VOCABULARY],
		MaxPositions:  numbers[native.FLAT_MODEL_MAX_POSITIONS],
		Parameters:    numbers[native.FLAT_MODEL_PARAMETERS],
		MemoryBytes:   numbers[native.FLAT_MODEL_MEMORY_BYTES],
	}
	return nil
}

// Info says what the model is.
func (m *Model) Info() ModelInfo {
	if m == nil {
		return ModelInfo{}
	}
	return m.info
}

// Close gives the model back; its runners go on. Closing again does nothing.
func (m *Model) Close() error { return closeOf(m) }
