// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search's worker, which browsers refuse to a page that was opened as a file:
// a hidden frame does its work. The frame has a global object of its own, and
// messages to and from it are events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      // A document that is written stays; Firefox replaces an empty one later.
      frame.contentDocument.open();
      frame.contentDocument.write("<!doctype html><body></body>");
      frame.contentDocument.close();
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) =>
        this.deliver(this, new MessageEvent("message", { data }));
      this.inside.importScripts = (...urls) =>
        urls.reduce(
          (before, next) => before.then(() => this.load(next)),
          Promise.resolve()
        );
      // Messages wait until the script listens.
      this.ready = this.load(new URL(url, location.href).href);
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.inside.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        this.inside.document.body.append(script);
      });
    }
    deliver(target, event) {
      if (typeof target["onmessage"] === "function") target.onmessage(event);
      target.dispatchEvent(event);
    }
    postMessage(data) {
      this.ready.then(() =>
        this.deliver(this.inside, new MessageEvent("message", { data }))
      );
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
