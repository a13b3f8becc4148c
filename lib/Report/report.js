// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The report's page. Texts of the model only ever become text: nothing here
// builds markup from strings. Layout is done per opened scope, drawing for
// what is in view, tables a few hundred rows at a time.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const str = i => data.strings[i];
const LOW = 2, F32 = 1, CAST = 3;
const names = {0: 'left as it is', 1: 'fp32', 2: data.precision, 3: 'cast'};
const classes = {0: 'other', 1: 'f32', 2: 'low', 3: 'cast'};
const byId = id => document.getElementById(id);
// Of a training step: its phases, in order.
const phases = data.phases ? Object.keys(data.phases) : [];
// With a profile, boxes may be coloured by their time; with attributed errors,
// by their share of the whole error.
const hasTimes = data.kernels.length > 0;
const errors = data.errors;
const hasErrors = errors && errors.nodes.some(([, , part]) => part > 0);
const colorings = [...(hasTimes ? ['time'] : []),
                   ...(hasErrors ? ['error'] : []), 'precision'];
let coloring = colorings[0];

// Colours are the style sheet's, which has two sets of them.
const colors = {};
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['text', 'hint', 'line', 'edge', 'panel', 'open', 'mark',
                      'low', 'f32', 'other', 'cast', 'low-fill', 'f32-fill',
                      'other-fill', 'cast-fill', 'hot'])
    colors[name] = style.getPropertyValue('--' + name).trim();
}
readColors();

function el(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  made.append(...children);
  return made;
}
function link(text, action) {
  const made = el('button', text);
  made.className = 'link';
  made.addEventListener('click', action);
  return made;
}
function bytes(n) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  let i = 0;
  while (n >= 1000 && i + 1 < units.length) { n /= 1000; ++i; }
  return (i ? n.toPrecision(3) : n) + ' ' + units[i];
}
// What is less than half a percent is no change worth a number.
function percent(a, b) {
  const change = a ? 100 * (b - a) / a : 0;
  return Math.abs(change) < 0.5 ? '' : ` (${change.toFixed(0)} %)`;
}
function share(part, all) {
  if (!part || !all) return '';
  const number = 100 * part / all;
  return Math.min(number, part < all ? 99.9 : 100).toFixed(1) + ' %';
}
function time(seconds) {
  if (!seconds) return '';
  const micros = seconds * 1e6;
  return micros < 1000 ? `${micros.toPrecision(3)} us`
                       : `${(micros / 1000).toPrecision(3)} ms`;
}
function rms(error) {
  return error === null ? 'not finite' : error ? error.toExponential(1) : '0';
}
function count(n) {
  const units = ['', ' k', ' M', ' G', ' T', ' P', ' E'];
  let i = 0;
  while (n >= 1000 && i + 1 < units.length) { n /= 1000; ++i; }
  return (i ? n.toPrecision(3) : n) + units[i];
}

// The model ------------------------------------------------------------------

const values = data.values.map(v => ({
  name: str(v[0]), type: str(v[1]), bytes: v[2], kind: v[3], output: v[4],
  source: v[5], f32: v[6] === 1, low: v[6] === 2, users: [],
}));
const nodes = data.nodes.map((n, index) => ({
  index, name: str(n[0]), op: str(n[1]), scope: n[2], state: n[3],
  opClass: str(n[4]), classReason: str(n[5]), because: str(n[6]),
  notes: str(n[7]), schema: str(n[8]), operands: n[9], results: n[10],
  causeValue: n[11], causeNode: n[12], moved: n[13], phase: n[15],
  work: n[16], pattern: str(n[17]), cost: n[18], kernels: [], time: 0, heat: 0,
  error: null, errorShare: 0,
}));
// The time of a kernel counts at the first of its nodes, which it is named
// after; all of them are as hot as it is long.
const kernels = data.kernels.map(k => ({
  kind: str(k[0]), seconds: k[1], roofline: k[2], nodes: k[3],
}));
for (const kernel of kernels) {
  if (kernel.nodes.length) nodes[kernel.nodes[0]].time += kernel.seconds;
  for (const node of kernel.nodes) {
    nodes[node].kernels.push(kernel);
    nodes[node].heat += kernel.seconds;
  }
}
const longest = nodes.reduce((most, node) => Math.max(most, node.heat), 0);
const totalTime = kernels.reduce((sum, kernel) => sum + kernel.seconds, 0);
// The nodes with errors, the greatest share first.
const wrong = (errors ? errors.nodes : []).map(
  ([index, predicted, part, measured]) => {
    const node = nodes[index];
    node.error = {predicted, measured};
    node.errorShare = part || 0;
    return node;
  });
const worst = wrong.length ? wrong[0].errorShare : 0;
for (const node of nodes)
  for (const v of node.operands)
    if (v >= 0) values[v].users.push(node.index);

function skipCasts(v) {
  while (v >= 0 && values[v].source >= 0 &&
         nodes[values[v].source].state === CAST)
    v = nodes[values[v].source].operands[0];
  return v;
}

// Scopes ---------------------------------------------------------------------

