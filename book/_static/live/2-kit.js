// What every live figure is made of: an SVG picture, sliders, buttons, and a sentence that says in
// words what the picture shows. A live figure takes the place of the still picture of an ordinary
// figure whose name starts with "fig-live-"; without JavaScript the still picture stays.
poeLive.kit = (() => {
  const { random } = poeLive.mathematics;
  const NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"];
  // The running example of the book.
  const EXAMPLE = [
    { first: 0, second: 1, p: 0.9 },
    { first: 1, second: 2, p: 0.6 },
    { first: 2, second: 3, p: 0.8 },
    { first: 3, second: 0, p: 0.3 },
    { first: 0, second: 2, p: 0.7 },
  ];
  let serial = 0;

  const fixed = (value, digits = 2) => {
    const text = value.toFixed(digits);
    const plain = Number(text) === 0 ? text.replace("-", "") : text;
    return plain.replace("-", "\u2212");
  };
  const signed = (value, digits = 2) => {
    const text = fixed(value, digits);
    return Number(text.replace("\u2212", "-")) > 0 ? `+${text}` : text;
  };

  const html = (tag, attributes = {}, parent = null, text = null) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    if (text !== null) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  const draw = (parent, tag, attributes = {}, text = null) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    if (text !== null) element.textContent = text;
    parent.append(element);
    return element;
  };

  // What a finger drags does not scroll the page: touch-action alone is not heard inside an SVG.
  const firm = (element) => {
    element.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    return element;
  };

  const path = (points) =>
    points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(2)},${y.toFixed(2)}`).join("");

  // A linear scale: values of a range to pixels of another, clipped.
  const scale = ([low, high], [from, to]) => (value) =>
    from + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (to - from);

  // A horizontal axis with ticks and a name.
  const axis = (svg, { x, y, ticks, digits = 1, name, grid = 0 }) => {
    ticks.forEach((tick) => {
      draw(svg, "line", { x1: x(tick), x2: x(tick), y1: grid || y, y2: y + 4, class: "live-rule" });
      const label = { x: x(tick), y: y + 16, class: "live-tick", "text-anchor": "middle" };
      draw(svg, "text", label, fixed(tick, digits));
    });
    const middle = (x(ticks[0]) + x(ticks[ticks.length - 1])) / 2;
    draw(svg, "text", { x: middle, y: y + 32, class: "live-name", "text-anchor": "middle" }, name);
  };

  // The frame of one live figure. `redraw` is called at the start and after every change. Where the
  // still picture shows what the live one cannot, it is kept. `more` is state that is in no slider or
  // choice: its words in the address, and what takes them back.
  const frame = (figure, { label, width = 360, height, redraw, keep = false, more = null }) => {
    const still = figure.querySelector("img");
    const id = `live-${++serial}`;
    const root = html("div", { class: "live", role: "group", "aria-label": label });
    (still.closest("a") || still).after(root);
    (still.closest("a") || still).hidden = !keep;
    const svg = draw(root, "svg", {
      viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-says`,
    });
    const says = html("p", { class: "live-says", id: `${id}-says`, "aria-live": "polite" }, root);
    const controls = html("div", { class: "live-controls" }, root);
    const starts = [];
    const dials = []; // what the address holds: how to read and how to set each control
    const address = poeLive.address.keeper(figure.id, () => [...dials.map(({ get }) => get()), ...(more ? more.get() : [])]);
    let waiting = false;

    const update = () => {
      svg.replaceChildren();
      const { words, state } = redraw(svg);
      says.textContent = words;
      root.dataset.state = JSON.stringify(state);
    };
    const change = () => {
      address.soon();
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        update();
      });
    };

    const slider = ({ text, low, high, step, value, show = (v) => fixed(v) }) => {
      const row = html("label", { class: "live-slider" }, controls);
      html("span", {}, row, text);
      const range = { type: "range", min: low, max: high, step, value };
      const input = html("input", range, row);
      const output = html("output", {}, row, show(value));
      const spoken = () => {
        output.textContent = show(Number(input.value));
        input.setAttribute("aria-valuetext", output.textContent);
      };
      spoken();
      input.addEventListener("input", () => {
        spoken();
        change();
      });
      const set = (v) => {
        input.value = v;
        spoken();
      };
      starts.push(() => set(value));
      dials.push({
        get: () => Number(input.value),
        takes: (text) => poeLive.address.number(text) >= low && poeLive.address.number(text) <= high,
        set: (text) => set(poeLive.address.number(text)),
      });
      return () => Number(input.value);
    };
    const choice = ({ text, options, value }) => {
      const row = html("label", { class: "live-choice" }, controls);
      html("span", {}, row, text);
      const select = html("select", {}, row);
      options.forEach(([key, words]) => html("option", { value: key }, select, words));
      select.value = value;
      select.addEventListener("change", change);
      starts.push(() => (select.value = value));
      dials.push({
        get: () => select.value,
        takes: (text) => options.some(([key]) => key === text),
        set: (text) => (select.value = text),
      });
      return () => select.value;
    };
    const button = (text, action) => {
      const press = html("button", { type: "button" }, controls, text);
      press.addEventListener("click", () => {
        action();
        address.soon();
        update();
      });
      return press;
    };
    const restore = () => {
      const words = address.read();
      if (!words || words.length < dials.length || !dials.every(({ takes }, k) => takes(words[k]))) return;
      const rest = words.slice(dials.length);
      if (more ? !more.set(rest) : rest.length) return;
      dials.forEach(({ set }, k) => set(words[k]));
      update();
      figure.scrollIntoView();
    };
    // The last of the controls, after which the figure is drawn.
    const restart = (besides = () => {}) => {
      const again = html("button", { type: "button" }, controls, "Start again");
      again.addEventListener("click", () => {
        starts.forEach((start) => start());
        besides();
        address.clear();
        update();
      });
      poeLive.address.copy(html("button", { type: "button" }, controls, "Copy link"), address.save);
      window.addEventListener("hashchange", restore);
      queueMicrotask(restore);
      return again;
    };
    return { slider, choice, button, restart, update, change, root, svg };
  };

  // Two of the places in a picture are joined by a drag from one to the other, or by two taps:
  // `take(first, second)` is told. What is returned says which one was tapped first, and forgets it.
  const joining = (live, { places, reach, take }) => {
    const { svg } = live;
    let held = null;
    let thread = null; // the line from the place that a drag began at to the finger
    let start = null;
    const point = ({ clientX, clientY }) => {
      const box = svg.getBoundingClientRect();
      return [clientX - box.left, clientY - box.top].map((v) => (v * svg.viewBox.baseVal.width) / box.width);
    };
    const under = ([x, y]) => {
      const far = places.map(([px, py]) => Math.hypot(x - px, y - py));
      const nearest = far.indexOf(Math.min(...far));
      return far[nearest] < reach ? nearest : null;
    };
    svg.addEventListener("pointerdown", (event) => {
      start = under(point(event));
      if (start === null) return;
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      const [x, y] = places[start];
      thread = draw(svg, "line", { x1: x, y1: y, x2: x, y2: y, class: "live-thread" });
    });
    svg.addEventListener("pointermove", (event) => {
      if (!thread) return;
      const [x, y] = point(event);
      thread.setAttribute("x2", x);
      thread.setAttribute("y2", y);
    });
    const release = (event) => {
      if (!thread) return;
      thread = null;
      const end = event.type === "pointerup" ? under(point(event)) : null;
      const first = end !== start ? start : held;
      // Let go between the places: nothing is joined. A tap: held, or the second of two.
      const second = end === null || first === null || first === end ? null : end;
      held = end === start && first === null ? end : null;
      if (second !== null) take(first, second);
      live.change();
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", release);
    return { held: () => held, forget: () => (held = null) };
  };

  const pairName = ({ first, second }) => `${NAMES[first]} over ${NAMES[second]}`;
  const inOrder = (scores) =>
    scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a]).map((i) => NAMES[i]).join(", ");

  const enliven = () =>
    Object.entries(poeLive.figures).forEach(([name, build]) => {
      const figure = document.getElementById(name);
      if (figure) build(figure);
    });
  document.addEventListener("DOMContentLoaded", enliven);

  return {
    NAMES, EXAMPLE, fixed, signed, html, draw, firm, path, scale, axis, frame, joining, pairName, inOrder, random,
  };
})();
