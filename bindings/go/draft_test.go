// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"testing"

	"sidbeam.io/sidbeam"
)

const draftLevels, draftCodes, draftHidden, draftEmbedding, draftBeams = 3, 8, 6, 5, 4

// draftNumbers are exact in bfloat16 too.
func draftNumbers(random *rand.Rand, count int) []float32 {
	values := make([]float32, count)
	for i := range values {
		values[i] = float32(random.Intn(161)-80) / 64
	}
	return values
}

// draftWeights is a head with a GRU.
func draftWeights() sidbeam.DraftWeights[float32] {
	random := rand.New(rand.NewSource(2))
	weights := sidbeam.DraftWeights[float32]{Hidden: draftHidden, Embedding: draftEmbedding, Codebook: "books",
		Transition: sidbeam.DraftTransitionGRU, Codes: []int32{draftCodes, draftCodes, draftCodes}}
	for level := 0; level < draftLevels; level++ {
		weights.HeadWeights = append(weights.HeadWeights, draftNumbers(random, draftCodes*2*draftHidden))
		weights.HeadBiases = append(weights.HeadBiases, draftNumbers(random, draftCodes))
	}
	const gates = 3 * draftHidden
	for level := 0; level < draftLevels-1; level++ {
		weights.Embeddings = append(weights.Embeddings, draftNumbers(random, draftCodes*draftEmbedding))
		weights.InputWeights = append(weights.InputWeights, draftNumbers(random, gates*draftEmbedding))
		weights.InputBiases = append(weights.InputBiases, draftNumbers(random, gates))
		weights.RecurrentWeights = append(weights.RecurrentWeights, draftNumbers(random, gates*draftHidden))
		weights.RecurrentBiases = append(weights.RecurrentBiases, draftNumbers(random, gates))
	}
	return weights
}

// halves gives the same weights in bfloat16.
func halves(w sidbeam.DraftWeights[float32]) sidbeam.DraftWeights[uint16] {
	lists := func(given [][]float32) (out [][]uint16) {
		for _, array := range given {
			out = append(out, brain(array))
		}
		return out
	}
	return sidbeam.DraftWeights[uint16]{DType: sidbeam.BF16, Hidden: w.Hidden, Embedding: w.Embedding,
		Codebook: w.Codebook, Transition: w.Transition, Codes: w.Codes, HeadWeights: lists(w.HeadWeights),
		HeadBiases: lists(w.HeadBiases), Embeddings: lists(w.Embeddings), InputWeights: lists(w.InputWeights),
		InputBiases: lists(w.InputBiases), RecurrentWeights: lists(w.RecurrentWeights),
		RecurrentBiases: lists(w.RecurrentBiases)}
}

func draftIndex(t testing.TB, codebook string, kinds sidbeam.Kind) *sidbeam.Index {
	return build(t, sidbeam.BuilderConfig{Codes: []int32{draftCodes, draftCodes, draftCodes}, Codebook: codebook,
		Kinds: kinds}, sidbeam.Pairs{Codes: randomSIDs(100, draftLevels, draftCodes)})
}

func openHead(t testing.TB, path string) *sidbeam.DraftHead {
	t.Helper()
	head, err := sidbeam.OpenDraftHead(path)
	must(t, err)
	t.Cleanup(func() { _ = head.Close() })
	return head
}

func writtenHead(t testing.TB) (*sidbeam.DraftHead, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "head.sdraft")
	must(t, sidbeam.WriteDraftHead(path, draftWeights()))
	return openHead(t, path), path
}

func newDecoder(t testing.TB, config sidbeam.DraftConfig) *sidbeam.DraftDecoder {
	t.Helper()
	decoder, err := sidbeam.NewDraftDecoder(config)
	must(t, err)
	t.Cleanup(func() { _ = decoder.Close() })
	return decoder
}

// affine is W x + b in float64.
func affine(weight, bias []float32, x []float64) []float64 {
	y := make([]float64, len(bias))
	for i := range y {
		y[i] = float64(bias[i])
		for j := range x {
			y[i] += float64(weight[i*len(x)+j]) * x[j]
		}
	}
	return y
}