// A group of items: nodes and other groups, in the order of the graph.
function group(name, parent) {
  return {name, parent, items: [], sub: new Map(), open: false, first: Infinity,
          count: [0, 0, 0, 0], bytes: [0, 0, 0, 0], moved: 0, work: 0,
          workLow: 0, time: 0, errorShare: 0, edges: null, layout: null};
}
const root = group('the model', null);
root.open = true;
function groupOf(at, part) {
  if (!at.sub.has(part)) at.sub.set(part, group(part, at));
  return at.sub.get(part);
}
// Phases stand on top; in each of them the scopes of its nodes.
const scopeGroups = new Map();
function findGroup(node) {
  const key = node.scope * 4 + node.phase;
  if (!scopeGroups.has(key)) {
    const parts = str(data.scopes[node.scope]).split('/').filter(part => part);
    const deep = parts.splice(16);
    if (deep.length) parts.push(deep.join('/'));
    let at = root;
    if (phases.length) {
      at = groupOf(root, phases[node.phase]);
      at.rank = node.phase;
    }
    scopeGroups.set(key, parts.reduce(groupOf, at));
  }
  return scopeGroups.get(key);
}
for (const node of nodes) {
  node.group = findGroup(node);
  // Constants are many and say little: they are listed, not drawn.
  const drawn = !node.results.length ||
                node.results.some(v => values[v].kind !== 1);
  if (drawn) node.group.items.push(node);
  // Constants, and casts of weights, stand at the top of the graph.
  node.counts = drawn && node.state !== CAST;
}
for (const isSure of [true, false])
  for (const node of nodes)
    for (let at = node.group; at && node.counts === isSure; at = at.parent)
      if (at.first === Infinity) at.first = node.index;
const firstOf = item => item.items ? item.first : item.index;
const inOrder = (a, b) =>
  (a.rank || 0) - (b.rank || 0) || firstOf(a) - firstOf(b);

// In lists numbered siblings stand by their numbers, whatever the order of the
// graph: layers.2 before layers.10, and a backward pass from layer 0 on.
function byNumber(groups) {
  const stem = name => name.replace(/\d+/g, '#');
  const places = new Map();
  for (const at of groups) {
    const key = stem(at.name);
    if (!places.has(key)) places.set(key, []);
    places.get(key).push(at);
  }
  return [...places.values()].flatMap(list => list.sort((a, b) =>
    a.name.localeCompare(b.name, 'en', {numeric: true})));
}

// At most this many boxes stand in one group; more become groups of their own.
const LIMIT = 100;
function split(at) {
  while (at.items.length > LIMIT) {
    const parts = [];
    for (let i = 0; i < at.items.length; i += LIMIT) {
      const slice = at.items.slice(i, i + LIMIT);
      if (slice.length === 1) { parts.push(slice[0]); continue; }
      const part = group(
        `${title(leaf(slice, 0))} … ${title(leaf(slice, -1))}`, at);
      part.items = slice;
      part.first = firstOf(slice[0]);
      for (const item of slice)
        if (item.items) item.parent = part; else item.group = part;
      parts.push(part);
    }
    at.items = parts;
  }
}
// The first (0) or last (-1) node of items and their groups.
function leaf(items, end) {
  let item = items.at(end);
  while (item.items) item = item.items.at(end);
  return item;
}
function title(item) {
  const short = item.name.split('/').pop();
  return short || item.op;
}
(function build() {
  const order = [root];
  for (let i = 0; i < order.length; ++i) order.push(...order[i].sub.values());
  for (const at of order.reverse()) {
    at.items.push(...[...at.sub.values()].filter(sub => sub.items.length));
    at.items.sort(inOrder);
    // A group of one group is that group; phases stay what they are.
    if (at.parent && at.rank === undefined && at.items.length === 1 &&
        at.items[0].items) {
      const only = at.items[0];
      at.name += '/' + only.name;
      at.items = only.items;
      for (const item of at.items)
        if (item.items) item.parent = at; else item.group = at;
    }
    split(at);
  }
  for (const node of nodes) {
    let size = 0;
    for (const v of node.results) size += values[v].bytes;
    for (let at = node.group; at; at = at.parent) {
      ++at.count[node.state];
      at.bytes[node.state] += size;
      at.moved += node.moved;
      at.work += node.work;
      at.time += node.time;
      at.errorShare += node.errorShare;
      if (node.state === LOW) at.workLow += node.work;
    }
  }
})();

// Every edge belongs to the innermost group that holds both of its ends.
function addEdges() {
  const depthOf = new Map();
  function depth(at) {
    if (!depthOf.has(at))
      depthOf.set(at, at.parent ? depth(at.parent) + 1 : 0);
    return depthOf.get(at);
  }
  function addEdge(from, to) {
    let a = from, b = to, ga = from.group, gb = to.group;
    while (ga !== gb) {
      if (depth(ga) >= depth(gb)) { a = ga; ga = ga.parent; }
      else { b = gb; gb = gb.parent; }
    }
    if (a === b) return;
    if (!ga.edges) ga.edges = new Map();
    if (!ga.edges.has(a)) ga.edges.set(a, new Set());
    ga.edges.get(a).add(b);
  }
  for (const node of nodes)
    for (const v of node.operands)
      if (v >= 0 && values[v].source >= 0)
        addEdge(nodes[values[v].source], node);
}
addEdges();

