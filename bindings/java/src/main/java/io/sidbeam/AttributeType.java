// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What an attribute of the items holds. */
public enum AttributeType {
  /** Integers. */
  I64(Native.SIDBEAM_ATTRIBUTE_I64),
  /** Numbers, never NaN. */
  F32(Native.SIDBEAM_ATTRIBUTE_F32),
  /** True or false. */
  BOOL(Native.SIDBEAM_ATTRIBUTE_BOOL),
  /** Text. */
  STRING(Native.SIDBEAM_ATTRIBUTE_STRING),
  /** Distinct texts in an order: an item's categories. */
  STRING_LIST(Native.SIDBEAM_ATTRIBUTE_STRING_LIST);

  final int code;

  AttributeType(int code) {
    this.code = code;
  }

  static AttributeType of(long code) {
    for (AttributeType value : values()) {
      if (value.code == code) {
        return value;
      }
    }
    throw new SidbeamException(Status.UNSUPPORTED, "attribute type " + code + " came with a newer library");
  }
}