func transit(w *sidbeam.DraftWeights[float32], level int, state []float64, code int) []float64 {
	e := make([]float64, draftEmbedding)
	for j := range e {
		e[j] = float64(w.Embeddings[level][code*draftEmbedding+j])
	}
	i := affine(w.InputWeights[level], w.InputBiases[level], e)
	r := affine(w.RecurrentWeights[level], w.RecurrentBiases[level], state)
	next := make([]float64, draftHidden)
	for d := range next {
		reset := 1 / (1 + math.Exp(-i[d]-r[d]))
		update := 1 / (1 + math.Exp(-i[draftHidden+d]-r[draftHidden+d]))
		next[d] = (1-update)*math.Tanh(i[2*draftHidden+d]+reset*r[2*draftHidden+d]) + update*state[d]
	}
	return next
}

type draftBeam struct {
	score float64
	sid   []int32
	state []float64
}

func widened(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, value := range values {
		out[i] = float64(value)
	}
	return out
}

// draftReference is beam search among valid prefixes by the head's equations, of one request.
func draftReference(t testing.TB, w *sidbeam.DraftWeights[float32], index *sidbeam.Index,
	hidden []float32) []draftBeam {
	live := []draftBeam{{state: widened(hidden[:draftHidden])}}
	for level := 0; level < draftLevels; level++ {
		var found []draftBeam
		for _, beam := range live {
			x := append(widened(hidden[(level+1)*draftHidden:(level+2)*draftHidden]), beam.state...)
			logits := affine(w.HeadWeights[level], w.HeadBiases[level], x)
			total := 0.0
			for _, logit := range logits {
				total += math.Exp(logit)
			}
			codes, _, err := index.Children(beam.sid...)
			must(t, err)
			for _, code := range codes {
				next := draftBeam{beam.score + logits[code] - math.Log(total), append(beam.sid[:level:level], code), nil}
				if level < draftLevels-1 {
					next.state = transit(w, level, beam.state, int(code))
				}
				found = append(found, next)
			}
		}
		sort.Slice(found, func(a, b int) bool { return found[a].score > found[b].score })
		live = found[:draftBeams]
	}
	return live
}

func TestDraftsAreAsTheEquationsSay(t *testing.T) {
	needsRunner(t)
	weights, index := draftWeights(), draftIndex(t, "books", sidbeam.KindTrie)
	hidden := draftNumbers(rand.New(rand.NewSource(3)), 3*(draftLevels+1)*draftHidden)
	rows := sidbeam.Rows{F32: hidden, Slots: 3, Rows: draftLevels + 1, Columns: draftHidden}
	wide, narrow := filepath.Join(t.TempDir(), "wide"), filepath.Join(t.TempDir(), "narrow")
	must(t, sidbeam.WriteDraftHead(wide, weights))
	must(t, sidbeam.WriteDraftHead(narrow, halves(weights)))
	var first *sidbeam.Drafts
	for _, path := range []string{wide, narrow} {
		head := openHead(t, path)
		info := head.Info()
		if info.Hidden != draftHidden || info.Embedding != draftEmbedding || info.Transition != sidbeam.DraftTransitionGRU ||
			info.Codebook != "books" || !reflect.DeepEqual(info.Codes, weights.Codes) || info.FileBytes <= 0 {
			t.Errorf("got %+v", info)
		}
		decoder := newDecoder(t, sidbeam.DraftConfig{Head: head, Index: index, Requests: 3, Beams: draftBeams})
		must(t, head.Close()) // it is held
		drafts, err := decoder.Run(sidbeam.DraftArgs{Hidden: rows})
		must(t, err)
		for request := 0; request < 3; request++ {
			state := (draftLevels + 1) * draftHidden
			expected := draftReference(t, &weights, index, hidden[request*state:(request+1)*state])
			for m, beam := range expected {
				at := request*draftBeams + m
				sid, err := index.SID(drafts.Ordinals[at])
				must(t, err)
				if !reflect.DeepEqual(drafts.SID(request, m), beam.sid) || !reflect.DeepEqual(sid, beam.sid) ||
					math.Abs(float64(drafts.Scores[at])-beam.score) > 1e-4 {
					t.Errorf("request %d, beam %d: expected %+v, got %v of score %v", request, m, beam, sid, drafts.Scores[at])
				}
			}
		}
		if first == nil {
			first = drafts
		} else if !reflect.DeepEqual(first, drafts) {
			t.Error("the same weights in another type: expected the same drafts")
		}
	}
}