// Layout ---------------------------------------------------------------------

const BOX = {w: 168, h: 34}, GROUP = {w: 200, h: 48}, GAP = {x: 22, y: 30};
const PAD = 14, HEAD = 26;

// Boxes in layers along the edges that go forward; sizes from the inside out.
function layout(at) {
  const items = at.items, place = new Map();
  items.forEach((item, i) => {
    // Phases follow one another, whatever passes between them.
    const layer = item.rank || 0;
    place.set(item, {item, i, layer, mid: i});
  });
  const edges = [];
  if (at.edges)
    for (const item of items)
      for (const to of at.edges.get(item) || []) {
        const a = place.get(item), b = place.get(to);
        edges.push([a, b]);
        if (a.i < b.i) b.layer = Math.max(b.layer, a.layer + 1);
      }
  const layers = [];
  for (const p of place.values()) {
    if (p.item.items && p.item.open) {
      const inner = layout(p.item);
      p.w = inner.w + 2 * PAD;
      p.h = inner.h + HEAD + 2 * PAD;
    } else {
      const size = p.item.items ? GROUP : BOX;
      p.w = size.w;
      p.h = size.h;
    }
    (layers[p.layer] = layers[p.layer] || []).push(p);
  }
  arrange(layers.flatMap(wrap), edges);
  const box = {w: 0, h: 0, places: [...place.values()], edges};
  for (const p of box.places) {
    box.w = Math.max(box.w, p.x + p.w);
    box.h = Math.max(box.h, p.y + p.h);
  }
  at.layout = box;
  return box;
}
// Wide layers become several rows, which fit the page where they can.
const MOST_IN_ROW = 8;
function wrap(layer) {
  const most = Math.max(GROUP.w, canvas.clientWidth - 40), parts = [];
  let width = Infinity;
  for (const p of layer) {
    const row = parts.at(-1);
    if (!row || row.length === MOST_IN_ROW || width + p.w > most) {
      parts.push([p]);
      width = p.w + GAP.x;
    } else {
      row.push(p);
      width += p.w + GAP.x;
    }
  }
  return parts;
}
function arrange(layers, edges) {
  const before = new Map();
  for (const [a, b] of edges)
    if (a.layer < b.layer) {
      if (!before.has(b)) before.set(b, []);
      before.get(b).push(a);
    }
  let y = 0, width = 0;
  for (const layer of layers) {
    for (const p of layer) {
      const from = before.get(p);
      if (from) p.mid = from.reduce((sum, q) => sum + q.mid, 0) / from.length;
    }
    layer.sort((a, b) => a.mid - b.mid || a.i - b.i);
    let x = 0, height = 0;
    layer.forEach((p, i) => {
      p.mid = i - (layer.length - 1) / 2;
      p.x = x; p.y = y;
      x += p.w + GAP.x;
      height = Math.max(height, p.h);
    });
    layer.width = x - GAP.x;
    width = Math.max(width, layer.width);
    y += height + GAP.y;
  }
  for (const layer of layers)
    for (const p of layer) p.x += (width - layer.width) / 2;
}

// Drawing --------------------------------------------------------------------

const canvas = byId('canvas'), ctx = canvas.getContext('2d');
const view = {x: 20, y: 20, scale: 1};
let selected = null, asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}
function relayout() { layout(root); redraw(); }

