// Java's typemaps: what lend.h makes of buffers, arrays and strings. Included by sidbeam.i.
// SPDX-License-Identifier: Apache-2.0
%insert("header") "java/lend.h"

// Nothing that SWIG makes is public. (The interface of constants has no pragma: CMakeLists.txt takes its word away.)
%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    NativeLibrary.load();
  }
%}
%javaconst(1);
%ignore SIDBEAM_ABI_VERSION;
%ignore SIDBEAM_RUNNER_ABI_VERSION;
%ignore SIDBEAM_IMPORT_ABI_VERSION;
%ignore FLAT_CLOSED;

// Handles are numbers.
%typemap(jni) flat_handle* "jlong"
%typemap(jtype) flat_handle* "long"
%typemap(jstype) flat_handle* "long"
%typemap(javain) flat_handle* "$javainput"
%typemap(javaout) flat_handle* { return $jnicall; }
%typemap(in) flat_handle* "$1 = (flat_handle*)(intptr_t)$input;"
%typemap(out) flat_handle* "$result = (jlong)(intptr_t)$1;"

// Arrays: null, a direct buffer, a DevicePointer or, where the hand-written layer has one, a Java array. If one cannot
// be lent, $cleanup (the freearg of all arguments) gives back those before it; those after it are still java_none.
%define SIDBEAM_JAVA_ARRAY(TYPE, LETTER, MODE)
%typemap(jni) TYPE "jobject"
%typemap(jtype) TYPE "Object"
%typemap(jstype) TYPE "Object"
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%typemap(in) TYPE (java_loan loan = java_none) {
  if (!java_lend(jenv, $input, LETTER, "$1_name", &loan)) {
    $cleanup
    return $null;
  }
  $1.data = loan.data;
  $1.count = loan.count;
}
%typemap(freearg) TYPE "java_give_back(jenv, &loan$argnum, LETTER, MODE);"
%enddef
SIDBEAM_JAVA_ARRAY(flat_in_i32, 'I', JNI_ABORT)
SIDBEAM_JAVA_ARRAY(flat_in_i64, 'J', JNI_ABORT)
SIDBEAM_JAVA_ARRAY(flat_in_f32, 'F', JNI_ABORT)
SIDBEAM_JAVA_ARRAY(flat_in_bytes, 'B', JNI_ABORT)
SIDBEAM_JAVA_ARRAY(flat_out_i32, 'I', 0)
SIDBEAM_JAVA_ARRAY(flat_out_i64, 'J', 0)
SIDBEAM_JAVA_ARRAY(flat_out_f32, 'F', 0)
SIDBEAM_JAVA_ARRAY(flat_out_bytes, 'B', 0)
%typemap(out) flat_out_bytes "$result = (*jenv)->NewDirectByteBuffer(jenv, $1.data, $1.count);"

%typemap(jni) flat_memory "jobject"
%typemap(jtype) flat_memory "Object"
%typemap(jstype) flat_memory "Object"
%typemap(javain) flat_memory "$javainput"
%typemap(in) flat_memory (java_loan loan = java_none) {
  if (!java_lend(jenv, $input, 'B', "$1_name", &loan)) {
    $cleanup
    return $null;
  }
  $1.data = loan.data;
}

// Strings are bytes of UTF-8, with a NUL at the end on the way in: JNI's modified UTF-8 differs.
%typemap(jni) const char* "jbyteArray"
%typemap(jtype) const char* "byte[]"
%typemap(jstype) const char* "byte[]"
%typemap(javain) const char* "$javainput"
%typemap(javaout) const char* { return $jnicall; }
%typemap(in) const char* (java_loan loan = java_none) {
  if (!java_lend(jenv, $input, 'B', "$1_name", &loan)) {
    $cleanup
    return $null;
  }
  $1 = (char*)loan.data;
}
%typemap(freearg) const char* "java_give_back(jenv, &loan$argnum, 'B', JNI_ABORT);"
%typemap(out) const char* "$result = java_bytes(jenv, $1);"

// An error becomes a SidbeamException. It does not return: what was lent is given back first, and nothing else follows.
%typemap(in, numinputs=0) sidbeam_error* (sidbeam_error error) "$1 = &error;"
%typemap(argout) sidbeam_error* "if ($1->code != 0) java_throw(jenv, $1->code, $1->message);"

%typemap(in, numinputs=0) JNIEnv* "$1 = jenv;"
%inline %{
/* Where a direct buffer begins, for Buffers: only ByteBuffer has a method that tells its alignment. */
static int64_t java_address(JNIEnv* jenv, jobject buffer) {
  return (int64_t)(intptr_t)(*jenv)->GetDirectBufferAddress(jenv, buffer);
}
%}

// A buffer over a session's memory, whose maker holds the session by flat_view_retain, or over that of a lane, which
// waits: such a buffer is given to nobody.
%inline %{
static flat_out_bytes java_view(int64_t address, int64_t bytes) {
  flat_out_bytes view;
  view.data = (char*)(intptr_t)address;
  view.count = bytes;
  return view;
}
%}
