/* What Java lends to a call: buffers in place, arrays by copy, strings; and how errors go back. Inserted into SWIG's
 * file after its jni.h, before everything else. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_JAVA_LEND_H
#define SIDBEAM_JAVA_LEND_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sidbeam/base.h>

/* Looked up once, in JNI_OnLoad. */
static struct {
  jclass exception, device_pointer;
  jmethodID exception_of;
  /* Of java.nio.Buffer: private fields, and its methods for JVMs without such fields. With methods alone, a step with
   * two buffers took some 400 ns more. */
  jfieldID position, limit;
  jmethodID position_of, limit_of;
  jfieldID address, count;
} java;

/* A field, or NULL where the JVM has none of that name. */
static jfieldID java_private_field(JNIEnv* jenv, jclass type, const char* name) {
  jfieldID field = (*jenv)->GetFieldID(jenv, type, name, "I");
  if (field == NULL) (*jenv)->ExceptionClear(jenv);
  return field;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  JNIEnv* jenv;
  jclass buffer, exception, device_pointer;
  (void)reserved;
  if ((*vm)->GetEnv(vm, (void**)&jenv, JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  if ((exception = (*jenv)->FindClass(jenv, "io/sidbeam/SidbeamException")) == NULL ||
      (device_pointer = (*jenv)->FindClass(jenv, "io/sidbeam/DevicePointer")) == NULL ||
      (buffer = (*jenv)->FindClass(jenv, "java/nio/Buffer")) == NULL)
    return JNI_ERR;
  java.exception = (*jenv)->NewGlobalRef(jenv, exception);
  java.device_pointer = (*jenv)->NewGlobalRef(jenv, device_pointer);
  java.exception_of = (*jenv)->GetStaticMethodID(jenv, exception, "of", "(I[B)Lio/sidbeam/SidbeamException;");
  java.position = java_private_field(jenv, buffer, "position");
  java.limit = java_private_field(jenv, buffer, "limit");
  java.position_of = (*jenv)->GetMethodID(jenv, buffer, "position", "()I");
  java.limit_of = (*jenv)->GetMethodID(jenv, buffer, "limit", "()I");
  java.address = (*jenv)->GetFieldID(jenv, device_pointer, "address", "J");
  java.count = (*jenv)->GetFieldID(jenv, device_pointer, "count", "J");
  return (*jenv)->ExceptionCheck(jenv) ? JNI_ERR : JNI_VERSION_10;
}

static jbyteArray java_bytes(JNIEnv* jenv, const char* text) {
  const jsize count = (jsize)strlen(text);
  jbyteArray bytes = (*jenv)->NewByteArray(jenv, count);
  if (bytes != NULL) (*jenv)->SetByteArrayRegion(jenv, bytes, 0, count, (const jbyte*)text);
  return bytes;
}

static void java_throw(JNIEnv* jenv, int32_t code, const char* message) {
  jbyteArray bytes = java_bytes(jenv, message);
  if (bytes != NULL) {
    jobject thrown = (*jenv)->CallStaticObjectMethod(jenv, java.exception, java.exception_of, (jint)code, bytes);
    if (!(*jenv)->ExceptionCheck(jenv)) (void)(*jenv)->Throw(jenv, (jthrowable)thrown);
  }
}

/* Throws, and returns 0. */
static int java_refuse(JNIEnv* jenv, int32_t code, const char* name, const char* what) {
  char message[160];
  snprintf(message, sizeof(message), "%s %s", name, what);
  java_throw(jenv, code, message);
  return 0;
}

typedef struct java_loan {
  void* data;
  int64_t count;
  jarray array; /* whose copy data is; NULL for buffers */
} java_loan;

static const java_loan java_none = {NULL, 0, NULL};

/* A number of a buffer, by its field or, if there is none, by its method; -1 if that fails. */
static int64_t java_number(JNIEnv* jenv, jobject buffer, jfieldID field, jmethodID method) {
  jint number;
  if (field != NULL) return (*jenv)->GetIntField(jenv, buffer, field);
  number = (*jenv)->CallIntMethod(jenv, buffer, method);
  if (!(*jenv)->ExceptionCheck(jenv)) return number;
  (*jenv)->ExceptionClear(jenv);
  return -1;
}

/* The elements of a direct buffer from its position to its limit. Another thread may change both while they are read;
 * the result lies within the buffer all the same. Returns 0 with an exception. Buffers has checked the address; it is
 * checked here too, since reading a misaligned one would be undefined. */
static int java_lend_buffer(JNIEnv* jenv, jobject buffer, int64_t width, const char* name, java_loan* out) {
  const int64_t capacity = (*jenv)->GetDirectBufferCapacity(jenv, buffer);
  const int64_t position = java_number(jenv, buffer, java.position, java.position_of);
  const int64_t limit = java_number(jenv, buffer, java.limit, java.limit_of);
  if ((uintptr_t)out->data % (uintptr_t)width != 0)
    return java_refuse(jenv, SIDBEAM_INVALID_ARGUMENT, name,
                       "lies at an address that is no multiple of an element's bytes");
  if (position < 0 || position > limit || limit > capacity)
    return java_refuse(jenv, SIDBEAM_INVALID_ARGUMENT, name, "was changed by another thread");
  out->data = (char*)out->data + position * width;
  out->count = limit - position;
  return 1;
}

static int64_t java_width(char type) { return type == 'B' ? 1 : type == 'J' ? 8 : 4; }

/* Copies a Java array: GetPrimitiveArrayCritical would block the collector for as long as a call takes. */
static void* java_elements(JNIEnv* jenv, jarray array, char type) {
  switch (type) {
    case 'I':
      return (*jenv)->GetIntArrayElements(jenv, array, NULL);
    case 'J':
      return (*jenv)->GetLongArrayElements(jenv, array, NULL);
    case 'F':
      return (*jenv)->GetFloatArrayElements(jenv, array, NULL);
    default:
      return (*jenv)->GetByteArrayElements(jenv, array, NULL);
  }
}

/* Lends null, a direct buffer, a DevicePointer or an array of type I, J, F or B (int, long, float, byte); the
 * hand-written classes pass nothing else. Returns 0 with an exception (a misaligned buffer, one that another thread
 * changed, no memory for a copy) and nothing lent. */
static int java_lend(JNIEnv* jenv, jobject object, char type, const char* name, java_loan* out) {
  out->count = 0;
  out->array = NULL;
  out->data = object == NULL ? NULL : (*jenv)->GetDirectBufferAddress(jenv, object);
  if (object == NULL) return 1;
  if (out->data != NULL) return java_lend_buffer(jenv, object, java_width(type), name, out);
  if ((*jenv)->IsInstanceOf(jenv, object, java.device_pointer)) {
    out->data = (void*)(intptr_t)(*jenv)->GetLongField(jenv, object, java.address);
    out->count = (*jenv)->GetLongField(jenv, object, java.count);
    return 1;
  }
  out->count = (*jenv)->GetArrayLength(jenv, (jarray)object);
  out->data = java_elements(jenv, (jarray)object, type);
  if (out->data == NULL) /* some JVMs have thrown then, others have not */
    return (*jenv)->ExceptionCheck(jenv) ? 0 : java_refuse(jenv, SIDBEAM_OUT_OF_MEMORY, name, "cannot be copied");
  out->array = (jarray)object;
  return 1;
}

/* mode 0 copies back what was written; JNI_ABORT does not. */
static void java_give_back(JNIEnv* jenv, const java_loan* loan, char type, jint mode) {
  if (loan->array == NULL) return;
  switch (type) {
    case 'I':
      (*jenv)->ReleaseIntArrayElements(jenv, loan->array, (jint*)loan->data, mode);
      break;
    case 'J':
      (*jenv)->ReleaseLongArrayElements(jenv, loan->array, (jlong*)loan->data, mode);
      break;
    case 'F':
      (*jenv)->ReleaseFloatArrayElements(jenv, loan->array, (jfloat*)loan->data, mode);
      break;
    default:
      (*jenv)->ReleaseByteArrayElements(jenv, loan->array, (jbyte*)loan->data, mode);
  }
}

#endif
