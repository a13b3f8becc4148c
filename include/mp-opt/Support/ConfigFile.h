//===- ConfigFile.h - Users' text, YAML and JSON files ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A YAML or JSON document as a tree in which everything knows its line. Files
// are not trusted: size, depth and number of entries have limits, and YAML's
// anchors and aliases, which make small files big, are refused.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_CONFIGFILE_H
#define MPOPT_SUPPORT_CONFIGFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mp {

/// Reads a text file of at most 1 MiB: UTF-8, with or without a byte order
/// mark, which is not part of the answer.
llvm::Expected<std::string> readTextFile(llvm::StringRef path);

/// The same for text that is there already; `file` is its name in messages.
llvm::Expected<std::string> checkText(llvm::StringRef text,
                                      llvm::StringRef file);

class ConfigNode {
public:
  enum Kind : uint8_t { Null, Scalar, List, Map };
  struct Entry;

  Kind kind = Null;
  /// A scalar that was in quotes.
  bool quoted = false;
  unsigned line = 0;
  /// The text of a scalar.
  std::string text;
  std::vector<ConfigNode> items;
  std::vector<Entry> entries;

  /// "a list", "a map", "'text'", "nothing".
  std::string describe() const;
};

struct ConfigNode::Entry {
  std::string key;
  unsigned line = 0;
  ConfigNode value;
};

/// Parses one document. Errors say `FILE:LINE: ...`.
llvm::Expected<ConfigNode> parseYAML(llvm::StringRef text,
                                     llvm::StringRef file);
llvm::Expected<ConfigNode> parseJSON(llvm::StringRef text,
                                     llvm::StringRef file);

/// An error at a line: `FILE:LINE: message`.
llvm::Error errorAt(llvm::StringRef file, unsigned line,
                    const llvm::Twine &message);

} // namespace mp

#endif // MPOPT_SUPPORT_CONFIGFILE_H
