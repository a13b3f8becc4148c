// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the script of a report without a browser, and prints as JSON the texts
// of its header, legend and tables by tab. Usage: node open_page.mjs FILE.html
// [TEXT]: a click on the link or button TEXT gives "details" and "clicked".
import {readFileSync} from 'node:fs';

class Node {
  constructor(tag, text = '') {
    Object.assign(this, {tag, own: text, children: [], attributes: {},
                         dataset: {}, style: {}, listeners: {},
                         clientWidth: 800, clientHeight: 600});
  }
  get textContent() {
    return this.own + this.children.map(child => child.textContent).join('');
  }
  set textContent(text) { this.own = String(text); this.children = []; }
  append(...parts) {
    for (const part of parts)
      this.children.push(part instanceof Node ? part
                                              : new Node('#text', String(part)));
  }
  replaceChildren(...parts) { this.children = []; this.append(...parts); }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener(kind, action) { this.listeners[kind] = action; }
  getContext() {
    const drawn = {measureText: text => ({width: 6 * text.length})};
    return new Proxy(drawn, {get: (at, name) => at[name] || (() => {}),
                             set: () => true});
  }
  find(tag) {
    return this.children.flatMap(child =>
      [...(child.tag === tag ? [child] : []), ...child.find(tag)]);
  }
}

const page = readFileSync(process.argv[2], 'utf-8');
const [, text] = page.match(/id="data">(.*?)<\/script>/s);
const [, script] = page.match(/<script>(.*?)<\/script>/s);
const parts = new Map();
const byId = id => {
  if (!parts.has(id)) parts.set(id, new Node(id));
  return parts.get(id);
};
byId('data').textContent = text;
const frames = [];
const scope = {
  document: {getElementById: byId, createElement: tag => new Node(tag),
             documentElement: new Node('html')},
  getComputedStyle: () => ({getPropertyValue: () => '#000'}),
  requestAnimationFrame: frame => frames.push(frame), devicePixelRatio: 1,
  addEventListener() {}, matchMedia: () => ({addEventListener() {}}),
  location: {hash: ''}, Node,
};
new Function(...Object.keys(scope), script)(...Object.values(scope));
const redraw = () => { for (const frame of frames.splice(0)) frame(); };

const rowsOf = () => byId('list').find('tr').map(row =>
  row.children.map(cell => cell.textContent));
const result = {header: byId('header').textContent, tabs: {}, notes: {}};
redraw();
for (const tab of byId('tabs').children) {
  tab.listeners.click();
  result.tabs[tab.textContent] = rowsOf();
  result.notes[tab.textContent] =
    ['p', 'li'].flatMap(tag => byId('list').find(tag)).map(n => n.textContent);
}
result.switches = byId('tools').find('button')
  .filter(button => button.attributes['aria-pressed']).map(b => b.textContent);
result.legends = Object.fromEntries(byId('tools').find('button').map(button => {
  button.listeners.click();
  redraw();
  return [button.textContent, byId('legend').textContent];
}));
if (process.argv[3]) {
  for (const tab of byId('tabs').children) {
    tab.listeners.click();
    const found = byId('list').find('button')
      .find(button => button.textContent.startsWith(process.argv[3]));
    if (!found) continue;
    found.listeners.click();
    redraw();
    result.clicked = tab.textContent;
    break;
  }
  result.details = byId('details').textContent;
}
console.log(JSON.stringify(result));
