//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format of numpy.lib.format, versions 1 to 3. NumPy reads the header as a
// Python literal. Here it must be a dictionary of three entries whose values
// are a string, a truth value and a tuple of numbers.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"

#include <cstring>

using namespace llvm;

namespace mp {

static constexpr StringLiteral magic("\x93NUMPY");
/// NumPy's own limit is 10,000.
static constexpr uint64_t maxHeader = 1 << 16;
/// NumPy's own limit is 64.
static constexpr size_t maxRank = 64;

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

namespace {

struct Header {
  std::string type;
  bool isFortran = false;
  SmallVector<int64_t> sizes;
};

class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text) {}
  /// Returns false if the text is not a header.
  bool parse(Header &header);

private:
  bool eat(StringRef token) {
    text = text.ltrim(" \t\n");
    return text.consume_front(token);
  }
  bool parseString(std::string &to);
  bool parseSizes(SmallVectorImpl<int64_t> &to);

  StringRef text;
};

} // namespace

bool HeaderParser::parseString(std::string &to) {
  char quote = eat("'") ? '\'' : eat("\"") ? '"' : '\0';
  size_t end = text.find(quote);
  if (!quote || end == StringRef::npos || text.take_front(end).contains('\\'))
    return false;
  to = text.take_front(end).str();
  text = text.drop_front(end + 1);
  return true;
}

bool HeaderParser::parseSizes(SmallVectorImpl<int64_t> &to) {
  if (!eat("("))
    return false;
  bool hasComma = true;
  while (!eat(")")) {
    uint64_t size;
    StringRef digits = text.take_while(isDigit);
    if (!hasComma || digits.empty() || digits.getAsInteger(10, size) ||
        size > INT64_MAX || to.size() == maxRank)
      return false;
    text = text.drop_front(digits.size());
    to.push_back(int64_t(size));
    hasComma = eat(",");
  }
  // "(3)" is a number in Python.
  return to.size() != 1 || hasComma;
}

