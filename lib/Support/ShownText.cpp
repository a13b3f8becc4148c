//===- ShownText.cpp - Texts of files as messages show them ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace mp {

/// True for Unicode's control characters, and for characters that only change
/// how others are shown: marks of direction, separators of lines, byte order
/// marks and tags.
static bool isHidden(UTF32 c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e ||
         c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static void addEscape(UTF32 c, raw_ostream &os) {
  if (c == '\n')
    os << "\\n";
  else if (c == '\r')
    os << "\\r";
  else if (c == '\t')
    os << "\\t";
  else if (c < 0x100)
    os << format("\\x%02x", c);
  else if (c < 0x10000)
    os << format("\\u%04x", c);
  else
    os << format("\\U%08x", c);
}

std::string escapeText(const Twine &given) {
  SmallString<128> storage;
  StringRef text = given.toStringRef(storage);
  if (all_of(text, isPrint))
    return text.str();
  std::string escaped;
  raw_string_ostream os(escaped);
  const auto *at = reinterpret_cast<const UTF8 *>(text.begin());
  const auto *end = reinterpret_cast<const UTF8 *>(text.end());
  while (at != end) {
    const UTF8 *next = at;
    UTF32 c;
    if (convertUTF8Sequence(&next, end, &c, strictConversion) != conversionOK) {
      c = *at;
      next = at + 1;
      addEscape(c, os);
    } else if (isHidden(c)) {
      addEscape(c, os);
    } else {
      os << StringRef(reinterpret_cast<const char *>(at), next - at);
    }
    at = next;
  }
  return escaped;
}

void EscapingStream::write_impl(const char *data, size_t size) {
  StringRef text(data, size);
  while (text.contains('\n')) {
    auto [head, tail] = text.split('\n');
    to << escapeText(line + head) << '\n';
    line.clear();
    text = tail;
  }
  line += text;
}

} // namespace mp
