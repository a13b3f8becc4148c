//===- onednn_peer.cpp - oneDNN's products and convolutions for timing ----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A C interface for run.py. Convolutions use the layouts that oneDNN prefers;
// reordering data into them is not timed, which favours the peer.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>

using namespace dnnl;
using Dims = memory::dims;
using Any = memory::format_tag;

namespace {
struct Job {
  primitive run;
  std::unordered_map<int, memory> arguments;
};

const engine &getEngine() {
  static engine cpu(engine::kind::cpu, 0);
  return cpu;
}
stream &getStream() {
  static stream order(getEngine());
  return order;
}

memory::data_type parse(const char *type) {
  if (!std::strcmp(type, "bf16"))
    return memory::data_type::bf16;
  return !std::strcmp(type, "f16") ? memory::data_type::f16
                                   : memory::data_type::f32;
}

memory make(const memory::desc &desc) {
  memory result(desc, getEngine());
  std::memset(result.get_data_handle(), 0, desc.get_size());
  return result;
}
} // namespace

extern "C" {

/// batch x (m x k) * (k x n), row-major or transposed.
void *peer_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, int ta,
                  int tb, const char *in, const char *out) {
  auto desc = [](int64_t b, int64_t r, int64_t c, int t,
                 memory::data_type type) {
    Dims strides = t ? Dims{r * c, 1, r} : Dims{r * c, c, 1};
    return memory::desc({b, r, c}, type, strides);
  };
  auto a = desc(batch, m, k, ta, parse(in)),
       b = desc(batch, k, n, tb, parse(in)),
       c = desc(batch, m, n, 0, parse(out));
  matmul::primitive_desc primitive(getEngine(), a, b, c);
  return new Job{matmul(primitive),
                 {{DNNL_ARG_SRC, make(a)},
                  {DNNL_ARG_WEIGHTS, make(b)},
                  {DNNL_ARG_DST, make(c)}}};
}

/// kind: 0 forward, 1 gradient of the input, 2 of the weights.
void *peer_conv(int kind, int64_t n, int64_t c, int64_t size, int64_t f,
                int64_t window, int64_t stride, int64_t pad, int plain,
                const char *in, const char *out) {
  int64_t place = (size + 2 * pad - window) / stride + 1;
  auto desc = [&](Dims dims, const char *type, Any tag) {
    return memory::desc(dims, parse(type), plain ? tag : Any::any);
  };
  auto x = desc({n, c, size, size}, kind == 1 ? out : in, Any::nchw);
  auto w = desc({f, c, window, window}, kind == 2 ? out : in, Any::oihw);
  auto y = desc({n, f, place, place}, kind == 0 ? out : in, Any::nchw);
  Dims strides{stride, stride}, pads{pad, pad};
  auto forward = convolution_forward::primitive_desc(
      getEngine(), prop_kind::forward_training, algorithm::convolution_direct,
      desc({n, c, size, size}, in, Any::nchw),
      desc({f, c, window, window}, in, Any::oihw),
      desc({n, f, place, place}, in, Any::nchw), strides, pads, pads);
  if (kind == 0) {
    convolution_forward::primitive_desc own(
        getEngine(), prop_kind::forward_inference,
        algorithm::convolution_direct, x, w, y, strides, pads, pads);
    return new Job{convolution_forward(own),
                   {{DNNL_ARG_SRC, make(own.src_desc())},
                    {DNNL_ARG_WEIGHTS, make(own.weights_desc())},
                    {DNNL_ARG_DST, make(own.dst_desc())}}};
  }
  if (kind == 1) {
    convolution_backward_data::primitive_desc own(
        getEngine(), algorithm::convolution_direct, x, w, y, strides, pads,
        pads, forward);
    return new Job{convolution_backward_data(own),
                   {{DNNL_ARG_DIFF_SRC, make(own.diff_src_desc())},
                    {DNNL_ARG_WEIGHTS, make(own.weights_desc())},
                    {DNNL_ARG_DIFF_DST, make(own.diff_dst_desc())}}};
  }
  convolution_backward_weights::primitive_desc own(
      getEngine(), algorithm::convolution_direct, x, w, y, strides, pads, pads,
      forward);
  return new Job{convolution_backward_weights(own),
                 {{DNNL_ARG_SRC, make(own.src_desc())},
                  {DNNL_ARG_DIFF_WEIGHTS, make(own.diff_weights_desc())},
                  {DNNL_ARG_DIFF_DST, make(own.diff_dst_desc())}}};
}

void peer_run(void *job) {
  auto *own = static_cast<Job *>(job);
  own->run.execute(getStream(), own->arguments);
  getStream().wait();
}
}