func TestDraftConstraintsWidthsAndBadRows(t *testing.T) {
	needsRunner(t)
	head, _ := writtenHead(t)
	decoder := newDecoder(t, sidbeam.DraftConfig{Head: head, Index: draftIndex(t, "books", sidbeam.KindTrie), Requests: 2,
		Beams: draftBeams, Normalization: sidbeam.NormalizeValid})
	two := build(t, sidbeam.BuilderConfig{Codes: []int32{draftCodes, draftCodes, draftCodes}},
		sidbeam.Pairs{Codes: []int32{0, 1, 2, 7, 7, 7}})
	hidden := draftNumbers(rand.New(rand.NewSource(4)), 2*(draftLevels+1)*draftHidden)
	rows := sidbeam.Rows{F32: hidden, Slots: 2, Rows: draftLevels + 1, Columns: draftHidden}
	drafts, err := decoder.Run(sidbeam.DraftArgs{Hidden: rows, Constraints: []sidbeam.Constrainer{nil, two},
		Widths: []int32{1, 0}})
	must(t, err)
	if !reflect.DeepEqual(drafts.Live, []int32{1, 2}) || drafts.Ordinals[4]+drafts.Ordinals[5] != 1 ||
		drafts.Ordinals[6] != -1 {
		t.Errorf("got live %v, ordinals %v", drafts.Live, drafts.Ordinals)
	}
	hidden[0] = float32(math.NaN())
	drafts, err = decoder.Run(sidbeam.DraftArgs{Hidden: rows})
	if must(t, err); !reflect.DeepEqual(drafts.Live, []int32{0, draftBeams}) ||
		!reflect.DeepEqual(drafts.Errors, []int32{sidbeam.SlotBadRow, 0}) {
		t.Errorf("got live %v, errors %v", drafts.Live, drafts.Errors)
	}
}

