// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

// openings open a file or a folder, each another kind.
func openings(t *testing.T) map[string]func(path string) error {
	index := threeItems(t)
	all := map[string]func(path string) error{
		"Open": func(path string) error { _, err := sidbeam.Open(path, sidbeam.OpenConfig{}); return err },
		"Peek": func(path string) error { _, err := sidbeam.Peek(path); return err },
		"Save": func(path string) error { return index.Save(filepath.Join(path, "a.sidx")) },
		"Write": func(path string) error {
			builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{2}}, sidbeam.Pairs{Codes: []int32{1}})
			return builder.Write(context.Background(), filepath.Join(path, "a.sidx"))
		},
		"OpenCatalog": func(path string) error { _, err := sidbeam.OpenCatalog(path, sidbeam.CatalogConfig{}); return err },
		"FollowCatalog": func(path string) error {
			_, err := sidbeam.FollowCatalog(path, sidbeam.CatalogConfig{})
			return err
		},
		"NewCatalog": func(path string) error {
			_, err := sidbeam.NewCatalog(index, filepath.Join(path, "a"), sidbeam.CatalogConfig{})
			return err
		},
		"IndexFromFile": func(path string) error {
			_, err := sidbeam.IndexFromFile(context.Background(), path, sidbeam.ImportConfig{}, sidbeam.BuilderConfig{})
			return err
		},
	}
	if os.Getenv("SIDBEAM_MODEL") != "" {
		all["OpenModel"] = func(path string) error { _, err := sidbeam.OpenModel(path, sidbeam.ModelConfig{}); return err }
		all["OpenDraftHead"] = func(path string) error { _, err := sidbeam.OpenDraftHead(path); return err }
	}
	return all
}

// isSystem checks that err is an IOError of the library and also the operating system's.
func isSystem(t *testing.T, name string, err, system error) {
	t.Helper()
	if !errors.Is(err, sidbeam.IOError) || !errors.Is(err, system) {
		t.Errorf("%s: expected an IOError that is %q too, got %v", name, system, err)
	}
}

// What is missing is fs.ErrNotExist, as of package os, whatever its path looks like.
func TestMissingFiles(t *testing.T) {
	folder := t.TempDir()
	for name, open := range openings(t) {
		for _, path := range []string{"none", "none'; (a: b", "none': Permission denied"} {
			err := open(filepath.Join(folder, path, "none"))
			isSystem(t, name, err, fs.ErrNotExist)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: expected nothing else, got %v", name, err)
			}
		}
	}
	_, err := sidbeam.OpenCatalog(folder, sidbeam.CatalogConfig{})
	isSystem(t, "a folder without a catalogue", err, fs.ErrNotExist)
}

func TestForbiddenFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "closed")
	must(t, os.Mkdir(folder, 0o700))
	openings := openings(t)
	must(t, os.Chmod(folder, 0))
	asAnotherUser(t, func() {
		for name, open := range openings {
			isSystem(t, name, open(filepath.Join(folder, "a")), fs.ErrPermission)
		}
	})
}

// Other refusals of the operating system are its numbers, and what is no refusal of its is none.
func TestSystemErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("no index"), 0o600))
	isSystem(t, "a file as a folder", threeItems(t).Save(filepath.Join(file, "a")), syscall.ENOTDIR)
	_, err := sidbeam.Open(file, sidbeam.OpenConfig{})
	if !errors.Is(err, sidbeam.Corrupt) || errors.Unwrap(err) != nil {
		t.Errorf("expected Corrupt and nothing in it, got %v in %v", errors.Unwrap(err), err)
	}
	_, err = sidbeam.Open(t.TempDir(), sidbeam.OpenConfig{})
	isSystem(t, "a folder as an index", err, syscall.EISDIR)
}

// ends are contexts that have ended, and why.
func ends(t *testing.T) map[error]context.Context {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	t.Cleanup(cancelLate)
	return map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late}
}

// Everything that takes a context says which of its errors it was that ended the call.
func TestContextErrors(t *testing.T) {
	builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{2}}, sidbeam.Pairs{Codes: []int32{1}})
	catalog, err := sidbeam.NewCatalog(threeItems(t), "", sidbeam.CatalogConfig{})
	must(t, err)
	defer catalog.Close()
	calls := map[string]func(ctx context.Context) error{
		"Plan":   func(ctx context.Context) error { _, err := builder.Plan(ctx); return err },
		"Write":  func(ctx context.Context) error { return builder.Write(ctx, "none/a") },
		"Finish": func(ctx context.Context) error { _, err := builder.Finish(ctx); return err },
		"AddFile": func(ctx context.Context) error {
			_, err := builder.AddFile(ctx, "none", sidbeam.ImportConfig{})
			return err
		},
		"Catalog.AddFile": func(ctx context.Context) error {
			_, err := catalog.AddFile(ctx, "none", sidbeam.ImportConfig{})
			return err
		},
		"IndexFromFile": func(ctx context.Context) error {
			_, err := sidbeam.IndexFromFile(ctx, "none", sidbeam.ImportConfig{}, sidbeam.BuilderConfig{})
			return err
		},
		"Compact": func(ctx context.Context) error { _, err := catalog.Compact(ctx, sidbeam.CompactConfig{}); return err },
		"Refresh": func(ctx context.Context) error { _, err := catalog.Refresh(ctx, 0); return err },
	}
	if os.Getenv("SIDBEAM_MODEL") != "" {
		config := tinyConfig(t)
		runner := newRunner(t, config)
		config.CallerThreads = true
		here := newRunner(t, config)
		calls["Run"] = func(ctx context.Context) error { _, err := runner.Run(ctx, history); return err }
		calls["Run here"] = func(ctx context.Context) error { _, err := here.Run(ctx, history); return err }
		calls["Submit"] = func(ctx context.Context) error { _, err := runner.Submit(ctx, history); return err }
		calls["Drain"] = runner.Drain
	}
	for why, ctx := range ends(t) {
		for name, call := range calls {
			err := call(ctx)
			if !errors.Is(err, sidbeam.Cancelled) || !errors.Is(err, why) {
				t.Errorf("%s: expected Cancelled by %v, got %v", name, why, err)
			}
		}
	}
}