function draw() {
  const ratio = devicePixelRatio || 1;
  const w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== w * ratio || canvas.height !== h * ratio) {
    canvas.width = w * ratio;
    canvas.height = h * ratio;
  }
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  const s = view.scale * ratio;
  ctx.setTransform(s, 0, 0, s, view.x * ratio, view.y * ratio);
  ctx.textBaseline = 'middle';
  const seen = {x0: -view.x / view.scale, y0: -view.y / view.scale};
  seen.x1 = seen.x0 + w / view.scale;
  seen.y1 = seen.y0 + h / view.scale;
  drawGroup(root, 0, 0, seen);
}
function drawGroup(at, ox, oy, seen) {
  drawEdges(at, ox, oy, seen);
  for (const p of at.layout.places) {
    const x = ox + p.x, y = oy + p.y;
    if (x > seen.x1 || y > seen.y1 || x + p.w < seen.x0 || y + p.h < seen.y0)
      continue;
    if (!p.item.items) drawNode(p.item, x, y, p);
    else if (p.item.open) {
      drawOpen(p.item, x, y, p);
      drawGroup(p.item, x + PAD, y + HEAD + PAD, seen);
    } else drawClosed(p.item, x, y, p);
  }
}
function drawEdges(at, ox, oy, seen) {
  ctx.strokeStyle = colors.edge;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const [a, b] of at.layout.edges) {
    const x0 = ox + a.x + a.w / 2, y0 = oy + a.y + a.h;
    const x1 = ox + b.x + b.w / 2, y1 = oy + b.y;
    if (Math.max(y0, y1) < seen.y0 || Math.min(y0, y1) > seen.y1) continue;
    const bend = Math.max(14, Math.min(60, Math.abs(y1 - y0) / 2));
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    ctx.moveTo(x1 - 4, y1 - 6);
    ctx.lineTo(x1, y1);
    ctx.lineTo(x1 + 4, y1 - 6);
  }
  ctx.stroke();
}
function box(x, y, p, fill, isSelected) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = isSelected ? colors.mark : colors.line;
  ctx.lineWidth = isSelected ? 3 : 1;
  ctx.beginPath();
  ctx.roundRect(x, y, p.w, p.h, 5);
  ctx.fill();
  ctx.stroke();
}
// The end of a text that is too long says more than its beginning.
const shortened = new Map();
function shorten(text, width) {
  const key = ctx.font + width + '\0' + text;
  if (!shortened.has(key)) {
    let from = 0, to = text.length;
    const made = n => n ? '…' + text.slice(n) : text;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (ctx.measureText(made(middle)).width <= width) to = middle;
      else from = middle + 1;
    }
    shortened.set(key, made(from));
  }
  return shortened.get(key);
}
function label(text, x, y, width, font, color) {
  if (view.scale < 0.35) return;
  ctx.font = font;
  ctx.fillStyle = color;
  ctx.fillText(shorten(text, width), x, y);
}
// The warmer, the longer: nodes in relation to the longest one, groups by
// their share of all time. Errors are shown in the same way.
function warmth(item) {
  if (coloring === 'time' && longest)
    return item.items ? item.time / totalTime : item.heat / longest;
  if (coloring === 'error' && worst)
    return Math.min(1, item.errorShare / (item.items ? 1 : worst));
  return null;
}
function fillOf(item, usual) {
  const part = warmth(item);
  if (part === null) return usual;
  return `color-mix(in srgb, ${colors.hot} ${Math.round(100 * part)}%, ${colors.panel})`;
}
const BOLD = '600 11px system-ui, sans-serif', SMALL = '10px system-ui, sans-serif';
function drawNode(node, x, y, p) {
  box(x, y, p, fillOf(node, colors[classes[node.state] + '-fill']),
      node === selected);
  const warm = coloring === 'time' ? time(node.heat)
             : coloring === 'error' ? share(node.errorShare, 1) : '';
  if (warm && view.scale >= 0.35) {
    ctx.textAlign = 'right';
    label(warm, x + p.w - 8, y + 11, 60, SMALL, colors.text);
    ctx.textAlign = 'left';
  }
  label(node.op, x + 8, y + 11, p.w - 16, BOLD, colors.text);
  label(title(node), x + 8, y + 25, p.w - 16, SMALL, colors.hint);
}
function drawClosed(at, x, y, p) {
  box(x, y, p, fillOf(at, colors.panel), at === selected);
  heading('▸ ', at.name, x + 8, y + 13, p.w - 16);
  const total = at.count.reduce((a, b) => a + b, 0);
  const text =
    coloring === 'time' ? `${time(at.time)} ${share(at.time, totalTime)}`
    : coloring === 'error' ? `${share(at.errorShare, 1) || 'none'} of the error`
    : `nodes: ${total - at.count[CAST]}, casts: ${at.count[CAST]}`;
  label(text, x + 8, y + 28, p.w - 16, SMALL, colors.hint);
  let left = x + 8;
  for (const state of [LOW, F32, 0, CAST]) {
    const width = (p.w - 16) * at.count[state] / (total || 1);
    ctx.fillStyle = colors[classes[state]];
    ctx.fillRect(left, y + p.h - 11, width, 5);
    left += width;
  }
}
function drawOpen(at, x, y, p) {
  box(x, y, p, colors.open, at === selected);
  heading('▾ ', at.name, x + 8, y + 14, p.w - 16);
}
function heading(sign, name, x, y, width) {
  label(sign, x, y, width, BOLD, colors.text);
  label(name, x + 14, y, width - 14, BOLD, colors.text);
}

function hit(x, y) {
  let at = root, ox = 0, oy = 0, found = null;
  for (;;) {
    const p = at.layout.places.find(p =>
      x >= ox + p.x && x <= ox + p.x + p.w && y >= oy + p.y && y <= oy + p.y + p.h);
    if (!p) return found;
    found = p.item;
    if (!p.item.items || !p.item.open || y < oy + p.y + HEAD) return found;
    ox += p.x + PAD;
    oy += p.y + HEAD + PAD;
    at = p.item;
  }
}
function position(item) {
  let x = 0, y = 0, size = null;
  for (let now = item, at = item.items ? item.parent : item.group; at;
       now = at, at = at.parent) {
    const p = at.layout.places.find(p => p.item === now);
    if (!p) return null;
    size = size || p;
    x += p.x + (at.parent ? PAD : 0);
    y += p.y + (at.parent ? HEAD + PAD : 0);
  }
  return size && {x: x + size.w / 2, y: y + Math.min(size.h, 200) / 2};
}
function reveal(item) {
  for (let at = item.items ? item.parent : item.group; at; at = at.parent)
    at.open = true;
  layout(root);
  center(item);
  select(item);
}
function center(item) {
  const p = position(item);
  if (!p) return fit(0.6);
  if (view.scale < 0.6) view.scale = 0.8;
  view.x = canvas.clientWidth / 2 - p.x * view.scale;
  view.y = canvas.clientHeight / 2 - p.y * view.scale;
  redraw();
}
function fit(least) {
  const w = canvas.clientWidth - 40, h = canvas.clientHeight - 40;
  const size = root.layout;
  // All of it, or where that would be too small to read all of its width.
  let scale = Math.min(w / size.w, h / size.h);
  if (scale < least) scale = Math.min(w / size.w, 0.8);
  view.scale = Math.min(1, Math.max(0.02, scale));
  view.x = (canvas.clientWidth - size.w * view.scale) / 2;
  view.y = 20;
  redraw();
}