func TestDraftDecoderRefuses(t *testing.T) {
	needsRunner(t)
	head, path := writtenHead(t)
	index := draftIndex(t, "books", sidbeam.KindTrie)
	decoder := newDecoder(t, sidbeam.DraftConfig{Head: head, Index: index, Beams: draftBeams})
	good := sidbeam.Rows{F32: make([]float32, 24), Slots: 1, Rows: draftLevels + 1, Columns: draftHidden}
	refused := func(text string, change func(*sidbeam.DraftArgs)) {
		t.Helper()
		args := sidbeam.DraftArgs{Hidden: good}
		change(&args)
		_, err := decoder.Run(args)
		fails(t, err, sidbeam.InvalidArgument, text)
	}
	refused("the number of columns of hidden is 5, expected 6", func(a *sidbeam.DraftArgs) { a.Hidden.Columns = 5 })
	refused("the number of rows of hidden is 3, expected 4", func(a *sidbeam.DraftArgs) { a.Hidden.Rows = 3 })
	refused("the number of slots of hidden is 2, expected 1..1", func(a *sidbeam.DraftArgs) {
		a.Hidden.F32, a.Hidden.Slots = make([]float32, 48), 2
	})
	refused("hidden has 20 elements, too few", func(a *sidbeam.DraftArgs) { a.Hidden.F32 = a.Hidden.F32[:20] })
	refused("widths[0] is 5, expected", func(a *sidbeam.DraftArgs) { a.Widths = []int32{5} })
	refused("widths has 0 elements, expected at least 1", func(a *sidbeam.DraftArgs) { a.Widths = []int32{} })
	refused("the number of slots of hidden is -1, expected 1..1", func(a *sidbeam.DraftArgs) { a.Hidden.Slots = -1 })
	refused("the number of slots of hidden is 4611686018427387904, expected 1..1", func(a *sidbeam.DraftArgs) {
		a.Hidden.Slots, a.Hidden.SlotStride = 1<<62, sidbeam.Broadcast
	})
	others := draftIndex(t, "others", sidbeam.KindTrie)
	refused("constraints[0] is of codebook 'others', expected 'books'", func(a *sidbeam.DraftArgs) {
		a.Constraints = []sidbeam.Constrainer{others}
	})
	drafts, err := decoder.Run(sidbeam.DraftArgs{Hidden: good})
	if must(t, err); drafts.Live[0] != draftBeams {
		t.Errorf("expected the decoder to go on, got %v", drafts.Live)
	}
	must(t, decoder.Close())
	_, err = decoder.Run(sidbeam.DraftArgs{Hidden: good})
	fails(t, err, sidbeam.BadState, "draft decoder is closed")
	for _, bad := range []struct {
		config sidbeam.DraftConfig
		code   sidbeam.Code
		text   string
	}{
		{sidbeam.DraftConfig{Head: head, Index: index, Beams: -1}, sidbeam.InvalidArgument, "beams is -1"},
		{sidbeam.DraftConfig{Head: head, Index: draftIndex(t, "others", sidbeam.KindTrie)}, sidbeam.InvalidArgument,
			"codebook 'others', expected 'books'"},
		{sidbeam.DraftConfig{Head: head, Index: threeItems(t)}, sidbeam.InvalidArgument, "has 2 levels, expected 3"},
		{sidbeam.DraftConfig{Head: head, Index: index, Verification: sidbeam.DraftVerifyHash}, sidbeam.MissingSection,
			"has no hash set"},
		{sidbeam.DraftConfig{Head: head}, sidbeam.InvalidArgument, "Head or Index is nil"},
	} {
		_, err := sidbeam.NewDraftDecoder(bad.config)
		fails(t, err, bad.code, bad.text)
	}
	must(t, head.Close())
	_, err = sidbeam.NewDraftDecoder(sidbeam.DraftConfig{Head: head, Index: index})
	fails(t, err, sidbeam.BadState, "draft head is closed")
	_, err = sidbeam.OpenDraftHead(path + ".none")
	fails(t, err, sidbeam.IOError, "No such file")
	bytes, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path+".cut", bytes[:len(bytes)-64], 0o600))
	_, err = sidbeam.OpenDraftHead(path + ".cut")
	fails(t, err, sidbeam.Corrupt, "the file has")
}

func TestWeightsThatAreNoHeadAreRefused(t *testing.T) {
	needsRunner(t)
	path := filepath.Join(t.TempDir(), "head")
	refused := func(text string, change func(*sidbeam.DraftWeights[float32])) {
		t.Helper()
		weights := draftWeights()
		change(&weights)
		fails(t, sidbeam.WriteDraftHead(path, weights), sidbeam.InvalidArgument, text)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: expected no file, got %v", text, err)
		}
	}
	type weights = sidbeam.DraftWeights[float32]
	refused("HeadWeights[1] has 95 elements, expected 96", func(w *weights) { w.HeadWeights[1] = w.HeadWeights[1][:95] })
	refused("InputBiases[0] has 7 elements, expected 18", func(w *weights) { w.InputBiases[0] = make([]float32, 7) })
	refused("Embeddings has 4 levels, expected at most 3", func(w *weights) { w.Embeddings = make([][]float32, 4) })
	refused("weights.embeddings is nil", func(w *weights) { w.Embeddings = nil })
	refused("weights.head_weights is nil, or nil at level 0", func(w *weights) { w.HeadWeights = nil })
	refused("DType is bf16, expected F32 of float32", func(w *weights) { w.DType = sidbeam.BF16 })
	refused("codes is missing, expected 1 elements", func(w *weights) { *w = weights{Hidden: 4} })
	err := sidbeam.WriteDraftHead(path, sidbeam.DraftWeights[uint16]{})
	fails(t, err, sidbeam.InvalidArgument, "DType is f32, expected")
}

func TestDraftHeadOfAnotherOwner(t *testing.T) {
	needsRunner(t)
	strict, lax := draftWeights(), draftWeights()
	lax.AllowAttributeLoss = true
	writesAsAnotherUser(t, func(path string) error { return sidbeam.WriteDraftHead(path, strict) },
		func(path string) error { return sidbeam.WriteDraftHead(path, lax) })
}
