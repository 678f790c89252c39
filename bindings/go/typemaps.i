// Go's typemaps: a slice per kind of array, a number per handle, bytes for an error.
// SPDX-License-Identifier: Apache-2.0

// A nil slice is "none". SWIG passes the slice's header by value: C sees the elements for the call, and nothing of Go
// that holds pointers.
%define GO_SLICE(TYPE, ELEMENT)
%typemap(gotype) TYPE "[]ELEMENT"
%typemap(in) TYPE {
  $1.data = $input.array;
  $1.count = $input.len;
}
%enddef
GO_SLICE(flat_in_i32, int32)
GO_SLICE(flat_in_i64, int64)
GO_SLICE(flat_in_f32, float32)
GO_SLICE(flat_in_bytes, byte)
GO_SLICE(flat_out_i32, int32)
GO_SLICE(flat_out_i64, int64)
GO_SLICE(flat_out_f32, float32)
GO_SLICE(flat_out_bytes, byte)

%typemap(gotype) flat_memory "[]byte"
%typemap(in) flat_memory { $1.data = $input.array; }

%typemap(gotype) flat_handle * "uintptr"
%typemap(in) flat_handle * { $1 = $input; }
%typemap(out) flat_handle * { $result = $1; }

%typemap(gotype) sidbeam_error * "[]byte"
%typemap(in) sidbeam_error * { $1 = (sidbeam_error*)$input.array; }

// Output text is in static storage. SWIG's own typemap would make a Go string over C's memory, to which go vet objects.
%typemap(imtype) const char *STATIC "[]byte"
%typemap(out) const char *STATIC {
  $result.array = (void*)$1;
  $result.len = $result.cap = (intgo)strlen($1);
}
%typemap(goout) const char *STATIC "$result = string($1)"
%apply const char *STATIC {
  const char *sidbeam_version, const char *sidbeam_status_name, const char *sidbeam_cpu_target
};
