//===- ConfigFile.h - Users' text, YAML and JSON files ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A YAML or JSON document as a tree in which every node has its line. Files are
// not trusted: size, depth and number of entries are limited, and YAML's
// anchors and aliases, which can expand small files to big ones, are refused.
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

/// Checks text that has been read already; messages call it `file`.
llvm::Expected<std::string> checkText(llvm::StringRef text,
                                      llvm::StringRef file);

class ConfigNode {
public:
  enum Kind : uint8_t { Null, Scalar, List, Map };
  struct Entry;

  Kind kind = Null;
  /// True for a quoted scalar.
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

/// Parses one document. Errors begin with `FILE:LINE: `.
llvm::Expected<ConfigNode> parseYAML(llvm::StringRef text,
                                     llvm::StringRef file);
llvm::Expected<ConfigNode> parseJSON(llvm::StringRef text,
                                     llvm::StringRef file);

/// Makes an error at a line: `FILE:LINE: message`.
llvm::Error errorAt(llvm::StringRef file, unsigned line,
                    const llvm::Twine &message);

} // namespace mp

#endif // MPOPT_SUPPORT_CONFIGFILE_H
