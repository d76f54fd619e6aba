// Turns the rendered page into a notebook: loaded when the reader presses "Run this page here".
const HERE = new URL(".", import.meta.url);
const LEAST_MEMORY = 2; // GB, as browsers tell it: rounded, at most 8
const CHANNELS = { text: "text_plain", stdout: "stream", stderr: "stderr", error: "traceback" };
const VERDICT = /^['"]?(right|not right|not yet)\b/; // what the check of an exercise begins with
const STREAMS = ["stdout", "stderr"]; // whose pieces are one text

const make = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

const refusal = () => {
  if (!("Worker" in window) || typeof WebAssembly !== "object") {
    return "This browser cannot run Python (it lacks WebAssembly or workers). The notebook to download can.";
  }
  if (navigator.deviceMemory < LEAST_MEMORY) {
    return `Running a page takes about ${LEAST_MEMORY} GB of memory, and this device has ${navigator.deviceMemory} GB. All results stand on the page without it.`;
  }
  return "";
};

// One output as the book's style sheet expects it. The reader's own code made it.
const rendered = ({ kind, data }) => {
  if (kind === "html") {
    const box = make("div", { className: "output text_html" });
    box.innerHTML = data;
    return box;
  }
  if (kind === "svg") {
    const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(data)}`;
    return make("img", { className: "jc-drawn", src: address, alt: "The figure that this cell draws" });
  }
  const pre = make("pre", { textContent: data });
  return make("div", { className: `output ${CHANNELS[kind]}` }, make("div", { className: "highlight" }, pre));
};

class Page {
  constructor(bar, settings, page) {
    Object.assign(this, { bar, settings, packages: page.packages, welcome: page.welcome, lacking: [], busy: false, stopped: false });
    this.status = bar.querySelector("[role=status]");
    const nodes = [...document.querySelectorAll("article div.cell")];
    this.cells = page.cells.map((cell, k) => ({
      ...cell, number: k + 1, node: cell.shown ? nodes.shift() : null, tried: false,
    }));
    this.controls();
    this.cells.filter((cell) => cell.node?.querySelector(".cell_input")).forEach((cell) => this.open(cell));
  }

  say(text) { this.status.textContent = text; }

  controls() {
    const button = (text, action) => {
      const made = make("button", { type: "button", className: "btn btn-sm btn-outline-primary", textContent: text });
      made.addEventListener("click", action);
      return made;
    };
    this.stopButton = button("Stop", () => this.stop());
    this.stopButton.disabled = true;
    this.runAll = button("Run all", () => {
      this.cells.forEach((cell) => { cell.tried = false; });
      this.run(this.cells.filter((cell) => !cell.solution));
    });
    this.bar.querySelector("button").replaceWith(this.runAll, " ", this.stopButton);
  }

  // An editor in place of the highlighted code, with its own button.
  open(cell) {
    const input = cell.node.querySelector(".cell_input");
    for (const child of input.children) child.hidden = true;
    const area = make("textarea", {
      value: cell.source, className: "jc-code", spellcheck: false, autocapitalize: "off", wrap: "off",
      rows: cell.source.split("\n").length,
    });
    area.setAttribute("aria-label", `Code of cell ${cell.number}; Shift and Enter run it`);
    area.addEventListener("input", () => { area.rows = area.value.split("\n").length; });
    area.addEventListener("keydown", (event) => this.key(event, cell));
    const run = make("button", { type: "button", className: "btn btn-sm btn-outline-primary jc-go", textContent: `Run cell ${cell.number}` });
    run.addEventListener("click", () => this.runThrough(cell));
    cell.area = area;
    input.append(area, run);
  }

  key(event, cell) {
    if (event.key !== "Enter") return;
    if (event.shiftKey || event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const next = this.cells.find((other) => other.number > cell.number && other.area?.offsetParent);
      if (event.shiftKey) next?.area.focus();
      this.runThrough(cell);
      return;
    }
    const line = cell.area.value.slice(0, cell.area.selectionStart).split("\n").pop();
    const indent = /^ */.exec(line)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
    if (indent && document.execCommand("insertText", false, `\n${indent}`)) event.preventDefault();
  }

  // A cell needs what stands above it: what was not tried yet runs first, but for solutions.
  runThrough(cell) {
    const before = this.cells.filter((one) => one.number < cell.number && !one.tried && !one.solution);
    return this.run([...before, cell]);
  }

  async run(cells) {
    if (this.busy) return this.say("Python is busy; press Stop to end it.");
    this.busy = true;
    this.stopped = false;
    this.say("Running …");
    this.stopButton.disabled = false;
    try {
      await this.ready();
      for (const [k, cell] of cells.entries()) {
        const more = cells.length > 1 ? `, ${k + 1} of ${cells.length}` : "";
        this.say(`Running cell ${cell.number}${more} …`);
        cell.node?.classList.add("jc-running");
        const start = performance.now();
        const source = cell.area?.value ?? cell.source;
        const { outcome } = await this.ask({ type: "run", source, place: `cell ${cell.number}` }, cell);
        cell.tried = true;
        const { missing } = outcome;
        this.settle(cell, missing);
        const seconds = ((performance.now() - start) / 1000).toFixed(1);
        this.say(missing ? `Cell ${cell.number}, or one above it, needs ${missing}; the book's result stays.`
          : outcome.failed ? `Cell ${cell.number}: ${outcome.failed}` : `Cell ${cell.number} is done (${seconds} s).`);
        if (outcome.failed && !missing) break;
      }
    } catch (error) {
      this.drop();
      cells.filter((cell) => cell.fresh).forEach((cell) => this.settle(cell)); // what it had shown
      this.say(this.stopped ? "Stopped. All that the cells had made is gone; the next run begins again with the first cell." : `This did not work: ${error.message}. Run all tries again.`);
    }
    this.cells.forEach((cell) => cell.node?.classList.remove("jc-running"));
    this.busy = false;
    this.stopButton.disabled = true;
  }

  // The stored output of a cell, and beside it the place of what the running cell shows.
  places(cell) {
    let stored = cell.node.querySelector(".cell_output:not(.jc-fresh)");
    if (!stored) {
      stored = make("div", { className: "cell_output docutils container" });
      cell.node.querySelector(".cell_input").after(stored);
    }
    cell.fresh ??= make("div", { className: "cell_output docutils container jc-fresh" });
    return [stored, cell.fresh];
  }

  // While it runs, a cell's new output stands in front of the stored one, which is kept.
  take(cell, output) {
    if (!cell.node) return;
    const [stored, fresh] = this.places(cell);
    if (!this.replaces(cell, stored)) return;
    stored.hidden = true;
    stored.before(fresh);
    const last = fresh.lastChild;
    if (STREAMS.includes(output.kind) && last?.classList.contains(CHANNELS[output.kind])) {
      last.querySelector("pre").append(output.data);
    } else fresh.append(rendered(output));
  }

  // A live figure that was not edited stays: the printed one has its sliders.
  replaces(cell, stored) {
    const edited = cell.area && cell.area.value !== cell.source;
    return edited || !stored.querySelector("[id^=fig-live-]");
  }

  // A cell has ended: what it showed takes the place of the stored output.
  settle(cell, missing) {
    if (!cell.node) return;
    const [stored, fresh] = this.places(cell);
    cell.fresh = null;
    cell.node.querySelector(".jc-missing")?.remove();
    fresh.remove();
    stored.hidden = false;
    if (missing) { // the printed result stays
      const note = `This cell, or one above it, needs ${missing}, which a browser does not have. The result that the book stored is shown.`;
      stored.before(make("p", { className: "jc-missing", textContent: note }));
      return;
    }
    if (!this.replaces(cell, stored)) return;
    const caption = stored.querySelector("figcaption, caption");
    const frame = caption?.closest("figure") ?? stored; // a figure keeps its caption and number
    for (const child of [...frame.childNodes]) if (!child.contains(caption) || !caption) child.remove();
    frame.prepend(...fresh.childNodes);
    cell.node.classList.add("jc-ran");
    stored.dataset.verdict = VERDICT.exec(stored.textContent.trim())?.[1] ?? "";
  }

  async ready() {
    if (this.worker) return;
    this.worker = new Worker(new URL("worker.js", HERE), { type: "module" });
    const { lacking } = await this.ask({
      type: "start", packages: this.packages, welcome: this.welcome,
      index: new URL(this.settings.index, HERE).href,
      bundle: new URL(this.settings.bundle, HERE).href,
      kernel: new URL("page_kernel.py", HERE).href,
    });
    this.lacking = lacking;
  }

  ask(message, cell) {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      this.worker.onerror = (event) => reject(new Error(event.message || "the thread did not start"));
      this.worker.onmessage = ({ data }) => {
        if (data.type === "progress") this.say(`${data.text} …`);
        else if (data.type === "output") this.take(cell, data.output);
        else if (data.type === "failed") reject(new Error(data.text));
        else resolve(data);
      };
      this.worker.postMessage(message);
    });
  }

  stop() {
    this.stopped = true;
    this.reject?.(new Error("stopped"));
  }

  drop() {
    this.worker?.terminate();
    this.worker = null;
    this.cells.forEach((cell) => { cell.tried = false; });
  }
}

export const start = async (bar) => {
  const status = bar.querySelector("[role=status]");
  const refused = refusal();
  if (refused) {
    status.textContent = refused;
    return;
  }
  const read = async (name) => (await fetch(new URL(name, HERE))).json();
  const [settings, page] = await Promise.all([read("settings.json"), read(`${bar.dataset.page}.json`)]);
  document.head.append(make("link", { rel: "stylesheet", href: new URL("page.css", HERE).href }));
  const notebook = new Page(bar, settings, page);
  window.jcPage = notebook; // for the console
  notebook.runAll.focus();
  await notebook.run([]); // loads Python
  const { lacking } = notebook;
  const without = lacking.length ? ` Not to be had here: ${lacking.join(", ")}; what needs it keeps the book's results.` : "";
  if (notebook.worker) notebook.say(`Ready.${without} Change any cell and press Run, or Shift and Enter in it.`);
};