(function listen() {
  let drag = null;
  const toModel = event => [(event.offsetX - view.x) / view.scale,
                            (event.offsetY - view.y) / view.scale];
  canvas.addEventListener('pointerdown', event => {
    drag = {x: event.clientX, y: event.clientY, vx: view.x, vy: view.y,
            moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!drag) return;
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > 4;
    view.x = drag.vx + dx;
    view.y = drag.vy + dy;
    redraw();
  });
  canvas.addEventListener('pointerup', event => {
    const wasDrag = drag && drag.moved;
    drag = null;
    if (wasDrag) return;
    const item = hit(...toModel(event));
    if (!item) return;
    if (item.items) { item.open = !item.open; relayout(); }
    select(item);
  });
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const [x, y] = toModel(event);
    const scale = view.scale * Math.exp(-event.deltaY / 500);
    view.scale = Math.min(3, Math.max(0.02, scale));
    view.x = event.offsetX - x * view.scale;
    view.y = event.offsetY - y * view.scale;
    redraw();
  }, {passive: false});
  // Rows are as long as the page is wide.
  addEventListener('resize', () => {
    layout(root);
    if (selected) center(selected); else fit(0.6);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    readColors();
    redraw();
  });
})();

// Explanations ---------------------------------------------------------------

function select(item) {
  selected = item;
  byId('details').replaceChildren(
    ...(item.items ? explainGroup(item) : explainNode(item)));
  redraw();
}
function pairs(...entries) {
  const list = el('dl');
  for (const [key, value] of entries)
    if (value) list.append(el('dt', key), el('dd', value));
  return list;
}
function nodeLink(index) {
  const node = nodes[index];
  return link(`${node.name || '(no name)'} (${node.op})`, () => reveal(node));
}
const kinds = ['a graph input', 'a constant', 'an input of the body'];
function origin(value) {
  if (value.kind < 3) return [kinds[value.kind]];
  return value.source < 0 ? ['from outside'] : ['from ', nodeLink(value.source)];
}
function describeValue(v) {
  if (v < 0) return el('li', 'not given');
  const exact = skipCasts(v), value = values[v];
  const item = el('li', `${value.name}: ${value.type}, ${bytes(value.bytes)}, `);
  if (exact !== v && exact >= 0)
    item.append(`cast from ${values[exact].name}, `);
  item.append(...origin(values[exact >= 0 ? exact : v]));
  return item;
}
function describeResult(v) {
  const value = values[v];
  const item = el('li', `${value.name}: ${value.type}, ${bytes(value.bytes)}`);
  const users = el('ul');
  for (const user of value.users.slice(0, 8))
    users.append(el('li', nodes[user].state === CAST ? 'cast by ' : 'taken by ',
                    nodeLink(user)));
  if (value.users.length > 8)
    users.append(el('li', `and ${value.users.length - 8} more`));
  if (value.output) users.append(el('li', 'an output of the graph'));
  item.append(users);
  return item;
}
function chain(node) {
  const list = el('ol');
  let at = node;
  for (let i = 0; i < 30 && at.causeValue >= 0; ++i) {
    const value = values[at.causeValue];
    const item = el('li', `${value.name} is ${value.low ? data.precision : 'fp32'}: `);
    if (at.causeNode < 0) {
      item.append(...origin(value));
      list.append(item);
      break;
    }
    at = nodes[at.causeNode];
    item.append(nodeLink(at.index), ` is ${names[at.state]}: ${ownReason(at)}`);
    list.append(item);
  }
  return list.children.length ? [el('h3', 'Where that comes from'), list] : [];
}
function ownReason(node) {
  const parts = [node.opClass];
  if (node.classReason) parts.push(node.classReason);
  if (node.because && node.because !== node.classReason)
    parts.push(node.because);
  return parts.filter(part => part).join(', ');
}
function explainNode(node) {
  return [
    el('h2', node.name || '(no name)'),
    pairs(['op', node.op], ['runs in', names[node.state]],
          ['class', [node.opClass, node.classReason].filter(x => x).join(': ')],
          ['reason', node.because === node.classReason ? '' : node.because],
          ['notes', node.notes],
          ['schema', node.schema],
          ['work', node.work ? count(node.work) + ' multiply-adds' : ''],
          ['moves', node.moved ? bytes(node.moved) : ''],
          ['error', explainError(node)]),
    ...explainTimes(node),
    el('h3', 'Operands'), el('ul', null, ...node.operands.map(describeValue)),
    el('h3', 'Results'), el('ul', null, ...node.results.map(describeResult)),
    ...chain(node),
  ];
}
function explainError({error, errorShare}) {
  if (!error) return '';
  const measured = error.measured === null || error.measured >= 0
    ? `, measured ${rms(error.measured)}` : '';
  const part = errors.predicted === null ? ''
    : `; ${share(errorShare, 1) || 'nothing'} of the whole`;
  return `${rms(error.predicted)} of the ${errors.of}${measured}${part}`;
}
function explainTimes(node) {
  if (!node.kernels.length) return [];
  const list = el('ul');
  for (const kernel of node.kernels) {
    const others = kernel.nodes.filter(other => other !== node.index);
    const item = el('li', [time(kernel.seconds), share(kernel.seconds, totalTime),
                           kernel.kind, roofline(kernel)].filter(x => x).join(', '));
    if (others.length) {
      const shown = others.slice(0, 8).flatMap((other, i) =>
        [i ? ', ' : ', together with ', nodeLink(other)]);
      item.append(...shown,
                  others.length > 8 ? ` and ${others.length - 8} more` : '');
    }
    list.append(item);
  }
  return [el('h3', 'Kernels'), list];
}
const roofline = kernel => kernel.roofline === null ? '' :
  `${Math.round(100 * kernel.roofline)} % of the roofline`;