bool HeaderParser::parse(Header &header) {
  if (!eat("{"))
    return false;
  bool hasType = false, hasOrder = false, hasSizes = false, hasComma = true;
  while (!eat("}")) {
    std::string key;
    if (!hasComma || !parseString(key) || !eat(":"))
      return false;
    text = text.ltrim(" \t\n");
    bool *seen = StringSwitch<bool *>(key)
                     .Case("descr", &hasType)
                     .Case("fortran_order", &hasOrder)
                     .Case("shape", &hasSizes)
                     .Default(nullptr);
    if (!seen || *seen)
      return false;
    *seen = true;
    if (seen == &hasOrder)
      header.isFortran = eat("True");
    bool valid = seen == &hasType    ? parseString(header.type)
                 : seen == &hasSizes ? parseSizes(header.sizes)
                                     : header.isFortran || eat("False");
    if (!valid)
      return false;
    hasComma = eat(",");
  }
  return hasType && hasOrder && hasSizes && text.trim(" \t\n").empty();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The kind of a type string without its byte order; Undefined for others.
static ElementKind getKind(StringRef type) {
  return StringSwitch<ElementKind>(type)
      .Case("b1", ElementKind::Bool)
      .Case("i1", ElementKind::Int8)
      .Case("i2", ElementKind::Int16)
      .Case("i4", ElementKind::Int32)
      .Case("i8", ElementKind::Int64)
      .Case("u1", ElementKind::UInt8)
      .Case("u2", ElementKind::UInt16)
      .Case("u4", ElementKind::UInt32)
      .Case("u8", ElementKind::UInt64)
      .Case("f2", ElementKind::Float16)
      .Case("f4", ElementKind::Float)
      .Case("f8", ElementKind::Double)
      .Case("c8", ElementKind::Complex64)
      .Case("c16", ElementKind::Complex128)
      .Case("V2", ElementKind::BFloat16)
      .Case("bfloat16", ElementKind::BFloat16)
      .Case("float8_e4m3fn", ElementKind::Float8E4M3FN)
      .Case("float8_e4m3fnuz", ElementKind::Float8E4M3FNUZ)
      .Case("float8_e5m2", ElementKind::Float8E5M2)
      .Case("float8_e5m2fnuz", ElementKind::Float8E5M2FNUZ)
      .Case("float8_e8m0fnu", ElementKind::Float8E8M0)
      .Default(ElementKind::Undefined);
}

/// The type string of a kind; empty for kinds that NumPy lacks.
static StringRef getTypeName(ElementKind kind) {
  switch (kind) {
  case ElementKind::Bool:
    return "|b1";
  case ElementKind::Int8:
    return "|i1";
  case ElementKind::Int16:
    return "<i2";
  case ElementKind::Int32:
    return "<i4";
  case ElementKind::Int64:
    return "<i8";
  case ElementKind::UInt8:
    return "|u1";
  case ElementKind::UInt16:
    return "<u2";
  case ElementKind::UInt32:
    return "<u4";
  case ElementKind::UInt64:
    return "<u8";
  case ElementKind::Float16:
    return "<f2";
  case ElementKind::Float:
    return "<f4";
  case ElementKind::Double:
    return "<f8";
  case ElementKind::Complex64:
    return "<c8";
  case ElementKind::Complex128:
    return "<c16";
  case ElementKind::BFloat16:
    return "<V2";
  default:
    return "";
  }
}

static bool isComplex(ElementKind kind) {
  return kind == ElementKind::Complex64 || kind == ElementKind::Complex128;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static void swapBytes(const Tensor &tensor) {
  size_t size = getElementBytes(tensor.getKind());
  size_t part = isComplex(tensor.getKind()) ? size / 2 : size;
  char *data = static_cast<char *>(tensor.getData());
  for (size_t at = 0, end = tensor.getNumBytes(); at < end; at += part)
    std::reverse(data + at, data + at + part);
}

/// Copies the elements of `from`, whose first index runs fastest, in row-major
/// order.
static Expected<Tensor> transpose(const Tensor &from) {
  Expected<Tensor> to = Tensor::create(from.getKind(), from.getSizes());
  if (!to)
    return to;
  size_t bytes = getElementBytes(from.getKind());
  ArrayRef<int64_t> sizes = from.getSizes();
  SmallVector<int64_t> strides, index(sizes.size(), 0);
  int64_t stride = 1;
  for (int64_t size : sizes) {
    strides.push_back(stride);
    stride *= size;
  }
  const char *source = static_cast<const char *>(from.getData());
  char *target = static_cast<char *>(to->getData());
  int64_t offset = 0;
  for (int64_t i = 0, e = from.getNumElements(); i < e; ++i) {
    std::memcpy(target + i * bytes, source + offset * bytes, bytes);
    for (size_t axis = sizes.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < sizes[axis])
        break;
      offset -= strides[axis] * sizes[axis];
      index[axis] = 0;
    }
  }
  return to;
}

static Expected<Tensor> readElements(const Header &header,
                                     const DataBuffer &data) {
  StringRef type = header.type;
  bool isSwapped = type.starts_with(">");
  if (!type.empty() && StringRef("<>|=").contains(type.front()))
    type = type.drop_front();
  ElementKind kind = getKind(type);
  if (kind == ElementKind::Undefined)
    return createStringError("NumPy's type '" + header.type +
                             "' is none of ONNX's tensors, or not supported");
  Expected<Tensor> tensor = makeTensor(kind, header.sizes, data);
  if (!tensor)
    return tensor;
  if (isSwapped)
    swapBytes(*tensor);
  if (header.isFortran && tensor->getRank() > 1 && tensor->getNumElements())
    return transpose(*tensor);
  return tensor;
}

Expected<Tensor> parseNpy(const DataBuffer &file) {
  StringRef text = file.getText();
  if (!text.starts_with(magic) || text.size() < 10)
    return createStringError("not in NumPy's format: it does not begin with "
                             "'\\x93NUMPY'");
  uint8_t version = text[6];
  uint64_t begin = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || text[7] || text.size() < begin)
    return createStringError("version " + Twine(unsigned(version)) +
                             " of NumPy's format is not supported");
  uint64_t size = version == 1 ? support::endian::read16le(text.data() + 8)
                               : support::endian::read32le(text.data() + 8);
  if (size > maxHeader || size > text.size() - begin)
    return createStringError("the header is cut short, or longer than " +
                             Twine(maxHeader) + " bytes");
  Header header;
  if (!HeaderParser(text.substr(begin, size)).parse(header))
    return createStringError("the header is not of the form {'descr': '<f4', "
                             "'fortran_order': False, 'shape': (2, 3)}");
  uint64_t data = begin + size;
  return readElements(header, file.slice(data, text.size() - data));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Expected<std::string> makeNpyHeader(const Tensor &tensor) {
  StringRef type = getTypeName(tensor.getKind());
  if (type.empty())
    return createStringError("NumPy has no type for elements of " +
                             getElementKindName(tensor.getKind()));
  std::string text =
      ("{'descr': '" + type + "', 'fortran_order': False, 'shape': (").str();
  for (int64_t size : tensor.getSizes())
    text += std::to_string(size) + (tensor.getRank() == 1 ? "," : ", ");
  if (tensor.getRank() > 1)
    text.resize(text.size() - 2);
  text += "), }";
  // Data begin at a multiple of 64.
  constexpr size_t prefix = 10, alignment = 64;
  text.append(alignment - (prefix + text.size() + 1) % alignment, ' ');
  text += '\n';
  std::string header = magic.str();
  header += {'\1', '\0', char(text.size() & 0xff), char(text.size() >> 8)};
  return header + text;
}

Error writeNpy(const Tensor &tensor, raw_ostream &os) {
  Expected<std::string> header = makeNpyHeader(tensor);
  if (!header)
    return header.takeError();
  os << *header << getBytes(tensor);
  return Error::success();
}

} // namespace mp
