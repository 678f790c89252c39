// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.file.Path;

/** What a catalogue file holds, where it does not say so itself; every setter returns this object. sidbeam/import.h
 * describes the formats. */
public final class ImportConfig {
  int levels;
  int[] codes;
  boolean variableLength;
  String format;
  Path ids;
  String itemColumn;
  String sidColumns;
  String priorityColumn;
  String tokenPattern;
  long tokenBase = -1;
  Quotes quotes = Quotes.AUTO;
  String attributes;
  Builder.Progress progress;

  /** Asks for what the file says. */
  public ImportConfig() {}

  /** The same for a builder of these codes. */
  ImportConfig fitted(int[] codes, boolean variableLength) {
    ImportConfig copy = new ImportConfig().levels(codes.length).codes(codes).variableLength(variableLength);
    copy.format = format;
    copy.ids = ids;
    copy.itemColumn = itemColumn;
    copy.sidColumns = sidColumns;
    copy.priorityColumn = priorityColumn;
    copy.tokenPattern = tokenPattern;
    copy.tokenBase = tokenBase;
    copy.quotes = quotes;
    copy.attributes = attributes;
    copy.progress = progress;
    return copy;
  }

  /**
   * Codes of a SID, or of the longest one.
   *
   * @param levels 0: from the file
   * @return this
   */
  public ImportConfig levels(int levels) {
    this.levels = levels;
    return this;
  }

  /**
   * Codes of each level.
   *
   * @param codes one number per level, or one for all; none: as many as occur
   * @return this
   */
  public ImportConfig codes(int... codes) {
    this.codes = codes.length == 0 ? null : codes.clone();
    return this;
  }

  /**
   * Whether SIDs may have different lengths.
   *
   * @param variableLength true: they may
   * @return this
   */
  public ImportConfig variableLength(boolean variableLength) {
    this.variableLength = variableLength;
    return this;
  }

  /**
   * The format.
   *
   * @param format lcrec, records, jsonl, csv, npy, npz, raw or xllm; null: by content
   * @return this
   */
  public ImportConfig format(String format) {
    this.format = format;
    return this;
  }

  /**
   * The file of the ids of npy and raw rows.
   *
   * @param ids .npy of integers, or text, one id per line; null: none
   * @return this
   */
  public ImportConfig ids(Path ids) {
    this.ids = ids;
    return this;
  }

  /**
   * The field, column or array of the item's id.
   *
   * @param itemColumn a name, or the number of a column of CSV without names; null: a name in use
   * @return this
   */
  public ImportConfig itemColumn(String itemColumn) {
    this.itemColumn = itemColumn;
    return this;
  }

  /**
   * The same of the SID.
   *
   * @param sidColumns "c0,c1,c2" is a column per level; null: a name in use
   * @return this
   */
  public ImportConfig sidColumns(String sidColumns) {
    this.sidColumns = sidColumns;
    return this;
  }

  /**
   * The same of the item's priority.
   *
   * @param priorityColumn null: "priority" in JSON, none in CSV
   * @return this
   */
  public ImportConfig priorityColumn(String priorityColumn) {
    this.priorityColumn = priorityColumn;
    return this;
  }

  /**
   * Families where the file does not tell them.
   *
   * @param tokenPattern such as a family per level, separated by spaces, with a star for the code; null: found
   * @return this
   */
  public ImportConfig tokenPattern(String tokenPattern) {
    this.tokenPattern = tokenPattern;
    return this;
  }

  /**
   * Fields or columns that are attributes of the items, with a type or without.
   *
   * @param attributes such as price,region:string; types are i64, f32, bool, string and strings; null: none
   * @return this
   */
  public ImportConfig attributes(String attributes) {
    this.attributes = attributes;
    return this;
  }

  /**
   * Numbers are token ids, a range of codes per level.
   *
   * @param tokenBase the first id of level 0; -1: numbers are codes
   * @return this
   */
  public ImportConfig tokenBase(long tokenBase) {
    this.tokenBase = tokenBase;
    return this;
  }

  /**
   * Quotes of CSV.
   *
   * @param quotes default {@link Quotes#AUTO}
   * @return this
   */
  public ImportConfig quotes(Quotes quotes) {
    this.quotes = Buffers.given(quotes, "quotes");
    return this;
  }

  /**
   * Hears how far the reading is.
   *
   * @param listener null: nobody
   * @return this
   */
  public ImportConfig onProgress(Builder.Progress listener) {
    this.progress = listener;
    return this;
  }
}