function explainGroup(at) {
  return [
    el('h2', at.name),
    pairs(['work', at.work ? `${count(at.work)} multiply-adds, ` +
             `${share(at.workLow, at.work)} in ${data.precision}` : ''],
          ['time', at.time ? `${time(at.time)}, ${share(at.time, totalTime)}` : ''],
          ['error', at.errorShare ? `${share(at.errorShare, 1)} of the whole` : ''],
          [data.precision, `${at.count[LOW]} nodes, ${bytes(at.bytes[LOW])}`],
          ['fp32', `${at.count[F32]} nodes, ${bytes(at.bytes[F32])}`],
          ['other', `${at.count[0]} nodes`],
          ['casts', `${at.count[CAST]}, moving ${bytes(at.moved)}`]),
    el('p', 'A click on its box opens or closes it.'),
  ];
}

// Lists ----------------------------------------------------------------------

const ROWS = 200;
function table(heads, rows, makeRow, first = ROWS) {
  const made = el('table'), body = el('tbody');
  made.append(el('thead', null, el('tr', null, ...heads.map(h => el('th', h)))),
              body);
  const parts = [made];
  const more = el('button', 'more');
  let shown = 0;
  function grow(step) {
    for (const row of rows.slice(shown, shown + step))
      body.append(el('tr', null, ...makeRow(row).map(cell =>
        cell instanceof Node ? el('td', null, cell) : el('td', cell))));
    shown += step;
    more.hidden = shown >= rows.length;
  }
  more.addEventListener('click', () => grow(ROWS));
  grow(first);
  parts.push(more);
  return parts;
}
function bar(count) {
  const made = el('span');
  made.className = 'bar';
  const total = count.reduce((a, b) => a + b, 0) || 1;
  for (const state of [LOW, F32, 0, CAST]) {
    const part = el('i');
    part.className = classes[state];
    part.style.width = 100 * count[state] / total + '%';
    made.append(part);
  }
  return made;
}
function showLayers() {
  const rows = [];
  (function add(at, depth) {
    for (const item of byNumber(at.items.filter(item => item.items))) {
      rows.push([item, depth]);
      if (item.listed) add(item, depth + 1);
    }
  })(root, 0);
  if (!rows.length) return [el('p', 'The names of the nodes have no scopes.')];
  const heads = ['layer', 'nodes', 'work', 'results', 'casts', 'moved'];
  if (hasErrors) heads.splice(2, 0, 'error');
  if (hasTimes) heads.splice(2, 0, 'time');
  return table(heads, rows,
    ([at, depth]) => {
      const has = at.items.some(item => item.items);
      const name = el('span');
      name.className = 'layer';
      name.style.paddingLeft = 0.7 * depth + 'em';
      if (has)
        name.append(link(at.listed ? '▾' : '▸', () => {
          at.listed = !at.listed;
          show('layers');
        }));
      name.append(link(at.name, () => { at.open = true; reveal(at); }));
      return [name, bar(at.count),
              ...(hasTimes ? [share(at.time, totalTime)] : []),
              ...(hasErrors ? [share(at.errorShare, 1)] : []),
              share(at.work, root.work),
              bytes(at.bytes[LOW] + at.bytes[F32] + at.bytes[0]),
              at.count[CAST], bytes(at.moved)];
    });
}
function nodeTable(list) {
  return table(['node', 'runs in', 'reason'], list, node => {
    const reason = el('span', node.because || node.classReason);
    reason.className = 'text';
    return [nodeLink(node.index), names[node.state], reason];
  });
}
function showReasons() {
  const groups = new Map();
  for (const node of nodes) {
    if (node.state !== LOW && node.state !== F32) continue;
    const key = names[node.state] + '\0' + (node.pattern || node.classReason);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  }
  const rows = [...groups].sort((a, b) => b[1].length - a[1].length);
  const sum = (list, key) => list.reduce((total, node) => total + node[key], 0);
  return table(['reason', 'runs in', 'nodes', 'work', 'N, in all'], rows,
    ([key, list]) => {
      const [precision, reason] = key.split('\0');
      const cost = sum(list, 'cost');
      return [link(reason || '(none)', () => list_(nodeTable(list))), precision,
              list.length, share(sum(list, 'work'), root.work),
              cost ? bytes(cost) : ''];
    });
}
function showSavings() {
  const rows = data.savings;
  if (!rows.length) return [el('p', 'No list keeps a node in fp32 that could be 16 bit.')];
  return [
    el('p', 'What allowing an operator could save: half of its fp32 results, ' +
       'those of nodes that follow it, and the casts next to them. An estimate; ' +
       'whether the numbers bear it is another matter.'),
    ...table(['flag', 'nodes', 'with them', 'saves', 'opset'], rows, row =>
      [link('--allow=' + str(row[0]), () => {
        list_(nodeTable(nodes.filter(n => n.state === F32 && data.nodes[n.index][14] === row[0])));
      }), row[1], row[2], bytes(row[3]), row[4] ? 'needs ' + row[4] : '']),
  ];
}
function showCasts() {
  const rows = nodes.filter(node => node.state === CAST)
    .sort((a, b) => b.moved - a.moved || a.index - b.index);
  return table(['cast', 'of', 'moves'], rows, node =>
    [nodeLink(node.index),
     node.operands[0] >= 0 ? values[node.operands[0]].name : '',
     bytes(node.moved)]);
}
function showTimes() {
  const rows = [...kernels].sort((a, b) => b.seconds - a.seconds);
  return table(['kernel', 'kind', 'time', 'share', 'roofline'], rows, kernel =>
    [kernel.nodes.length ? nodeLink(kernel.nodes[0]) : '', kernel.kind,
     time(kernel.seconds), share(kernel.seconds, totalTime),
     kernel.roofline === null ? '' : Math.round(100 * kernel.roofline) + ' %']);
}
// The share of each scope in the error, without the scopes inside of it.
function errorsOfScopes() {
  const sums = new Map();
  for (const node of wrong)
    sums.set(node.group, (sums.get(node.group) || 0) + node.errorShare);
  const path = at => at.parent && at.parent.parent
    ? `${path(at.parent)}/${at.name}` : at.name;
  const rows = [...sums].sort((a, b) => b[1] - a[1]);
  if (rows.length < 2) return [];
  return [el('h3', 'By scope'),
          ...table(['scope', 'share'], rows, ([at, sum]) =>
            [link(path(at), () => { at.open = true; reveal(at); }),
             share(sum, 1)], TOP)];
}
const TOP = 10;
function showErrors() {
  let sum = 0;
  const rows = wrong.map(node => [node, sum += node.errorShare]);
  const total = `Error of the ${errors.of}: predicted ${rms(errors.predicted)}, ` +
    `measured ${rms(errors.measured)}` +
    (errors.target === undefined ? '' : `, target ${rms(errors.target)}`);
  const doubts = errors.doubts.map(doubt => el('li', 'not reliable: ' + doubt));
  if (!rows.length) return [el('p', total), el('p', 'No node rounds to 16 bit.')];
  return [
    el('p', total), ...(doubts.length ? [el('ul', null, ...doubts)] : []),
    ...table(['node', 'share', 'sum', 'predicted', 'measured'], rows,
      ([node, upTo]) =>
        [nodeLink(node.index), share(node.errorShare, 1),
         share(upTo > 0.9995 ? 1 : upTo, 1),
         rms(node.error.predicted),
         node.error.measured < 0 ? '' : rms(node.error.measured)], TOP),
    ...errorsOfScopes(),
  ];
}
function search(text) {
  const wanted = text.toLowerCase();
  const found = nodes.filter(node =>
    node.name.toLowerCase().includes(wanted) ||
    node.op.toLowerCase().includes(wanted) ||
    node.results.some(v => values[v].name.toLowerCase().includes(wanted)));
  return [el('p', `${found.length} found`), ...nodeTable(found)];
}
const tabs = {...(hasTimes ? {times: showTimes} : {}),
              ...(errors ? {errors: showErrors} : {}), layers: showLayers, reasons: showReasons, savings: showSavings,
              casts: showCasts};
