// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Search runs in a worker, which browsers refuse to a page that was opened as a
// file. There a hidden frame does the work: it has a global object of its own,
// and messages to and from it are events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) =>
        this.deliver(this, new MessageEvent("message", { data }));
      this.inside.importScripts = (...urls) =>
        urls.reduce(
          (before, next) => before.then(() => this.load(next)),
          Promise.resolve()
        );
      // What is sent before it can listen waits.
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
