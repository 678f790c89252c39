// Foreign text on one line of a terminal.
// SPDX-License-Identifier: Apache-2.0
#include "support/escape.h"
#include "support/utf8.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sidbeam::testing {
namespace {

TEST(Escape, LeavesPlainTextAsItIs) {
  for (const char* text : {"", "plain", "back\\slash", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8d\x8e", "\xef\xbb\xbf"})
    EXPECT_EQ(escaped(text), text);
}

TEST(Escape, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(escaped("a\x1b]0;title\x07"), "a\\x1b]0;title\\x07");
  EXPECT_EQ(escaped("one\ntwo\r\tthree\x7f"), "one\\x0atwo\\x0d\\x09three\\x7f");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b31m");  // C1: another way to write ESC [
  EXPECT_EQ(escaped("\xc2\xa0"), "\xc2\xa0");
}

TEST(Escape, ShowsWhatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(escaped("\xe2\x80\xae"
                    "fdp.exe"),
            "\\xe2\\x80\\xaefdp.exe");
  for (const char* mark : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x81\xa6", "\xe2\x81\xa9"})
    EXPECT_EQ(escaped(mark).substr(0, 2), "\\x") << escaped(mark);
}

TEST(Escape, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(escaped("a\xff"
                    "b\xc3"),
            "a\\xffb\\xc3");
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");  // overlong
  EXPECT_EQ(escaped("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a surrogate pair
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(escaped("\xe2\x82"), "\\xe2\\x82");
}

TEST(Escape, Utf8IsSeenWhereverItStands) {
  // Around the eight bytes that are looked at together.
  for (size_t before = 0; before < 10; ++before) {
    const std::string ascii(before, 'a');
    for (const char* text : {"", "z", "\xc3\xa4", "\xe2\x82\xac\x7f", "\xf0\x9f\x8d\x8e and more text"})
      EXPECT_TRUE(is_utf8(ascii + text)) << before << text;
    for (const char* text : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80 and more text"})
      EXPECT_FALSE(is_utf8(ascii + text)) << before << escaped(text);
  }
}

TEST(Escape, TwiceIsOnce) {
  const std::string once = escaped("\x1b\xff\xe2\x80\xae\\");
  EXPECT_EQ(escaped(once), once);
}

TEST(Escape, IsCutAfterAWholeCharacter) {
  char out[8];
  std::memset(out, 'x', sizeof out);
  escape_into("ab\xe2\x82\xac\xe2\x82\xac", out, sizeof out);
  EXPECT_STREQ(out, "ab\xe2\x82\xac");
  escape_into("\x1b\x1b", out, sizeof out);
  EXPECT_STREQ(out, "\\x1b");
  escape_into("\x1b\x1b", out, 1);
  EXPECT_STREQ(out, "");
  escape_into("1234567890", out, sizeof out);
  EXPECT_STREQ(out, "1234567");
}

}  // namespace
}  // namespace sidbeam::testing