const list_ = parts => byId('list').replaceChildren(...parts);
function show(name) {
  for (const tab of byId('tabs').children)
    tab.setAttribute('aria-selected', tab.dataset.name === name);
  list_(tabs[name]());
}

// Where less than half of the work is 16 bit, what keeps the rest.
function whyLittle() {
  const isLittle = root.work ? root.workLow < root.work / 2
                             : root.count[LOW] < root.count[F32];
  if (!isLittle || !data.kept.length) return [];
  const list = el('ul');
  for (const kept of data.kept.slice(0, 3)) {
    const text = [share(kept.multiply_adds, root.work),
                  `${kept.nodes} × ${kept.ops.slice(0, 3).join(', ')}`];
    const item = el('li', text.filter(part => part).join(', ') + ': ' +
                          kept.reason);
    if (kept.remedy)
      kept.remedy.split(' or ').forEach((flag, i) =>
        item.append(i ? ' or ' : '; try ', el('code', flag)));
    list.append(item);
  }
  return [el('h3', `What is not ${data.precision}, and why`), list];
}

function showLegend() {
  const entry = (name, text) => {
    const color = el('i');
    color.className = name;
    return el('span', null, color, text);
  };
  byId('legend').replaceChildren(...(coloring === 'time'
    ? [entry('hot', `by time, to ${time(longest)}`)]
    : coloring === 'error'
    ? [entry('hot', `by error, to ${share(worst, 1) || 'nothing'} of the whole`)]
    : [LOW, F32, 0, CAST].map(state => entry(classes[state], names[state]))));
}

// Start ----------------------------------------------------------------------

(function start() {
  const fact = (name, text) => el('span', name + ' ', el('b', text));
  const {before, after, casts} = data;
  byId('header').append(
    el('h1', `${data.input}${data.output ? ' → ' + data.output : ''}`),
    ...(root.work ? [fact(`multiply-adds in ${data.precision}`,
                          share(root.workLow, root.work))] : []),
    fact('nodes', `${root.count[LOW]} ${data.precision}, ${root.count[F32]} fp32, ${root.count[0]} other`),
    fact('casts', `${root.count[CAST]}, moving ${bytes(casts.moved)}`),
    fact('weights', `${bytes(before.weights)} → ${bytes(after.weights)}${percent(before.weights, after.weights)}`),
    fact('activations', `${bytes(before.activations)} → ${bytes(after.activations)}${percent(before.activations, after.activations)}`),
    ...(errors ? [fact(`error of the ${errors.of}`,
                       `${rms(errors.measured)} (predicted ${rms(errors.predicted)})`)]
               : []),
    ...(hasTimes ? [fact('kernels', `${kernels.length}, ${time(totalTime)}`)] : []),
    fact('opset', before.opset === after.opset ? `${after.opset}` : `${before.opset} → ${after.opset}`),
    ...(data.runtimes.runs_in.length
            ? [fact('runs in', data.runtimes.runs_in.join(', '))]
            : []),
    fact('mp-opt', data.version));
  for (const {runtime, reason, remedies} of data.runtimes.not_in)
    byId('header').append(
      fact('not in', `${runtime}, which ${reason}: ${remedies.join(' or ')}`));
  document.title = `${data.input} – mp-opt report`;
  for (const name of Object.keys(tabs)) {
    const tab = el('button', name);
    tab.dataset.name = name;
    tab.setAttribute('role', 'tab');
    tab.addEventListener('click', () => show(name));
    byId('tabs').append(tab);
  }
  showLegend();
  const switches = colorings.length > 1 ? colorings.map(name => {
    const made = el('button', name);
    made.setAttribute('aria-pressed', name === coloring);
    made.addEventListener('click', () => {
      coloring = name;
      for (const other of switches)
        other.setAttribute('aria-pressed', other === made);
      showLegend();
      redraw();
    });
    return made;
  }) : [];
  for (const made of switches) byId('tools').append(made, ' ');
  for (const [text, action] of [
    ['whole graph', () => fit(0.02)],
    ['close all', () => { closeAll(root); root.open = true; relayout(); fit(0.6); }]]) {
    const made = el('button', text);
    made.addEventListener('click', action);
    byId('tools').append(made, ' ');
  }
  byId('search').addEventListener('input', event => {
    const text = event.target.value.trim();
    if (text) list_(search(text)); else show('layers');
  });
  show('layers');
  if (root.items.length === 1 && root.items[0].items) root.items[0].open = true;
  layout(root);
  openPhases();
  fit(0.6);
  const wanted = new URLSearchParams(location.hash.slice(1)).get('node');
  const node = wanted && nodes.find(node => node.name === wanted);
  if (node) reveal(node);
  else byId('details').append(
    el('p', 'A click on a node says why it has its precision; a click on a ' +
       'scope opens it. Drag to move, turn the wheel to zoom.'), ...whyLittle());
  document.documentElement.dataset.ready = nodes.length;
})();
// Of a training step as much as the page has room for; not the optimizer,
// which is long and dull.
function openPhases() {
  const hasRoom = () => root.layout.h * 0.6 <= canvas.clientHeight - 40 &&
                        root.layout.w * 0.6 <= canvas.clientWidth - 40;
  for (const item of root.items) {
    if (!(item.rank < 2)) continue;
    item.open = true;
    layout(root);
    item.open = hasRoom();
    layout(root);
  }
}
function closeAll(at) {
  at.open = false;
  for (const item of at.items) if (item.items) closeAll(item);
}
